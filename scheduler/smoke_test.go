package scheduler_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

type Position struct{ X, Y float64 }
type Velocity struct{ X, Y float64 }
type Seen struct{ N float64 }
type mover struct {
	Position
	Velocity
	Seen
}

func TestSmoke(t *testing.T) {
	w := world.MustNew(world.Options{})
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	world.Register[Seen](w, "seen")
	b := world.NewBundle[mover](w)
	var first handle.Handle
	for i := range 5000 {
		h, err := b.Create(w, mover{Position{float64(i), 0}, Velocity{1, 1}, Seen{}})
		require.NoError(t, err)
		if i == 0 {
			first = h
		}
	}
	s := scheduler.New(w, scheduler.Options{Workers: 4})
	s.MustAdd("move", func(b *world.Build) func(*world.Context) {
		pos, vel := world.Write[Position](b), world.Read[Velocity](b)
		q := b.Query(pos, vel)
		return func(c *world.Context) {
			for ch := range q.Chunks() {
				p, v := pos.Slice(ch), vel.Slice(ch)
				for i := range p {
					p[i].X += v[i].X
				}
			}
		}
	})
	s.MustAdd("see", func(b *world.Build) func(*world.Context) {
		seen, pos := world.Write[Seen](b), world.ReadForeign[Position](b)
		q := b.Query(seen)
		return func(c *world.Context) {
			p, ok := pos.Get(first)
			if !ok {
				return
			}
			for ch := range q.Chunks() {
				for i := range seen.Slice(ch) {
					seen.Slice(ch)[i].N += p.X
				}
			}
		}
	})
	s.MustAdd("churn", func(bb *world.Build) func(*world.Context) {
		pos := world.Read[Position](bb)
		bb.Creates(b)
		q := bb.Query(pos)
		return func(c *world.Context) {
			n := 0
			for ch := range q.Chunks() {
				for _, h := range ch.Handles() {
					if n++; n%100 == 0 && h != first {
						_ = c.Destroy(h)
						_, _ = b.Create(c, mover{Velocity: Velocity{1, 1}})
					}
				}
			}
		}
	})
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		wg.Go(func() {
			p, err := w.OpenPort()
			if err != nil {
				panic(err)
			}
			defer p.Close()
			var hs []handle.Handle
			for {
				select {
				case <-stop:
					return
				default:
				}
				h, err := b.Create(p, mover{})
				if err == nil {
					hs = append(hs, h)
				}
				if len(hs) > 100 {
					_ = p.Destroy(hs[0])
					p.Alive(hs[50])
					hs = hs[1:]
				}
			}
		})
	}
	for range 200 {
		require.NoError(t, s.Step(context.Background()))
	}
	close(stop)
	wg.Wait()
	require.NoError(t, s.Step(context.Background()))
	require.NoError(t, s.Step(context.Background()))
	var st world.Stats
	w.Stats(&st)
	t.Logf("%+v", st)
	require.Equal(t, 202.0, world.Read[Position](w).Get(first).X)
	require.Equal(t, 202.0*203/2, world.Read[Seen](w).Get(first).N)
	require.Equal(t, int(st.Created-st.Destroyed), w.Count())
	allocs := testing.AllocsPerRun(200, func() { _ = s.Step(context.Background()) })
	t.Log("allocs", allocs)
}
