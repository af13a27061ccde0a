package store

import "github.com/atoll-sim/atoll/handle"

// Groups holds items by the shard that they are for, in the order in which they were added. It is a
// counting sort. So when each shard takes its own items, the cost of the step grows with the number
// of items, not of shards.
//
//	items  [0 0 0|1|3 3]     Of(0) Of(1) Of(2) Of(3)
//	ends       3 4 4 6
//
// Use it in three passes: Reset and Count each item, Counted, Add each item in the same
// order.
//
// Ownership: the coordinator fills it; then each shard has its own group.
type Groups[T any] struct {
	items []T
	ends  []int // by shard: the number of items, then where the next goes, then the group's end
}

// Reset empties the groups and begins to count for n shards. It does not clear the items: if they
// hold pointers, the code that took them must have cleared them.
func (g *Groups[T]) Reset(n int) {
	g.items = g.items[:0]
	if len(g.ends) != n {
		g.ends = make([]int, n)
	}
	clear(g.ends)
}

// Count counts an item for a shard.
func (g *Groups[T]) Count(shard int) { g.ends[shard]++ }

// Counted makes room for the items that were counted.
func (g *Groups[T]) Counted() {
	total := 0
	for i, n := range g.ends {
		g.ends[i] = total
		total += n
	}
	if cap(g.items) < total {
		g.items = make([]T, total+total/4)
	}
	g.items = g.items[:total]
}

// Add adds an item that was counted.
func (g *Groups[T]) Add(shard int, item T) {
	g.items[g.ends[shard]] = item
	g.ends[shard]++
}

// Of returns the items of a shard. In the steps after the grouping, each shard's worker asks for
// its own.
func (g *Groups[T]) Of(shard int) []T {
	if len(g.items) == 0 {
		return nil
	}
	from := 0
	if shard > 0 {
		from = g.ends[shard-1]
	}
	return g.items[from:g.ends[shard]]
}

// RemoteDead are the handles that a refresh freed where the shard does not draw from their home,
// grouped by the shard that their home belongs to. A group is in the order of the shards that held
// the atoms, and within a shard in the order in which it freed them.
//
// Ownership: as for Groups.
type RemoteDead struct{ Groups[handle.Handle] }

// Gather collects the handles from all shards. The coordinator calls it between compact and
// recycle.
func (r *RemoteDead) Gather(shards []*Shard) {
	r.Reset(len(shards))
	for _, s := range shards {
		for _, h := range s.ShardDead() {
			r.Count(s.space.OwnerOf(h))
		}
	}
	r.Counted()
	for _, s := range shards {
		for _, h := range s.ShardDead() {
			r.Add(s.space.OwnerOf(h), h)
		}
	}
}
