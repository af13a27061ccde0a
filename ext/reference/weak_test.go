package reference_test

import (
	"encoding/json"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/reference"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

type Health struct{ Points int64 }

type Unit struct{ Health }

// fixture is a world with one component.
type fixture struct {
	*world.World
	units *world.Bundle[Unit]
	t     testing.TB
}

func newFixture(t testing.TB) *fixture {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	return &fixture{w, world.NewBundle[Unit](w), t}
}

func (f *fixture) unit() handle.Handle {
	h, err := f.units.Create(f.World, Unit{})
	require.NoError(f.t, err)
	return h
}

func TestWeakFindsItsEntityGone(t *testing.T) {
	f := newFixture(t)
	h := f.unit()
	r := reference.To(f.World, h)
	got, ok := r.Get()
	require.True(t, ok)
	require.Equal(t, h, got)

	f.Destroy(h)
	require.True(t, r.Alive(), "marked is alive until the refresh")
	f.Refresh()
	got, ok = r.Get()
	require.False(t, ok)
	require.Equal(t, handle.None, got)
	require.Equal(t, reference.Weak{}, r, "it empties itself")

	again := f.unit() // in the same slot
	require.Equal(t, h.Index(), again.Index())
	require.False(t, r.Alive())
	require.Equal(t, reference.Weak{}, reference.To(f.World, h), "of a dead entity it is empty")
}

func TestWeakDestroys(t *testing.T) {
	f := newFixture(t)
	h := f.unit()
	r, other := reference.To(f.World, h), reference.To(f.World, h)
	require.True(t, r.Destroy())
	require.Equal(t, reference.Weak{}, r, "this variable is empty at once")
	require.False(t, r.Destroy())
	require.True(t, other.Alive(), "the entity goes at the refresh")
	f.Refresh()
	require.False(t, other.Alive())
	require.False(t, f.Alive(h))
}

func TestWeakClear(t *testing.T) {
	f := newFixture(t)
	h := f.unit()
	r := reference.To(f.World, h)
	r.Clear()
	require.False(t, r.Alive())
	require.True(t, f.Alive(h))
}

func TestWeakEqual(t *testing.T) {
	f, g := newFixture(t), newFixture(t)
	a, b := f.unit(), f.unit()
	same := g.unit()
	require.Equal(t, a, same, "worlds give the same handles")
	r := reference.To(f.World, a)
	for name, test := range map[string]struct {
		s    reference.Weak
		want bool
	}{
		"itself":                  {r, true},
		"another to the same":     {reference.To(f.World, a), true},
		"to another entity":       {reference.To(f.World, b), false},
		"the same of other world": {reference.To(g.World, same), false},
		"empty":                   {reference.Weak{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, r.Equal(test.s))
			require.Equal(t, test.want, test.s.Equal(r))
		})
	}
	require.False(t, reference.Weak{}.Equal(reference.Weak{}))

	f.Destroy(a)
	f.Refresh()
	next := reference.To(f.World, f.unit())
	h, ok := next.Get()
	require.True(t, ok)
	require.Equal(t, a.Index(), h.Index(), "the slot's next entity")
	require.False(t, r.Equal(next), "is another version")
	require.False(t, next.Equal(r))
}

// TestWeakDoesNotKeepItsWorld drops a world: its references find out, and equal
// nothing, not even themselves.
func TestWeakDoesNotKeepItsWorld(t *testing.T) {
	f := newFixture(t)
	r := reference.To(f.World, f.unit())
	o := reference.Own(f.World, f.unit(), func(handle.Handle) { t.Error("forgotten, in a world that is gone") })
	require.True(t, r.Equal(r))
	*f = fixture{}
	deadline := time.Now().Add(time.Minute)
	for c := r; c.Alive(); c = r {
		require.True(t, time.Now().Before(deadline), "something keeps the world")
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	require.False(t, r.Equal(r))
	require.False(t, r.Destroy())
	require.False(t, o.Alive())
	o.Release()
}

func TestWeakAsText(t *testing.T) {
	f := newFixture(t)
	h := f.unit()
	r := reference.To(f.World, h)
	type saved struct{ Target reference.Weak }
	data, err := json.Marshal(saved{r})
	require.NoError(t, err)
	var s saved
	require.NoError(t, json.Unmarshal(data, &s))
	require.False(t, s.Target.Alive(), "not bound to a world yet")
	require.Equal(t, r.String(), s.Target.String())
	require.True(t, s.Target.Bind(f.World))
	require.True(t, s.Target.Equal(r))

	text, err := r.MarshalText()
	require.NoError(t, err)
	var u reference.Weak
	require.NoError(t, u.UnmarshalText(text))
	require.True(t, u.Bind(f.World))
	require.True(t, u.Equal(r))

	for _, bad := range []string{`{"Target":7.5}`, `{"Target":"nobody"}`} {
		require.Error(t, json.Unmarshal([]byte(bad), &s), bad)
		require.True(t, s.Target.Equal(r), "as it was before")
	}
	require.Error(t, u.UnmarshalText([]byte("nobody")))

	data, err = json.Marshal(saved{})
	require.NoError(t, err)
	require.JSONEq(t, `{"Target":null}`, string(data))
	require.NoError(t, json.Unmarshal(data, &s))
	require.False(t, s.Target.Bind(f.World))
	text, err = reference.Weak{}.MarshalText()
	require.NoError(t, err)
	require.NoError(t, u.UnmarshalText(text))
	require.Equal(t, "none", u.String())
}

func TestBindToDeadEntity(t *testing.T) {
	f := newFixture(t)
	h := f.unit()
	f.Destroy(h)
	f.Refresh()
	var r reference.Weak
	text, _ := h.MarshalText()
	require.NoError(t, r.UnmarshalText(text))
	require.False(t, r.Bind(f.World))
	require.Equal(t, reference.Weak{}, r)
}

func BenchmarkWeakGet(b *testing.B) {
	f := newFixture(b)
	pos := world.Read[Health](f.World)
	var refs []reference.Weak
	var handles []handle.Handle
	for range 1000 {
		h := f.unit()
		handles, refs = append(handles, h), append(refs, reference.To(f.World, h))
	}
	n := 0
	b.Run("weak", func(b *testing.B) {
		for i := 0; i < b.N; i++ {
			if _, ok := refs[i%1000].Get(); ok {
				n++
			}
		}
	})
	b.Run("access", func(b *testing.B) {
		for i := 0; i < b.N; i++ {
			if pos.At(f.Locate(handles[i%1000])) != nil {
				n++
			}
		}
	})
	require.Positive(b, n)
}

// TestReferencesOfClosedWorldAreEmpty closes a world that somebody still holds.
func TestReferencesOfClosedWorldAreEmpty(t *testing.T) {
	f, g := newFixture(t), newFixture(t)
	h := f.unit()
	r, other := reference.To(f.World, h), reference.To(g.World, g.unit())
	o := reference.Own(f.World, f.unit(), nil)
	c := o.Clone()
	require.True(t, r.Equal(r))
	f.Close()
	require.False(t, r.Equal(r), "it equals nothing")
	require.False(t, r.Alive())
	require.Equal(t, reference.Weak{}, r)
	require.False(t, o.Alive())
	require.False(t, c.Weak().Equal(c.Weak()))
	o.Release()
	c.Release()
	require.Equal(t, reference.Weak{}, reference.To(f.World, h), "also of one that is asked for now")
	late := reference.Own(f.World, h, nil)
	require.Equal(t, handle.None, late.Handle())
	text, err := h.MarshalText()
	require.NoError(t, err)
	var read reference.Weak
	require.NoError(t, read.UnmarshalText(text))
	require.False(t, read.Bind(f.World))
	require.True(t, other.Alive())
}

// TestReferencesAskedForAfterClose finds the liveness handle of a world that had none before.
func TestReferencesAskedForAfterClose(t *testing.T) {
	f := newFixture(t)
	h := f.unit()
	f.Close()
	require.False(t, engine.Of(f.World).Liveness().Alive(h))
	require.True(t, engine.Of(f.World).Liveness().Gone())
}
