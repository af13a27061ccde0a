package world_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// TestPortCut creates through one port and destroys through another, whoever
// comes first in the refresh, while refreshes run: what a request can have
// caused is never applied before it, though it is read from another queue. A
// refresh that read what is sent after its cut would come to the destroy, and
// not to the create, whose queue it had read already.
func TestPortCut(t *testing.T) {
	const between = 30 // ports that keep the refresh reading
	f := newFixture(t, world.Options{Shards: 2})
	first := f.port()
	var busy []*world.Port
	for range between {
		busy = append(busy, f.port())
	}
	last := f.port()
	require.Less(t, first.Number(), busy[0].Number())
	require.Greater(t, last.Number(), busy[between-1].Number())

	over := make(chan struct{})
	go func() {
		defer close(over)
		var done [200]world.Completion // all are sent before any is waited for, to meet refreshes midway
		for i := range iterations(2000) {
			creator, destroyer := first, last
			if i%4 == 0 {
				creator, destroyer = last, first
			}
			for k := range done {
				h, err := f.unit.Create(creator, Unit{})
				if err == nil {
					err = destroyer.Notify(&done[k]).Destroy(h)
				}
				if err != nil {
					t.Errorf("round %d: %v", i, err)
					return
				}
			}
			for k := range done {
				if o, err := done[k].Wait(t.Context()); err != nil || o != world.Applied {
					t.Errorf("round %d: destroy %d is %v, %v: it came before the create", i, k, o, err)
					return
				}
			}
		}
	}()
	for {
		select {
		case <-over:
			f.Refresh()
			require.Zero(t, f.Count())
			return
		default:
			for _, p := range busy {
				for range 20 {
					require.NoError(t, p.Destroy(handle.None))
				}
			}
			f.Refresh()
			runtime.Gosched() // where there is one processor
		}
	}
}

// TestPortCutWhileReading sends a create and the destroy of what it creates while
// a refresh is reading queues: through a port whose queue it has read already and one
// whose queue it has not, and the other way around. Both are the next refresh's.
func TestPortCutWhileReading(t *testing.T) {
	for _, order := range [][2]int{{0, 2}, {2, 0}} {
		f := newFixture(t, world.Options{Shards: 2})
		ports := []*world.Port{f.port(), f.port(), f.port()}
		creator, destroyer := ports[order[0]], ports[order[1]]
		var h handle.Handle
		var done world.Completion
		for _, p := range ports { // their queues are all read
			require.NoError(t, p.Destroy(handle.None))
		}
		f.WhenRead(func(source int) {
			if source == 1 && h == handle.None {
				var err error
				h, err = f.unit.Create(creator, Unit{})
				require.NoError(t, err)
				require.NoError(t, destroyer.Notify(&done).Destroy(h))
			}
		})
		f.Refresh()
		require.NotEqual(t, handle.None, h)
		require.Equal(t, world.Undecided, done.Outcome())
		require.Equal(t, world.Pending, f.Status(h))
		f.Refresh()
		require.Equal(t, world.Applied, done.Outcome())
		require.Equal(t, world.Stale, f.Status(h))
	}
}

// TestPortSentBetween sends a request that is after the cut and whose port the
// refresh looks at all the same: it is not forgotten.
func TestPortSentBetween(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	p, h := f.port(), f.newUnit(1)
	f.Refresh()
	require.NoError(t, p.Destroy(h))
	f.DelayEpoch()
	f.Refresh()
	require.Equal(t, world.Alive, f.Status(h), "it is after the cut")
	require.Equal(t, 1, p.Waiting())
	f.Refresh()
	require.Equal(t, world.Stale, f.Status(h))
	require.Zero(t, p.Waiting())
}

// firstPorts opens the first ports of a world, creates through one and destroys through
// the other what that will have created.
type firstPorts struct {
	*fixture
	created, destroyed world.Completion
	h                  handle.Handle
}

// send does so, once.
func (p *firstPorts) send() {
	if p.h != handle.None {
		return
	}
	destroyer, creator := p.port(), p.port()
	var err error
	p.h, err = p.unit.Create(creator.Notify(&p.created), Unit{})
	require.NoError(p.t, err)
	require.NoError(p.t, destroyer.Notify(&p.destroyed).Destroy(p.h))
}

// mustWait checks that all waits for the next refresh, which does it.
func (p *firstPorts) mustWait() {
	p.t.Helper()
	require.NotEqual(p.t, handle.None, p.h)
	require.Equal(p.t, [2]world.Outcome{}, [2]world.Outcome{p.created.Outcome(), p.destroyed.Outcome()})
	require.Equal(p.t, world.Pending, p.Status(p.h))
	p.Refresh()
	require.Equal(p.t, [2]world.Outcome{world.Applied, world.Applied}, [2]world.Outcome{p.created.Outcome(), p.destroyed.Outcome()})
	require.Equal(p.t, world.Stale, p.Status(p.h))
}

// TestFirstPortCut opens the first ports of a world right after a refresh has cut, and
// before it looks who has sent: it does not look at them, for nothing tells what was
// sent in time.
func TestFirstPortCut(t *testing.T) {
	p := firstPorts{fixture: newFixture(t, world.Options{Shards: 2})}
	p.WhenCut(p.send)
	p.Refresh()
	p.mustWait()
}

// TestFirstPortInRefresh opens the first ports of a world while a refresh does one thing
// or another.
func TestFirstPortInRefresh(t *testing.T) {
	for what, during := range map[string]func(p *firstPorts){
		"reading": func(p *firstPorts) { p.WhenRead(func(int) { p.send() }) },
		"a hook": func(p *firstPorts) {
			p.Observe("hook", world.OnSet, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
				return func(*world.Context, world.Event, []handle.Handle) { p.send() }
			}, p.health)
		},
		"an extension": func(p *firstPorts) { engine.Of(p.World).Extend(opener{p}) },
	} {
		t.Run(what, func(t *testing.T) {
			p := &firstPorts{fixture: newFixture(t, world.Options{Shards: 2})}
			h := p.newUnit(1)
			p.Refresh()
			during(p)
			owner, _ := p.Owner(h)
			tick := engine.Of(p.World).BeginTick()
			p.in(1-owner, func(c *world.Context) { require.NoError(t, p.health.Set(c, h, Health{2})) })
			tick.End(serial)
			require.Equal(t, int64(2), world.Read[Health](p.World).Get(h).Points)
			p.mustWait()
		})
	}
}

// opener is an extension that opens ports when it settles.
type opener struct{ p *firstPorts }

func (opener) Name() string { return "opener" }

func (o opener) Begin()                       {}
func (o opener) Spare(*extend.DyingSet) bool  { return false }
func (o opener) Spread(*extend.DyingSet, int) {}
func (o opener) Settle()                      { o.p.send() }
