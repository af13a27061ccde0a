package atoll_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestRace lets a cast of actors loose on one world, for a while: goroutines
// that act through ports, and systems that tick beneath them. Each asserts the
// one invariant that its comment names; at the end everybody's ledger is
// compared with the world. Slots retire after 7 versions, so that what comes
// after the last version happens all the time.
func TestRace(t *testing.T) {
	s := newStage(t)
	creating, stopCreating := context.WithCancel(t.Context())
	acting, stopActing := context.WithCancel(t.Context())

	var creators, destroyers, others sync.WaitGroup
	for i := range s.creators {
		creators.Go(func() { s.create(creating, &s.creators[i]) })
	}
	for i := range s.destroyers {
		destroyers.Go(func() { s.destroy(acting, &s.destroyers[i]) })
	}
	for i := range s.commanders {
		others.Go(func() { s.command(acting, &s.commanders[i]) })
	}
	others.Go(func() { s.herd(acting) })
	for i := range checkers {
		others.Go(func() { s.check(acting, uint64(i)) })
	}

	// Whatever happens, the world ticks on until nobody waits for it.
	gone := make(chan struct{})
	go func() {
		time.Sleep(runTime())
		for s.w.Tick() < ticksMin || s.doomed.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		stopCreating()
		creators.Wait()
		close(s.condemned[0])
		close(s.condemned[1])
		destroyers.Wait()
		stopActing()
		others.Wait()
		close(gone)
	}()
	ticking := true
	for ticking {
		select {
		case <-gone:
			ticking = false
		default:
			s.tick()
		}
	}
	for range 3 { // the last requests, the last messages
		s.tick()
	}
	s.mustBeConsistent()
}

const (
	creatorsN   = 4
	commandersN = 3
	checkers    = 2
	veteransN   = 24 // entities that nobody destroys
	versionMax  = 7
	shards      = 4
	ticksMin    = 60 // what it takes for slots to retire, however slow the machine
)

func runTime() time.Duration {
	if testing.Short() {
		return 500 * time.Millisecond
	}
	return 3 * time.Second
}

// The components, bundles and messages of the stage.
type (
	tag   struct{ Creator, Serial int64 } // which create made the entity
	beat  struct{ N uint64 }              // ticks lived
	sum   struct{ N int64 }               // of all orders heard
	last  struct{ Seq int64 }             // set by the commander
	order struct{ Commander, Seq int64 }

	recruit struct{ tag }
	veteran struct {
		beat
		sum
		last
	}
	mayfly struct{ beat }
)

// stage is the world and the actors on it.
type stage struct {
	t         *testing.T
	w         *world.World
	scheduler *scheduler.Scheduler
	recruits  *world.Bundle[recruit]
	mayflies  *world.Bundle[mayfly]
	last      *world.Component[last]
	orders    *world.Message[order]

	veterans   []handle.Handle
	creators   [creatorsN]creator
	destroyers [2]destroyer
	commanders [commandersN]commander
	condemned  [2]chan handle.Handle // to each destroyer
	doomed     atomic.Int64          // entities that were condemned
	dead       graveyard
	breeders   [shards]breeder
	failed     bool
}

func newStage(t *testing.T) *stage {
	w := world.MustNew(world.Options{Shards: shards, VersionMax: versionMax, QueueRequests: 200, QueueBytes: 1 << 16})
	world.Register[tag](w, "tag")
	world.Register[beat](w, "beat")
	world.Register[sum](w, "sum")
	s := &stage{
		t: t, w: w, last: world.Register[last](w, "last"), orders: world.RegisterMessage[order](w, "order"),
		recruits: world.NewBundle[recruit](w), mayflies: world.NewBundle[mayfly](w),
		scheduler: scheduler.New(w, scheduler.Options{Workers: shards}),
	}
	var err error
	s.veterans, err = world.NewBundle[veteran](w).AppendN(nil, w, veteransN, nil)
	require.NoError(t, err)
	for i := range s.condemned {
		s.condemned[i] = make(chan handle.Handle, 64)
		s.destroyers[i] = destroyer{in: s.condemned[i], outcomes: map[handle.Handle]world.Outcome{}}
	}
	for i := range s.creators {
		s.creators[i].number = int64(i)
	}
	for i := range s.commanders {
		s.commanders[i].number = int64(i)
	}
	s.scheduler.
		MustAdd("beat", beatOnce).
		MustAdd("obey", s.obey).
		MustAdd("watch", s.watch).
		MustAdd("breed", s.breed)
	return s
}

// tick is one step. Systems say what is wrong by panicking; the first to do so
// is heard.
func (s *stage) tick() {
	if err := s.scheduler.Step(context.Background()); err != nil && !s.failed {
		s.failed = true
		s.t.Error(err)
	}
}

// mustBeConsistent compares the world with the ledgers, when all is quiet.
func (s *stage) mustBeConsistent() {
	t, w := s.t, s.w
	var stats world.Stats
	w.Stats(&stats)
	t.Logf("%d ticks, %d created, %d destroyed, %d moved, %d alive, %d slots retired, %d requests applied, %d rejected",
		stats.Tick, stats.Created, stats.Destroyed, stats.Moved, stats.Entities, stats.Retired, stats.Applied, stats.Rejected)
	require.NotZero(t, stats.Retired, "slots retire in this test")
	require.NotZero(t, stats.Gone)
	require.NotZero(t, stats.Moved)

	// Created − destroyed = alive, by scan.
	alive := map[handle.Handle]bool{}
	tags := world.Read[tag](w)
	made := map[tag]handle.Handle{}
	for ch := range w.Query(world.Optional(tags)).Chunks() {
		for i, h := range ch.Handles() {
			require.False(t, alive[h], "%v is there twice", h)
			alive[h] = true
			require.Equal(t, world.Alive, w.Status(h))
			if s := tags.Slice(ch); s != nil {
				made[s[i]] = h
			}
		}
	}
	require.Equal(t, int(stats.Created-stats.Destroyed), len(alive))
	require.Equal(t, stats.Entities, len(alive))

	// Each handle is in the state that the ledgers say.
	mustBe := func(h handle.Handle, want bool) {
		t.Helper()
		require.Equal(t, want, alive[h], "%v", h)
		require.Equal(t, want, w.Alive(h), "%v", h)
	}
	known := map[handle.Handle]bool{}
	for i := range s.creators {
		for _, e := range s.creators[i].ledger {
			require.False(t, known[e.h], "%v was given twice", e.h)
			known[e.h] = true
			mustBe(e.h, !e.condemned)
			if !e.condemned {
				require.Equal(t, e.h, made[e.tag])
			}
		}
	}
	for h, first := range s.destroyers[0].outcomes {
		second := s.destroyers[1].outcomes[h]
		require.ElementsMatch(t, []world.Outcome{world.Applied, world.Gone}, []world.Outcome{first, second},
			"%v was destroyed by exactly one of two", h)
		mustBe(h, false)
	}
	require.Equal(t, len(s.destroyers[0].outcomes), len(s.destroyers[1].outcomes))
	for i := range s.breeders {
		for _, h := range s.breeders[i].living {
			require.False(t, known[h], "%v was given twice", h)
			known[h] = true
			mustBe(h, true)
		}
	}
	for _, h := range s.dead.all() {
		mustBe(h, false)
	}
	require.Equal(t, len(known)-len(s.destroyers[0].outcomes)+veteransN, len(alive), "nobody else is alive")

	// Veterans heard every order, and have what they were last set to.
	total := int64(0)
	for i := range s.commanders {
		total += s.commanders[i].total
	}
	for i, h := range s.veterans {
		mustBe(h, true)
		total -= world.Read[sum](w).Get(h).N
		by := &s.commanders[i%commandersN]
		require.Equal(t, by.set[h], world.Read[last](w).Get(h).Seq)
	}
	require.Zero(t, total, "each order that was accepted was heard once")
}
