// Package clock measures short times cheaply: a reading costs about half of
// time.Now where the processor's own counter can be used, and as much elsewhere.
package clock

import "time"

// The moment at which both clocks were read first.
var (
	firstTime  = time.Now()
	firstTicks = Now()
)

// Now returns a reading, in ticks of the counter. Readings on different
// processors may be off by a few ticks, so a difference can be slightly negative.
// It allocates nothing and is safe from any goroutine.
func Now() int64 {
	if counted {
		return counter()
	}
	return int64(time.Since(epoch))
}

// InBubble reports whether the caller is in a bubble of package synctest, where the system's clock
// is not the counter's: it begins in the year 2000. Any goroutine may call it.
func InBubble() bool {
	since := time.Since(firstTime)
	return since < 0 || since > 20*365*24*time.Hour
}

// epoch is where readings in nanoseconds begin.
var epoch = time.Now()

// Scale is the length of a tick.
type Scale float64

// nominal is the scale of a counter at 3 GHz. No counter is outside of slowest and fastest.
const (
	nominal = Scale(1.0 / 3)
	slowest = Scale(20) // 50 MHz
	fastest = Scale(0.1)
)

// Measure compares the counter with the system's clock, over the time that the program has been
// running. Any goroutine may call it; it may take 10 ms when the program has just begun. In a
// bubble of package synctest, whose time is not that of the counter, it is only roughly right.
func Measure() Scale {
	if !counted {
		return 1
	}
	for {
		took, ticks := time.Since(firstTime), Now()-firstTicks
		s := Scale(float64(took) / float64(ticks))
		plausible := s > fastest && s < slowest
		switch {
		case plausible && took > time.Millisecond:
			return s
		case !plausible && nominal.Duration(ticks) > 10*time.Millisecond:
			return nominal
		}
	}
}

// Duration converts a number of ticks. A negative one is 0.
func (s Scale) Duration(ticks int64) time.Duration {
	return time.Duration(float64(s) * float64(max(0, ticks)))
}

// Ticks converts a time.
func (s Scale) Ticks(d time.Duration) int64 { return int64(float64(d) / float64(s)) }
