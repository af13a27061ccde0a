package interest

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

// pair is an entity that is seen in a client, or was. Its place is the client's slot.
type pair struct {
	handle handle.Handle // none for a free slot
	row    uint32
	// since is the last Update whose packet had it. If none had, it is the Update in which the
	// entity came.
	since uint32
	seen  uint32 // the last Update in which the client saw it
	class uint8  // how far away
	told  bool
	// mayHave says that some packet had it. The client may have it even if told is false again.
	mayHave bool
	left    bool // its Leave is under way
}

// pairs are those of a client.
type pairs struct {
	all  []pair
	hint int // no slot below is free
}

// add puts an entity in the lowest free slot.
func (p *pairs) add(h handle.Handle, now uint32) int {
	for ; p.hint < len(p.all); p.hint++ {
		if p.all[p.hint].handle == handle.None {
			break
		}
	}
	if p.hint == len(p.all) {
		p.all = append(p.all, pair{})
	}
	p.all[p.hint] = pair{handle: h, since: now}
	p.hint++
	return p.hint - 1
}

// free frees a slot.
func (p *pairs) free(slot int) {
	p.all[slot] = pair{}
	p.hint = min(p.hint, slot)
}

// trim takes away free slots at the end, and the memory of those if it is much.
func (p *pairs) trim() {
	n := len(p.all)
	for n > 0 && p.all[n-1].handle == handle.None {
		n--
	}
	p.all = p.all[:n]
	p.hint = min(p.hint, n)
	if cap(p.all) > 1024 && cap(p.all) > 8*n {
		p.all = append(make([]pair, 0, 2*n), p.all...)
	}
}

// unacked are the packets of which neither Ack nor Lost was called yet.
type unacked struct {
	most   int
	sent   []*sent // the oldest first
	first  uint64  // the number of the oldest
	spares []*sent // memory for others
}

// sent is what a packet contained.
type sent struct {
	acked, lost bool
	leaves      []uint32
	rows        []sentRow
}

// sentRow is a pair as it was before.
type sentRow struct {
	slot, since uint32
	told        bool
}

func (u *unacked) full() bool { return u.most > 0 && len(u.sent) == u.most }

// spare returns where to note what the next packet contains.
func (u *unacked) spare() *sent {
	if len(u.spares) == 0 {
		u.spares = append(u.spares, new(sent))
	}
	x := u.spares[len(u.spares)-1]
	x.acked, x.lost, x.leaves, x.rows = false, false, x.leaves[:0], x.rows[:0]
	return x
}

// add adds the packet that spare was filled for.
func (u *unacked) add(number uint64) {
	if len(u.sent) == 0 {
		u.first = number
	}
	last := len(u.spares) - 1
	u.sent, u.spares = append(u.sent, u.spares[last]), u.spares[:last]
}

// resolve notes that a packet was received or lost. Those before it are lost.
func (u *unacked) resolve(number uint64, acked bool) {
	if number < u.first || number-u.first >= uint64(len(u.sent)) {
		return
	}
	all := u.sent[:number-u.first+1]
	for _, x := range all {
		x.lost = x.lost || !x.acked
	}
	last := all[len(all)-1]
	last.acked = last.acked || acked
}

// apply brings the pairs up to date with what was received and lost. looked is the last Update.
func (u *unacked) apply(p *pairs, looked uint32) {
	for len(u.sent) > 0 {
		x := u.sent[0]
		switch {
		case x.acked:
			for _, slot := range x.leaves {
				if x := &p.all[slot]; x.seen >= looked { // seen again: it keeps the slot as if it had just come
					*x = pair{handle: x.handle, row: x.row, since: looked, seen: looked, class: x.class}
				} else {
					p.free(int(slot))
				}
			}
		case x.lost:
			for _, slot := range x.leaves {
				p.all[slot].left, p.all[slot].told = false, false
			}
			for _, r := range x.rows {
				p.all[r.slot].lose(r)
			}
		default:
			return
		}
		u.sent, u.spares, u.first = slices.Delete(u.sent, 0, 1), append(u.spares, x), u.first+1
	}
}

// lose makes what a lost packet contained due again.
func (p *pair) lose(r sentRow) {
	if !r.told {
		p.told = false
	}
	p.since = min(p.since, r.since)
}
