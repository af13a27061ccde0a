package interest

import (
	"encoding/binary"

	"github.com/atoll-sim/atoll/handle"
)

// Packet is what one Update has for a Client. The packet and its slices are valid until the sink
// returns, the Bytes of its rows until the next Update. They must not be changed.
type Packet struct {
	Number uint64 // of the client's packets, from 1
	// Leaves are the entities that are no longer seen. A client handles them before Rows, which has
	// none of them.
	Leaves []Leave
	// Rows are the entities that have come or changed.
	Rows []Row
	// Waiting is how many entities the client sees that the client does not know yet.
	Waiting int
}

// Leave is an entity that is no longer seen.
type Leave struct {
	Handle handle.Handle
	Slot   uint32 // from now on another entity may have it
	Gone   bool   // the entity is dead; otherwise it is hidden or too far away
}

// Row is an entity that has come or changed.
type Row struct {
	Handle handle.Handle
	// Slot is a small number that stands for the entity in this client, from the row with Enter
	// until its Leave. Slots are used again, the lowest first. An entity that leaves keeps its slot
	// until the Leave is sent, or with ClientOptions.Unacked acknowledged. So a client keeps its
	// entities in a map by slot, or in a slice that grows. With ClientOptions.Unacked a client
	// ignores leaves, and rows without Enter, of slots that it has no entity in: it has lost the
	// packet with Enter, which comes again.
	Slot uint32
	// Enter says that the entity has come: the client forgets what it had in the slot. Only then
	// does it need the handle.
	Enter bool
	// Columns are the columns whose values are in Bytes, one after the other: bit i stands for
	// column i of New. A row with Enter has all columns that the entity has.
	Columns uint32
	// Removed are columns that the entity no longer has.
	Removed uint32
	Bytes   []byte
}

// AppendTo appends the packet as bytes for a client, and returns what it appends to:
//
//	packet  Number, how many leaves there are, the leaves, and rows up to its end
//	leave   2·Slot, and 1 if it is Gone
//	row     2·Slot, and 1 if it has Enter
//	        2·Columns, and 1 if it has Removed
//	        the Handle, if it has Enter: 8 bytes, the lowest first
//	        Removed, if it has that
//	        Bytes
//
// All other numbers are those of binary.AppendUvarint: seven bits in each byte, the lowest first,
// and the highest bit set in all but the last byte. Nothing says how long the values of columns
// are: the client reads them as the functions of Encode write them. Up to slot 8191 and column 12 a
// leave and a row take no more bytes than ClientOptions.Bytes counts, except for Removed.
//
// It allocates nothing if dst has room. It is for the sink, as the packet is.
func (p *Packet) AppendTo(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, p.Number)
	dst = binary.AppendUvarint(dst, uint64(len(p.Leaves)))
	for _, l := range p.Leaves {
		dst = binary.AppendUvarint(dst, and(l.Slot, l.Gone))
	}
	for _, r := range p.Rows {
		dst = binary.AppendUvarint(dst, and(r.Slot, r.Enter))
		dst = binary.AppendUvarint(dst, and(r.Columns, r.Removed != 0))
		if r.Enter {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(r.Handle))
		}
		if r.Removed != 0 {
			dst = binary.AppendUvarint(dst, uint64(r.Removed))
		}
		dst = append(dst, r.Bytes...)
	}
	return dst
}

// and returns a number and a bit in one: the bit is the lowest.
func and(n uint32, bit bool) uint64 {
	if bit {
		return uint64(n)<<1 | 1
	}
	return uint64(n) << 1
}
