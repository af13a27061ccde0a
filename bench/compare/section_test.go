package main

import (
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var testSettings = settings{plan: testPlan, peers: mustCompile("")}

// named returns the finding about a contender with a number of shards.
func named(t *testing.T, found []finding, name string, shards int) finding {
	t.Helper()
	for _, f := range found {
		if f.Name == name && f.Shards == shards {
			require.Empty(t, f.LeftOut, f.label())
			return f
		}
	}
	t.Fatalf("nothing was found about %s with %d shards", name, shards)
	return finding{}
}

// TestSectionsShowAtollWithAllShards runs each section with few entities.
func TestSections(t *testing.T) {
	for _, x := range sections {
		t.Run(x.name, func(t *testing.T) {
			found := x.measure(600, testSettings)
			if x.alone {
				require.NotEmpty(t, found)
				for _, f := range found {
					require.Empty(t, f.LeftOut, f.label())
					require.Contains(t, f.Values, x.columns[0].key)
				}
				return
			}
			for _, shards := range shardCounts {
				f := named(t, found, "atoll", shards)
				assert.Equal(t, x.name, f.Section)
				assert.Equal(t, 600, f.N)
				require.Contains(t, f.Values, x.columns[0].key)
			}
			require.NotEmpty(t, named(t, found, "ark", 0).Values)
			for _, f := range found {
				require.Empty(t, f.LeftOut, f.label())
			}
			require.Len(t, ballast, ballastBytes, "is there for those that come after")
		})
	}
}

func TestSectionTargets(t *testing.T) {
	x := &section{
		name: "x", full: 10, target: bound(5), columns: []column{{"v", "v"}},
		run: func(int, settings) []finding {
			value := map[string]float64{"v": 6}
			return []finding{{Name: "atoll", Shards: 1, Values: value}, {Name: "atoll", Shards: defaultShards, Values: value}, {Name: "ark", Values: value}}
		},
	}
	missed := func(n int) (list []bool) {
		for _, f := range x.measure(n, testSettings) {
			list = append(list, f.Missed)
		}
		return list
	}
	assert.Equal(t, []bool{false, true, false}, missed(10), "judged with the default number of shards")
	assert.Equal(t, []bool{false, false, false}, missed(9), "judged at full size")
	x.judgeAll = true
	assert.Equal(t, []bool{true, true, false}, missed(9), "judged always, Atoll alone")
}

func TestSectionsLeaveOut(t *testing.T) {
	f := find(contender{name: "broken"}, func() map[string]float64 { panic("no") })
	assert.Equal(t, finding{Name: "broken", LeftOut: "panic: no"}, f)
}

// filler is a population that does f at each create.
func filler(f func(i int)) contender {
	return contender{name: "filler", populate: func(bool, int) population {
		made := 0
		create := func(n int) {
			for range n {
				f(made)
				made++
			}
		}
		return population{create: create, count: func() int { return made }, forget: func() {}}
	}}
}

func TestGrowFindsTheWorstCreate(t *testing.T) {
	const nap = 3 * time.Millisecond
	s := grow(filler(func(i int) {
		if i == 7 {
			time.Sleep(nap)
		}
	}), 20)
	assert.GreaterOrEqual(t, s.worst, nap)
	assert.GreaterOrEqual(t, s.long, 1.0)
	assert.Less(t, s.cpu, nap, "asleep, a thread takes no processor time")
}

func TestStallValues(t *testing.T) {
	values := stallValues([]stall{{worst: 30_000, cpu: 3000, long: 2}, {worst: 10_000, cpu: 1000}, {worst: 20_000, cpu: 2000, long: 5}})
	assert.Equal(t, map[string]float64{"worst_us": 20, "worst_us_low": 10, "worst_us_high": 30, "worst_cpu_us": 2, "long": 2}, values)
	assert.NotContains(t, stallValues([]stall{{worst: 1}}), "worst_cpu_us", "where it is not known")
}

func TestWeighCountsTheHeap(t *testing.T) {
	const n, each = 1000, 100
	var kept [][]byte
	values := weigh(filler(func(int) { kept = append(kept, make([]byte, each+int(componentBytes))) }), n)
	runtime.KeepAlive(kept)
	assert.InDelta(t, each+30, values["bytes"], 40, "and the slices' own size classes and headers")
	assert.NotContains(t, values, "bytes_batch", "not offered")
}

func TestMemoryOfAtoll(t *testing.T) {
	values := weigh(atoll(1), 100_000)
	assert.InDelta(t, values["stats_reserved"], values["bytes"], 3, "what Stats says is what the heap holds")
	assert.InDelta(t, 16, values["stats_used"], 0.1, "a slot and a handle")
	assert.Contains(t, values, "bytes_batch")
}

func TestCountAllocations(t *testing.T) {
	var sink []byte
	counted := func(every int) map[string]float64 {
		done := 0
		return countAllocations(&subject{ops: 10, check: func() error { return nil }, work: func(times int) time.Duration {
			for range times * 10 {
				if done++; done%every == 0 {
					sink = make([]byte, 64)
				}
			}
			return 0
		}})
	}
	assert.InDelta(t, 1, counted(1)["allocs"], 0.05)
	assert.InDelta(t, 64, counted(1)["bytes"], 3)
	assert.InDelta(t, 0.1, counted(10)["allocs"], 0.02)
	assert.Zero(t, counted(math.MaxInt)["allocs"])

	calls := 0
	once := countAllocations(&subject{ops: 1, check: func() error { return nil }, work: func(int) time.Duration {
		if calls++; calls == 3 { // the second that counts
			for range 100 {
				sink = make([]byte, 64)
			}
		}
		return 0
	}})
	assert.Zero(t, once["allocs"], "the runtime allocates now and then")
	runtime.KeepAlive(sink)
}

func TestCollectSeesPointers(t *testing.T) {
	const n = 600_000
	withoutBallast(func() {
		held := holdMap(n)
		pointers := collect()
		runtime.KeepAlive(held)
		plain := holdWorld(atoll(1), n)
		columns := collect()
		runtime.KeepAlive(plain)
		assert.Less(t, 2*columns["mark_ms"], pointers["mark_ms"])
		assert.LessOrEqual(t, pointers["mark_ms"], pointers["cpu_ms"]*1.001)
		for _, values := range []map[string]float64{pointers, columns} {
			assert.Greater(t, values["heap_mb"], n*componentBytes/1e6)
			assert.Less(t, values["heap_mb"], 4*n*componentBytes/1e6)
		}
	})
}
