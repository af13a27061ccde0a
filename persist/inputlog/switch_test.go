package inputlog_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// switcher is a world with systems that are switched: by themselves, by a panic, and by others.
type switcher struct {
	*world.World
	s      *scheduler.Scheduler
	hasher *state.Hasher
}

func newSwitcher(t testing.TB) *switcher {
	w := world.MustNew(world.Options{Shards: 2})
	x := &switcher{World: w}
	world.Register[Body](w, "body")
	plain := world.NewBundle[Plain](w)
	x.s = scheduler.New(w, scheduler.Options{Workers: 2, IfPanics: scheduler.DisableOnShard})
	count := func(step uint64) scheduler.System {
		return func(b *world.Build) func(*world.Context) {
			body := world.Write[Body](b)
			all := b.Query(body)
			return func(c *world.Context) {
				for ch := range all.Chunks() {
					for i := range body.Slice(ch) {
						body.Slice(ch)[i].Sum = body.Slice(ch)[i].Sum*31 + step
					}
				}
			}
		}
	}
	x.s.MustAdd("one", count(1)).MustAdd("two", count(2))
	x.s.MustAdd("bad", func(b *world.Build) func(*world.Context) {
		run := count(3)(b)
		return func(c *world.Context) {
			if run(c); c.Shard() == int(c.Tick()/4%2) {
				panic("bad")
			}
		}
	})
	x.s.MustAdd("itself", func(b *world.Build) func(*world.Context) {
		return func(c *world.Context) {
			switch c.Tick() % 9 {
			case 3:
				_ = x.s.Disable("two")
			case 5:
				_ = x.s.Enable("two")
			}
		}
	}, scheduler.Global())
	for range 10 {
		_, err := plain.Create(w, Plain{})
		require.NoError(t, err)
	}
	x.hasher = state.NewHasher(w, nil)
	x.hasher.Add("systems", x.s.AppendState)
	return x
}

// TestSwitchesRecorded plays a log of a world whose systems another goroutine switches: they are
// inputs, and no change of the idle world.
func TestSwitchesRecorded(t *testing.T) {
	x := newSwitcher(t)
	var log bytes.Buffer
	r, err := inputlog.NewRecorder(x.World, &log, inputlog.Options{OnChange: func() { t.Error("a switch is no change") }})
	require.NoError(t, err)
	const ticks = 200
	for n := range ticks {
		done := make(chan struct{})
		go func() {
			defer close(done)
			switch n % 5 {
			case 0:
				_ = x.s.Disable("one")
			case 1:
				_ = x.s.Enable("one")
				_ = x.s.Enable("bad")
			case 3:
				_ = x.s.Enable("two")
			}
		}()
		_ = x.s.Step(t.Context())
		<-done
		require.NoError(t, r.Hash(x.hasher))
	}
	require.NoError(t, r.Close())

	y := newSwitcher(t)
	l, err := inputlog.Open(&log)
	require.NoError(t, err)
	p, err := l.Play(y.World, nil)
	require.NoError(t, err)
	require.NoError(t, y.s.Disable("one")) // a replay switches by the log alone
	for p.Next() {
		_ = y.s.Step(t.Context())
		verified, err := p.Verify(y.hasher)
		require.NoError(t, err)
		require.True(t, verified)
	}
	require.NoError(t, p.Err())
	require.EqualValues(t, ticks, p.Ticks())
}

// newDrawer makes a world with a system that asks for the status of handles that nobody has given.
func newDrawer(t testing.TB, seen *[]string, during func(plain *world.Bundle[Plain], tick uint64)) (*world.World, *scheduler.Scheduler, *state.Hasher) {
	w := world.MustNew(world.Options{Shards: 2, IndexMax: 1 << 16})
	body := world.Register[Body](w, "body")
	plain := world.NewBundle[Plain](w)
	look := world.RegisterFunc(w, "look", func(self *world.EntityContext, i int) {
		body.Write(self).Sum += uint64(self.Status(handle.New(2, uint32(i), 1)))
	})
	s := scheduler.New(w, scheduler.Options{})
	s.MustAdd("look", func(b *world.Build) func(*world.Context) {
		body := world.Write[Body](b)
		all := b.Query(body)
		return func(c *world.Context) {
			if c.Shard() > 0 {
				return
			}
			during(plain, c.Tick())
			text := ""
			for _, i := range []uint64{0, c.Tick() * 8, c.Tick()*8 + 9, c.Tick()*8 + 40, 1024, 2048, 3000} {
				status := c.Status(handle.New(2, uint32(i), 1))
				text += fmt.Sprint(i, status, " ")
				for ch := range all.Chunks() {
					for j := range body.Slice(ch) {
						body.Slice(ch)[j].Sum = body.Slice(ch)[j].Sum*31 + uint64(status)
					}
				}
			}
			*seen = append(*seen, text)
		}
	})
	for range 4 {
		h, err := plain.Create(w, Plain{})
		require.NoError(t, err)
		require.NoError(t, look.Call(w, h, 3))
	}
	return w, s, state.NewHasher(w, nil)
}

// TestStatusReplayed asks a system for the status of guessed handles, while a port draws, for 300
// ticks: in the replay no port draws, and the answers are the same. The race detector sees fewer ticks
// under -short: each hashes all entities, of which there are ever more.
func TestStatusReplayed(t *testing.T) {
	t.Run("plain", func(t *testing.T) { mustSeeSame(t, nil) })
	t.Run("sealed", func(t *testing.T) { mustSeeSame(t, func() error { return nil }) })
}

func mustSeeSame(t *testing.T, commit func() error) {
	ticks := 300
	if check.Enabled && testing.Short() {
		ticks = 60
	}
	var seen, again []string
	var p *world.Port
	w, s, hasher := newDrawer(t, &seen, func(plain *world.Bundle[Plain], tick uint64) {
		done := make(chan struct{})
		go func() { // a port belongs to a goroutine outside
			defer close(done)
			for range 4 + tick%9 {
				_, err := plain.Create(p, Plain{})
				require.NoError(t, err)
			}
		}()
		<-done
	})
	var log bytes.Buffer
	r, err := inputlog.NewRecorder(w, &log, inputlog.Options{Commit: commit})
	require.NoError(t, err)
	p, err = w.OpenPort()
	require.NoError(t, err)
	for range ticks {
		require.NoError(t, s.Step(t.Context()))
		require.NoError(t, r.Hash(hasher))
	}
	require.NoError(t, r.Close())

	w, s, hasher = newDrawer(t, &again, func(*world.Bundle[Plain], uint64) {})
	l, err := inputlog.Open(&log)
	require.NoError(t, err)
	player, err := l.Play(w, nil)
	require.NoError(t, err)
	for player.Next() {
		require.NoError(t, s.Step(t.Context()))
		_, err := player.Verify(hasher)
		require.NoError(t, err)
	}
	require.NoError(t, player.Err())
	require.Len(t, again, ticks)
	require.Equal(t, seen, again)
}
