package scheduler

import (
	"cmp"
	"slices"
	"time"
)

// chains holds spans of systems by worker and by shard, as numbers in a list that is ordered by
// From. Spans of one worker do not overlap, nor do those of one shard.
type chains struct {
	all      []Span
	ofWorker map[int][]int
	ofShard  map[int][]int
	waits    map[int][]int
}

// markCritical marks the spans on the critical path of a tick. It goes from the end of the tick
// back to its beginning. A span can have waited for three others: the one before it of the same
// worker, the one before it in the same shard, and, if the shard stood at a fence, the one that
// opened the fence. The path goes on with the one of these that ended last.
func markCritical(all []Span) {
	c := chains{all, map[int][]int{}, map[int][]int{}, map[int][]int{}}
	last := -1
	for i := range all {
		switch x := &all[i]; {
		case x.Kind == SpanSystem:
			c.ofWorker[x.Worker] = append(c.ofWorker[x.Worker], i)
			c.ofShard[x.Shard] = append(c.ofShard[x.Shard], i)
			if last < 0 || x.To > all[last].To {
				last = i
			}
		case x.Kind == SpanWait:
			c.waits[x.Shard] = append(c.waits[x.Shard], i)
		case x.Kind == SpanBalance, x.Kind == SpanBetween, x.Worker < 0:
			x.Critical = true // the steps of a refresh follow one another, as does what comes before
		}
	}
	for last >= 0 && !all[last].Critical {
		all[last].Critical = true
		last = c.before(last)
	}
	markParts(all)
}

// before returns the last to end of the spans that span i had to wait for, or -1.
func (c *chains) before(i int) int {
	x := &c.all[i]
	found := -1
	later := func(k int) {
		if k >= 0 && (found < 0 || c.all[k].To > c.all[found].To) {
			found = k
		}
	}
	later(c.previous(c.ofWorker[x.Worker], i))
	later(c.previous(c.ofShard[x.Shard], i))
	for _, k := range c.waits[x.Shard] {
		if w := &c.all[k]; w.To == x.From {
			later(c.passing(w))
		}
	}
	return found
}

// previous returns the number before i in a list.
func (c *chains) previous(list []int, i int) int {
	if k, _ := slices.BinarySearch(list, i); k > 0 {
		return list[k-1]
	}
	return -1
}

// passing returns the last span of the shard that a wait was for, before the end of the wait. That
// is the system that the shard had to pass, or the one before it if that did not run.
func (c *chains) passing(w *Span) int {
	list := c.ofShard[w.For]
	k, _ := slices.BinarySearchFunc(list, w.To, func(i int, to time.Duration) int { return cmp.Compare(c.all[i].From, to) })
	for k--; k >= 0; k-- {
		if x := &c.all[list[k]]; x.To <= w.To && (x.Name == w.Name || x.To <= w.From) {
			return list[k]
		}
	}
	return -1
}

// markParts marks in each step of the refresh the part that ended last.
func markParts(all []Span) {
	for i := range all {
		whole := &all[i]
		if whole.Kind != SpanStep || whole.Worker >= 0 {
			continue
		}
		last := -1
		for k := i; k < len(all) && all[k].From <= whole.To; k++ {
			if x := &all[k]; x.Kind == SpanStep && x.Worker >= 0 && x.Name == whole.Name && x.To <= whole.To && (last < 0 || x.To > all[last].To) {
				last = k
			}
		}
		if last >= 0 {
			all[last].Critical = true
		}
	}
}
