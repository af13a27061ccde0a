package demo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/demo"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// small returns the settings of a short run.
func small() demo.Config {
	c := demo.Default()
	c.Duration, c.Creatures, c.Bots, c.Hz = 1500*time.Millisecond, 2000, 20, 40
	return c
}

// TestRun is the whole demo over real connections.
func TestRun(t *testing.T) {
	noLeaks(t)
	var live bytes.Buffer
	s, err := demo.Run(context.Background(), small(), &live)
	require.NoError(t, err)
	require.True(t, s.OK(), "%v", s.Audit)

	require.Greater(t, s.Ticks, uint64(20))
	require.Equal(t, 2000, s.Kinds["creatures"].Alive)
	require.NotZero(t, s.Kinds["creatures"].Destroyed)
	require.NotZero(t, s.Kinds["items"].Created)
	require.NotZero(t, s.Kinds["avatars"].Alive)
	require.EqualValues(t, s.Entities, s.Created-s.Destroyed)
	require.NotZero(t, s.AttacksAbroad)
	require.Greater(t, s.CommandsApplied, uint64(100))
	require.Equal(t, s.CommandsAccepted, s.CommandsApplied+s.CommandsLate+s.CommandsRefused)
	require.NotZero(t, s.StaleChecked)

	s.Write(&live)
	text := live.String()
	require.Regexp(t, `^listening on 127\.0\.0\.1:\d+ \(try: nc 127\.0\.0\.1 \d+\)\n`, text)
	require.Contains(t, text, "2000 creatures and 20 bots, 4 shards")
	require.Regexp(t, `\n +time +ticks │ +p50 +p99 +max │ creatures`, text)
	require.Regexp(t, `\n +1s +\d+ │`, text)
	for _, name := range []string{"entities", "bots", "commands", "handles"} {
		require.Regexp(t, `\naudit  `+name+` +ok `, text)
	}
	require.NotContains(t, text, "\x1b", "a plain log")
}

// TestInterrupt ends a run that has no end of its own: it is audited all the
// same.
func TestInterrupt(t *testing.T) {
	noLeaks(t)
	c := small()
	c.Duration = 0
	ctx, cancel := context.WithTimeout(context.Background(), 400*time.Millisecond)
	defer cancel()
	s, err := demo.Run(ctx, c, &bytes.Buffer{})
	require.NoError(t, err)
	require.True(t, s.OK(), "%v", s.Audit)
	require.Less(t, s.Seconds, 10.0)
	require.NotZero(t, s.CommandsApplied)
}

// TestNothing runs a world of nothing but dens.
func TestNothing(t *testing.T) {
	c := small()
	c.Creatures, c.Bots, c.Duration, c.Shards, c.Workers = 0, 0, 100*time.Millisecond, 3, 2
	s, err := demo.Run(context.Background(), c, &bytes.Buffer{})
	require.NoError(t, err)
	require.True(t, s.OK(), "%v", s.Audit)
	require.Equal(t, 3, s.Entities)
}

// TestOutsider has a client that is no bot, does not end, and is there at the
// audit.
func TestOutsider(t *testing.T) {
	noLeaks(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := small()
	c.Listen, c.Duration = l.Addr().String(), 600*time.Millisecond
	require.NoError(t, l.Close())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 100 {
			conn, err := net.Dial("tcp", c.Listen)
			if err != nil {
				time.Sleep(10 * time.Millisecond)
				continue
			}
			for err == nil { // until the server closes
				_, err = conn.Write([]byte("JOIN\nTAKE\nWHERE\nLEAVE\nnonsense\n"))
				time.Sleep(time.Millisecond)
			}
			_ = conn.Close()
			return
		}
	}()
	s, err := demo.Run(context.Background(), c, &bytes.Buffer{})
	<-done
	require.NoError(t, err)
	require.True(t, s.OK(), "%v", s.Audit)
}

// TestPanic has a system that panics: that ends the run, at once and with an
// error that says where.
func TestPanic(t *testing.T) {
	noLeaks(t)
	c := small()
	c.Duration = time.Minute
	c.System(func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			if c.Tick() == 20 && c.Shard() == 3 {
				panic("enough")
			}
		}
	})
	began := time.Now()
	_, err := demo.Run(context.Background(), c, &bytes.Buffer{})
	var where *world.PanicError
	require.ErrorAs(t, err, &where)
	require.Equal(t, "hook", where.Name)
	require.Equal(t, "enough", where.Value)
	require.Less(t, time.Since(began), 20*time.Second)
}

func TestJSON(t *testing.T) {
	c := small()
	c.Duration = 300 * time.Millisecond
	s, err := demo.Run(context.Background(), c, &bytes.Buffer{})
	require.NoError(t, err)
	text, err := json.Marshal(s)
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, json.Unmarshal(text, &got))
	for _, name := range strings.Fields(`ticks tick_p50_ms tick_p99_ms tick_max_ms overruns entities created destroyed
		commands_accepted commands_applied commands_rejected commands_too_late stale_checked`) {
		require.IsType(t, 0.0, got[name], name)
	}
	require.Equal(t, "ok", got["audit"])
}

func TestRunRefuses(t *testing.T) {
	noLeaks(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	for want, change := range map[string]func(*demo.Config){
		"demo: Bots is -1, want 0 to 2000":                                func(c *demo.Config) { c.Bots = -1 },
		"demo: Creatures is 4000001, want 0 to 4000000":                   func(c *demo.Config) { c.Creatures = 4_000_001 },
		fmt.Sprintf("demo: Shards is 5000, want 0 to %d", handle.HomeMax): func(c *demo.Config) { c.Shards = 5000 },
		"demo: Workers is -2, want 0 to 1024":                             func(c *demo.Config) { c.Workers = -2 },
		"demo: Hz is 0, want 1 to 1000":                                   func(c *demo.Config) { c.Hz = 0 },
		"demo: Duration is -1s, want 0 or more":                           func(c *demo.Config) { c.Duration = -time.Second },
		"demo: listen tcp: address 127.0.0.1: missing port":               func(c *demo.Config) { c.Listen = "127.0.0.1" },
		"address already in use":                                          func(c *demo.Config) { c.Listen = taken.Addr().String() },
	} {
		t.Run(want, func(t *testing.T) {
			c := small()
			change(&c)
			_, err := demo.Run(context.Background(), c, &bytes.Buffer{})
			require.ErrorContains(t, err, want)
		})
	}
}

// TestOverruns does not count the ticks of the first second.
func TestOverruns(t *testing.T) {
	var took []time.Duration
	for i := range 1000 {
		took = append(took, time.Duration(1000-i)*100*time.Microsecond)
	}
	require.EqualValues(t, 500-20, demo.Overruns(20, took))
}

// TestLately forgets a long tick after ten seconds.
func TestLately(t *testing.T) {
	longest := demo.Lately(time.Second, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)
	for i, d := range longest {
		require.Equal(t, i < 10, d >= time.Second, "%d: %v", i, d)
	}
}

func TestLoad(t *testing.T) {
	require.Equal(t, "0 50 100 ▁▄█", demo.Load([]int{0, 50, 100}))
	require.Equal(t, "0 0 0 ▁▁", demo.Load([]int{0, 0}))
	require.Equal(t, "0 0 0", demo.Load(make([]int, 100)))
	require.Equal(t, "", demo.Load(nil))
}

// TestSettings runs shapes other than the default.
func TestSettings(t *testing.T) {
	for name, change := range map[string]func(*demo.Config){
		"one shard":   func(c *demo.Config) { c.Shards = 1 },
		"many shards": func(c *demo.Config) { c.Shards, c.Workers = 100, 3 },
		"slow ticks":  func(c *demo.Config) { c.Hz = 5 },
		"fast ticks":  func(c *demo.Config) { c.Hz = 500 },
	} {
		t.Run(name, func(t *testing.T) {
			c := small()
			c.Creatures, c.Bots, c.Duration = 500, 5, 300*time.Millisecond
			change(&c)
			s, err := demo.Run(context.Background(), c, &bytes.Buffer{})
			require.NoError(t, err)
			require.True(t, s.OK(), "%v", s.Audit)
			require.Equal(t, 500, s.Kinds[realm.Creatures.String()].Alive)
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

// TestState goes on, in another process as it were, from the directory of the first: the audit
// compares across both.
func TestState(t *testing.T) {
	c := small()
	c.Duration, c.Creatures, c.Bots, c.State = 500*time.Millisecond, 500, 10, t.TempDir()
	first, err := demo.Run(context.Background(), c, &bytes.Buffer{})
	require.NoError(t, err)
	require.True(t, first.OK(), "%v", first.Audit)
	var live bytes.Buffer
	second, err := demo.Run(context.Background(), c, &live)
	require.NoError(t, err)
	require.True(t, second.OK(), "%v", second.Audit)
	require.Greater(t, second.Created, first.Created)
	require.Regexp(t, `^goes on at tick \d+, from .*snapshot and 0 ticks of log, .*; incarnation \d; \d+ entities\naudit  entities  ok `, live.String())

	c.Shards = 2
	_, err = demo.Run(context.Background(), c, &live)
	require.ErrorIs(t, err, snapshot.ErrOtherWorld)
	require.ErrorContains(t, err, c.State)
}
