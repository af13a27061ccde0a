package shard

// Outcomes counts what became of requests, and holds those that somebody waits
// for until all of the refresh is done: who hears "destroyed" finds the entity
// dead.
//
// Ownership: whoever decides: a shard's worker, or in a refresh the reader of a
// share of the sources.
type Outcomes struct {
	counts  [outcomes]uint64
	decided []decision
}

type decision struct {
	done Finisher
	what Outcome
}

// Count returns how many requests ended with the outcome.
func (b *Outcomes) Count(o Outcome) uint64 { return b.counts[o] }

// Decide counts the outcome of a request; who waits is told by Tell.
func (b *Outcomes) Decide(done Finisher, o Outcome) {
	b.counts[o]++
	if done != nil {
		b.decided = append(b.decided, decision{done, o})
	}
}

// Decided returns how many wait to be told.
func (b *Outcomes) Decided() int { return len(b.decided) }

// Tell tells the outcomes to those who wait.
func (b *Outcomes) Tell() {
	for _, d := range b.decided {
		d.done.Finish(d.what)
	}
	clear(b.decided)
	b.decided = b.decided[:0]
}
