package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestAnswersBusy computes as many answers as can be at a time, and one more, which waits and is
// refused. What others ask for the same is computed once.
func TestAnswersBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVisitor(nil, nil)
		x := &Inspector{visitor: v, answers: newAnswers(v)}
		kept := func() int {
			x.answers.mu.Lock()
			defer x.answers.mu.Unlock()
			return len(x.answers.byKey)
		}
		block := make(chan struct{})
		slow := func(context.Context) ([]byte, error) { <-block; return []byte("slow"), nil }
		type got struct {
			body []byte
			err  error
		}
		all := make(chan got, 2*computedMax)
		for i := range 2 * computedMax {
			go func() {
				body, err := x.answers.of(t.Context(), fmt.Sprint(i/2), time.Hour, slow)
				all <- got{body, err}
			}()
		}
		synctest.Wait()
		began := time.Now()
		_, err := x.answers.of(t.Context(), "more", time.Hour, slow)
		require.Equal(t, waitMax, time.Since(began))
		e := new(refusal)
		require.ErrorAs(t, err, &e)
		require.Equal(t, http.StatusTooManyRequests, e.status)
		require.Equal(t, "Retry-After: 1", e.header)
		close(block)
		for range 2 * computedMax {
			x := <-all
			require.NoError(t, x.err)
			require.Equal(t, "slow", string(x.body))
		}
		_, err = x.answers.of(t.Context(), "panics", 0, func(context.Context) ([]byte, error) { panic("of old age") })
		require.ErrorContains(t, err, "of old age")
		for i := range 2 * answersMax {
			_, err = x.answers.of(t.Context(), fmt.Sprint("fast", i), time.Hour, func(context.Context) ([]byte, error) { return nil, nil })
			require.NoError(t, err)
			require.LessOrEqual(t, kept(), answersMax)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		require.Zero(t, kept(), "old answers take no memory")
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		block = make(chan struct{})
		_, err = x.answers.of(gone, "gone", 0, func(ctx context.Context) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() })
		require.ErrorIs(t, err, context.Canceled)
		x.end()
		x.work.close()
		_, err = x.answers.of(t.Context(), "late", 0, slow)
		require.Error(t, err)
	})
}

// TestAnswersChange asks for the same before a change and after it. What was begun before is not
// given to who asks after it; what had not been begun yet is.
func TestAnswersChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVisitor(nil, nil)
		x := &Inspector{visitor: v, answers: newAnswers(v)}
		defer x.end()
		computed, block := 0, make(chan struct{})
		ask := func(key string) <-chan string {
			got := make(chan string, 1)
			go func() {
				body, err := x.answers.of(t.Context(), key, time.Hour, func(context.Context) ([]byte, error) {
					computed++
					body := fmt.Sprint(x.changes.Load())
					<-block
					return []byte(body), nil
				})
				if err != nil {
					body = []byte(err.Error())
				}
				got <- string(body)
			}()
			synctest.Wait()
			return got
		}
		before := []<-chan string{ask("a"), ask("a")}
		require.Equal(t, 1, computed)
		x.made()
		after := []<-chan string{ask("a"), ask("a"), ask("a")}
		require.Equal(t, 2, computed)
		for i := range computedMax - 2 {
			ask(fmt.Sprint("other", i))
		}
		require.Equal(t, computedMax, computed)
		late := ask("b")
		x.made()
		later := ask("b")
		require.Equal(t, computedMax, computed, "it has no place yet")
		close(block)
		synctest.Wait()
		require.Equal(t, computedMax+1, computed)
		for _, got := range before {
			require.Equal(t, "0", <-got)
		}
		for _, got := range after {
			require.Equal(t, "1", <-got)
		}
		require.Equal(t, "2", <-late)
		require.Equal(t, "2", <-later)
		x.work.close()
	})
}

// newInside is an Inspector of a world that runs.
func newInside(t *testing.T) *Inspector {
	w := world.MustNew(world.Options{TickInterval: time.Millisecond, FramesMax: 2})
	type value struct{ N int }
	world.Register[value](w, "a")
	type other struct{ N int }
	world.Register[other](w, "b")
	s := scheduler.New(w, scheduler.Options{})
	x, err := New(s, Options{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		require.NoError(t, x.Close())
		cancel()
		require.NoError(t, <-done)
		w.Close()
	})
	return x
}

func setOf(ids ...int) (s store.Set) {
	for _, id := range ids {
		s.Add(id)
	}
	return s
}

// TestFrames holds one frame at a time, which is shared, and gives it back.
func TestFrames(t *testing.T) {
	x := newInside(t)
	a, err := x.entities.frames.get(t.Context(), setOf(0))
	require.NoError(t, err)
	again, err := x.entities.frames.get(t.Context(), setOf(0))
	require.NoError(t, err)
	require.Same(t, a, again)
	got := make(chan *frame)
	go func() {
		b, err := x.entities.frames.get(context.Background(), setOf(0, 1))
		if err != nil {
			t.Error(err)
		}
		got <- b
	}()
	x.entities.frames.release(a)
	select {
	case <-got:
		t.Fatal("there are two frames")
	case <-time.After(20 * time.Millisecond):
	}
	soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = x.entities.frames.get(soon, setOf(1))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	x.entities.frames.release(again)
	b := <-got
	require.True(t, b.frozen.Has(1))
	x.entities.frames.release(b)
	held := func() (n int) {
		require.NoError(t, <-x.s.Between(func(w *world.World) {
			var s world.Stats
			w.Stats(&s)
			n = s.Frames
		}))
		return n
	}
	require.Eventually(t, func() bool { return held() == 0 }, 5*time.Second, 10*time.Millisecond)
	// Somebody else has all frames that there may be.
	var of *world.Frame
	require.NoError(t, <-x.s.Between(func(w *world.World) {
		v, err := w.NewView()
		require.NoError(t, err)
		of, err = v.Now()
		require.NoError(t, err)
	}))
	_, err = x.entities.frames.get(t.Context(), setOf(0))
	e := new(refusal)
	require.ErrorAs(t, err, &e)
	require.Equal(t, http.StatusServiceUnavailable, e.status)
	of.Release()
}

// TestVisits contains panics of what looks at the world.
func TestVisits(t *testing.T) {
	x := newInside(t)
	require.ErrorContains(t, x.do(t.Context(), func(*world.World) error { panic("of old age") }), "of old age")
	require.NoError(t, x.do(t.Context(), func(*world.World) error { return nil }))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	err := x.do(gone, func(*world.World) error { return nil })
	require.True(t, err == nil || errors.Is(err, context.Canceled))
}

// TestLeast takes samples less often if they take long.
func TestLeast(t *testing.T) {
	var m samples
	for took, want := range map[time.Duration]time.Duration{0: sampleLook, time.Millisecond: sampleLook, 10 * time.Millisecond: time.Second, time.Second: sampleMost} {
		m.took.Store(int64(took))
		require.Equal(t, want, m.least())
	}
}

// TestWaitsSince tells who waited longest since a moment, in a tick.
func TestWaitsSince(t *testing.T) {
	before := []scheduler.Wait{{Shard: 0, For: 2, Time: 100}, {Shard: 1, For: 0, Time: 50}, {Shard: -1, For: 0, Time: 10}}
	now := []scheduler.Wait{{Shard: 0, For: 1, Time: 7}, {Shard: 0, For: 2, Time: 100}, {Shard: 1, For: 0, Time: 60}, {Shard: -1, For: 0, Time: 40}}
	require.Equal(t, []waitReport{{-1, 0, 15}, {1, 0, 5}, {0, 1, 3}}, waitsSince(now, before, 2))
	require.Empty(t, waitsSince(now, now, 1))
	for i := range waitsMax {
		now = append(now, scheduler.Wait{Shard: 3, For: 4 + i, Time: 1000})
	}
	got := waitsSince(now, nil, 1)
	require.Len(t, got, waitsMax)
	require.Equal(t, waitReport{3, 4, 1000}, got[0])
}

// TestHistoryRing adds samples of two days, with a gap.
func TestHistoryRing(t *testing.T) {
	var h history
	h.init()
	var s scheduler.Stats
	var w world.Stats
	at := time.UnixMilli(1e12)
	for i := range 2 * 24 * 3600 {
		s.Time.Add(time.Duration(1+i%2) * time.Millisecond)
		w.Created += 2
		w.Entities = i
		seldom := i%10 > 0 && i < 47*3600 // the last hour is shown in seconds
		if second := i % 3600; !seldom && (second < 1000 || second > 1100) {
			h.add(&moment{at.Add(time.Duration(i) * time.Second), s, w})
		}
	}
	for i, r := range resolutions {
		body := string(h.append(nil, i))
		require.Equal(t, r.n, strings.Count(body[strings.Index(body, `"created":[`):strings.Index(body, `],"destroyed`)], ",")+1, r.name)
		require.Equal(t, r.name != "minute", strings.Contains(body[:strings.Index(body, `"overruns"`)], "null") || r.name == "day", "%s has no gap", r.name)
		each := fmt.Sprint(2 * int(r.step.Seconds()))
		require.True(t, strings.Contains(body, each+","+each+","+each), "%s: want %s created in each step", r.name, each)
	}
}

// TestHistoryUnfinished has as many entities created in each second: no point tells fewer because
// its time is not over, or began before the first sample.
func TestHistoryUnfinished(t *testing.T) {
	var h history
	h.init()
	var s scheduler.Stats
	var w world.Stats
	at := time.UnixMilli(1e12 + 5000) // in the middle of a point of the hour
	for i := range 4 * 22 {
		s.Overruns, w.Created, w.Destroyed, w.Entities = uint64(i), uint64(i), uint64(i), i
		h.add(&moment{at.Add(time.Duration(i) * time.Second / 4), s, w})
	}
	var got struct{ Created, Destroyed, Overruns, Entities []*int }
	require.NoError(t, json.Unmarshal(h.append(nil, spans["hour"]), &got))
	n := 40
	want := []*int{nil, &n, nil} // of 5, 10 and 7 seconds
	require.Equal(t, want, got.Created)
	require.Equal(t, want, got.Destroyed)
	require.Equal(t, want, got.Overruns)
	require.Equal(t, 87, *got.Entities[2], "what there is now is known")
}

// TestProblemsMax adds more problems than are kept, and repeats.
func TestProblemsMax(t *testing.T) {
	var p problems
	for i := range 2 * problemsMax {
		p.add(problem{Kind: "panic", What: fmt.Sprint("system ", i)})
	}
	require.Len(t, p.all, problemsMax)
	seen := p.last()
	require.Empty(t, p.since(&seen))
	for range 5 {
		p.add(problem{Kind: "panic", What: "system 399", Detail: "again"})
	}
	require.Len(t, p.all, problemsMax)
	all := p.since(&seen)
	require.Len(t, all, 1)
	require.Contains(t, string(all[0]), `"detail":"again","times":6`)
}

// TestRecordingsMax makes more recordings than are kept.
func TestRecordingsMax(t *testing.T) {
	x := newInside(t)
	for i := range 2 * recordingsMax {
		x.recorder.mu.Lock()
		x.recorder.keep(&recording{id: fmt.Sprint("r", i)})
		x.recorder.mu.Unlock()
	}
	require.Len(t, x.recorder.all(), recordingsMax)
	require.Equal(t, "r7", x.recorder.all()[recordingsMax-1].id)
	b := bounded{most: 10}
	_, err := b.Write(make([]byte, 10))
	require.NoError(t, err)
	_, err = b.Write([]byte{1})
	require.Error(t, err)
	require.Equal(t, 10, b.Len())
	require.Empty(t, bytes.Trim(b.Bytes(), "\x00"))
}

// TestSampleStays keeps the last sample for whoever has found that it is new.
func TestSampleStays(t *testing.T) {
	x := newInside(t)
	m := x.samples
	for _, asked := range []time.Duration{0, -lookFor} {
		m.asked.Store(int64(asked))
		x.made()
		require.NoError(t, m.refresh(t.Context()))
		require.True(t, m.newest.Load().has(x.changes.Load()))
	}
}

// TestClosedMeanwhile answers with the same status whether the Inspector was closed before a
// request or during it.
func TestClosedMeanwhile(t *testing.T) {
	x := newInside(t)
	for _, c := range []struct {
		err    error
		end    bool
		status int
	}{
		{context.DeadlineExceeded, false, http.StatusTooManyRequests},
		{context.Canceled, false, http.StatusInternalServerError}, // nobody reads it
		{context.Canceled, true, http.StatusServiceUnavailable},
	} {
		if c.end {
			x.end()
		}
		w := httptest.NewRecorder()
		x.writeError(w, httptest.NewRequest(http.MethodGet, "/api/query", nil), c.err)
		require.Equal(t, c.status, w.Code, "%v", c.err)
	}
}
