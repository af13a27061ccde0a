package worldtest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
	"github.com/atoll-sim/atoll/worldtest"
)

// Age is the component of the tests.
type Age struct{ Ticks int }

type person struct{ Age }

func newWorld(t testing.TB, n int) *world.World {
	w := world.MustNew(world.Options{Shards: 4})
	engine.Of(w).Scatter(16)
	world.Register[Age](w, "age")
	require.NoError(t, world.NewBundle[person](w).CreateN(w, n, nil))
	return w
}

// grow is the system of the tests.
func grow(b *world.Build) func(*world.Context) {
	age := world.Write[Age](b)
	all := b.Query(age)
	return func(c *world.Context) {
		for ch := range all.Chunks() {
			a := age.Slice(ch)
			for i := range a {
				if a[i].Ticks++; a[i].Ticks == 5 {
					panic("too old")
				}
			}
		}
	}
}

// ages counts the people by age.
func ages(w *world.World) map[int]int {
	age, found := world.Read[Age](w), map[int]int{}
	for ch := range w.Query(age).Chunks() {
		for _, a := range age.Slice(ch) {
			found[a.Ticks]++
		}
	}
	return found
}

func TestRun(t *testing.T) {
	noLeaks(t)
	w := newWorld(t, 1000)
	worldtest.Run(t, w, 3, grow)
	require.Equal(t, map[int]int{3: 1000}, ages(w))
	worldtest.Run(t, w, 1, grow)
	worldtest.Run(t, w, 0, grow)
	require.Equal(t, map[int]int{4: 1000}, ages(w))
	require.Equal(t, uint64(4), w.Tick())
}

func TestRunOptions(t *testing.T) {
	w := newWorld(t, 10)
	worldtest.Run(t, w, 6, func(b *world.Build) func(*world.Context) {
		require.Equal(t, world.AllShards, b.Shard())
		return grow(b)
	}, scheduler.Global(), scheduler.Every(2, 0))
	require.Equal(t, map[int]int{3: 10}, ages(w))
}

// told is a testing.TB that takes down what it is told, and ends like one.
type told struct {
	testing.TB
	text string
}

func (f *told) Fatal(values ...any) {
	f.text = fmt.Sprint(values...)
	panic(f)
}

func (f *told) Fatalf(format string, values ...any) { f.Fatal(fmt.Sprintf(format, values...)) }

// TestRunFails runs what cannot be run, and what panics.
func TestRunFails(t *testing.T) {
	for _, test := range []struct {
		name   string
		system scheduler.System
		ticks  int
		says   []string
	}{
		{"panic", grow, 9, []string{`system "system under test" panicked on shard 0 in tick 4: too old`, "on shard 3", "run_test.go", "worldtest_test.grow"}},
		{"refused", func(b *world.Build) func(*world.Context) {
			world.ReadForeign[Age](b)
			return grow(b)
		}, 1, []string{`system "system under test" writes or creates "age" and reads it`}},
		{"nothing to run", func(*world.Build) func(*world.Context) { return nil }, 1, []string{"returned nil"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w, f := newWorld(t, 100), &told{TB: t}
			require.PanicsWithValue(t, f, func() { worldtest.Run(f, w, test.ticks, test.system) })
			for _, part := range test.says {
				require.Contains(t, f.text, part)
			}
			require.Equal(t, 100, w.Count(), "the world is idle and whole")
		})
	}
}

// noLeaks fails the test if goroutines that it starts from here on are still there behind
// it. On a busy machine one that has told that it is done may stay for a while.
func noLeaks(t testing.TB) {
	t.Helper()
	known := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		require.EventuallyWithT(t, func(c *assert.CollectT) { assert.NoError(c, goleak.Find(known)) }, time.Minute, time.Millisecond)
	})
}
