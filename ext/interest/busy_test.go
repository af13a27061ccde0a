package interest_test

import (
	"context"
	"math"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/interest"
	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// newBusy makes systems that move, create and destroy, and returns what ticks until stop is closed.
func newBusy(t testing.TB, x *field) func(stop chan struct{}) {
	s := scheduler.New(x.World, scheduler.Options{Workers: 2})
	s.MustAdd("walk", func(b *world.Build) func(*world.Context) {
		pos := world.Write[Position](b)
		all := b.Query(pos)
		b.Creates(x.units)
		return func(c *world.Context) {
			var first handle.Handle
			for ch := range all.Chunks() {
				for i := range pos.Slice(ch) {
					p := &pos.Slice(ch)[i]
					p.X, p.Y = math.Mod(p.X+c.Rand().Float64()*3, 100), math.Mod(p.Y+c.Rand().Float64()*2, 100)
				}
				first = ch.Handle(0)
			}
			_ = c.Destroy(first)
			if _, err := x.units.Create(c, Unit{Position{50, 50}, Level{int(c.Tick() % 100)}}); err != nil {
				t.Error(err)
			}
		}
	})
	return func(stop chan struct{}) {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := s.Step(context.Background()); err != nil {
				t.Error(err)
				return
			}
		}
	}
}

// TestBusy captures frames of a world that ticks, while connections come and go.
func TestBusy(t *testing.T) {
	x := newField(t, world.Options{Shards: 4})
	for i := range 500 {
		x.unit(float64(i%100), float64(i/5))
	}
	s := x.newSet(interest.Options{})
	busy := newBusy(t, x)
	stop, ctx := make(chan struct{}), context.Background()
	var group sync.WaitGroup
	group.Go(func() {
		busy(stop)
	})
	for i := range 3 {
		group.Go(func() {
			r := newRand(t, uint64(i))
			for {
				select {
				case <-stop:
					return
				default:
				}
				v := s.Open(interest.ClientOptions{At: near.Point{X: r.Float64() * 100, Y: 50}, Radius: 20, Unacked: r.IntN(3), Bytes: r.IntN(500), User: i})
				for k := range uint64(5) {
					runtime.Gosched()
					v.Ack(k)
					v.Change(interest.ClientOptions{At: near.Point{X: r.Float64() * 100, Y: 50}, Radius: 30})
					v.Lost(k)
				}
				v.Close()
			}
		})
	}
	v := s.Open(interest.ClientOptions{At: near.Point{X: 50, Y: 50}, Radius: 30, Margin: 3})
	c := newClient(t)
	was := map[handle.Handle]map[int]string{}
	for range iterations(200) {
		f, err := x.view.Capture(ctx)
		require.NoError(t, err)
		p, ok := update(s, f, 3)[v]
		if ok {
			c.apply(&p, false)
		}
		was = look(f, interest.Options{}).by(v, was)
		require.Equal(t, was, c.has())
		f.Release()
	}
	close(stop)
	group.Wait()
}

// TestQuiet checks that an Update allocates nothing once there were some.
func TestQuiet(t *testing.T) {
	if check.Enabled {
		t.Skip("the check build allocates")
	}
	c := newCrowd(t, 2000, 20, interest.Options{})
	for i := range 200 {
		v := interest.ClientOptions{Entity: c.players[i*10], Radius: 10, Margin: 1}
		if i%2 == 0 {
			v.Bytes = 100
		}
		c.set.Open(v)
	}
	var frames []*world.Frame
	for range 2 {
		c.step()
		f, err := c.view.Now()
		require.NoError(t, err)
		defer f.Release()
		f.Alive(handle.None)
		frames = append(frames, f)
	}
	var to wire
	var mu sync.Mutex
	send := func(v *interest.Client, p *interest.Packet) {
		mu.Lock()
		defer mu.Unlock()
		to.send(v, p)
	}
	for i := range 200 {
		c.set.Update(frames[i%2], 1, send)
	}
	i := 0
	for _, workers := range []int{1, 2} {
		for range 20 {
			i++
			c.set.Update(frames[i%2], workers, send)
		}
		require.Zero(t, testing.AllocsPerRun(50, func() {
			i++
			c.set.Update(frames[i%2], workers, send)
		}), "by %d workers", workers)
	}
}
