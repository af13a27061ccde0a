package interest_test

import (
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/interest"
	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// TestUnacked loses packets.
func TestUnacked(t *testing.T) {
	x := newField(t, world.Options{})
	s := x.newSet(interest.Options{})
	a, b := x.unit(50, 50), x.unit(51, 50)
	v := s.Open(interest.ClientOptions{Entity: a, Radius: 10, Unacked: 2})
	pos := world.Write[Position](x.World)
	next := func() *interest.Packet {
		p, ok := x.update(s, 1)[v]
		if !ok {
			return nil
		}
		return &p
	}
	p := next()
	require.Len(t, p.Rows, 2)
	require.Nil(t, next(), "nothing is new, though nothing was acknowledged")
	pos.Get(a).X++
	require.Len(t, next().Rows, 1)
	pos.Get(a).X++
	require.Nil(t, next(), "two are under way")
	v.Ack(1)
	p = next()
	require.Equal(t, uint64(3), p.Number)
	require.Len(t, p.Rows, 1)
	v.Ack(3) // without 2, so that is lost
	p = next()
	require.Len(t, p.Rows, 1)
	require.Equal(t, a, p.Rows[0].Handle)
	require.False(t, p.Rows[0].Enter)
	v.Ack(4)

	pos.Get(b).X = 90
	p = next()
	require.Len(t, p.Leaves, 1)
	pos.Get(b).X = 51
	require.Nil(t, next(), "b comes again once it is known that the client has forgotten it")
	v.Lost(5)
	p = next()
	require.Empty(t, p.Leaves)
	require.Len(t, p.Rows, 1)
	require.True(t, p.Rows[0].Enter)
	require.Equal(t, uint32(1), p.Rows[0].Slot)
	x.Destroy(b)
	x.Refresh()
	v.Lost(6)
	p = next()
	require.Equal(t, []interest.Leave{{Handle: b, Slot: 1, Gone: true}}, p.Leaves, "perhaps the client has it")
	c := x.unit(52, 50)
	p = next()
	require.Equal(t, uint32(2), p.Rows[0].Slot, "1 is not free yet")
	v.Ack(p.Number - 1)
	v.Ack(p.Number)
	v.Ack(p.Number) // again
	v.Ack(math.MaxUint64)
	v.Lost(0)
	require.Nil(t, next())
	x.Destroy(c)
	x.Refresh()
	d := x.unit(53, 50)
	p = next()
	require.Equal(t, d, p.Rows[0].Handle)
	require.Equal(t, uint32(1), p.Rows[0].Slot)
}

// TestUnackedMost has ever more packets under way, of which some get lost. In the end the client
// knows all.
func TestUnackedMost(t *testing.T) {
	x := newField(t, world.Options{})
	s := x.newSet(interest.Options{})
	var units []handle.Handle
	for range 20 {
		units = append(units, x.unit(50, 50))
	}
	r := newRand(t, 1)
	for range iterations(200) {
		v := s.Open(interest.ClientOptions{At: near.Point{X: 50, Y: 50}, Radius: 5, Unacked: 11})
		c := newClient(t)
		var sent []interest.Packet
		for len(sent) < 11 {
			world.Write[Level](x.World).Get(units[r.IntN(len(units))]).Number = r.IntN(250)
			if p, told := x.update(s, 1)[v]; told {
				sent = append(sent, p)
			}
			for len(sent) > 0 && r.IntN(3) == 0 {
				if p := sent[0]; r.IntN(3) > 0 {
					c.apply(&p, true)
					v.Ack(p.Number)
				} else {
					v.Lost(p.Number)
				}
				sent = sent[1:]
			}
		}
		world.Write[Level](x.World).Get(units[0]).Number++
		require.Empty(t, x.update(s, 1)[v].Rows, "11 are under way")
		v.Lost(sent[10].Number)
		for p, told := x.update(s, 1)[v]; told; p, told = x.update(s, 1)[v] {
			c.apply(&p, true)
			v.Ack(p.Number)
		}
		f := x.now()
		require.Equal(t, look(f, interest.Options{}).by(v, c.has()), c.has())
		f.Release()
		v.Close()
	}
}

// TestUnackedMemory opens clients that may have many packets under way, and have none.
func TestUnackedMemory(t *testing.T) {
	x := newField(t, world.Options{})
	s := x.newSet(interest.Options{})
	before := heap()
	for range 1000 {
		s.Open(interest.ClientOptions{Unacked: interest.UnackedMax})
	}
	require.Less(t, heap()-before, 1000<<10)
	runtime.KeepAlive(s)
}

// TestRenumber goes on behind the last number of an Update.
func TestRenumber(t *testing.T) {
	x := newField(t, world.Options{})
	s := x.newSet(interest.Options{})
	a, b := x.unit(50, 50), x.unit(59, 50)
	v := s.Open(interest.ClientOptions{Entity: a, Radius: 10, Margin: 5})
	w := s.Open(interest.ClientOptions{Entity: a, Radius: 10, Unacked: 3})
	x.update(s, 1)
	interest.Skip(s, math.MaxUint32-4)
	c := newClient(t)
	for i := range 8 {
		world.Write[Position](x.World).Get(b).X = 61 + float64(i%2) // in the margin
		p := x.update(s, 1)
		require.LessOrEqual(t, len(p[v].Rows), 2)
		for _, r := range p[v].Rows {
			require.False(t, r.Enter)
		}
		require.Empty(t, p[v].Leaves)
		if q, ok := p[w]; ok {
			if q.Number%2 == 0 {
				w.Ack(q.Number)
			}
			c.apply(&q, true)
		}
	}
}

// TestAgain has somebody come again while it is not known yet whether the client has been told of
// the leave.
func TestAgain(t *testing.T) {
	for name, places := range map[string]struct {
		again, then float64
		seen        bool
	}{
		"near, then in the margin":   {55, 63, true},
		"in the margin, and there":   {63, 63, false},
		"near, then farther away":    {55, 90, false},
		"in the margin, then nearer": {63, 55, true},
	} {
		t.Run(name, func(t *testing.T) {
			x := newField(t, world.Options{})
			s := x.newSet(interest.Options{})
			b := x.unit(55, 50)
			v := s.Open(interest.ClientOptions{At: near.Point{X: 50, Y: 50}, Radius: 10, Margin: 5, Unacked: 3})
			pos := world.Write[Position](x.World)
			require.Len(t, x.update(s, 1)[v].Rows, 1)
			v.Ack(1)
			pos.Get(b).X = 90
			require.Len(t, x.update(s, 1)[v].Leaves, 1)
			pos.Get(b).X = places.again
			require.Empty(t, x.update(s, 1), "the leave is under way")
			v.Ack(2)
			pos.Get(b).X = places.then
			p, told := x.update(s, 1)[v]
			require.Equal(t, places.seen, told)
			if told {
				require.Len(t, p.Rows, 1)
				require.True(t, p.Rows[0].Enter)
			}
		})
	}
}
