package interest_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/interest"
	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// TestShared looks at what two clients are told of the same entities.
func TestShared(t *testing.T) {
	x := newField(t, world.Options{})
	calls := 0
	s := interest.New(x.World, x.index, interest.Options{}, interest.Encode(encodePosition), interest.Encode(func(dst []byte, l *Level) []byte {
		calls++
		return encodeLevel(dst, l)
	}))
	h := x.unit(5, 5)
	x.unit(50, 50)
	rows := func() (all []interest.Row) {
		calls = 0
		f := x.now()
		defer f.Release()
		s.Update(f, 1, func(_ *interest.Client, p *interest.Packet) { all = append(all, p.Rows...) })
		return all
	}
	require.Empty(t, rows())
	require.Zero(t, calls, "nobody looks")
	for range 2 {
		s.Open(interest.ClientOptions{Entity: h, Radius: 10})
	}
	for i := range 3 {
		world.Write[Position](x.World).Get(h).X += float64(i)
		all := rows()
		require.Equal(t, 1, calls)
		if i == 0 {
			require.Len(t, all, 2)
			require.Equal(t, interest.Row{Handle: h, Enter: true, Columns: 3, Bytes: []byte{5, 0, 5, 0, 1}}, all[0])
		} else {
			require.Len(t, all, 2)
			require.Equal(t, uint32(1), all[0].Columns)
		}
		require.Same(t, &all[0].Bytes[0], &all[1].Bytes[0])
	}
	require.Empty(t, rows(), "nothing has changed")
}

// TestColumns adds, changes and removes components.
func TestColumns(t *testing.T) {
	x := newField(t, world.Options{})
	s := x.newSet(interest.Options{})
	h := x.unit(5, 5)
	v := s.Open(interest.ClientOptions{Entity: h, Radius: 10})
	row := func() interest.Row {
		p := x.update(s, 1)[v]
		require.Len(t, p.Rows, 1)
		require.Equal(t, h, p.Rows[0].Handle)
		return p.Rows[0]
	}
	r := row()
	require.Equal(t, uint32(positions|levels), r.Columns, "positions and levels are not behind each other")
	require.Equal(t, []byte{5, 0, 5, 0, 1}, r.Bytes)
	require.NoError(t, x.name.Add(x.World, h, Name{"ab"}))
	require.NoError(t, x.tag.Add(x.World, h, Tag{}))
	r = row()
	require.Equal(t, uint32(names|tags), r.Columns)
	require.Equal(t, []byte{2, 'a', 'b'}, r.Bytes)
	world.Write[Position](x.World).Get(h).X = 7
	world.Write[Level](x.World).Get(h).Number = 9
	r = row()
	require.Equal(t, uint32(positions|levels), r.Columns)
	require.Equal(t, []byte{7, 0, 5, 0, 9}, r.Bytes, "without the name between")
	require.NoError(t, x.name.Remove(x.World, h))
	r = row()
	require.Equal(t, uint32(names), r.Removed)
	require.Zero(t, r.Columns)
	require.Empty(t, r.Bytes)
	require.NoError(t, x.tag.Remove(x.World, h))
	require.Equal(t, uint32(tags), row().Removed)
}

// TestMargin lets somebody walk along the border.
func TestMargin(t *testing.T) {
	x := newField(t, world.Options{})
	s := x.newSet(interest.Options{})
	h := x.unit(30, 10)
	v := s.Open(interest.ClientOptions{At: near.Point{X: 10, Y: 10}, Radius: 10, Margin: 2})
	for _, step := range []struct {
		x     float64
		comes bool
		goes  bool
	}{{x: 21}, {x: 20, comes: true}, {x: 22}, {x: 22.5, goes: true}, {x: 21}, {x: 19, comes: true}} {
		world.Write[Position](x.World).Get(h).X = step.x
		p := x.update(s, 1)[v]
		require.Equal(t, step.comes, len(p.Rows) == 1 && p.Rows[0].Enter, step.x)
		require.Equal(t, step.goes, len(p.Leaves) == 1, step.x)
	}
}

// TestSlots uses slots again, of clients and of entities.
func TestSlots(t *testing.T) {
	x := newField(t, world.Options{Shards: 1})
	s := x.newSet(interest.Options{})
	v := s.Open(interest.ClientOptions{At: near.Point{X: 10, Y: 10}, Radius: 10})
	var hs []handle.Handle
	for range 5 {
		hs = append(hs, x.unit(10, 10))
	}
	require.Len(t, x.update(s, 1)[v].Rows, 5)
	x.Destroy(hs[1])
	x.Refresh()
	again := x.unit(10, 10)
	require.Equal(t, hs[1].Index(), again.Index(), "the slot is used again")
	p := x.update(s, 1)[v]
	require.Equal(t, []interest.Leave{{Handle: hs[1], Slot: 1, Gone: true}}, p.Leaves)
	require.Len(t, p.Rows, 1)
	require.Equal(t, again, p.Rows[0].Handle)
	require.Equal(t, uint32(5), p.Rows[0].Slot, "1 is free from now on")
	x.unit(10, 10)
	require.Equal(t, uint32(1), x.update(s, 1)[v].Rows[0].Slot)
}

// TestInclude shows many from far away, some twice, beside one that is near.
func TestInclude(t *testing.T) {
	x := newField(t, world.Options{})
	self := x.unit(5, 5)
	all := []handle.Handle{self, handle.None, handle.Handle(math.MaxUint64)}
	for range 1000 {
		h := x.unit(90, 90)
		all = append(all, h, h)
	}
	dead := x.unit(90, 90)
	x.Destroy(dead)
	x.Refresh()
	s := x.newSet(interest.Options{Include: func(*world.Frame) func([]handle.Handle, *interest.Client) []handle.Handle {
		return func(dst []handle.Handle, _ *interest.Client) []handle.Handle {
			return append(append(dst, all...), dead)
		}
	}})
	v := s.Open(interest.ClientOptions{Entity: self})
	require.Len(t, x.update(s, 1)[v].Rows, 1001)
	require.Empty(t, x.update(s, 1))
	all = all[:3]
	require.Len(t, x.update(s, 1)[v].Leaves, 1000)
}
