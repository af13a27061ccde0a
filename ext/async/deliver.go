package async

import (
	"cmp"
	"slices"
	"sort"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/wheel"
	"github.com/atoll-sim/atoll/world"
)

// home has the asks of a shard, or of global systems, each due when it times out.
//
// Invariants: between refreshes there are no results, and no tasks have ended.
//
// Ownership: as for the Wheel.
type home[A, R any] struct {
	wheel.Wheel
	args  wheel.Bodies[A]
	fresh []wheel.ID // asked since the last refresh
	dead  []wheel.ID // those of fresh whose entity is dead: scratch
	tasks []*task    // by index: what the Pool has of the asks
	ended []*task    // of asks that have ended in this refresh

	came    []result[R] // in this refresh
	results []result[R] // to be delivered, by owner
	away    bool        // some are for other shards
	_       [64]byte
}

// result is a Result and its receiver.
type result[R any] struct {
	to    handle.Handle
	owner int32 // of the entity; wheel.Gone if there is none
	Result[R]
}

// answer is what a Pool sends as the end of an ask.
type answer[R any] struct {
	ID     wheel.ID
	Status Status
	Value  R
}

// adapter is a Call as the world sees it. It keeps its methods out of the exported ones of Call.
type adapter[A, R any] struct{ *Call[A, R] }

// Name returns the label.
func (c adapter[A, R]) Name() string { return c.label }

// shardOf returns the shard that gets answers to an ask. Answers to global systems go to shard 0.
func (c *Call[A, R]) shardOf(id wheel.ID) int { return id.Home() % c.w.Shards() }

// answer applies an answer at the refresh, in the shard that it was sent to.
func (c *Call[A, R]) answer(shard int, x *answer[R]) world.Outcome {
	if x.ID.Home() >= len(c.homes) || c.shardOf(x.ID) != shard || x.Status >= statuses { // only in a log that was altered
		return world.Gone
	}
	h := &c.homes[x.ID.Home()]
	index, ok := h.Find(x.ID)
	if !ok {
		return world.Gone
	}
	h.came = append(h.came, result[R]{to: h.At(index).To, Result: Result[R]{ID(x.ID), x.Status, x.Value}})
	h.Unset(index)
	h.Release(index)
	h.end(index)
	return world.Applied
}

// end forgets an ask that is not in the wheel any more.
func (h *home[A, R]) end(index int) {
	*h.args.At(index) = *new(A)
	if index < len(h.tasks) && h.tasks[index] != nil {
		h.ended = append(h.ended, h.tasks[index])
		h.tasks[index] = nil
	}
}

// Due returns how much work there is at a tick.
func (c adapter[A, R]) Due(tick uint64) (n int) {
	for i := range c.homes {
		h := &c.homes[i]
		n += len(h.came) + len(h.fresh) + h.InSlot(tick)
	}
	return n
}

// Collect finds the receivers of a home's results, ends asks that have timed out, and hands the
// changes to the Pool.
func (c adapter[A, R]) Collect(at int) {
	h := &c.homes[at]
	h.results, h.came = h.came, h.results[:0]
	for i := range h.results {
		h.results[i].owner = c.owner(h.results[i].to)
	}
	h.dropDead(c.owner)
	h.Wheel.Collect(at, c.w.Tick(), c.owner)
	for _, x := range h.Fired {
		h.end(x.ID.Index())
		if x.Owner != wheel.Gone {
			h.results = append(h.results, result[R]{x.To, x.Owner, Result[R]{ID: ID(x.ID), Status: TimedOut}})
		}
	}
	if c.pool != nil {
		c.tell(h)
	}
	h.fresh, h.ended = h.fresh[:0], h.ended[:0]
	h.away = false
	for i := range h.results {
		x := &h.results[i]
		if h.away = h.away || x.owner != int32(at); x.owner == wheel.Gone {
			x.Result = Result[R]{}
		}
	}
	if h.away {
		slices.SortStableFunc(h.results, func(a, b result[R]) int { return cmp.Compare(a.owner, b.owner) })
	}
}

// dropDead forgets asks since the last refresh whose entity is dead, so that they do not run.
func (h *home[A, R]) dropDead(owner func(handle.Handle) int32) {
	alive := h.fresh[:0]
	for _, id := range h.fresh {
		switch index, ok := h.Find(id); {
		case !ok:
		case owner(h.At(index).To) == wheel.Gone:
			h.dead = append(h.dead, id)
		default:
			alive = append(alive, id)
		}
	}
	h.fresh = alive
	slices.Sort(h.dead) // a world that was loaded does not know the order in which they were asked
	for _, id := range h.dead {
		index := id.Index()
		h.Unset(index)
		h.Release(index)
		h.end(index)
	}
	h.dead = h.dead[:0]
}

// Deliver delivers the results for entities of a shard.
func (c adapter[A, R]) Deliver(shard int) {
	for i := range c.homes {
		h := &c.homes[i]
		if i != shard && !h.away {
			continue
		}
		// Other shards take out their Results at the same time, so only owners are read.
		from := sort.Search(len(h.results), func(k int) bool { return h.results[k].owner >= int32(shard) })
		for k := from; k < len(h.results) && h.results[k].owner == int32(shard); k++ {
			x := &h.results[k]
			c.deliver(shard, x.to, mem.PointerTo(&x.Result))
			x.Result = Result[R]{}
		}
	}
}

// Measure reports how many asks have no result yet.
func (c adapter[A, R]) Measure(add func(drive.Measured)) {
	add(drive.Measured{Name: "atoll_async_pending", Help: "Asks of work outside that have no result yet.", Of: c.label, Value: float64(c.Len())})
}
