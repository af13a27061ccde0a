package inspect_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/inspect"
	"github.com/atoll-sim/atoll/world"
)

// held is a world that runs, in which each tick waits until the test lets it end.
type held struct {
	*fixture
	through chan struct{}
}

// inHeld calls f with a held world in whose first tick a system waits.
func inHeld(t *testing.T, f func(t *testing.T, h *held)) {
	synctest.Test(t, func(t *testing.T) {
		h := &held{newWorld(t, 1, 1), make(chan struct{})}
		h.s.MustAdd("wait", func(*world.Build) func(*world.Context) {
			return func(*world.Context) { <-h.through }
		})
		h.inspect(inspect.Options{Token: token}).run()
		t.Cleanup(func() { close(h.through) })
		h.pass()
		f(t, h)
	})
}

// pass lets what has begun go on, as far as it can.
func (h *held) pass() { time.Sleep(20 * time.Millisecond); synctest.Wait() }

// end lets n ticks end, one by one.
func (h *held) end(n int) {
	for range n {
		h.through <- struct{}{}
		h.pass()
	}
}

// ask posts something. The answer comes when there is one.
func (h *held) ask(target, body string) <-chan *http.Response {
	answer := make(chan *http.Response, 1)
	go func() { answer <- h.do(request("POST", target, body)) }()
	h.pass()
	return answer
}

// stands requires an answer that says where the paused world stands, and that it does.
func (h *held) stands(answer <-chan *http.Response, tick uint64) {
	h.t.Helper()
	require.Len(h.t, answer, 1)
	got := h.answer(200, <-answer)
	require.Equal(h.t, true, got["paused"])
	require.EqualValues(h.t, tick, got["tick"])
	for range 2 {
		for _, target := range []string{"/api/stats", "/api/entity?handle=0:0@1", queryOf("Position"), mapPath} {
			require.EqualValues(h.t, tick, h.get(200, target)["tick"], target)
		}
		time.Sleep(time.Second)
	}
}

// TestPauseStands answers when the tick under way has ended.
func TestPauseStands(t *testing.T) {
	inHeld(t, func(t *testing.T, h *held) {
		answer := h.ask("/api/pause", "{}")
		require.Empty(t, answer)
		h.end(1)
		h.stands(answer, 1)
		h.stands(h.ask("/api/pause", "{}"), 1)
	})
}

// TestPauseLate has a tick that does not end in time: the answer says so, and the world pauses when
// it does.
func TestPauseLate(t *testing.T) {
	inHeld(t, func(t *testing.T, h *held) {
		began := time.Now()
		require.Contains(t, h.post(503, "/api/pause", "{}")["error"], "the tick under way has not ended for 2 seconds; the world pauses when it does")
		require.Equal(t, 2*time.Second, time.Since(began))
		h.end(1)
		h.stands(h.ask("/api/pause", "{}"), 1)

		h.post(200, "/api/resume", "{}")
		h.pass()
		gone, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began = time.Now()
		h.do(request("POST", "/api/pause", "{}").WithContext(gone))
		require.Equal(t, time.Second, time.Since(began), "who asked went away")
	})
}

// TestStepAfterTick steps while a tick is under way, which is none of those that were asked for.
func TestStepAfterTick(t *testing.T) {
	inHeld(t, func(t *testing.T, h *held) {
		h.s.Pause()
		answer := h.ask("/api/step", `{"ticks":2}`)
		h.end(2)
		require.Empty(t, answer, "a tick too early")
		h.end(1)
		h.stands(answer, 3)
	})
}

// TestSteps steps for two at a time: each gets its ticks.
func TestSteps(t *testing.T) {
	inHeld(t, func(t *testing.T, h *held) {
		h.s.Pause()
		h.end(1)
		first := h.ask("/api/step", `{"ticks":2}`)
		second := h.ask("/api/step", `{"ticks":3}`)
		h.end(1)
		require.Empty(t, first)
		h.end(1)
		require.EqualValues(t, 3, h.answer(200, <-first)["tick"])
		h.end(2)
		require.Empty(t, second)
		h.end(1)
		h.stands(second, 6)
	})
}

// TestStepLate has ticks that do not end in time: the answer tells how many did, and the others
// follow.
func TestStepLate(t *testing.T) {
	inHeld(t, func(t *testing.T, h *held) {
		require.Contains(t, h.post(409, "/api/step", "{}")["error"], "not paused")
		h.s.Pause()
		require.Contains(t, h.post(503, "/api/step", "{}")["error"], "no tick has ended")
		h.end(1)
		answer := h.ask("/api/step", `{"ticks":3}`)
		h.end(1)
		require.Contains(t, h.answer(503, <-answer)["error"], "1 of 3 ticks were made in 2 seconds; the others follow")
		answer = h.ask("/api/step", `{"ticks":1}`)
		h.end(2)
		require.Empty(t, answer, "the others come first")
		h.end(1)
		h.stands(answer, 5)

		answer = h.ask("/api/step", `{"ticks":3}`)
		h.end(1)
		time.Sleep(2 * time.Second)
		h.answer(503, <-answer)
		answer = h.ask("/api/step", `{"ticks":1}`)
		h.end(1)
		time.Sleep(2 * time.Second)
		require.Contains(t, h.answer(409, <-answer)["error"], "another step")
		h.end(1)
		h.stands(h.ask("/api/pause", "{}"), 8)
	})
}

// TestStepLateSeen reads after such an answer: what is told is not older than the ticks that it
// says were made.
func TestStepLateSeen(t *testing.T) {
	inHeld(t, func(t *testing.T, h *held) {
		h.s.Pause()
		h.end(1)
		step := h.ask("/api/step", `{"ticks":3}`)
		time.Sleep(1800 * time.Millisecond)
		read := func() <-chan map[string]any {
			answer := make(chan map[string]any, 1)
			go func() { answer <- h.get(200, queryOf("Position")) }()
			h.pass()
			return answer
		}
		before := read()
		h.end(1)
		require.EqualValues(t, 2, (<-before)["tick"])
		h.end(1)
		time.Sleep(110 * time.Millisecond)
		require.Contains(t, h.answer(503, <-step)["error"], "2 of 3 ticks were made in 2 seconds")
		after := read()
		h.end(1)
		require.EqualValues(t, 4, (<-after)["tick"])
	})
}

// TestStepEnded pauses again, or resumes, before all ticks are made.
func TestStepEnded(t *testing.T) {
	inHeld(t, func(t *testing.T, h *held) {
		h.s.Pause()
		h.end(1)
		answer := h.ask("/api/step", `{"ticks":5}`)
		h.end(1)
		pause := h.ask("/api/pause", "{}")
		h.end(1)
		require.Contains(t, h.answer(409, <-answer)["error"], "2 of 5 ticks were made")
		h.stands(pause, 3)

		answer = h.ask("/api/step", `{"ticks":5}`)
		require.Equal(t, false, h.answer(200, <-h.ask("/api/resume", "{}"))["paused"])
		h.end(1)
		require.Contains(t, h.answer(409, <-answer)["error"], "1 of 5 ticks were made")
	})
}
