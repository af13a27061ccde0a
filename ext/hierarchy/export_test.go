package hierarchy

import (
	"slices"
	"testing"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/drive"
)

// Verify checks a tree's invariants.
func (t *Tree) Verify() error { return t.verify() }

// OpenLists returns how many lists are noted to have gaps.
func (t *Tree) OpenLists() int { return len(t.open) }

// Divide gives the places in links so many bits, or with 0 as many as they have by
// themselves.
func (t *Tree) Divide(placeBits int) {
	by := splitFor(len(t.owners))
	if placeBits > 0 {
		by = split{lists: linkMask >> (listShift + placeBits), shift: uint8(versionShift - placeBits)}
	}
	t.divide(by)
	for n, owner := range t.owners {
		if owner != handle.None {
			t.renumber(uint32(n), 0) // they may have been given more
		}
	}
}

// Verify checks those of a relation, and that nobody in it is dead.
func (r *Relation) Verify() error {
	for h := range r.tree.entities {
		if !r.w.Alive(h) {
			return ErrVersion
		}
	}
	return r.tree.verify()
}

// Clone returns the refused requests, with paths that stay.
func (f Refusal) Clone() Refusal {
	f.Path = slices.Clone(f.Path)
	return f
}

// OpenLists returns how many lists of a relation are noted to have gaps.
func (r *Relation) OpenLists() int { return r.tree.OpenLists() }

// AppendState appends the state of a relation.
func (r *Relation) AppendState(dst []byte) []byte { return adapter{r}.AppendState(dst) }

// Copy copies a tree as a frame does, into an old copy or nil, one part after the other, and
// returns a reader of the copy. It reports whether the tree said that it had changed, and how many
// bytes were copied.
func (t *Tree) Copy(old drive.Copy) (c drive.Copy, r *Reader, changed bool, bytes int) {
	k := adapter{&Relation{tree: t}}
	changed = k.Changed()
	c, parts, bytes := k.Copy(old)
	for i := range parts {
		c.Part(i)
	}
	return c, &Reader{tree: &c.(*frozen).tree}, changed, bytes
}

// Steps returns how many steps the requests of the last sender have taken, in all relations.
func (r *Relation) Steps() int { return r.driver.Sender().Steps }

// Noting reports whether a relation notes what changes, for copies.
func (r *Relation) Noting() bool { return r.tree.changes != nil }

// CopySize returns how many bytes a copy for frames takes.
func (r *Relation) CopySize() uint64 { return adapter{r}.CopySize() }

// Divide is Tree.Divide.
func (r *Relation) Divide(placeBits int) { r.tree.Divide(placeBits) }

// Resave saves a relation and loads it again.
func (r *Relation) Resave(t testing.TB) {
	if err := (adapter{r}).LoadSaved(adapter{r}.AppendSaved(nil)); err != nil {
		t.Fatal(err)
	}
}

// ArenaWords gives later arenas at most so many words, as a power of two.
func (t *Tree) ArenaWords(bits uint64) { t.most = 1 << bits }

// ArenaWords is Tree.ArenaWords.
func (r *Relation) ArenaWords(bits uint64) { r.tree.ArenaWords(bits) }

// Sweeping reports whether lists are being moved out of old arenas.
func (t *Tree) Sweeping() bool { return t.sweep != 0 }

// Words returns how many words the arenas have, and the buckets of lists.
func (t *Tree) Words() (held, live int) { return t.held, t.live }

// Sectors returns how many sectors are in use, and the number of the last.
func (t *Tree) Sectors() (used, last int) { return t.used, len(t.sectors) - 1 }

// Sweeping is Tree.Sweeping.
func (r *Relation) Sweeping() bool { return r.tree.Sweeping() }

// Steps returns how many steps all changes have taken.
func (t *Tree) Steps() int { return t.steps }

// AddSteps adds to them.
func (t *Tree) AddSteps(n int) { t.steps += n }

// AppendState appends what a tree means.
func (t *Tree) AppendState(dst []byte) []byte { return t.appendState(dst) }
