package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var testPlan = plan{batchMin: time.Microsecond, roundMax: time.Millisecond, roundsMin: 3, roundsMax: 5}

func TestMedian(t *testing.T) {
	assert.Equal(t, 2.0, median([]float64{3, 1, 2}))
	assert.Equal(t, 2.0, median([]float64{4, 1, 2, 3}))
	assert.Equal(t, 7.0, median([]float64{7}))
}

func TestMeasureTakesTurns(t *testing.T) {
	var turns []string
	entry := func(name string) *entrant {
		e := &entrant{name: name}
		e.work = func(times int) time.Duration {
			turns = append(turns, name)
			return time.Duration(times) * time.Millisecond
		}
		e.check = func() error { return nil }
		e.ops = 1000
		return e
	}
	a, b := entry("a"), entry("b")
	rounds := measure([]*entrant{a, b}, testPlan, time.Now())
	assert.Equal(t, 3, rounds, "the least number, since there is no time")
	assert.Equal(t, []string{"a", "b", "a", "b", "b", "a", "a", "b"}, turns, "calibration, then rounds that each begin with another")
	assert.Equal(t, 1000.0, median(a.ns))
}

func TestMeasureLeavesOut(t *testing.T) {
	crashes := &entrant{name: "crashes", subject: subject{ops: 1, work: func(int) time.Duration { panic("no") }}}
	cheats := &entrant{name: "cheats", subject: subject{
		ops:   1,
		work:  func(int) time.Duration { return time.Second },
		check: func() error { return same("sum", 1, 2) },
	}}
	measure([]*entrant{crashes, cheats}, testPlan, time.Now())
	assert.ErrorContains(t, crashes.out, "no")
	assert.ErrorContains(t, cheats.out, "sum is 1, want 2")
}

func TestBudget(t *testing.T) {
	b := budget{end: time.Now().Add(time.Hour), weight: weight(1) + weight(1_000_000)}
	first := b.next(1)
	require.WithinDuration(t, time.Now().Add(time.Hour/7), first, time.Minute)
	require.WithinDuration(t, b.end, b.next(1_000_000), time.Minute, "the last cell may take all that is left")
	require.False(t, b.spent())
}

func TestRunCell(t *testing.T) {
	s := settings{both: true, plan: testPlan}
	s.peers = mustCompile("^ark$")
	r := benches[0].run(64, s, time.Now())
	require.NotNil(t, r.Ratio)
	assert.Equal(t, "ark", r.BestPeer)
	assert.Equal(t, *r.AtollNS / *r.PeerNS, *r.Ratio)
	assert.Equal(t, 1, r.Shards)
	assert.Equal(t, r.AtollNS, r.OneNS)
	assert.NotNil(t, r.DefaultNS)
	assert.NotNil(t, r.LimitNS)
	assert.Empty(t, r.LeftOut)
	assert.LessOrEqual(t, *r.RatioLow, *r.RatioHigh)
}
