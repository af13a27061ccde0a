package store

import (
	"math/bits"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/slots"
)

// Besides the published words, see Flags, flags are kept here by row. These sets belong to the
// owner, are always up to date, and move with the row; queries read them.

// flagSets says which rows of a chunk have flags: a set of rows for each flag, nil until used. A
// chunk in which no flag was ever set has none.
//
// Invariants: bits of rows that are not occupied are 0.
//
// Ownership: the shard's owner.
type flagSets struct {
	sets [slots.FlagsMax][]uint64
	used slots.Flags // whose sets are not nil
	n    int         // bits set
}

// none reports whether no row has a flag.
func (f *flagSets) none() bool { return f == nil || f.n == 0 }

// flagsAt returns the flags of a row.
func (c *Chunk) flagsAt(row int) (f slots.Flags) {
	if c.flags.none() {
		return 0
	}
	for d := c.flags.used; d != 0; d &= d - 1 {
		i := bits.TrailingZeros8(uint8(d)) % slots.FlagsMax
		f |= slots.Flags(c.flags.sets[i][row/64]>>(row%64)&1) << i
	}
	return f
}

// setFlags sets the flags of a row to f.
func (c *Chunk) setFlags(row int, f slots.Flags) { c.changeFlags(row, f, ^f) }

// changeFlags sets and clears flags of a row, and reports whether one of them was otherwise. It looks
// at no other flags.
func (c *Chunk) changeFlags(row int, set, cleared slots.Flags) (changed bool) {
	if c.flags == nil {
		if set == 0 {
			return false
		}
		c.flags = new(flagSets)
	}
	x := c.flags
	for d := set | cleared&x.used; d != 0; d &= d - 1 {
		i := bits.TrailingZeros8(uint8(d)) % slots.FlagsMax
		if x.used>>i&1 == 0 {
			x.sets[i] = make([]uint64, len(c.marks))
			x.used |= 1 << i
		}
		word, to := &x.sets[i][row/64], uint64(set>>i)&1
		if *word>>(row%64)&1 != to {
			*word ^= 1 << (row % 64)
			x.n += 2*int(to) - 1
			changed = true
		}
	}
	return changed
}

// dropFlags clears the flags of a row.
func (c *Chunk) dropFlags(row int) {
	if !c.flags.none() {
		c.setFlags(row, 0)
	}
}

// carryFlags moves the flags of another row, which is about to be freed, to a row.
func (c *Chunk) carryFlags(row int, from *Chunk, fromRow int) {
	if c.flags.none() && from.flags.none() {
		return
	}
	c.setFlags(row, from.flagsAt(fromRow))
	from.dropFlags(fromRow)
}

// clearFlags clears the flags of all rows.
func (c *Chunk) clearFlags() {
	if c.flags.none() {
		return
	}
	for _, set := range c.flags.sets {
		clear(set)
	}
	c.flags.n = 0
}

// Filter says which rows of a table match a query: those that have all flags of With and none of
// Without, and whose turn it is.
//
// Ownership: nobody writes it while it is used.
type Filter struct {
	With, Without slots.Flags
	// It is an entity's turn if its turn number equals Turn in the bits that are set in Mask. Mask
	// is a power of two less 1; if it is 0, it is every entity's turn.
	Turn, Mask uint32
}

// All reports whether all rows match: the filter has no flags, and it is every entity's turn.
func (f *Filter) All() bool { return uint32(f.With|f.Without)|f.Mask == 0 }

// Matching yields the runs of the rows that match. It stops and returns false if yield does. If
// yield sets or clears a flag, that counts for rows after those that it was called with.
func (r Rows) Matching(f *Filter, yield func(Rows) bool) bool {
	if f.All() {
		return yield(r)
	}
	c, flags := r.chunk, f.With|f.Without != 0
	var set flagSet
	if flags {
		set = c.flagSet(f)
	}
	began := -1 // the first row of a run that reaches the end of the 64 rows
	for base := r.from &^ 63; base < r.to; base += 64 {
		if began < 0 && set.one {
			if base = set.skip(base, r.to); base >= r.to {
				break
			}
		}
		some := ^uint64(0) << max(r.from-base, 0)
		if f.Mask != 0 {
			some &= c.inTurn(f, base/64)
		}
		if rest := r.to - base; rest < 64 {
			some &= 1<<rest - 1
		}
		for {
			w, first := some, 0
			if set.one {
				w &= set.words[base/64] ^ set.other
			} else if flags {
				w &^= c.unmatched(f, base/64)
			}
			if began < 0 {
				if w == 0 {
					break
				}
				first = bits.TrailingZeros64(w)
				began = base + first
			}
			end := first + bits.TrailingZeros64(^(w >> first))
			if end == 64 && base+64 < r.to {
				break
			}
			run := c.rows(began, base+end)
			began = -1
			if !yield(run) {
				return false
			}
			if flags && !set.one { // now there may be one
				set = c.flagSet(f)
			}
			some &= ^uint64(0) << end
		}
	}
	return true
}

// flagSet is the set of rows of a chunk that have a flag, for a filter with only that flag.
//
// Ownership: the shard's owner.
type flagSet struct {
	words []uint64
	other uint64 // the value of a word in which no row matches
	one   bool   // there is such a set
}

// flagSet returns the set of a filter that asks for a single flag, or none if it asks for several
// or nobody ever had the flag.
func (c *Chunk) flagSet(f *Filter) flagSet {
	both := uint8(f.With | f.Without)
	if both&(both-1) != 0 || c.flags == nil {
		return flagSet{}
	}
	words := c.flags.sets[bits.TrailingZeros8(both)]
	if f.With != 0 {
		return flagSet{words, 0, words != nil}
	}
	return flagSet{words, ^uint64(0), words != nil}
}

// skip returns the first of the rows base, base+64, … such that one of its 64 rows may match.
func (f *flagSet) skip(base, to int) int {
	words := f.words[base/64 : (to+63)/64]
	for i, w := range words {
		if w != f.other {
			return base + i*64
		}
	}
	return to
}

// inTurn returns which of 64 rows have their turn. The turn number of an entity depends on its
// handle alone, so it is the same wherever the row is.
func (c *Chunk) inTurn(f *Filter, word int) uint64 {
	if f.Mask == 0 {
		return ^uint64(0)
	}
	not, rest := ^(uint64(f.Turn) << turnShift), ^(uint64(f.Mask) << turnShift)
	some := c.handles[word*64 : min(word*64+64, len(c.handles))]
	w := uint64(0)
	for ; len(some)%4 != 0; some = some[:len(some)-1] {
		w = shiftTurn(w, some[len(some)-1], not, rest)
	}
	for ; len(some) >= 4; some = some[:len(some)-4] {
		x := (*[4]handle.Handle)(some[len(some)-4:])
		w = shiftTurn(w, x[3], not, rest)
		w = shiftTurn(w, x[2], not, rest)
		w = shiftTurn(w, x[1], not, rest)
		w = shiftTurn(w, x[0], not, rest)
	}
	return w
}

// The turn number of an entity is the 16 highest bits of a product: that of its handle, in which
// the home is combined with the index, and turnFactor. Some thousand odd factors of 36 bits were
// tried, with indexes that go up in steps of 1 to 64. This one spreads them best: it spreads two
// kinds of entities that are created alternately as well as one kind.
const (
	turnFactor = 0xd2f0b424f
	homeShift  = 13 // spreads entities of the same index, too
	turnShift  = 64 - 16
)

// shiftTurn shifts a bit into w that says whether it is the turn of h. If it is, all bits of match
// are set, so that adding 1 carries.
func shiftTurn(w uint64, h handle.Handle, not, rest uint64) uint64 {
	match := (uint64(h)^uint64(h)>>homeShift)*turnFactor ^ not | rest
	_, carry := bits.Add64(match, 1, 0)
	w, _ = bits.Add64(w, w, carry)
	return w
}

// unmatched returns which of 64 rows do not have the flags that match.
func (c *Chunk) unmatched(f *Filter, word int) (w uint64) {
	for m := f.With | f.Without; m != 0; m &= m - 1 {
		i, have := bits.TrailingZeros8(uint8(m)), uint64(0)
		if c.flags != nil && c.flags.sets[i] != nil {
			have = c.flags.sets[i][word]
		}
		if f.With>>i&1 != 0 {
			w |= ^have
		}
		if f.Without>>i&1 != 0 {
			w |= have
		}
	}
	return w
}

// MatchingRows returns how many of the rows match.
func (t *Table) MatchingRows(f *Filter) int {
	n := t.Rows()
	if f.All() {
		return n
	}
	for _, c := range t.chunks[:t.cur.order+1] {
		for from := 0; from < c.n; from += 64 {
			w := c.unmatched(f, from/64) | ^c.inTurn(f, from/64)
			if rest := c.n - from; rest < 64 {
				w &= 1<<rest - 1
			}
			n -= bits.OnesCount64(w)
		}
	}
	return n
}

// SetFlags sets and clears flags of the atom at l, which must be here. The owner sees the change at
// once, others when PublishFlags is called. The owner calls it in the step apply, or on an idle
// world.
func (s *Shard) SetFlags(l slots.Loc, set, cleared slots.Flags) {
	c, row := s.space.chunk(l), l.Row()
	if c.changeFlags(row, set, cleared) {
		s.flagged = append(s.flagged, c.handles[row])
	}
}

// SetFlagsNow sets and clears flags of the atom h, which is at l, and publishes its flags. The
// caller must own its shard.
func (s *Space) SetFlagsNow(h handle.Handle, l slots.Loc, set, cleared slots.Flags) {
	c, row := s.chunk(l), l.Row()
	c.changeFlags(row, set, cleared)
	s.PublishFlags(h, c.flagsAt(row))
}

// PublishFlags publishes the changes of SetFlags to all goroutines. The owner of the shard calls it
// in the refresh, in the steps collect outgoing and end tick, or on an idle world. The atoms must
// not have left the shard since, because their new shards move their rows at the same time.
func (s *Shard) PublishFlags() {
	for _, h := range s.flagged {
		if l := s.space.Locate(h); l != 0 {
			s.space.PublishFlags(h, s.space.FlagsAt(l))
		}
	}
	s.flagged = s.flagged[:0]
}

// FlagsAt returns the flags of the atom at l. The caller must own its shard, or be in a step of the
// refresh in which no flags are set.
func (s *Space) FlagsAt(l slots.Loc) slots.Flags { return s.chunk(l).flagsAt(l.Row()) }

// head calls do with the first rows that match, but no more than most. The owner of the shard calls
// it. do must not move rows.
func (t *Table) head(f *Filter, most int, do func(Rows)) {
	for i, left := 0, t.Rows(); left > 0 && most > 0; i++ {
		run := t.Run(i, left)
		left -= run.Len()
		run.Matching(f, func(r Rows) bool {
			r = r.Head(min(most, r.Len()))
			most -= r.Len()
			do(r)
			return most > 0
		})
	}
}

// RowAt returns a view of the i-th of the rows that match. There must be more than i.
func (t *Table) RowAt(i int, f *Filter) (at Rows) {
	more := func(r Rows) bool {
		if i < r.Len() {
			at = r.chunk.rows(r.from+i, r.from+i+1)
			return false
		}
		i -= r.Len()
		return true
	}
	for k, left := 0, t.Rows(); left > 0; k++ {
		run := t.Run(k, left)
		left -= run.Len()
		if !run.Matching(f, more) {
			break
		}
	}
	return at
}
