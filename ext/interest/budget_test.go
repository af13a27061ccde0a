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

// byLevel makes the level of an entity its weight.
var byLevel = interest.Options{Weight: func(f *world.Frame) func(handle.Handle) int {
	level := world.Read[Level](f)
	return func(h handle.Handle) int { return level.Get(h).Number }
}}

// TestBudget has many come at once that all move.
func TestBudget(t *testing.T) {
	x := newField(t, world.Options{})
	s := x.newSet(byLevel)
	r, n := newRand(t, 1), iterations(1000)
	for range n {
		x.unit(r.Float64()*100, r.Float64()*100)
	}
	const most = 400
	v := s.Open(interest.ClientOptions{At: near.Point{X: 50, Y: 50}, Radius: 100, Bytes: most})
	c, packets := newClient(t), 0
	for waiting := n; waiting > 0; packets++ {
		x.drift()
		p, ok := x.update(s, 1)[v]
		require.True(t, ok)
		size, enters := 0, 0
		for _, r := range p.Rows {
			size += interest.RowBytes + len(r.Bytes)
			if r.Enter {
				size += 8
				enters++
			}
		}
		c.apply(&p, false)
		require.Less(t, size, most+30)
		require.Equal(t, n, len(c.slots)+p.Waiting)
		require.GreaterOrEqual(t, enters, min(waiting, most/4/17))
		if waiting = p.Waiting; waiting > 0 && packets > 20 {
			require.Less(t, enters, len(p.Rows), "others are told of changes meanwhile")
		}
	}
	told := map[handle.Handle]bool{}
	for range 4 * (n*8/most + 1) {
		x.drift()
		for _, r := range x.update(s, 1)[v].Rows {
			told[r.Handle] = true
		}
	}
	require.Len(t, told, n, "nobody starves")
}

// TestFlood has 100,000 come at once, the nearest first.
func TestFlood(t *testing.T) {
	x := newField(t, world.Options{})
	s := x.newSet(interest.Options{})
	r, n := newRand(t, 1), iterations(100_000)
	for range n {
		x.unit(r.Float64()*100, r.Float64()*100)
	}
	const radius, most = 80.0, 64 << 10
	at := near.Point{X: 50, Y: 50}
	v := s.Open(interest.ClientOptions{At: at, Radius: radius, Bytes: most})
	far, told := 0.0, 0
	pos := world.Write[Position](x.World)
	for waiting := n; waiting > 0; {
		p, ok := x.update(s, 1)[v]
		require.True(t, ok)
		require.Equal(t, min(waiting, most/17+1), len(p.Rows), "as many as fit in")
		require.Equal(t, waiting-len(p.Rows), p.Waiting)
		waiting = p.Waiting
		least, farthest := radius, 0.0
		for _, r := range p.Rows {
			d := math.Hypot(pos.Get(r.Handle).X-at.X, pos.Get(r.Handle).Y-at.Y)
			least, farthest = min(least, d), max(farthest, d)
		}
		// Urgency is in half octaves, so the order is that of distances but for a factor.
		require.GreaterOrEqual(t, least*2, far)
		far, told = farthest, told+len(p.Rows)
	}
	require.Equal(t, n, told)
	_, ok := x.update(s, 1)[v]
	require.False(t, ok, "all is told")
}

// TestWeight tells more often of those of more weight.
func TestWeight(t *testing.T) {
	x := newField(t, world.Options{})
	s := x.newSet(byLevel)
	var hs []handle.Handle
	for i := range 20 {
		hs = append(hs, x.unit(50, 50))
		world.Write[Level](x.World).Get(hs[i]).Number = 1 + i%2*199
	}
	v := s.Open(interest.ClientOptions{At: near.Point{X: 50, Y: 50}, Radius: 10, Bytes: 1})
	told := map[handle.Handle]int{}
	for i := range 400 {
		for _, h := range hs {
			world.Write[Position](x.World).Get(h).X = float64(50 + i%2)
		}
		for _, r := range x.update(s, 1)[v].Rows {
			told[r.Handle]++
		}
	}
	light, heavy := 0, 0
	for i, h := range hs {
		require.NotZero(t, told[h])
		if i%2 == 0 {
			light += told[h]
		} else {
			heavy += told[h]
		}
	}
	require.Greater(t, heavy, 2*light)
}

// TestChangesTakeTurns has more come in each Update than a packet has room for: changes are told
// of, too.
func TestChangesTakeTurns(t *testing.T) {
	for _, most := range []int{1, 20, 100} {
		x := newField(t, world.Options{})
		s := x.newSet(interest.Options{})
		h := x.unit(50, 50)
		s.Open(interest.ClientOptions{Entity: h, Radius: 5, Bytes: most})
		x.update(s, 1)
		levels, told, n := world.Write[Level](x.World), 0, 50
		for i := range n {
			for range 20 {
				x.unit(50, 50)
			}
			levels.Get(h).Number = i + 2
			for _, p := range x.update(s, 1) {
				for _, r := range p.Rows {
					if r.Handle == h {
						told++
					}
				}
			}
		}
		require.GreaterOrEqual(t, told, n/2-1, "of %d bytes", most)
	}
}

// TestUrgency orders by weight, age and distance, and has whoever waits long enough be the most
// urgent.
func TestUrgency(t *testing.T) {
	near, far := interest.Urgency(255, 7, 0), uint8(0)
	for age := uint32(1); age < 1<<20; age *= 2 {
		next := interest.Urgency(1, age, 31)
		require.GreaterOrEqual(t, next, far)
		far = next
	}
	require.Greater(t, far, near)
	require.Less(t, interest.Urgency(1, 1<<10, 31), near)
	require.Equal(t, uint8(63), interest.Urgency(255, math.MaxUint32, 0))
	require.Equal(t, interest.Urgency(10, 3, 3), interest.Urgency(20, 3, 7), "half the weight at half the distance")
}
