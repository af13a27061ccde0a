package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// idle is a system that asks for nothing and does nothing.
func idle(*world.Build) func(*world.Context) { return nothing }

// TestOrder adds systems with wishes, and looks at the order that comes of it.
func TestOrder(t *testing.T) {
	type add struct {
		name    string
		options []scheduler.Option
	}
	with := func(name string, options ...scheduler.Option) add { return add{name, options} }
	before, after, in := scheduler.Before, scheduler.After, scheduler.In
	for _, test := range []struct {
		name string
		add  []add
		want []string
	}{
		{"as added", []add{with("b"), with("a"), with("c")}, []string{"b", "a", "c"}},
		{"before", []add{with("a"), with("b"), with("c", before("a"))}, []string{"b", "c", "a"}},
		{"after one that comes later", []add{with("a", after("c")), with("b"), with("c")}, []string{"b", "c", "a"}},
		{"a chain", []add{with("a", after("b")), with("b", after("c")), with("c", after("d")), with("d")}, []string{"d", "c", "b", "a"}},
		{"stages", []add{
			with("post", in(scheduler.PostUpdate)), with("update"), with("pre", in(scheduler.PreUpdate)), with("pre 2", in(scheduler.PreUpdate)),
		}, []string{"pre", "pre 2", "update", "post"}},
		{"within a stage", []add{
			with("x", in(scheduler.PostUpdate), after("y")), with("u"), with("y", in(scheduler.PostUpdate), after("u")),
		}, []string{"u", "y", "x"}},
		{"several at once", []add{with("a", after("b", "c"), after("d")), with("b"), with("c", before("b")), with("d")}, []string{"c", "b", "d", "a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, 2, 1)
			for _, x := range test.add {
				require.NoError(t, f.Add(x.name, idle, x.options...))
			}
			require.Equal(t, test.want, f.Systems())
			f.step(1)
		})
	}
}

// TestOrderRandom adds systems with random wishes that an order fulfils, and sees
// them fulfilled, as they run.
func TestOrderRandom(t *testing.T) {
	for seed := range uint64(iterations(200)) {
		r := rand.New(rand.NewPCG(seed, 1))
		f := newFixture(t, 1, 1)
		const n = 12
		hidden := r.Perm(n) // the order that all wishes agree with
		var ran []int
		at := map[string]int{}
		type wish struct{ first, then string }
		var wishes []wish
		for _, i := range r.Perm(n) {
			name := fmt.Sprint(i)
			var options []scheduler.Option
			for range r.IntN(4) {
				k := r.IntN(n)
				switch place, other := slices.Index(hidden, i), slices.Index(hidden, k); {
				case place < other:
					options = append(options, scheduler.Before(fmt.Sprint(k)))
					wishes = append(wishes, wish{name, fmt.Sprint(k)})
				case place > other:
					options = append(options, scheduler.After(fmt.Sprint(k)))
					wishes = append(wishes, wish{fmt.Sprint(k), name})
				}
			}
			f.MustAdd(name, func(*world.Build) func(*world.Context) {
				return func(*world.Context) { at[name] = len(ran); ran = append(ran, i) }
			}, options...)
		}
		f.step(1)
		require.Len(t, ran, n, "seed %d", seed)
		for _, w := range wishes {
			require.Less(t, at[w.first], at[w.then], "seed %d", seed)
		}
	}
}

// TestOrderRejects adds what cannot be ordered: the error names the systems, and
// nothing is added.
func TestOrderRejects(t *testing.T) {
	f := newFixture(t, 2, 1)
	f.MustAdd("a", idle, scheduler.Before("b")).MustAdd("b", idle, scheduler.Before("c"))
	f.MustAdd("late", idle, scheduler.In(scheduler.PostUpdate))
	for _, test := range []struct {
		name, system string
		options      []scheduler.Option
		says         []string
	}{
		{"circle of three", "c", []scheduler.Option{scheduler.Before("a")}, []string{"circle", `"a" before "b" before "c" before "a"`}},
		{"circle of two", "c", []scheduler.Option{scheduler.Before("b")}, []string{`"b" before "c" before "b"`}},
		{"itself", "me", []scheduler.Option{scheduler.After("me")}, []string{`"me" before "me"`}},
		{"before an earlier stage", "d", []scheduler.Option{scheduler.After("late")}, []string{`"late"`, `before "d"`, "PostUpdate, after Update"}},
		{"no stage", "d", []scheduler.Option{scheduler.In(7)}, []string{`"d" is in Stage(7)`}},
		{"every 0 ticks", "d", []scheduler.Option{scheduler.Every(0, 0)}, []string{`"d" runs every 0 ticks`}},
		{"offset beyond", "d", []scheduler.Option{scheduler.Every(3, 3)}, []string{"every 3 ticks from tick 3 on"}},
		{"negative offset", "d", []scheduler.Option{scheduler.Every(3, -1)}, []string{"offset"}},
		{"no condition", "d", []scheduler.Option{scheduler.When(nil)}, []string{"When", "nil"}},
		{"no policy", "d", []scheduler.Option{scheduler.IfPanics(9)}, []string{"panic policy 9"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := f.Add(test.system, idle, test.options...)
			require.Error(t, err)
			for _, part := range append(test.says, "scheduler: ") {
				require.ErrorContains(t, err, part)
			}
			require.Equal(t, []string{"a", "b", "late"}, f.Systems())
		})
	}
	_, err := f.Schedule()
	require.ErrorContains(t, err, `system "b" is to come before "c", which was not added`)
	require.EqualError(t, f.Step(t.Context()), err.Error())
	require.EqualError(t, f.Run(t.Context()), err.Error())
	require.Zero(t, f.w.Tick())
	f.MustAdd("c", idle, scheduler.After("a"))
	f.step(1)
}

// TestOrderOfGlobals runs global systems at their place, when all shards have
// come to it.
func TestOrderOfGlobals(t *testing.T) {
	for _, workers := range []int{1, 2, 3, 8} {
		const shards = 8
		f := newFixture(t, shards, workers)
		markers := f.mark()
		count := func(want uint64) construct {
			return func(b *world.Build) func(*world.Context) {
				values := world.Write[Value](b)
				return func(c *world.Context) {
					pause()
					if v := values.Get(markers[c.Shard()]); v.N != want {
						panic(fmt.Sprintf("shard %d finds %d, want %d", c.Shard(), v.N, want))
					} else {
						v.N++
					}
				}
			}
		}
		sweep := func(want, leave uint64) construct {
			return func(b *world.Build) func(*world.Context) {
				values := world.Write[Value](b)
				all := b.Query(values)
				return func(*world.Context) {
					pause()
					n := 0
					for ch := range all.Chunks() {
						for i := range values.Slice(ch) {
							if v := &values.Slice(ch)[i]; v.N != want {
								panic(fmt.Sprintf("a shard has %d, want %d", v.N, want))
							} else {
								v.N = leave
								n++
							}
						}
					}
					if n != shards {
						panic("not all shards")
					}
				}
			}
		}
		f.MustAdd("reset", reset(markers), scheduler.Global())
		f.MustAdd("one", count(0)).MustAdd("two", count(1)).MustAdd("sweep", sweep(2, 10), scheduler.Global())
		f.MustAdd("three", count(10)).MustAdd("sweep again", sweep(11, 0), scheduler.Global())
		f.step(iterations(40))
	}
}

// reset writes zeroes.
func reset(markers []handle.Handle) construct {
	return func(b *world.Build) func(*world.Context) {
		values := world.Write[Value](b)
		return func(*world.Context) {
			for _, h := range markers {
				values.Get(h).N = 0
			}
		}
	}
}
