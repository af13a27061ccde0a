package reference_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/reference"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
)

func TestOwnerLastReleaseDestroys(t *testing.T) {
	f := newFixture(t)
	h := f.unit()
	a := reference.Own(f.World, h, nil)
	b := a.Clone()
	c := b.Clone()
	require.Equal(t, 3, a.Shares())
	b.Release()
	a.Release()
	f.Refresh()
	require.True(t, c.Alive())
	require.Equal(t, h, c.Handle())
	w := c.Weak()

	c.Release()
	require.True(t, f.Alive(h), "until the refresh")
	require.False(t, c.Alive())
	require.Equal(t, handle.None, c.Handle())
	f.Refresh()
	require.False(t, f.Alive(h))
	require.False(t, w.Alive())
}

func TestOwnerOfNothing(t *testing.T) {
	f := newFixture(t)
	h := f.unit()
	f.Destroy(h)
	f.Refresh()
	for _, o := range []reference.Owner{{}, reference.Own(f.World, h, nil), reference.Own(f.World, ^handle.None, nil)} {
		require.False(t, o.Alive())
		require.Equal(t, handle.None, o.Handle())
		require.Zero(t, o.Shares())
		require.Equal(t, reference.Weak{}, o.Weak())
		c := o.Clone()
		c.Release()
		o.Release()
	}
}

// TestOwnerOfPending owns what a port has created in this tick.
func TestOwnerOfPending(t *testing.T) {
	f := newFixture(t)
	p, err := f.OpenPort()
	require.NoError(t, err)
	h, err := f.units.Create(p, Unit{})
	require.NoError(t, err)
	kept := reference.Own(p, h, nil)
	g, err := f.units.Create(p, Unit{})
	require.NoError(t, err)
	given := reference.Own(p, g, nil)
	given.Release()
	f.Refresh()
	require.True(t, kept.Alive())
	require.False(t, f.Alive(g), "created and destroyed by one refresh")
}

// TestOwnerBesideDestroy has the entity destroyed by somebody else.
func TestOwnerBesideDestroy(t *testing.T) {
	f := newFixture(t)
	h := f.unit()
	o := reference.Own(f.World, h, nil)
	f.Destroy(h)
	f.Refresh()
	require.False(t, o.Alive())
	again := f.unit()
	require.Equal(t, h.Index(), again.Index())
	o.Release()
	f.Refresh()
	require.True(t, f.Alive(again), "the slot's next entity is not ours")
}

func TestOwnerReleasedTwice(t *testing.T) {
	f := newFixture(t)
	o := reference.Own(f.World, f.unit(), nil)
	other := o.Clone()
	copied := o
	_, _, line, _ := runtime.Caller(0)
	o.Release()
	first := fmt.Sprintf("owner_test.go:%d", line+1)
	for name, again := range map[string]func(){
		"the same variable": o.Release,
		"a clone of it":     func() { o.Clone() },
		"a copy":            copied.Release,
	} {
		t.Run(name, func(t *testing.T) {
			if name == "a copy" && !check.Enabled {
				t.Skip("found in the check build")
			}
			defer func() {
				got := fmt.Sprint(recover())
				require.Contains(t, got, "reference: ")
				require.Contains(t, got, "clone")
				if check.Enabled {
					require.Contains(t, got, first)
				}
			}()
			again()
		})
	}
	require.True(t, other.Alive())
}

func TestOwnerCountsBelowZero(t *testing.T) {
	f := newFixture(t)
	o := reference.Own(f.World, f.unit(), nil)
	copied := o
	o.Release()
	require.Panics(t, copied.Release)
}

// TestOwnerForgotten loses an Owner: somebody is told, and the entity stays.
func TestOwnerForgotten(t *testing.T) {
	f := newFixture(t)
	h := f.unit()
	told := make(chan handle.Handle, 1)
	func() {
		o := reference.Own(f.World, h, func(h handle.Handle) { told <- h })
		c := o.Clone()
		o.Release()
		require.True(t, c.Alive()) // and is forgotten
	}()
	released := reference.Own(f.World, f.unit(), func(handle.Handle) { t.Error("this one was released") })
	released.Release()
	deadline := time.After(time.Minute)
	for {
		runtime.GC()
		select {
		case got := <-told:
			require.Equal(t, h, got)
			f.Refresh()
			require.True(t, f.Alive(h))
			return
		case <-deadline:
			t.Fatal("nobody was told")
		case <-time.After(time.Millisecond):
		}
	}
}

// TestOwnersAtOnce clones and releases from many goroutines while the world
// refreshes: each entity goes after its last release, and not before.
func TestOwnersAtOnce(t *testing.T) {
	const goroutines, entities = 8, 200
	f := newFixture(t)
	var handles []handle.Handle
	var group sync.WaitGroup
	held := make([][]reference.Owner, goroutines)
	for range entities {
		h := f.unit()
		handles = append(handles, h)
		o := reference.Own(f.World, h, nil)
		for g := range held {
			held[g] = append(held[g], o.Clone())
		}
		o.Release()
	}
	for g := range held {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := range held[g] {
				o := &held[g][i]
				c := o.Clone()
				if !o.Alive() {
					t.Errorf("%v died while it had an owner", o.Handle())
				}
				o.Release()
				if !c.Alive() {
					t.Errorf("%v died while it had an owner", c.Handle())
				}
				c.Release()
				runtime.Gosched()
			}
		}()
	}
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	for open := true; open; {
		select {
		case <-done:
			open = false
		default:
		}
		f.Refresh()
	}
	f.Refresh()
	for _, h := range handles {
		require.False(t, f.Alive(h))
	}
	require.Zero(t, f.Count())
}

func BenchmarkOwnerCloneRelease(b *testing.B) {
	f := newFixture(b)
	o := reference.Own(f.World, f.unit(), nil)
	b.ReportAllocs()
	for b.Loop() {
		c := o.Clone()
		c.Release()
	}
}
