package store

import "github.com/atoll-sim/atoll/handle"

// tally counts the atoms that were stored and freed, and remembers for hooks which were
// stored since these were last told.
//
// Ownership: the shard's owner.
type tally struct {
	created   uint64
	destroyed uint64
	watched   bool            // hooks want to know who was stored
	fresh     []handle.Handle // to tell hooks of
}

func (r *tally) create(h handle.Handle) {
	r.created++
	if r.watched {
		r.note(h)
	}
}

// note is apart, so that creating is as short as it is without it.
//
//go:noinline
func (r *tally) note(h handle.Handle) { r.fresh = append(r.fresh, h) }

func (r *tally) createAll(hs []handle.Handle) {
	r.created += uint64(len(hs))
	if r.watched {
		r.noteAll(hs)
	}
}

//go:noinline
func (r *tally) noteAll(hs []handle.Handle) { r.fresh = append(r.fresh, hs...) }

// WrittenSince reports whether rows of the chunk came or were replaced so many
// ticks ago or later, or one of the components was handed out for writing.
func (r Rows) WrittenSince(ago uint64, components *Set) bool {
	c, now := r.chunk, r.chunk.table.shard.space.now
	if uint64(now-c.changed) <= ago {
		return true
	}
	for i, id := range c.table.ids {
		if components.Has(id) && uint64(now-c.written[i]) <= ago {
			return true
		}
	}
	return false
}
