package link

import "time"

func init() { // a test waits for no long time
	patience, retryMin, retryMax = 200*time.Millisecond, time.Millisecond, 20*time.Millisecond
	pingAfter, pingMost, openMost = 300*time.Millisecond, 300*time.Millisecond, time.Second
}

// PairMost is how many requests of a pair of worlds a Server has in hand.
const PairMost = requestsPair

// SetPatience sets how long a request waits, until the function that it returns is called.
func SetPatience(d time.Duration) (over func()) {
	before := patience
	patience = d
	return func() { patience = before }
}
