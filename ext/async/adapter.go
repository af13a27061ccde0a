package async

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"sort"

	"github.com/atoll-sim/atoll/internal/form"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/wheel"
)

// home has the asks of a shard, or of global systems, each due when it times out.
//
// Invariants: between refreshes there are no results, and no tasks have ended.
//
// Ownership: as for the Wheel.
type home[A, R any] struct {
	wheel.Of[A]            // with the args
	fresh       []wheel.ID // asked since the last refresh
	dead        []wheel.ID // those of fresh whose entity is dead: scratch
	tasks       []*task    // by index: what the Pool has of the asks
	ended       []*task    // of asks that have ended in this refresh

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

// end forgets an ask that is not in the wheel any more.
func (h *home[A, R]) end(index int) {
	*h.Body(index) = *new(A)
	if index < len(h.tasks) && h.tasks[index] != nil {
		h.ended = append(h.ended, h.tasks[index])
		h.tasks[index] = nil
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

// adapter is a Call as the world sees it. It keeps its methods out of the exported ones of Call.
type adapter[A, R any] struct{ *Call[A, R] }

// Name returns the name.
func (a adapter[A, R]) Name() string { return a.name }

// attached returns the Pool of the Call.
func (a adapter[A, R]) attached() *Pool { return a.pool }

// attach sets the Pool, and gives it all asks except those that the next refresh hands over.
func (a adapter[A, R]) attach(p *Pool) {
	a.pool, a.free = p, nil
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range a.homes {
		h := &a.homes[i]
		h.tasks, h.ended = nil, nil
		fresh := make(map[wheel.ID]bool, len(h.fresh))
		for _, id := range h.fresh {
			fresh[id] = true
		}
		h.Each(i, func(_ int, id wheel.ID) {
			if !fresh[id] {
				a.push(h, id, !a.options.Rerun)
			}
		})
	}
}

// Arrange makes a home for each of the world.
func (a adapter[A, R]) Arrange() {
	a.homes = nil
	for range a.engine.Space().Homes() {
		a.homes = append(a.homes, home[A, R]{Of: wheel.New[A]()})
	}
}

// Due returns how much work there is at a tick.
func (a adapter[A, R]) Due(tick uint64) (n int) {
	for i := range a.homes {
		h := &a.homes[i]
		n += len(h.came) + len(h.fresh) + h.InSlot(tick)
	}
	return n
}

// Collect finds the receivers of a home's results, ends asks that have timed out, and hands the
// changes to the Pool.
func (a adapter[A, R]) Collect(at int) {
	h := &a.homes[at]
	h.results, h.came = h.came, h.results[:0]
	for i := range h.results {
		h.results[i].owner = a.owner(h.results[i].to)
	}
	h.dropDead(a.owner)
	h.Wheel.Collect(at, a.w.Tick(), a.owner)
	for _, x := range h.Fired {
		h.end(x.ID.Index())
		if x.Owner != wheel.Gone {
			h.results = append(h.results, result[R]{x.To, x.Owner, Result[R]{ID: ID(x.ID), Status: TimedOut}})
		}
	}
	if a.pool != nil {
		a.tell(h)
	}
	h.fresh, h.ended = h.fresh[:0], h.ended[:0]
	h.away = false
	own := int32(a.engine.Space().OwnerOfHome(at))
	for i := range h.results {
		x := &h.results[i]
		if h.away = h.away || x.owner != own; x.owner == wheel.Gone {
			x.Result = Result[R]{}
		}
	}
	if h.away {
		slices.SortStableFunc(h.results, func(x, y result[R]) int { return cmp.Compare(x.owner, y.owner) })
	}
}

// Deliver delivers the results for entities of a shard.
func (a adapter[A, R]) Deliver(shard int) {
	for i := range a.homes {
		h := &a.homes[i]
		if !h.away && a.engine.Space().OwnerOfHome(i) != shard {
			continue
		}
		// Other shards take out their Results at the same time, so only owners are read.
		from := sort.Search(len(h.results), func(k int) bool { return h.results[k].owner >= int32(shard) })
		for k := from; k < len(h.results) && h.results[k].owner == int32(shard); k++ {
			x := &h.results[k]
			a.deliver(shard, x.to, mem.PointerTo(&x.Result))
			x.Result = Result[R]{}
		}
	}
}

// Measure reports how many asks have no result yet.
func (a adapter[A, R]) Measure(add func(extend.Measured)) {
	add(extend.Measured{Name: "atoll_async_pending", Help: "Asks of work outside that have no result yet.", Of: a.name, Value: float64(a.Len())})
}

// coded shows the state of a Call: all asks that are under way, and what decides the next IDs.
type coded[A, R any] struct {
	wheel.Saved[A]
	call *Call[A, R]
}

// Coded returns what shows the state, with the arguments by codecs.
func (a adapter[A, R]) Coded(codecs *form.Codecs, toRead bool) (any, error) {
	form, err := codecs.Form(reflect.TypeFor[A](), toRead)
	return coded[A, R]{wheel.Saved[A]{
		Package: "async", Extension: a.name, Entries: "asks", Form: form,
		Limits: fmt.Sprintf("Pending %d, Ticks %d", a.options.Pending, a.options.Ticks), Homes: func() int { return len(a.homes) }, Tick: a.w.Tick,
		Wheel: func(home int) *wheel.Of[A] { return &a.homes[home].Of },
	}, a.Call}, err
}

// LoadSaved is LoadHeld for arguments of the present form.
func (c coded[A, R]) LoadSaved(src []byte) error { return c.LoadHeld(src, c.Form) }

// LoadHeld gives a new world's Call what AppendSaved wrote, with arguments that a form reads. The
// world must have no Pool, which would not know of it.
func (c coded[A, R]) LoadHeld(src []byte, by form.Form) error {
	if pool := c.call.pool; pool != nil && !pool.isClosed() {
		return fmt.Errorf("async: %q has a Pool already; close the Pool, and attach one after the load", c.call.name)
	}
	if err := c.Saved.LoadHeld(src, by); err != nil {
		return err
	}
	repeats := false
	for i := range c.call.homes {
		h := &c.call.homes[i]
		h.fresh = h.fresh[:0]
		h.Each(i, func(index int, id wheel.ID) {
			if h.At(index).Armed() == c.call.w.Tick() { // asked by the idle world
				h.fresh = append(h.fresh, id)
			}
			repeats = repeats || h.At(index).Period != 0
		})
	}
	if repeats {
		return fmt.Errorf("async: %q: an ask is there that repeats (%w)", c.call.name, extend.ErrImage)
	}
	return nil
}
