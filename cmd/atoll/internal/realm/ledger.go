package realm

// Ledger is the books of one island, or the sum of all.
//
// Ownership: the systems of the island write it, while they run. It is read
// between ticks.
type Ledger struct {
	Created   [kinds]uint64 // by kind; avatars are created by clients, not here
	Destroyed [kinds]uint64 // by kind; avatars that died, not those that left

	Obeyed  uint64 // commands applied
	Late    uint64 // commands for an avatar that had died
	Refused uint64 // commands that met a full outbox
	Skipped uint64 // commands that never arrived, found by gaps in their numbers
	Doubled uint64 // commands that arrived twice
	Unheard uint64 // replies that were dropped: the mailbox was full or closed

	Blows   uint64 // attacks that landed
	Abroad  uint64 // of those, on an entity of another island
	Dropped uint64 // attacks, rumours, items and creatures that met a limit
}

// add adds another island's.
func (l *Ledger) add(o *Ledger) {
	for k := range l.Created {
		l.Created[k] += o.Created[k]
		l.Destroyed[k] += o.Destroyed[k]
	}
	l.Obeyed += o.Obeyed
	l.Late += o.Late
	l.Refused += o.Refused
	l.Skipped += o.Skipped
	l.Doubled += o.Doubled
	l.Unheard += o.Unheard
	l.Blows += o.Blows
	l.Abroad += o.Abroad
	l.Dropped += o.Dropped
}

// alive returns how many of a kind should be alive, by the ledger.
func (l *Ledger) alive(k Kind) int { return int(l.Created[k] - l.Destroyed[k]) }

// Ledger returns the sum of the islands' ledgers. No tick may be running.
func (r *Realm) Ledger() Ledger {
	var sum Ledger
	for i := range r.islands {
		sum.add(&r.islands[i].ledger)
	}
	return sum
}
