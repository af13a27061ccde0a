package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/world"
)

var testPlan = plan{batchMin: time.Microsecond, roundMax: time.Millisecond, roundsAll: 3, roundsMin: 3, roundsMax: 5}

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

// steady is an entrant whose operations always take so long.
func steady(name string, role role, ns float64, turns *[]string) *entrant {
	return &entrant{name: name, role: role, subject: subject{
		ops: 1000,
		work: func(times int) time.Duration {
			*turns = append(*turns, name)
			return time.Duration(ns * 1000 * float64(times))
		},
		check: func() error { return nil },
	}}
}

func TestMeasureSparesTheHopeless(t *testing.T) {
	var turns []string
	list := []*entrant{
		steady("atoll", own, 900, &turns), steady("best", peer, 1000, &turns), steady("near", peer, 1900, &turns),
		steady("far", peer, 2100, &turns), steady("slices", limit, 9000, &turns),
	}
	rounds := measure(list, testPlan, time.Now().Add(time.Hour))
	require.Equal(t, 5, rounds)
	for i, want := range []int{5, 5, 5, 3, 5} {
		assert.Len(t, list[i].ns, want, list[i].name)
	}
}

func TestMeasureSparesAfterOneRound(t *testing.T) {
	var turns []string
	for ops, want := range map[int]int{manyOps: 1, manyOps - 1: 3} {
		list := []*entrant{steady("best", peer, 1000, &turns), steady("far", peer, 4100, &turns), steady("near", peer, 3900, &turns)}
		for _, e := range list {
			e.ops = ops
		}
		measure(list, testPlan, time.Now())
		assert.Len(t, list[1].ns, want)
		assert.Len(t, list[2].ns, 3)
	}
}

func TestMeasureEndsWhenThatIsEnough(t *testing.T) {
	var turns []string
	p := testPlan
	p.roundsMax = 50
	p.enough = func(rounds int) bool { return rounds == 7 }
	assert.Equal(t, 7, measure([]*entrant{steady("a", own, 1000, &turns)}, p, time.Now().Add(time.Hour)))
}

func TestDecided(t *testing.T) {
	cell := func(ratio, spread float64) result {
		return result{Ratio: &ratio, RatioLow: ptr(ratio - spread/2), RatioHigh: ptr(ratio + spread/2), verdict: verdict{Target: ptr(0.8)}}
	}
	for _, c := range []struct {
		name          string
		ratio, spread float64
		rounds        int
		want          bool
	}{
		{"far below", 0.5, 0.1, 9, true},
		{"far above", 1.5, 0.1, 9, true},
		{"between its target and 1", 0.9, 0.01, 9, true},
		{"at 1", 1.01, 0, 9, false},
		{"at its target", 0.79, 0, 9, false},
		{"noisy", 0.6, 0.6, 9, false},
		{"noisy, but many rounds", 0.6, 0.6, 49, true},
	} {
		assert.Equal(t, c.want, cell(c.ratio, c.spread).decided(c.rounds), c.name)
	}
	r := cell(0.5, 0.01)
	r.LimitRatio, r.LimitTarget = ptr(1.11), ptr(1.1)
	assert.False(t, r.decided(9), "at the target that the limit is")
	assert.True(t, result{}.decided(3), "nothing to compare")
}

func TestRunCell(t *testing.T) {
	s := settings{plan: testPlan, peers: mustCompile("^ark$")}
	for n, want := range map[int]int{64: 1, 2000: world.DefaultShards} {
		r := cell{&benches[0], n}.run(s, time.Now())
		require.NotNil(t, r.Ratio)
		assert.Equal(t, "ark", r.BestPeer)
		assert.Equal(t, *r.AtollNS / *r.PeerNS, *r.Ratio)
		assert.Equal(t, want, r.Shards)
		assert.Equal(t, *r.AtollNS, r.ByShards[want])
		assert.Equal(t, 1.0, *r.Target)
		assert.NotNil(t, r.LimitNS)
		assert.Empty(t, r.LeftOut)
		assert.LessOrEqual(t, *r.RatioLow, *r.RatioHigh)
	}
}

func TestShardsShown(t *testing.T) {
	b, once := &benches[0], &benches[len(benches)-1]
	full, quick := settings{full: true}, settings{}
	assert.Equal(t, []int{1, 4}, b.shardsShown(256, full))
	assert.Equal(t, []int{4, 1, 16, 256}, b.shardsShown(1024, full))
	assert.Equal(t, []int{4}, b.shardsShown(1024, quick))
	assert.Equal(t, []int{4, 1, 16, 256}, b.shardsShown(quickShardsN, quick))
	assert.Equal(t, []int{4, 1, 16, 256}, once.shardsShown(1, quick))
	assert.Equal(t, []int{7}, b.shardsShown(1024, settings{full: true, shards: 7}))
}
