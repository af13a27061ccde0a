package durable_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

type (
	position struct{ X, Y, Z, W float32 }
	velocity struct{ X, Y, Z, W float32 }
	health   struct{ Now, Max, Armour, Shield float32 }
	unit     struct {
		position
		velocity
		health
	}
	push struct{ X, Y float32 }
)

// field is a world of units that move, and are pushed.
type field struct {
	*world.World
	s      *scheduler.Scheduler
	units  *world.Bundle[unit]
	pushes *world.Func[push]
	all    []handle.Handle
}

func newField() *field {
	w := world.MustNew(world.Options{VersionsEach: 10_000})
	world.Register[position](w, "position")
	moving := world.Register[velocity](w, "velocity")
	world.Register[health](w, "health")
	x := &field{World: w, units: world.NewBundle[unit](w)}
	x.pushes = world.RegisterFunc(w, "push", func(self *world.EntityContext, p push) {
		v := moving.Write(self)
		v.X, v.Y = v.X+p.X, v.Y+p.Y
	})
	x.s = scheduler.New(w, scheduler.Options{})
	x.s.MustAdd("move", func(b *world.Build) func(*world.Context) {
		ps, vs := world.Write[position](b), world.Read[velocity](b)
		q := b.Query(world.With[position](b), world.With[velocity](b))
		return func(*world.Context) {
			for rows := range q.Chunks() {
				p, v := ps.Slice(rows), vs.Slice(rows)
				for i := range p {
					p[i].X += v[i].X
					p[i].Y += v[i].Y
				}
			}
		}
	})
	return x
}

func (x *field) fill(n int) func(*world.World) error {
	return func(w *world.World) (err error) {
		x.all, err = x.units.AppendN(nil, w, n, nil)
		return err
	}
}

// push sends the requests of a tick.
func (x *field) push(t testing.TB, port *world.Port, tick, n int) {
	for i := range n {
		if err := x.pushes.Call(port, x.all[(tick*7919+i*104729)%len(x.all)], push{1, 2}); err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkTick makes ticks of 100,000 units, of which 1,000 are sent a request, at 200 a second,
// with a Store and without: "p50-us" and "p99-us" are of the ticks, without what sends.
func BenchmarkTick(b *testing.B) {
	const units, sent = 100_000, 1000
	for _, kept := range []bool{false, true} {
		b.Run(map[bool]string{false: "without", true: "durable"}[kept], func(b *testing.B) {
			x := newField()
			if kept {
				st, err := durable.Open(context.Background(), b.TempDir(), x.World, x.s, durable.Options{New: x.fill(units), Interval: -1})
				if err != nil {
					b.Fatal(err)
				}
				defer func() { _ = st.Close() }()
			} else if err := x.fill(units)(x.World); err != nil {
				b.Fatal(err)
			}
			port, err := x.OpenPort()
			if err != nil {
				b.Fatal(err)
			}
			defer port.Close()
			var took []time.Duration
			n := 0
			for b.Loop() {
				x.push(b, port, n, sent)
				n++
				began := time.Now()
				if err := x.s.Step(context.Background()); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
				time.Sleep(5*time.Millisecond - time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
		})
	}
}

// BenchmarkOpen opens a world of a million units of 48 bytes, with ten seconds of log: 200 ticks of
// 1,000 requests.
func BenchmarkOpen(b *testing.B) {
	units, ticks := 1_000_000, 200
	if b.N == 1 && testing.Short() {
		units, ticks = 10_000, 20
	}
	path := b.TempDir()
	x := newField()
	st, err := durable.Open(context.Background(), path, x.World, x.s, durable.Options{New: x.fill(units), Interval: -1})
	if err != nil {
		b.Fatal(err)
	}
	port, err := x.OpenPort()
	if err != nil {
		b.Fatal(err)
	}
	for n := range ticks {
		x.push(b, port, n, 1000)
		if err := x.s.Step(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	if err := st.Wait(context.Background()); err != nil {
		b.Fatal(err)
	}
	st.Crash()
	for b.Loop() {
		x := newField()
		st, err := durable.Open(context.Background(), path, x.World, x.s, durable.Options{Interval: -1})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if st.Recovered().Ticks < uint64(ticks) {
			b.Fatal(st.Recovered())
		}
		st.Crash()
		b.StartTimer()
	}
}
