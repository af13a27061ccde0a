package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var testPlan = plan{batchMin: time.Microsecond, roundMax: time.Millisecond, roundsAll: 3, roundsMin: 3, roundsMax: 5}

func TestMedian(t *testing.T) {
	assert.Equal(t, 2.0, median([]float64{3, 1, 2}))
	assert.Equal(t, 2.5, median([]float64{4, 1, 2, 3}))
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
	assert.Equal(t, []string{"a", "a", "b", "b", "a", "b", "b", "a", "a", "b"}, turns, "calibration, then rounds that each begin with another")
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

func TestMeasureTimesLongerInWarmCaches(t *testing.T) {
	var turns []string
	p := testPlan
	p.warmMin, p.roundMax = 8*p.batchMin, time.Second
	cold, warm, slow := steady("cold", own, 1, &turns), steady("warm", own, 1, &turns), steady("slow", own, 2, &turns)
	hopeless := steady("hopeless", peer, 4, &turns)
	warm.warm, slow.warm, hopeless.warm = true, true, true
	measure([]*entrant{cold, warm, slow, hopeless}, p, time.Now())
	assert.Equal(t, []int{1, 8, 8, 2}, []int{cold.times, warm.times, slow.times, hopeless.times}, "as many in warm caches")
}

func TestCalibrateBearsStalls(t *testing.T) {
	stalls := 0
	e := &entrant{subject: subject{work: func(times int) time.Duration {
		if stalls++; stalls == 2 {
			return time.Second
		}
		return time.Duration(times) * time.Microsecond
	}}}
	p := testPlan
	p.batchMin = 64 * time.Microsecond
	e.calibrate(p)
	assert.Equal(t, 64, e.times)
}

func TestMeasureSparesForGood(t *testing.T) {
	var turns []string
	best, far := steady("best", peer, 1000, &turns), steady("far", peer, 2500, &turns)
	slow := best.work
	best.work = func(times int) time.Duration {
		if len(best.ns) < 4 {
			return slow(times)
		}
		return 9 * slow(times)
	}
	p := testPlan
	p.roundsMax = 12
	measure([]*entrant{best, far}, p, time.Now().Add(time.Hour))
	assert.Len(t, best.ns, 12)
	assert.Len(t, far.ns, 3, "so that the rounds of two entrants are the same ones")
}

func TestRatiosAreOfRounds(t *testing.T) {
	times := func(name string, role role, ns ...float64) *entrant { return &entrant{name: name, role: role, ns: ns} }
	c := cell{&bench{name: "test", bars: at(0, 0.7)}, 1024}
	// The machine is slow in the last two rounds, and far took part in the first.
	r := c.result([]*entrant{times("atoll", own, 1, 1, 10, 10), times("near", peer, 1.25, 1.25, 12.5, 8),
		times("far", peer, 5), times("even", peer, 2, 2, 20, 20), times("slices", limit, 0.5, 0.5, 5, 5)})
	assert.Equal(t, map[string]float64{"near": 0.8, "far": 0.2, "even": 0.5}, r.Ratios)
	assert.Equal(t, "near", r.BestPeer)
	assert.Equal(t, 0.8, *r.Ratio)
	assert.Equal(t, 4.625, *r.PeerNS)
	assert.Equal(t, []float64{0.8, 1.25}, []float64{*r.RatioLow, *r.RatioHigh})
	assert.Equal(t, 2.0, *r.LimitRatio)
	assert.True(t, r.Missed)

	broken := times("atoll", own)
	broken.out = same("sum", 1, 2)
	r = c.result([]*entrant{broken, times("a", peer, 3), times("b", peer, 2)})
	assert.Equal(t, "b", r.BestPeer, "the fastest, without Atoll")
	assert.Nil(t, r.Ratio)
	assert.True(t, r.Missed)
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
		{"between its bar and 1", 0.9, 0.01, 9, true},
		{"at 1", 1.01, 0, 9, false},
		{"where its bar is missed", 0.85, 0, 9, false},
		{"noisy", 0.6, 0.6, 9, false},
		{"noisy, but many rounds", 0.6, 0.6, 49, true},
	} {
		assert.Equal(t, c.want, cell(c.ratio, c.spread).decided(c.rounds), c.name)
	}
	assert.True(t, result{}.decided(3), "nothing to compare")
}

func TestRunCell(t *testing.T) {
	s := settings{plan: testPlan, peers: mustCompile("^ark$")}
	for _, n := range []int{64, 1024} {
		r := cell{&benches[0], n}.run(s, time.Now())
		require.NotNil(t, r.Ratio)
		assert.Equal(t, "ark", r.BestPeer)
		assert.Equal(t, *r.Ratio, r.Ratios["ark"])
		assert.Equal(t, *r.PeerNS, r.Peers["ark"])
		assert.NotNil(t, r.LimitRatio)
		assert.Equal(t, defaultShards, r.Shards)
		assert.Equal(t, *r.AtollNS, r.ByShards[defaultShards])
		assert.Equal(t, n == 1024, r.Target != nil)
		assert.NotNil(t, r.LimitNS)
		assert.Empty(t, r.LeftOut)
		assert.LessOrEqual(t, *r.RatioLow, *r.RatioHigh)
	}
}

func TestShardsShown(t *testing.T) {
	b, once := &benches[0], &benches[len(benches)-1]
	full, quick := settings{full: true}, settings{}
	assert.Equal(t, []int{4, 1}, b.shardsShown(256, full))
	assert.Equal(t, []int{4, 1, 16, 256}, b.shardsShown(1024, full))
	assert.Equal(t, []int{4}, b.shardsShown(1024, quick))
	assert.Equal(t, []int{4, 1, 16, 256}, b.shardsShown(quickShardsN, quick))
	assert.Equal(t, []int{4, 1, 16, 256}, once.shardsShown(1, quick))
}
