package store_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// The components of the tests, by number.
const (
	number = iota // int64
	text          // *string
)

// ports is the home of ports, with the hand of one.
type ports struct {
	*slots.PortAllocator
	hand *slots.Hand
}

// Take appends n handles that the port gives, in the order in which it drew them.
func (p ports) Take(dst []handle.Handle, n, most int) ([]handle.Handle, error) {
	if err := p.PortAllocator.Take(p.hand, 0, n, most); err != nil {
		return dst, err
	}
	some := make([]handle.Handle, p.hand.Len())
	p.hand.GiveN(some)
	slices.Reverse(some)
	return append(dst, some...), nil
}

// storage is a small world: shards, an outside home, two columns.
type storage struct {
	t       testing.TB
	space   *store.Space
	shards  []*store.Shard
	outside ports
	numbers store.Typed[int64]
	texts   store.Typed[*string]
	idle    slots.Lookup
}

func newStorage(t testing.TB, shards int, indexMax, versionMax uint32) *storage {
	s := &storage{t: t, space: store.NewSpace(shards+1, indexMax, versionMax, versionMax)}
	s.numbers, s.texts = store.NewTyped[int64](s.space), store.NewTyped[*string](s.space)
	for i := range shards {
		s.shards = append(s.shards, store.New(s.space, i))
	}
	s.outside = ports{slots.NewPortAllocator(&s.space.Directory), new(slots.Hand)}
	s.idle = s.space.Lookup
	return s
}

// set makes a set of components.
func set(components ...int) (s store.Set) {
	for _, c := range components {
		s.Add(c)
	}
	return s
}

// create makes an atom with the components, which are its number n and a text.
func (s *storage) create(sh *store.Shard, components store.Set, n int64) (handle.Handle, error) {
	a, err := sh.Create(sh.Table(components))
	if err != nil {
		return handle.None, err
	}
	s.fill(a, components, n)
	return a.Handle, nil
}

func (s *storage) fill(a store.Atom, components store.Set, n int64) {
	if components.Has(number) {
		*s.numbers.At(a.Loc()) = n
	}
	if components.Has(text) {
		*s.texts.At(a.Loc()) = new(string)
	}
	a.Publish()
}

func (s *storage) mustCreate(sh *store.Shard, n int) []handle.Handle {
	s.t.Helper()
	all := make([]handle.Handle, n)
	for i := range all {
		h, err := s.create(sh, set(number), int64(i))
		require.NoError(s.t, err)
		all[i] = h
	}
	return all
}

// destroy marks the atoms of handles, which are alive.
func (s *storage) destroy(all ...handle.Handle) {
	s.t.Helper()
	for _, h := range all {
		l := s.space.Locate(h)
		require.NotZero(s.t, l, "%v", h)
		require.True(s.t, s.space.Mark(l), "%v", h)
	}
}

// refresh sweeps and recycles.
func (s *storage) refresh() {
	for _, sh := range s.shards {
		sh.Compact()
	}
	var remoteDead store.RemoteDead
	remoteDead.Gather(s.shards)
	for _, sh := range s.shards {
		sh.Recycle(remoteDead.Of(sh.ID()))
		s.outside.Recycle(sh.PortDead())
	}
	for _, sh := range s.shards {
		sh.EndTick()
	}
}

// noteStored records that a component of an atom was replaced.
func (s *storage) noteStored(h handle.Handle, component int) {
	s.shards[s.space.Owner(s.space.Locate(h))].NoteStored(h, component)
}

// state returns the version and state of a handle's slot.
func (s *storage) state(h handle.Handle) (uint32, slots.State) {
	version, state, ok := s.space.Look(h)
	require.True(s.t, ok, "%v has a slot", h)
	return version, state
}

// rows returns the handles in a table, in order of the rows.
func rows(t *store.Table) (all []handle.Handle) {
	for i, left := 0, t.Rows(); left > 0; i++ {
		run := t.Run(i, left)
		all = append(all, run.Handles()...)
		left -= run.Len()
	}
	return all
}

// iterations is n, or less where that takes long: in the check build, which is
// slow, and under -short.
func iterations(n int) int {
	switch {
	case testing.Short():
		return max(1, n/20)
	case check.Enabled:
		return max(1, n/10)
	}
	return n
}

// newRand returns random numbers that are the same for the same seed, and says
// which seed in case the test fails.
func newRand(t testing.TB, seed uint64) *rand.Rand {
	t.Helper()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}
