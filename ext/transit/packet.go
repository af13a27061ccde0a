package transit

import (
	"crypto/sha256"
	"encoding/binary"
)

// chain is a hash over all that a channel has carried up to an item, in order. Two ends that have the
// same at one number have the same past.
type chain = uint64

// chainOf returns the chain of a channel that begins.
func chainOf(from, to World, era uint64) chain {
	var b [24]byte
	binary.LittleEndian.PutUint32(b[0:], uint32(from))
	binary.LittleEndian.PutUint32(b[4:], uint32(to))
	binary.LittleEndian.PutUint64(b[8:], era)
	return short(b[:])
}

// link returns the chain with one more item, of number n; scratch is used.
func link[B string | []byte](before chain, n uint64, item B, scratch *[]byte) chain {
	b := binary.LittleEndian.AppendUint64((*scratch)[:0], before)
	b = binary.LittleEndian.AppendUint64(b, n)
	b = append(b, item...)
	*scratch = b
	return short(b)
}

func short(b []byte) uint64 {
	sum := sha256.Sum256(b)
	return binary.LittleEndian.Uint64(sum[:])
}

// packet is what a carrier takes from one world to another: items of an outbox, in order. It is
// good for as long as anybody has it: an inbox takes what it does not have yet.
type packet struct {
	From, To World
	Era      uint64 // which Resolve the channel began with; 0: none
	Acked    uint64 // up to here From has settled what To has decided
	First    uint64 // the number of the first item, if there is one
	Before   chain  // of the item before that
	Items    string // each after its length
}

// answers is what a carrier takes back: what To has decided.
type answers struct {
	From, To World // of the items
	Era      uint64
	Acked    uint64 // as To knows it: it has forgotten its decisions up to here
	Last     uint64 // the last item that was decided
	Chain    chain  // of that
	Refused  string // the numbers of those refused after Acked, each as the distance to the one before, and reasons
}

// refusal says that an item was refused.
type refusal struct {
	n      uint64
	reason Reason
}

// appendRefused appends refusals; from is the number before the first.
func appendRefused(dst []byte, from uint64, all []refusal) []byte {
	for _, x := range all {
		dst = append(binary.AppendUvarint(dst, x.n-from), byte(x.reason))
		from = x.n
	}
	return dst
}

// readRefused reads what appendRefused wrote. It reports whether that was well-formed: numbers that
// grow, up to a last.
func readRefused(dst []refusal, from, last uint64, src string) ([]refusal, bool) {
	b := []byte(src)
	for len(b) > 0 {
		d, size := binary.Uvarint(b)
		if size <= 0 || size >= len(b) || d == 0 || d > last-from || Reason(b[size]) == 0 || len(dst) == refusedMost {
			return dst, false
		}
		from += d
		dst = append(dst, refusal{from, Reason(b[size])})
		b = b[size+1:]
	}
	return dst, true
}

// The kinds of items. The first byte of an item is its kind.
const (
	mailItem = 1
	treeItem = 2
)

// heading is what the item of a message begins with.
type heading struct {
	mail  string // the name
	shape uint64 // of the form of the body
	from  uint64 // the sender's handle
	to    uint64 // the receiver's
}

func (h *heading) append(dst []byte) []byte {
	dst = append(dst, mailItem)
	dst = append(binary.AppendUvarint(dst, uint64(len(h.mail))), h.mail...)
	dst = binary.LittleEndian.AppendUint64(dst, h.shape)
	dst = binary.AppendUvarint(dst, h.from)
	return binary.AppendUvarint(dst, h.to)
}
