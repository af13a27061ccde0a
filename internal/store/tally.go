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
	fresh     []handle.Handle // atoms that hooks have yet to be notified of, and after them
	runs      []notedRun      // rows of such atoms
	staged    []handle.Handle // atoms that functions have stored in this refresh
}

// create counts an atom in a row, and returns what its slot is to hold.
func (r *tally) create(h handle.Handle, c *Chunk, row int) (generation uint32) {
	r.created++
	if r.watched {
		return r.note(h, c, row)
	}
	return uint32(h)
}

// note notes an atom, and returns what its slot is to hold. It is a function of its own, so that
// the code that creates stays short.
//
//go:noinline
func (r *tally) note(h handle.Handle, c *Chunk, row int) (generation uint32) {
	if r.hooked {
		r.noteCreated(c, row, 1)
	}
	if r.staging != 0 {
		r.staged = append(r.staged, h)
	}
	return uint32(h) ^ r.staging
}

// createAll is create for the atoms in a chunk's rows from a row on.
func (r *tally) createAll(hs []handle.Handle, c *Chunk, row int) {
	r.created += uint64(len(hs))
	if r.watched {
		r.noteAll(hs, c, row)
	}
}

//go:noinline
func (r *tally) noteAll(hs []handle.Handle, c *Chunk, row int) {
	if r.hooked && len(hs) > 0 {
		r.noteCreated(c, row, len(hs))
	}
	if r.staging != 0 {
		r.staged = append(r.staged, hs...)
	}
}
