package inputlog_test

import (
	"bytes"
	"encoding/binary"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

type (
	// Bag is written in place.
	Bag    struct{ Of map[string]int }
	Bagged struct{ Bag }
)

// bags is a world of entities with a bag.
type bags struct {
	*world.World
	bag    *world.Component[Bag]
	bagged *world.Bundle[Bagged]
	prefab *prefab.Prefab
	codecs *state.Codecs
	full   handle.Handle
	empty  handle.Handle
}

func newBags(t *testing.T) *bags {
	w := world.MustNew(world.Options{Shards: 2})
	x := &bags{World: w, bag: world.Register[Bag](w, "bag"), bagged: world.NewBundle[Bagged](w), codecs: new(state.Codecs)}
	x.prefab = prefab.New(w, "bag", prefab.With(x.bag, Bag{map[string]int{"gold": 1}}))
	state.Register(x.codecs, state.Codec[Bag]{
		Append: func(dst []byte, v *Bag) []byte { return binary.LittleEndian.AppendUint64(dst, uint64(v.Of["gold"])) },
		Read: func(src []byte, v *Bag) error {
			v.Of = map[string]int{"gold": int(binary.LittleEndian.Uint64(src))}
			return nil
		},
	})
	var err error
	x.full, err = x.bagged.Create(w, Bagged{Bag{map[string]int{"gold": 1}}})
	require.NoError(t, err)
	x.empty, err = x.bagged.Create(w, Bagged{})
	require.NoError(t, err)
	return x
}

func (x *bags) record(t *testing.T, log *bytes.Buffer) *inputlog.Recorder {
	r, err := inputlog.NewRecorder(x.World, log, inputlog.Options{Codecs: x.codecs, OnChange: func() {}})
	require.NoError(t, err)
	return r
}

// copying are the calls that make several entities from one value.
var copying = map[string]func(x *bags, of handle.Handle) (handle.Handle, error){
	"world.Copy":  func(x *bags, of handle.Handle) (handle.Handle, error) { return world.Copy(x.World, of) },
	"prefab.Copy": func(x *bags, of handle.Handle) (handle.Handle, error) { return prefab.Copy(x.World, of) },
	"Prefab.Create": func(x *bags, of handle.Handle) (handle.Handle, error) {
		if of == x.empty {
			return x.bagged.Create(x.World, Bagged{})
		}
		return x.prefab.Create(x.World)
	},
}

// TestCopiesShareNothing copies by CloneBy: what is written in place is in one entity.
func TestCopiesShareNothing(t *testing.T) {
	for name, copied := range copying {
		t.Run(name, func(t *testing.T) {
			x := newBags(t)
			x.bag.CloneBy(func(to, from *Bag) { to.Of = maps.Clone(from.Of) })
			r := x.record(t, new(bytes.Buffer))
			if refuses(t, func() { _, _ = copied(x, x.full) }) {
				return
			}
			one, err := copied(x, x.full)
			require.NoError(t, err)
			two, err := copied(x, x.full)
			require.NoError(t, err)
			bag := world.Write[Bag](x.World)
			bag.Get(two).Of["gold"]++
			require.Equal(t, 1, bag.Get(one).Of["gold"])
			require.Equal(t, 1, bag.Get(x.full).Of["gold"])
			require.Equal(t, 2, bag.Get(two).Of["gold"])
			require.NoError(t, r.Close())
		})
	}
}

// TestCopiesRefused copies what would be shared, without a CloneBy: with a Recorder that is an error
// and changes nothing.
func TestCopiesRefused(t *testing.T) {
	for name, copied := range copying {
		t.Run(name, func(t *testing.T) {
			x := newBags(t)
			_, err := copied(x, x.full)
			require.NoError(t, err, "nobody records")
			r := x.record(t, new(bytes.Buffer))
			if refuses(t, func() { _, _ = copied(x, x.empty) }) {
				return
			}
			before, err := state.StateHash(x.World, x.codecs)
			require.NoError(t, err)
			_, err = copied(x, x.full)
			require.ErrorContains(t, err, `component "bag": two entities would share inputlog_test.Bag.Of, a map`)
			require.ErrorContains(t, err, "Component.CloneBy")
			after, err := state.StateHash(x.World, x.codecs)
			require.NoError(t, err)
			require.Equal(t, before, after)
			_, err = copied(x, x.empty)
			require.NoError(t, err, "it shares nothing")
			require.NoError(t, r.Close())
			_, err = copied(x, x.full)
			require.NoError(t, err, "nobody records any more")
		})
	}
}

// TestCloneByPanics panics in a CloneBy that a copy calls: nothing is copied.
func TestCloneByPanics(t *testing.T) {
	for name, copied := range copying {
		t.Run(name, func(t *testing.T) {
			x := newBags(t)
			x.bag.CloneBy(func(*Bag, *Bag) { panic("no") })
			before, err := state.StateHash(x.World, x.codecs)
			require.NoError(t, err)
			require.PanicsWithValue(t, "no", func() { _, _ = copied(x, x.full) })
			after, err := state.StateHash(x.World, x.codecs)
			require.NoError(t, err)
			require.Equal(t, before, after)
			x.Refresh()
			require.Equal(t, 2, x.Count())
		})
	}
}

// TestSetNShares sets values that share something.
func TestSetNShares(t *testing.T) {
	x := newBags(t)
	one := Bag{map[string]int{"gold": 5}}
	hs := []handle.Handle{x.full, x.empty}
	require.NoError(t, x.bag.SetN(x.World, hs, []Bag{one, one}), "nobody records")
	r := x.record(t, new(bytes.Buffer))
	p, err := x.OpenPort()
	require.NoError(t, err)
	for _, by := range []world.Actor{x.World, p} {
		if by == x.World && refuses(t, func() { _ = x.bag.SetN(by, hs, []Bag{{}, {}}) }) {
			continue
		}
		require.ErrorContains(t, x.bag.SetN(by, hs, []Bag{one, one}), "SetN: component \"bag\": two entities would share")
		require.NoError(t, x.bag.SetN(by, hs, []Bag{one, {map[string]int{"gold": 7}}}))
		require.NoError(t, x.bag.SetN(by, hs, []Bag{{}, {}}))
	}
	p.Close()
	x.Refresh()
	require.NoError(t, r.Close())
}

// TestWrittenForReading writes the idle world through a Reader, and through what a Writer has handed
// out before the last look. The check build says so.
func TestWrittenForReading(t *testing.T) {
	if !check.Enabled {
		t.Skip("only the check build looks")
	}
	for name, written := range map[string]func(x *idle) *Body{
		"a Reader":       func(x *idle) *Body { return world.Read[Body](x.World).Get(x.all[0]) },
		"a kept pointer": func(x *idle) *Body { return world.Write[Body](x.World).Get(x.all[0]) },
	} {
		t.Run(name, func(t *testing.T) {
			x := newIdle(t)
			r, err := inputlog.NewRecorder(x.World, new(bytes.Buffer), inputlog.Options{OnChange: func() {}})
			require.NoError(t, err)
			if name == "a kept pointer" && refuses(t, func() { written(x) }) {
				return // nobody can keep one
			}
			body := written(x)
			engine.Of(x.World).LookForChanges()
			engine.Of(x.World).LookForChanges()
			body.Small++
			func() {
				defer func() { require.Contains(t, recover(), `component "body" was written through what is for reading`) }()
				x.Refresh()
			}()
			x.Refresh()
			require.NoError(t, r.Close())
		})
	}
}
