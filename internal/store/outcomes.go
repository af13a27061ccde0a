package store

// Outcomes counts what became of requests.
//
// Ownership: the goroutine that decides: a shard's worker, or in a refresh the worker that
// reads a partition.
type Outcomes struct{ counts [outcomes]uint64 }

// Count returns how many requests ended with the outcome.
func (b *Outcomes) Count(o Outcome) uint64 { return b.counts[o] }

// Decide decides the outcome of a request; its queue notifies whoever waits.
func (b *Outcomes) Decide(r PendingRequest, o Outcome) {
	b.counts[o]++
	if r.flags&notify != 0 { // else the cache line stays as the sender has it
		r.mark = uint32(o)
	}
}

// decideAll is Decide for requests that were all applied.
func (b *Outcomes) decideAll(requests []PendingRequest) {
	b.counts[Applied] += uint64(len(requests))
	for _, r := range requests {
		if r.flags&notify != 0 {
			r.mark = uint32(Applied)
		}
	}
}
