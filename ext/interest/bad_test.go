package interest_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/interest"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

type Unknown struct{}

func TestBadArguments(t *testing.T) {
	x, other := newField(t, world.Options{}), newField(t, world.Options{})
	one := interest.Encode(encodeLevel)
	mustPanic(t, "nil Index", func() { interest.New(x.World, nil, interest.Options{}) })
	mustPanic(t, "Index of another world", func() { interest.New(x.World, other.index, interest.Options{}) })
	mustPanic(t, "empty Column 1", func() { interest.New(x.World, x.index, interest.Options{}, one, interest.Column{}) })
	mustPanic(t, "two Columns", func() { interest.New(x.World, x.index, interest.Options{}, one, one) })
	mustPanic(t, "33 columns; want 32", func() { interest.New(x.World, x.index, interest.Options{}, make([]interest.Column, 33)...) })
	mustPanic(t, "not registered", func() {
		interest.New(x.World, x.index, interest.Options{}, interest.Encode(func(dst []byte, _ *Unknown) []byte { return dst }))
	})
	mustPanic(t, "nil function", func() { interest.Encode[Level](nil) })
	tick := engine.Of(x.World).BeginTick()
	mustPanic(t, "interest.New", func() { interest.New(x.World, x.index, interest.Options{}) })
	tick.End(func(n int, f func(int)) {
		for i := range n {
			f(i)
		}
	})

	s := x.newSet(interest.Options{})
	for says, v := range map[string]interest.ClientOptions{
		"Radius of -1": {Radius: -1}, "Radius of NaN": {Radius: math.NaN()}, "Margin of -1": {Margin: -1}, "Margin of NaN": {Margin: math.NaN()},
		"Bytes of -1": {Bytes: -1}, "Unacked of -1": {Unacked: -1}, "Unacked of 1025": {Unacked: 1025},
	} {
		mustPanic(t, "Clients.Open with ClientOptions."+says, func() { s.Open(v) })
		mustPanic(t, "Client.Change with ClientOptions."+says, func() { s.Open(interest.ClientOptions{}).Change(v) })
	}

	f := x.now()
	mustPanic(t, "0 workers", func() { s.Update(f, 0, none) })
	mustPanic(t, "nil sink", func() { s.Update(f, 1, nil) })
	mustPanic(t, "ClientOptions.Unacked of 1; want 0 with a Write", func() { s.Open(interest.ClientOptions{Unacked: 1, Write: func([]byte) {}}) })
	mustPanic(t, "nil Frame", func() { s.Update(nil, 1, none) })
	g := other.now()
	mustPanic(t, "another world", func() { s.Update(g, 1, none) })
	g.Release()
	for _, of := range [][]world.Viewable{{x.index, x.position, x.name, x.tag}, {x.position, x.name, x.tag, x.units}} {
		v, err := x.NewView(of...)
		require.NoError(t, err)
		g, err := v.Now()
		require.NoError(t, err)
		mustPanic(t, "is not in the view", func() { s.Update(g, 1, none) })
		g.Release()
	}
	s.Update(f, 1, none)
	x.Refresh()
	later := x.now()
	s.Update(later, 1, none)
	s.Update(later, 1, none)
	later.Release()
	mustPanic(t, "of tick 1 after one of tick 2", func() { s.Update(f, 1, none) })
	f.Release()
	mustPanic(t, "was released", func() { s.Update(f, 1, none) })
}

// TestPlaceless asks for clients whose index is of a component that the frame does not have.
func TestPlaceless(t *testing.T) {
	x := newField(t, world.Options{})
	s := interest.New(x.World, x.index, interest.Options{})
	v, err := x.NewView(x.index)
	require.NoError(t, err)
	s.Open(interest.ClientOptions{Entity: x.unit(1, 1)})
	f, err := v.Now()
	require.NoError(t, err)
	defer f.Release()
	mustPanic(t, "is not in the view", func() { s.Update(f, 1, none) })
}

// TestWithin calls Update within an Update, and at the same time.
func TestWithin(t *testing.T) {
	x := newField(t, world.Options{})
	s := x.newSet(interest.Options{})
	s.Open(interest.ClientOptions{Entity: x.unit(5, 5), Radius: 10})
	f := x.now()
	defer f.Release()
	calls := 0
	s.Update(f, 1, func(*interest.Client, *interest.Packet) {
		calls++
		mustPanic(t, "during another one", func() { s.Update(f, 1, none) })
	})
	require.Equal(t, 1, calls)
}
