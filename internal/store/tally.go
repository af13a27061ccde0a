package store

import "github.com/atoll-sim/atoll/handle"

// tally counts the atoms that were stored and freed. For hooks it keeps those that were stored
// since hooks were last notified.
//
// Ownership: the shard's owner.
type tally struct {
	created   uint64
	destroyed uint64
	watched   bool            // hooks are called for created atoms
	fresh     []handle.Handle // atoms that hooks have yet to be notified of
}

func (r *tally) create(h handle.Handle) {
	r.created++
	if r.watched {
		r.note(h)
	}
}

// note is a function of its own, so that the code that creates stays short.
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
