package queue

// Outcomes counts the outcomes of requests.
//
// Ownership: the goroutine that decides: a shard's worker, or in a refresh the worker that reads a
// partition.
type Outcomes struct{ counts [outcomes]uint64 }

// Count returns how many requests ended with the outcome.
func (b *Outcomes) Count(o Outcome) uint64 { return b.counts[o] }

// Add counts n requests with an outcome.
func (b *Outcomes) Add(o Outcome, n int) { b.counts[o] += uint64(n) }

// Decide decides the outcome of a request, and counts it. Who applies the request calls it.
func (b *Outcomes) Decide(r *Request, o Outcome) {
	b.counts[o]++
	r.Decide(o)
}
