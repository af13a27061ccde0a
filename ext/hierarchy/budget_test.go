package hierarchy_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/world"
)

// TestWorst counts: whatever the shape, a full queue of one port takes no more steps than the limit
// and one request more.
func TestWorst(t *testing.T) {
	for i, s := range worstShapes {
		if s.inherent || check.Enabled && i%16 != 4 { // the check build takes long to make a tree
			continue
		}
		t.Run(s.kind+" "+s.shape, func(t *testing.T) {
			x, send := newWorst(t, i)
			require.GreaterOrEqual(t, x.fill(send), 4096)
			x.Refresh()
			require.Less(t, x.rel.Steps(), x.rel.Options().StepsMax*2)
			x.sound()
			bytes := 0
			for _, f := range x.read.Conflicts() {
				bytes += len(f.Path) * 8
			}
			require.LessOrEqual(t, bytes, 1024*16*8)
		})
	}
}

// TestStepsMax: when the requests of a port have taken StepsMax steps, its further requests are
// refused, in order, whatever they cost. Requests of another port, of a system, or of the next
// refresh are not.
func TestStepsMax(t *testing.T) {
	f := newFixture(t, 2, hierarchy.Options{StepsMax: 1000})
	h := f.make(100)
	for i := range 30 {
		f.add(h[i], h[i+1])
	}
	f.add(h[50], h[51])
	a, b := f.port(), f.port()
	outcome := func(p *world.Port, send func(p *world.Port) error) *world.Completion {
		c := &world.Completion{}
		require.NoError(t, send(p.Notify(c)))
		return c
	}
	deep := func(p *world.Port) error { return f.rel.Move(p, h[50], h[8]) } // 9 links
	away := func(p *world.Port) error { return f.rel.RemoveChild(p, h[50], hierarchy.Close) }
	var of []*world.Completion
	for range 2 {
		of = append(of, outcome(a, deep), outcome(a, away))
	}
	other := outcome(b, deep)
	f.tick(on(h[60], func(c *world.Context) { require.NoError(t, f.rel.AddChild(c, h[60], h[61])) }))
	for i, want := range []world.Outcome{world.Applied, world.Applied, world.Refused, world.Refused} {
		require.Equal(t, want, of[i].Outcome(), "request %d", i)
	}
	require.Equal(t, world.Applied, other.Outcome())
	require.Equal(t, h[8], f.read.Parent(h[50]))
	require.Equal(t, h[60], f.read.Parent(h[61]))
	all := f.read.Conflicts()
	require.Len(t, all, 2)
	require.Equal(t, "Move", all[0].Change)
	require.ErrorIs(t, all[1].Err, hierarchy.ErrSteps)

	require.NoError(t, away(a))
	f.Refresh()
	require.Equal(t, handle.None, f.read.Parent(h[50]), "the next refresh")

	// A climb gives up, and changes nothing.
	require.NoError(t, f.rel.Move(a, h[50], h[29]))
	f.Refresh()
	require.ErrorIs(t, f.read.Conflicts()[0].Err, hierarchy.ErrSteps)
	require.Equal(t, handle.None, f.read.Parent(h[50]))
	require.NoError(t, f.rel.Move(f.World, h[50], h[29]), "the idle world may")
	f.sound()
}

// TestStepsTogether: the steps of a port in all relations of a world count together, and each
// relation compares them with its own limit.
func TestStepsTogether(t *testing.T) {
	f := newFixture(t, 2, hierarchy.Options{StepsMax: 1000})
	wide := hierarchy.New(f.World, "wide", hierarchy.Options{StepsMax: 2000})
	h := f.make(100)
	for _, r := range []*hierarchy.Relation{f.rel, wide} {
		for i := range 30 {
			require.NoError(t, r.AddChild(f.World, h[i], h[i+1]))
		}
		require.NoError(t, r.AddChild(f.World, h[50], h[51]))
	}
	a, b := f.port(), f.port()
	move := func(p *world.Port, r *hierarchy.Relation, parent int, want world.Outcome) func() {
		c := &world.Completion{}
		require.NoError(t, r.Move(p.Notify(c), h[50], h[parent]))
		return func() { require.Equal(t, want, c.Outcome(), "to %d", parent) }
	}
	checks := []func(){
		move(a, wide, 8, world.Applied), // 9 links
		move(a, f.rel, 1, world.Applied),
		move(a, f.rel, 2, world.Refused),
		move(a, wide, 3, world.Applied),
		move(a, wide, 8, world.Refused), // it gives up
		move(b, f.rel, 4, world.Applied),
	}
	f.Refresh()
	for _, check := range checks {
		check()
	}
	require.ErrorIs(t, f.read.Conflicts()[0].Err, hierarchy.ErrSteps)
	require.Equal(t, h[3], wide.Read(f.World).Parent(h[50]))
	require.Equal(t, h[4], f.read.Parent(h[50]))
	require.NoError(t, f.rel.RemoveChild(a, h[50], hierarchy.Close))
	f.Refresh()
	require.Equal(t, handle.None, f.read.Parent(h[50]), "the next refresh")
}

// TestCyclePath: of a long path its ends are kept, and how many entities there are between them,
// also when they are saved.
func TestCyclePath(t *testing.T) {
	for _, n := range []int{1, 2, 8, 9, 15, 16, 17, 23, 24, 25, 1000} {
		f := newFixture(t, 2, hierarchy.Options{})
		h := f.make(n)
		for i := range n - 1 {
			f.add(h[i], h[i+1])
		}
		err := f.rel.Move(f.World, h[0], h[n-1])
		var cycle *hierarchy.CycleError
		require.ErrorAs(t, err, &cycle)
		want, omitted := h, max(0, n-16)
		if omitted > 0 {
			want = append(append([]handle.Handle{}, h[:8]...), h[n-8:]...)
		}
		require.Equal(t, want, cycle.Path)
		require.Equal(t, omitted, cycle.Omitted)
		require.Less(t, len(err.Error()), 700)
		if omitted > 0 {
			require.Contains(t, err.Error(), fmt.Sprintf(" → %d others → ", omitted))
		}
		require.True(t, errors.Is(err, hierarchy.ErrCycle))

		require.NoError(t, f.rel.Move(f.port(), h[0], h[n-1]))
		f.Refresh()
		require.Equal(t, want, f.read.Conflicts()[0].Path)
		require.Equal(t, omitted, f.read.Conflicts()[0].Omitted)
		f.rel.Resave(t)
		require.Equal(t, want, f.read.Conflicts()[0].Path)
		require.Equal(t, omitted, f.read.Conflicts()[0].Omitted)
	}
}
