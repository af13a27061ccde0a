package world_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// Heal is the argument of a function.
type Heal struct{ Points int64 }

// registerHeal makes a function that adds points, and dies of too many.
func (f *fixture) registerHeal() *world.Func[Heal] {
	return world.RegisterFunc(f.World, "heal", func(self *world.EntityContext, a Heal) {
		h := f.health.Write(self)
		if h == nil {
			panic("nothing to heal")
		}
		if h.Points += a.Points; h.Points > 100 {
			if err := self.Destroy(self.Handle()); err != nil {
				panic(err)
			}
		}
	})
}

// TestFunctionInOrder calls a function among other requests: each has its place.
func TestFunctionInOrder(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 3})
	heal := f.registerHeal()
	p := f.port()
	h, err := f.unit.Create(p, Unit{Health{1}})
	require.NoError(t, err)
	var done [5]world.Completion
	var seen [2]world.Answer[Health]
	require.NoError(t, heal.Call(p.Notify(&done[0]), h, Heal{2}))
	require.NoError(t, f.health.Ask(p, h, &seen[0]))
	require.NoError(t, f.health.Set(p.Notify(&done[1]), h, Health{50}))
	require.NoError(t, heal.Call(p.Notify(&done[2]), h, Heal{4}))
	require.NoError(t, f.health.Ask(p, h, &seen[1]))
	f.Refresh()
	require.NoError(t, f.Failure())
	for i := range 3 {
		require.Equal(t, world.Applied, done[i].Outcome())
	}
	for i, want := range []int64{3, 54} {
		v, ok := seen[i].Value()
		require.True(t, ok)
		require.Equal(t, Health{want}, v)
	}
	f.mustHave(54)(h)

	// It destroys the entity: whoever comes later finds it gone.
	require.NoError(t, heal.Call(p.Notify(&done[3]), h, Heal{60}))
	require.NoError(t, heal.Call(p.Notify(&done[4]), h, Heal{1}))
	f.Refresh()
	require.Equal(t, world.Applied, done[3].Outcome())
	require.Equal(t, world.Gone, done[4].Outcome())
	f.mustBeStale(h)
}

// TestFunctionByAll calls by each actor: on the idle world at once.
func TestFunctionByAll(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	heal := f.registerHeal()
	h := f.newUnit(1)
	require.NoError(t, heal.Call(f.World, h, Heal{1}))
	f.mustHave(2)(h)
	require.PanicsWithValue(t, "nothing to heal", func() {
		other, err := f.mover.Create(f.World, Mover{})
		require.NoError(t, err)
		_ = heal.Call(f.World, other, Heal{1})
	}, "on the caller's goroutine")
	require.ErrorIs(t, heal.Call(f.World, h+1, Heal{1}), world.ErrStale)

	require.NoError(t, heal.Call(f.port(), h, Heal{10}))
	f.tick(func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			require.NoError(t, heal.Call(c, h, Heal{1}), "by owner and other shards")
			require.ErrorIs(t, heal.Call(c, h+1, Heal{1}), world.ErrStale)
		}
	})
	f.mustHave(14)(h)
}

// TestFunctionSelf does from within a function everything that it may do.
func TestFunctionSelf(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	f.unit.PlaceBy(func(u Unit) int { return int(u.Points) % 2 })
	p := f.port()
	me, friend := f.newUnit(1), f.newUnit(2)
	dying := f.newUnit(4)
	var child handle.Handle
	var kept *world.EntityContext
	var done world.Completion
	heal := f.registerHeal()
	require.NoError(t, f.do(p.Notify(&done), me, func(self *world.EntityContext) {
		kept = self
		require.Equal(t, []any{me, 1, uint64(0)}, []any{self.Handle(), self.Shard(), self.Tick()})
		require.Equal(t, Health{1}, *f.health.Read(self))
		require.Nil(t, f.name.Read(self))
		require.Nil(t, f.name.Write(self))
		require.NoError(t, f.health.Set(self, me, Health{5}), "at once")
		require.Equal(t, Health{5}, *f.health.Read(self))
		require.ErrorIs(t, f.name.Set(self, me, Name{}), world.ErrMissing)
		require.ErrorIs(t, f.name.Set(self, me+1, Name{}), world.ErrStale)
		require.NoError(t, f.name.Add(self, me, Name{"later"}))
		require.Nil(t, f.name.Read(self), "by request")
		require.NoError(t, world.AddFlags(self, me, hidden))

		var err error
		child, err = f.unit.Create(self, Unit{Health{8}})
		require.NoError(t, err)
		require.True(t, self.Alive(child))
		require.Equal(t, uint32(1), child.Home(), "in the shard, wherever it would be placed")

		require.NoError(t, f.health.Set(self, friend, Health{20}))
		require.NoError(t, f.hit.Send(self, friend, Hit{3}))
		require.NoError(t, f.hit.Broadcast(self, Hit{4}))
		require.NoError(t, heal.Call(self, friend, Heal{30}))
		require.NoError(t, self.Destroy(dying))
		require.ErrorIs(t, self.Destroy(dying+1), world.ErrStale)
		require.Equal(t, world.Alive, self.Status(me))
		require.Equal(t, world.Alive, self.Status(friend))
		require.Equal(t, world.Forged, self.Status(handle.None))
	}))
	f.Refresh()
	require.NoError(t, f.Failure())
	require.Equal(t, world.Applied, done.Outcome())
	f.mustHave(5)(me)
	f.mustHave(8)(child)
	f.mustHave(2)(friend)
	require.True(t, f.Alive(dying), "requests are the next refresh's")
	require.Equal(t, hidden, world.FlagsOf(f.World, me))
	mustPanic(t, []string{"EntityContext.Destroy", `function "do" returned`}, func() { _ = kept.Destroy(me) })
	mustPanic(t, []string{"Component.Read after function"}, func() { f.health.Read(kept) })
	mustPanic(t, []string{"Bundle.Create after function"}, func() { _, _ = f.unit.Create(kept, Unit{}) })
	mustPanic(t, []string{"Message.Send after function"}, func() { _ = f.hit.Send(kept, friend, Hit{}) })

	f.Refresh()
	require.NoError(t, f.Failure())
	f.mustHave(50)(friend)
	f.mustBeStale(dying)
	require.Equal(t, Name{"later"}, *world.Read[Name](f.World).Get(me))
	var e ear
	f.tick(e.listen)
	none := handle.None
	require.Equal(t, [][]world.Envelope[Hit]{{{friend, Hit{3}}, {none, Hit{4}}}, {{none, Hit{4}}}}, e.heard)
}

// TestFunctionOnTheNew calls functions on entities that the same refresh creates,
// and on some that it destroys, too: they find them, and what they do stays.
func TestFunctionOnTheNew(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 3})
	p := f.port()
	heal := f.registerHeal()
	var kept []handle.Handle
	for i := range 90 {
		h, err := f.unit.Create(p, Unit{Health{1}})
		require.NoError(t, err)
		require.NoError(t, heal.Call(p, h, Heal{int64(i)}))
		require.NoError(t, f.do(p, h, func(self *world.EntityContext) {
			require.True(t, self.Alive(h))
			require.Equal(t, world.Alive, self.Status(h))
		}))
		if i%3 == 0 {
			require.NoError(t, p.Destroy(h))
		} else {
			kept = append(kept, h)
		}
	}
	f.Refresh()
	require.NoError(t, f.Failure())
	require.Equal(t, 60, f.Count())
	for i, h := range kept {
		f.mustHave(int64(1 + i/2*3 + 1 + i%2))(h)
	}
}

// TestFunctionFails has functions panic and end their goroutines: the others are
// called, the refresh is completed, and who waits and who ticks are told.
func TestFunctionFails(t *testing.T) {
	errBroken := errors.New("broken")
	f := newFixture(t, world.Options{Shards: 2})
	f.unit.PlaceBy(func(u Unit) int { return int(u.Points) % 2 })
	p := f.port()
	units := f.newUnits(40)
	var done [40]world.Completion
	ends := world.RegisterFunc(f.World, "ends", func(self *world.EntityContext, how int) {
		f.health.Write(self).Points = 100
		switch how {
		case 1:
			panic(fmt.Errorf("no: %w", errBroken))
		case 2:
			runtime.Goexit()
		case 3:
			panic("text")
		}
		f.health.Write(self).Points = 200
	})
	noLeaks(t)
	for range 3 {
		for i, h := range units {
			require.NoError(t, ends.Call(p.Notify(&done[i]), h, i/2%4))
		}
		f.Refresh()
		for i, h := range units {
			want, points := world.Failed, int64(100)
			if i/2%4 == 0 {
				want, points = world.Applied, 200
			}
			require.Equal(t, want, done[i].Outcome())
			f.mustHave(points)(h)
		}
		err := f.Failure()
		require.ErrorIs(t, err, errBroken)
		var told *world.PanicError
		require.ErrorAs(t, err, &told)
		require.Equal(t, []any{"ends", units[2], 0}, []any{told.Name, told.On, told.Shard})
		require.Contains(t, string(told.Stack), "function_test.go")
		require.ErrorContains(t, told, `world: function "ends" panicked on 0:1@1, on shard 0, at the end of tick`)
		require.ErrorContains(t, err, "runtime.Goexit")
		require.Len(t, err.(interface{ Unwrap() []error }).Unwrap(), 30)
		f.Refresh()
		require.NoError(t, f.Failure(), "of the last refresh")
	}
	require.Equal(t, uint64(90), f.stats().Failed)
	require.Equal(t, uint64(30), f.stats().Applied)
}

// TestFailuresMax has far more functions panic in a refresh than it keeps details of: the
// same ones by any number of workers, while the outcomes of all are told and counted.
func TestFailuresMax(t *testing.T) {
	const calls, failuresMax = 3000, 64
	for _, shards := range []int{1, 3, failuresMax + 2} {
		t.Run(fmt.Sprint(shards), func(t *testing.T) {
			var texts []string
			for _, parallel := range []extend.Parallel{serial, pair} {
				f := newFixture(t, world.Options{Shards: shards})
				fail := world.RegisterFunc(f.World, "fail", func(_ *world.EntityContext, n int) { panic(n) })
				f.unit.PlaceBy(func(u Unit) int { return int(u.Points) % shards })
				all, p := f.newUnits(2*shards), f.port()
				done := make([]world.Completion, calls)
				for i := range done {
					require.NoError(t, fail.Call(p.Notify(&done[i]), all[i%len(all)], i))
				}
				engine.Of(f.World).BeginTick().End(parallel)
				for i := range done {
					require.Equal(t, world.Failed, done[i].Outcome())
				}
				require.Equal(t, uint64(calls), f.stats().Failed)
				err := f.Failure()
				kept := max(1, failuresMax/shards) * shards
				errs := err.(interface{ Unwrap() []error }).Unwrap()
				require.Len(t, errs, kept+1)
				for _, e := range errs[:kept] {
					require.NotEmpty(t, e.(*world.PanicError).Stack)
				}
				require.EqualError(t, errs[kept], fmt.Sprintf("world: %d more functions panicked at the end of tick 0; details are kept of %d", calls-kept, kept))
				texts = append(texts, err.Error())
				f.Refresh()
				require.NoError(t, f.Failure())
			}
			require.Equal(t, texts[0], texts[1])
		})
	}
}

// TestQuestion asks, and is answered in the order of the requests.
func TestQuestion(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	withdraw := world.RegisterQuestion(f.World, "withdraw", func(self *world.EntityContext, n int64) bool {
		h := f.health.Write(self)
		if h.Points < n {
			return false
		}
		h.Points -= n
		return true
	})
	h := f.newUnit(10)
	p := f.port()
	var answers [4]world.Answer[bool]
	for i := range answers {
		require.NoError(t, withdraw.Ask(p, h, 4, &answers[i]))
		_, ok := answers[i].Value()
		require.False(t, ok)
	}
	f.Refresh()
	for i, want := range []bool{true, true, false, false} {
		got, err := answers[i].Get(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	f.mustHave(2)(h)

	require.NoError(t, withdraw.Ask(p, h+1, 4, &answers[0]))
	other, err := f.mover.Create(f.World, Mover{})
	require.NoError(t, err)
	require.NoError(t, withdraw.Ask(p, other, 4, &answers[1]), "which panics: it has no health")
	f.Refresh()
	_, err = answers[0].Get(t.Context())
	require.ErrorIs(t, err, world.ErrStale)
	_, err = answers[1].Get(t.Context())
	require.ErrorIs(t, err, world.ErrFailed)
	var failure *world.PanicError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, "withdraw", failure.Name)
	require.Equal(t, other, failure.On)
	_, ok := answers[1].Value()
	require.False(t, ok)
	var unasked world.Answer[bool]
	_, err = unasked.Get(t.Context())
	require.ErrorContains(t, err, "no request is under way")
}

// TestAskWhileTicking asks for components from several goroutines while refreshes
// run: each answer is a value that was there, and never an older one than before.
func TestAskWhileTicking(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	h := f.newUnit(0)
	over := make(chan struct{}, 4)
	for range cap(over) {
		p := f.port()
		go func() {
			defer func() { over <- struct{}{} }()
			var health world.Answer[Health]
			last := int64(-1)
			for range iterations(500) {
				if err := f.health.Ask(p, h, &health); err != nil {
					t.Error(err)
					return
				}
				v, err := health.Get(t.Context())
				if err != nil || v.Points < last {
					t.Errorf("%v after %d: %v", v, last, err)
					return
				}
				last = v.Points
			}
		}()
	}
	system := func(b *world.Build) func(*world.Context) {
		w := world.Write[Health](b)
		return func(*world.Context) {
			if v := w.Get(h); v != nil {
				v.Points++
			}
		}
	}
	running := f.build(system)
	for n := 0; n < cap(over); {
		select {
		case <-over:
			n++
		default:
			f.runTick(running)
			runtime.Gosched()
		}
	}
	var missing world.Answer[Name]
	p := f.port()
	require.NoError(t, f.name.Ask(p, h, &missing))
	f.Refresh()
	_, err := missing.Get(t.Context())
	require.ErrorIs(t, err, world.ErrMissing)
}

// TestFunctionSteady calls functions again and again: once warm, nothing is
// allocated.
func TestFunctionSteady(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	heal := f.registerHeal()
	units := f.newUnits(50)
	p := f.port()
	var health world.Answer[Health]
	round := func() {
		for _, h := range units {
			if heal.Call(p, h, Heal{0}) != nil {
				panic("refused")
			}
		}
		if f.health.Ask(p, units[0], &health) != nil {
			panic("refused")
		}
		f.Refresh()
		if _, ok := health.Value(); !ok {
			panic("no answer")
		}
	}
	for range 50 {
		round()
	}
	require.Less(t, testing.AllocsPerRun(100, round), 1.0)
}

// TestFunctionMisuse uses functions as they must not be.
func TestFunctionMisuse(t *testing.T) {
	f, other := newFixture(t, world.Options{}), newFixture(t, world.Options{})
	heal, theirs := f.registerHeal(), other.registerHeal()
	ask := world.RegisterQuestion(f.World, "ask", func(*world.EntityContext, int) int { return 0 })
	h, p := f.newUnit(1), f.port()
	var health world.Answer[Health]
	for name, test := range map[string]struct {
		run  func()
		says []string
	}{
		"no name":          {func() { world.RegisterFunc(f.World, "", func(*world.EntityContext, int) {}) }, []string{"RegisterFunc needs a name"}},
		"no function":      {func() { world.RegisterFunc[int](f.World, "x", nil) }, []string{`"x" with a nil function`}},
		"name twice":       {func() { f.registerHeal() }, []string{`"heal" is taken`, "pass another"}},
		"question twice":   {func() { world.RegisterQuestion(f.World, "heal", func(*world.EntityContext, int) int { return 0 }) }, []string{`"heal" is taken`}},
		"nil holder":       {func() { _ = heal.Call(nil, h, Heal{}) }, []string{`function "heal" by a nil Actor`}},
		"other world":      {func() { _ = theirs.Call(p, h, Heal{}) }, []string{`function "heal"`, "another world", "*world.Port"}},
		"by other world":   {func() { _ = theirs.Call(f.World, h, Heal{}) }, []string{`function "heal"`, "*world.World"}},
		"ask by nil":       {func() { _ = ask.Ask(nil, h, 1, new(world.Answer[int])) }, []string{`question "ask"`}},
		"component by nil": {func() { _ = f.health.Ask(nil, h, &health) }, []string{`component "health"`}},
		"notified twice": {func() { _ = f.health.Ask(p.Notify(new(world.Completion)), h, &health) },
			[]string{"Port.Notify before Component.Ask or Question.Ask on port 0", "leave Notify out"}},
	} {
		t.Run(name, func(t *testing.T) { mustPanic(t, test.says, test.run) })
	}
	tick := engine.Of(f.World).BeginTick()
	mustPanic(t, []string{"world.RegisterFunc while a tick runs"}, func() { world.RegisterFunc(f.World, "late", func(*world.EntityContext, int) {}) })
	mustPanic(t, []string{"Func.Call by the World while a tick runs"}, func() { _ = heal.Call(f.World, h, Heal{}) })
	mustPanic(t, []string{"World.Failure while a tick runs"}, func() { _ = f.Failure() })
	tick.End(serial)
	require.False(t, slices.Contains([]bool{f.Alive(h)}, false))
}
