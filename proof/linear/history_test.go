package linear_test

import (
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// history is what was done to one world, slot by slot.
type history struct {
	rules
	slots      [][]record // of each slot, by time of call; steps of refreshes are in each
	operations int        // of clients
	overlap    overlap
}

// overlap says whether two clients were at the same slot at the same time.
type overlap struct {
	undelayed bool // within a call each, and neither dawdled
	calls     bool // within a call each
	waits     bool // or between a request and its outcome
}

func newHistory(s shape, seed uint64) history {
	return arrange(s.rules(), newStage(s, seed).play())
}

// arrange sorts the records by slot. A refresh is a step of each slot; those before
// anything was done to a slot, and after, change nothing there.
func arrange(u rules, records []record) history {
	h := history{rules: u}
	byPlace := map[place][]record{}
	var steps []record
	for _, r := range records {
		if r.verb >= cut {
			steps = append(steps, r)
			continue
		}
		h.operations++
		byPlace[placeOf(r.h)] = append(byPlace[placeOf(r.h)], r)
	}
	for _, own := range byPlace {
		slices.SortFunc(own, func(a, b record) int { return int(a.called - b.called) })
		h.overlap.find(own)
		first, last := own[0].called, int64(0)
		for _, r := range own {
			last = max(last, r.returned)
		}
		for _, r := range steps {
			if r.returned > first && r.called < last {
				own = append(own, r)
			}
		}
		h.slots = append(h.slots, own)
	}
	return h
}

// find looks for overlaps in the records of a slot, which are by time of call.
func (o *overlap) find(own []record) {
	sent := map[uint16]int64{} // when each request was sent that is waited for
	for i, a := range own {
		if a.request != 0 && a.verb != told {
			sent[a.request] = a.called
		}
		for _, b := range own[i+1:] {
			if b.called > a.returned {
				break
			}
			if a.client != b.client {
				calls := a.verb != told && b.verb != told
				o.waits = true
				o.calls = o.calls || calls
				o.undelayed = o.undelayed || calls && !a.dawdled && !b.dawdled
			}
		}
	}
	for _, a := range own {
		for _, b := range own {
			if a.verb == told && b.client != a.client && b.called < a.returned && b.returned > sent[a.request] {
				o.waits = true
			}
		}
	}
}

// check reports whether all slots behaved as the rules say; Unknown if that cannot be
// decided in time.
func (h history) check(u rules) porcupine.CheckResult {
	var all []porcupine.Operation // the checker wants one list, to be partitioned
	parts := make([][]porcupine.Operation, len(h.slots))
	for i, own := range h.slots {
		for k := range own {
			r := &own[k]
			parts[i] = append(parts[i], porcupine.Operation{ClientId: r.client, Input: r, Call: r.called, Output: nil, Return: r.returned})
		}
		all = append(all, parts[i]...)
	}
	model := u.model(func([]porcupine.Operation) [][]porcupine.Operation { return parts })
	return porcupine.CheckOperationsTimeout(model, all, checkTime)
}

const checkTime = time.Minute
