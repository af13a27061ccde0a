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
func (t *tally) create(h handle.Handle, c *Chunk, row int) (generation uint32) {
	t.created++
	if t.watched {
		return t.note(h, c, row)
	}
	return uint32(h)
}

// note notes an atom, and returns what its slot is to hold. It is a function of its own, so that
// the code that creates stays short.
//
//go:noinline
func (t *tally) note(h handle.Handle, c *Chunk, row int) (generation uint32) {
	if t.hooked {
		t.noteCreated(c, row, 1)
	}
	if t.staging != 0 {
		t.staged = append(t.staged, h)
	}
	return uint32(h) ^ t.staging
}

// createAll is create for the atoms in a chunk's rows from a row on.
func (t *tally) createAll(hs []handle.Handle, c *Chunk, row int) {
	t.created += uint64(len(hs))
	if t.watched {
		t.noteAll(hs, c, row)
	}
}

//go:noinline
func (t *tally) noteAll(hs []handle.Handle, c *Chunk, row int) {
	if t.hooked && len(hs) > 0 {
		t.noteCreated(c, row, len(hs))
	}
	if t.staging != 0 {
		t.staged = append(t.staged, hs...)
	}
}
