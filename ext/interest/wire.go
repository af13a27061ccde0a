package interest

import "encoding/binary"

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
// leave and a row take no more bytes than Viewer.Bytes counts, except for Removed.
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
