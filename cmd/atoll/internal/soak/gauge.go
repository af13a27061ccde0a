package soak

import (
	"bytes"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"
)

// reading is the memory and goroutines of the process.
type reading struct {
	heap, rss  uint64 // bytes; rss 0: unknown
	goroutines int
}

// read collects garbage, returns free memory to the system, and measures. Otherwise
// the memory of the process would depend on when the collector last ran, not on what is
// needed.
func read() reading {
	runtime.GC()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return reading{heap: m.HeapAlloc, rss: resident(), goroutines: goroutines()}
}

// goroutines counts those that stay: some that are done may be about
// to end.
func goroutines() int {
	n := runtime.NumGoroutine()
	for range 20 {
		time.Sleep(time.Millisecond)
		n = min(n, runtime.NumGoroutine())
	}
	return n
}

// resident returns the process's resident memory, or 0 where it is not known.
func resident() uint64 {
	data, err := os.ReadFile("/proc/self/statm") // pages: size, resident, …
	if err != nil {
		return 0
	}
	fields := bytes.Fields(data)
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseUint(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * uint64(os.Getpagesize())
}

// Growth that is never a violation, because small worlds vary.
const (
	heapSlack = 2 << 20
	rssSlack  = 8 << 20
)

// compare checks that nothing has grown.
func (s *stage) compare(start, end reading) {
	grown := func(what string, from, to, slack uint64, most float64) {
		if most > 0 && to > from+slack && float64(to) > float64(from)*(1+most) {
			s.violate("%s grew from %.1f to %.1f MB, more than %.0f %%", what, mb(from), mb(to), most*100)
		}
	}
	grown("the live heap", start.heap, end.heap, heapSlack, s.config.heapGrowthMax)
	grown("resident memory", start.rss, end.rss, rssSlack, s.config.rssGrowthMax)
	if end.goroutines > start.goroutines {
		s.violate("%d goroutines at the end, %d at the start", end.goroutines, start.goroutines)
	}
}

// mb returns bytes in units of a million.
func mb(bytes uint64) float64 { return float64(bytes) / 1e6 }
