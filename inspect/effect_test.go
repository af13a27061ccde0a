package inspect_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/inspect"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

func nothing(*world.World) {}

// TestUnaffected looks at everything, between two hashes of a world that stands still.
func TestUnaffected(t *testing.T) {
	f := newFixture(t)
	f.s.Pause()
	var before, after state.Hash
	hash := func(to *state.Hash) {
		require.NoError(t, <-f.s.Between(func(w *world.World) {
			var err error
			*to, err = state.StateHash(f.w, nil)
			require.NoError(t, err)
		}))
	}
	require.Eventually(t, func() bool {
		hash(&before)
		time.Sleep(10 * time.Millisecond)
		hash(&after)
		return before == after
	}, 5*time.Second, time.Millisecond)
	h := f.one("Health.HP == 7")
	for _, target := range []string{
		"/api/world", "/api/stats", "/api/plan", "/api/history?span=day", "/api/problems", "/api/ticks", "/api/recordings", "/api/query",
		queryOf("Position.X < 7, Owner"), mapPath, mapPath + "&color=set", "/api/entity?handle=" + h,
	} {
		f.get(200, target)
	}
	hash(&after)
	require.Equal(t, before, after)
}

// TestSameWorld makes 200 ticks with and without an inspector that is asked all the time: the
// worlds are the same.
func TestSameWorld(t *testing.T) {
	run := func(workers int, looks bool) state.Hash {
		f := newWorld(t, 5, workers)
		_, err := f.units.AppendN(nil, f.w, 3000, func(i int, u *Unit) { u.Velocity = Velocity{float32(i), 1} })
		require.NoError(t, err)
		f.s.MustAdd("churn", func(b *world.Build) func(*world.Context) {
			health := world.Write[Health](b)
			q := b.Query(health)
			return func(c *world.Context) {
				for ch := range q.Chunks() {
					hs := health.Slice(ch)
					for i := range hs {
						if hs[i].HP++; c.Rand().IntN(300) == 0 {
							_ = c.Destroy(ch.Handle(i))
						}
					}
				}
			}
		}, scheduler.After("move"))
		stop, ended := make(chan struct{}), make(chan struct{})
		if looks {
			f.inspect(inspect.Options{})
			go func() {
				defer close(ended)
				for {
					select {
					case <-stop:
						return
					default:
						f.do(request("GET", "/api/stats", ""))
						f.do(request("GET", queryOf("Position.X > 7"), ""))
						f.do(request("GET", mapPath, ""))
						f.do(request("GET", "/api/entity?handle=0:3@1", ""))
						f.do(request("GET", "/api/ticks", ""))
					}
				}
			}()
		} else {
			close(ended)
		}
		for range 200 {
			require.NoError(t, f.s.Step(context.Background()))
			if looks {
				time.Sleep(time.Millisecond)
			}
		}
		close(stop)
		if looks {
			require.NoError(t, f.x.Close())
		}
		<-ended
		h, err := state.StateHash(f.w, nil)
		require.NoError(t, err)
		return h
	}
	want := run(1, false)
	for _, workers := range []int{1, 2, 5} {
		require.Equal(t, want, run(workers, true), "%d workers", workers)
	}
}

// TestRecorded edits a world that is recorded: its log has what was set and destroyed, and not who
// looked.
func TestRecorded(t *testing.T) {
	fresh := func() *fixture {
		f := newWorld(t, 3, 2)
		_, err := f.units.AppendN(nil, f.w, 100, func(i int, u *Unit) { u.HP, u.Velocity = i, Velocity{1, 2} })
		require.NoError(t, err)
		return f
	}
	f := fresh()
	var file bytes.Buffer
	recorder, err := inputlog.NewRecorder(f.w, &file, inputlog.Options{})
	require.NoError(t, err)
	hasher := state.NewHasher(f.w, nil)
	f.inspect(inspect.Options{Token: token})
	edited := false
	done := make(chan struct{})
	go func() {
		defer close(done)
		h := f.one("Health.HP == 7")
		f.post(200, "/api/entity/set", `{"handle":"`+h+`","component":"Health","path":"HP","value":1000}`)
		f.post(200, "/api/entity/destroy", `{"handle":"`+f.one("Health.HP == 8")+`"}`)
		f.get(200, mapPath)
		edited = true
	}()
	for looking := true; looking; {
		select {
		case <-done:
			looking = false
		default:
			require.NoError(t, f.s.Step(t.Context()))
			require.NoError(t, recorder.Hash(hasher))
			time.Sleep(time.Millisecond)
		}
	}
	require.True(t, edited)
	require.NoError(t, recorder.Close())
	log, err := inputlog.Open(&file)
	require.NoError(t, err)
	again := fresh()
	player, err := log.Play(again.w, nil)
	require.NoError(t, err)
	hasher = state.NewHasher(again.w, nil)
	for player.Next() {
		require.NoError(t, again.s.Step(t.Context()))
		_, err := player.Verify(hasher)
		require.NoError(t, err)
	}
	require.NoError(t, player.Err())
	require.Equal(t, 99, again.w.Count())
}
