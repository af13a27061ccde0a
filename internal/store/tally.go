package store

import "github.com/atoll-sim/atoll/handle"

// tally counts the atoms that were stored and freed. For hooks it keeps those that were stored
// since hooks were last notified. While functions run it also keeps those that they store, and the
// shard stages these: they are alive to the shard, and not to the functions on other shards.
//
// Ownership: the shard's owner.
type tally struct {
	created   uint64
	destroyed uint64
	watched   bool            // created atoms are noted: hooked, or staging
	hooked    bool            // hooks are called for created atoms
	staging   uint32          // slots.StagedBit while functions run, or 0
	fresh     []handle.Handle // atoms that hooks have yet to be notified of
	staged    []handle.Handle // atoms that functions have stored in this refresh
}

// create counts an atom, and returns what its slot is to hold.
func (r *tally) create(h handle.Handle) (generation uint32) {
	r.created++
	if r.watched {
		return r.note(h)
	}
	return uint32(h)
}

// note notes an atom, and returns what its slot is to hold. It is a function of its own, so that
// the code that creates stays short.
//
//go:noinline
func (r *tally) note(h handle.Handle) (generation uint32) {
	if r.hooked {
		r.fresh = append(r.fresh, h)
	}
	if r.staging != 0 {
		r.staged = append(r.staged, h)
	}
	return uint32(h) ^ r.staging
}

func (r *tally) createAll(hs []handle.Handle) {
	r.created += uint64(len(hs))
	if r.watched {
		r.noteAll(hs)
	}
}

//go:noinline
func (r *tally) noteAll(hs []handle.Handle) {
	for _, h := range hs {
		r.note(h)
	}
}
