// Package worst_test times the refresh that applies a full queue of one port, for each kind of
// request but those to relations, which hierarchy.BenchmarkWorst times.
package worst_test

import (
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

type (
	A    struct{ V [8]int }
	B    struct{ V [8]int }
	T0   struct{ _ [8]byte }
	T1   struct{ _ [8]byte }
	T2   struct{ _ [8]byte }
	T3   struct{ _ [8]byte }
	T4   struct{ _ [8]byte }
	T5   struct{ _ [8]byte }
	T6   struct{ _ [8]byte }
	T7   struct{ _ [8]byte }
	T8   struct{ _ [8]byte }
	T9   struct{ _ [8]byte }
	T10  struct{ _ [8]byte }
	T11  struct{ _ [8]byte }
	Big  struct{ _ [64 << 10]byte }
	Unit struct{ A }
	Both struct {
		A
		B
	}
)

const entities = 200_000

// crowd is a world with entities in random order.
type crowd struct {
	*world.World
	p      *world.Port
	h      []handle.Handle
	a      *world.Component[A]
	b      *world.Component[B]
	tag    []func(h handle.Handle, add bool) error
	big    *world.Component[Big]
	units  *world.Bundle[Unit]
	both   *world.Bundle[Both]
	hit    *world.Message[A]
	poke   *world.Func[A]
	look   *world.Question[A, int]
	called *names.Names[string]
	timers *timer.Timers[A]
	tree   *prefab.Prefab
	chain  *prefab.Prefab
}

func addTag[T any](x *crowd, name string) {
	c := world.Register[T](x.World, name)
	x.tag = append(x.tag, func(h handle.Handle, add bool) error {
		if add {
			var v T
			return c.Add(x.p, h, v)
		}
		return c.Remove(x.p, h)
	})
}

func newCrowd(b *testing.B) *crowd {
	x := &crowd{World: world.MustNew(world.Options{})}
	w := x.World
	x.a, x.b = world.Register[A](w, "a"), world.Register[B](w, "b")
	addTag[T0](x, "t0")
	addTag[T1](x, "t1")
	addTag[T2](x, "t2")
	addTag[T3](x, "t3")
	addTag[T4](x, "t4")
	addTag[T5](x, "t5")
	addTag[T6](x, "t6")
	addTag[T7](x, "t7")
	addTag[T8](x, "t8")
	addTag[T9](x, "t9")
	addTag[T10](x, "t10")
	addTag[T11](x, "t11")
	x.big = world.Register[Big](w, "big")
	x.units, x.both = world.NewBundle[Unit](w), world.NewBundle[Both](w)
	x.hit = world.RegisterMessage[A](w, "hit")
	x.poke = world.RegisterFunc(w, "poke", func(*world.EntityContext, A) {})
	x.look = world.RegisterQuestion(w, "look", func(*world.EntityContext, A) int { return 0 })
	x.called = names.New[string](w, "called", names.Options{})
	x.timers = timer.New(w, "timers", x.hit, timer.Options{})
	holds := hierarchy.New(w, "holds", hierarchy.Options{})
	leaf := prefab.New(w, "leaf", prefab.With(x.a, A{}))
	var wide []prefab.Part
	for i := range 2000 {
		wide = append(wide, prefab.Child(holds, i, prefab.Extends(leaf)))
	}
	x.tree = prefab.New(w, "tree", append(wide, prefab.With(x.a, A{}))...)
	x.chain = leaf
	for i := range 90 {
		x.chain = prefab.New(w, fmt.Sprint("chain", i), prefab.With(x.a, A{}), prefab.Child(holds, 0, prefab.Extends(x.chain)))
	}
	var err error
	x.h, err = x.units.AppendN(nil, w, entities, nil)
	require.NoError(b, err)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(x.h), func(i, k int) { x.h[i], x.h[k] = x.h[k], x.h[i] })
	x.p, err = x.OpenPort()
	require.NoError(b, err)
	for i := range 8192 {
		require.NoError(b, x.called.Bind(w, x.h[20000+i], long(i)))
	}
	w.Refresh()
	return x
}

// turn is the n-th of 4,095 changes, each of which makes a set of components that no other makes.
func (x *crowd) turn(h handle.Handle, n int) error {
	at := bits.TrailingZeros(uint(n)) % len(x.tag)
	return x.tag[at](h, (n^n>>1)>>at&1 == 1)
}

// bigs is how many entities have 64 KB. Of four that follow one another each is in another shard.
const bigs = 2048

// bigAt returns an entity with 64 KB. With the first all of them get theirs.
func (x *crowd) bigAt(i int) (handle.Handle, error) {
	if i == 0 {
		for i, h := range x.h[:bigs] {
			if err := errors.Join(world.Move(x.World, h, i%4), x.big.Add(x.World, h, Big{})); err != nil {
				return h, err
			}
		}
	}
	return x.h[i%bigs], nil
}

func long(i int) string { return fmt.Sprint(i) + strings.Repeat("x", 240) }

// shapes are the kinds of requests. A request of many counts for as many.
var shapes = []struct {
	kind, shape string
	send        func(x *crowd, i int) error
}{
	{"create", "", func(x *crowd, i int) error { _, err := x.both.Create(x.p, Both{}); return err }},
	{"create", "and destroy, in turns", func(x *crowd, i int) error {
		h, err := x.both.Create(x.p, Both{})
		if err != nil {
			return err
		}
		return x.p.Destroy(h)
	}},
	{"CreateN", "of 512", func(x *crowd, i int) error { return x.both.CreateN(x.p, 512, nil) }},
	{"destroy", "at random", func(x *crowd, i int) error { return x.p.Destroy(x.h[i]) }},
	{"DestroyN", "of 512, at random", func(x *crowd, i int) error { return x.p.DestroyN(x.h[i*512 : i*512+512]) }},
	{"set", "at random", func(x *crowd, i int) error { return x.a.Set(x.p, x.h[i], A{}) }},
	{"SetN", "of 512, at random", func(x *crowd, i int) error { return x.a.SetN(x.p, x.h[i*512:i*512+512], make([]A, 512)) }},
	{"bundle set", "at random", func(x *crowd, i int) error { return x.units.Set(x.p, x.h[i], Unit{}) }},
	{"add", "at random", func(x *crowd, i int) error { return x.b.Add(x.p, x.h[i], B{}) }},
	{"add", "and remove the same, in turns", func(x *crowd, i int) error {
		if i%2 == 1 {
			return x.b.Remove(x.p, x.h[0])
		}
		return x.b.Add(x.p, x.h[0], B{})
	}},
	{"add", "and remove, so that each makes a table", func(x *crowd, i int) error {
		return x.turn(x.h[0], i+1)
	}},
	{"add", "and remove, so that each makes a table, in four shards", func(x *crowd, i int) error {
		if i < 4 {
			if err := world.Move(x.World, x.h[i], i); err != nil {
				return err
			}
		}
		return x.turn(x.h[i%4], i/4+1)
	}},
	{"add", "and remove, of entities with 64 KB, in four shards", func(x *crowd, i int) error {
		if i < 4 {
			if err := errors.Join(world.Move(x.World, x.h[i], i), x.big.Add(x.World, x.h[i], Big{})); err != nil {
				return err
			}
		}
		return x.tag[0](x.h[i%4], i/4%2 == 0)
	}},
	{"move", "of entities with 64 KB", func(x *crowd, i int) error {
		h, err := x.bigAt(i)
		if err != nil {
			return err
		}
		return world.Move(x.p, h, (i+1)%4)
	}},
	{"destroy", "every second entity with 64 KB", func(x *crowd, i int) error {
		h, err := x.bigAt(i/4*8 + i%4)
		if err != nil {
			return err
		}
		return x.p.Destroy(h)
	}},
	{"ask", "for a component of 64 KB", func(x *crowd, i int) error {
		h, err := x.bigAt(i)
		if err != nil {
			return err
		}
		return x.big.Ask(x.p, h, new(world.Answer[Big]))
	}},
	{"bundle add", "at random", func(x *crowd, i int) error { return x.both.Add(x.p, x.h[i], Both{}) }},
	{"move", "at random", func(x *crowd, i int) error { return world.Move(x.p, x.h[i], i%4) }},
	{"flag", "at random", func(x *crowd, i int) error { return world.AddFlags(x.p, x.h[i], 1) }},
	{"send", "at random", func(x *crowd, i int) error { return x.hit.Send(x.p, x.h[i], A{}) }},
	{"send", "and move, in turns", func(x *crowd, i int) error {
		if i%2 == 1 {
			return world.Move(x.p, x.h[i/2], i/2%4)
		}
		return x.hit.Send(x.p, x.h[i/2], A{})
	}},
	{"send", "to a shard", func(x *crowd, i int) error { return x.hit.SendShard(x.p, 0, A{}) }},
	{"batch", "of 64 that set at random", func(x *crowd, i int) error {
		return x.p.Batch(func() error {
			for k := range 64 {
				if err := x.a.Set(x.p, x.h[i*64+k], A{}); err != nil {
					return err
				}
			}
			return nil
		})
	}},
	{"broadcast", "", func(x *crowd, i int) error { return x.hit.Broadcast(x.p, A{}) }},
	{"call", "at random", func(x *crowd, i int) error { return x.poke.Call(x.p, x.h[i], A{}) }},
	{"ask", "at random", func(x *crowd, i int) error { return x.look.Ask(x.p, x.h[i], A{}, new(world.Answer[int])) }},
	{"bind", "long names", func(x *crowd, i int) error { return x.called.Bind(x.p, x.h[i], long(10000+i)) }},
	{"bind", "long names that are taken", func(x *crowd, i int) error { return x.called.Bind(x.p, x.h[i], long(i)) }},
	{"unbind", "", func(x *crowd, i int) error { return x.called.Unbind(x.p, x.h[20000+i]) }},
	{"after", "the same tick", func(x *crowd, i int) error { _, err := x.timers.After(x.p, x.h[i], 7, A{}); return err }},
	{"after", "the next tick", func(x *crowd, i int) error { _, err := x.timers.After(x.p, x.h[i], 1, A{}); return err }},
	{"every", "at far ticks", func(x *crowd, i int) error { _, err := x.timers.Every(x.p, x.h[i], 1+i<<20, A{}); return err }},
	{"prefab", "a parent of 2,000", func(x *crowd, i int) error { _, err := x.tree.Create(x.p); return err }},
	{"prefab", "chains", func(x *crowd, i int) error { _, err := x.chain.Create(x.p); return err }},
}

// BenchmarkWorst tells the least time of all runs.
func BenchmarkWorst(b *testing.B) {
	for _, s := range shapes {
		b.Run(strings.TrimSpace(s.kind+" "+s.shape), func(b *testing.B) {
			least, requests := time.Hour, 0
			for range b.N {
				x := newCrowd(b)
				var err error
				for i := 0; err == nil; i++ {
					err = s.send(x, i)
				}
				require.True(b, errors.Is(err, world.ErrFull), "%v", err)
				requests = x.p.Waiting()
				runtime.GC()
				began := time.Now()
				x.Refresh()
				least = min(least, time.Since(began))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(requests), "requests")
			b.ReportMetric(least.Seconds()*1e3, "ms")
		})
	}
}
