package slots_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
)

// homes are the slots of a small world without rows: those of its shards, and of its ports.
type homes struct {
	t       testing.TB
	dir     *slots.Directory
	shards  []*shard
	outside slots.Hands
}

// shard stands for the shard of a home. Its atoms are in one chunk and row after another.
type shard struct {
	slots.Allocator
	dir   *slots.Directory
	last  slots.Loc
	dying []handle.Handle
}

func newHomes(t testing.TB, shards int, indexMax, versionMax uint32) *homes {
	s := &homes{t: t, dir: new(slots.Directory)}
	s.dir.Init(shards+1, indexMax, versionMax, versionMax, new(mem.Memory))
	for i := range shards {
		sh := &shard{dir: s.dir, last: 1<<slots.RowBits - 1}
		sh.Init(s.dir, i)
		s.shards = append(s.shards, sh)
	}
	s.outside = slots.Hands{PortAllocator: slots.NewPortAllocator(s.dir)}
	return s
}

// create gives a handle and makes it alive.
func (sh *shard) create() (handle.Handle, error) {
	if sh.Free() == 0 {
		if err := sh.Refill(1); err != nil {
			return handle.None, err
		}
	}
	h, _ := sh.Next(sh.Pop())
	sh.store(h)
	return h, nil
}

// store makes a handle alive.
func (sh *shard) store(h handle.Handle) {
	sh.last++
	slot := sh.dir.Slot(h)
	slot.Loc = sh.last
	slot.Store(uint32(h))
}

func (s *homes) mustCreate(sh *shard, n int) []handle.Handle {
	s.t.Helper()
	all := make([]handle.Handle, n)
	for i := range all {
		h, err := sh.create()
		require.NoError(s.t, err)
		all[i] = h
	}
	return all
}

// destroy makes refresh free the slots of handles, which are alive, in a shard.
func (s *homes) destroy(sh *shard, all ...handle.Handle) {
	s.t.Helper()
	for _, h := range all {
		require.True(s.t, s.dir.Alive(h), "%v", h)
	}
	sh.dying = append(sh.dying, all...)
}

// refresh frees slots here and at other homes. Of the shards with even numbers it frees them
// from the last on.
func (s *homes) refresh() {
	for i, sh := range s.shards {
		sh.FreeAll(sh.dying, i%2 == 0)
		sh.dying = nil
	}
	for _, sh := range s.shards {
		for _, h := range sh.ShardDead() {
			s.shards[h.Home()].Recycle([]handle.Handle{h})
		}
		s.outside.Recycle(sh.PortDead())
		sh.ForgetDeferred()
	}
}

// state returns the version and state of a handle's slot.
func (s *homes) state(h handle.Handle) (uint32, slots.State) {
	version, state, ok := s.dir.Look(h)
	require.True(s.t, ok, "%v has a slot", h)
	return version, state
}

// iterations is n, or less where that takes long: in the check build, which is
// slow, and under -short.
func iterations(n int) int {
	switch {
	case check.Enabled: // also under -short: most of it is shown to the race detector
		return max(1, n/5)
	case testing.Short():
		return max(1, n/20)
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
