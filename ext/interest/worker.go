package interest

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/internal/nearby"
)

// worker does a part of an Update.
//
// Ownership: a goroutine. Others read nothing of it but rows that are done.
type worker struct {
	*Clients
	number int
	run    func() // bound once, so that go allocates nothing

	hits    []nearby.Hit
	missed  []handle.Handle // hits that no client has seen in this Update yet
	fresh   []newHit
	handles []handle.Handle
	slots   []uint32 // of a client's pairs, by the number of their row in the last Update
	table   table    // of the client's pairs without a row in the last Update
	hashed  bool     // the table may have some
	// The rows whose numbers the worker has taken, and which it must encode.
	chunk       *chunk
	chunkNumber uint32
	chunkUsed   uint32
	claims      []uint32
	batch       batch
	ahead       uint64   // what was read ahead into the cache; the value has no meaning
	bytes       [2]arena // by the Update modulo 2

	joined []byte // joined columns of a row whose bytes are not contiguous

	due    []due
	order  []int32
	packet Packet
	sent   *sent // where to note what the packet contains, or nil
	bound  bool  // the client's packets have a bound
	_      [64]byte
}

// work does a worker's part of the Update, and keeps a panic for the caller.
func (w *worker) work() {
	done := false
	defer func() {
		if !done {
			w.failure.CompareAndSwap(nil, aside.Recovered("a function that Clients.Update calls", recover()))
		}
	}()
	w.update()
	done = true
}

// viewsEach is how many clients a worker takes at a time.
const clientsEach = 16

// update makes the Update for clients until none are left. It looks at some, encodes what they see,
// and makes their packets. There is no barrier in between: a worker waits only for rows that
// another one encodes.
func (w *worker) update() {
	w.table.rest()
	for w.failure.Load() == nil {
		to := int(w.next.Add(clientsEach))
		from := to - clientsEach
		if from >= len(w.clients) {
			return
		}
		views := w.clients[from:min(to, len(w.clients))]
		for _, c := range views {
			w.look(c)
		}
		w.encode()
		for _, c := range views {
			w.tell(c)
		}
	}
}

// wait waits until other workers have encoded all that a client sees. If one of them has failed it
// panics, before pairs count as sent.
func (w *worker) wait(c *Client) {
	for i := range c.pairs.all {
		p := &c.pairs.all[i]
		for p.seen == w.now && !w.rows().at(p.row).done.Load() {
			if w.failure.Load() != nil {
				panic("interest: another worker has failed")
			}
			runtime.Gosched()
		}
	}
}

// look finds the entities that a client sees.
func (w *worker) look(c *Client) {
	c.begin()
	w.hits, w.fresh = w.hits[:0], w.fresh[:0]
	if c.place(w.index, w.frame); c.placed {
		w.hits = w.near.Within(w.hits, c.from.X, c.from.Y, c.from.Z, c.options.Radius, c.options.Margin)
	}
	w.indexPairs(c)
	w.readAhead()
	square := min(c.options.Radius*c.options.Radius, math.MaxFloat64)
	for i := range w.hits {
		hit := &w.hits[i]
		known := atomic.LoadUint64(&w.places[hit.Place])
		if known == 0 {
			known = w.knownAt(hit)
		}
		slot := w.slot(c, hit.Handle, known)
		if hit.Distance2 > square && (slot < 0 || c.pairs.all[slot].seen < c.looked) {
			continue
		}
		if w.hide != nil && w.hide(c, hit.Handle) {
			continue
		}
		if slot < 0 {
			w.fresh = append(w.fresh, newHit{hit, known, w.near.Cell(hit.Place)})
			continue
		}
		p := &c.pairs.all[slot]
		p.row, p.seen, p.class = w.rowOf(hit.Handle, hit.Place, known), w.now, c.class(hit.Distance2)
	}
	w.addNew(c)
	if w.include != nil {
		w.lookIncluded(c)
	}
	if c.looked = w.now; w.now-w.sorted == sortEach-1 {
		c.order = w.orderOf(c.from)
	}
}

// readAhead reads the marks of hits that no client has seen yet in this Update. They are scattered
// over memory: this way the reads overlap.
func (w *worker) readAhead() {
	w.missed = append(w.missed[:0], make([]handle.Handle, len(w.hits))...)
	n := 0
	for i := range w.hits { // without an unpredictable branch
		hit := &w.hits[i]
		w.missed[n] = hit.Handle
		if next := n + 1; atomic.LoadUint64(&w.places[hit.Place]) == 0 {
			n = next
		}
	}
	for _, h := range w.missed[:n] {
		w.ahead += w.marks.Make(h).Load()
	}
}

// newHit is a hit for which a client has no pair.
type newHit struct {
	*nearby.Hit
	known uint64 // of the entity
	cell  int
}

// addNew adds the entities that have come, in the order of cells, and in each by handle.
func (w *worker) addNew(c *Client) {
	if len(w.fresh) > 1 {
		slices.SortFunc(w.fresh, func(a, b newHit) int {
			return cmp.Or(cmp.Compare(a.cell, b.cell), cmp.Compare(a.Handle, b.Handle))
		})
	}
	for i := range w.fresh {
		x := &w.fresh[i]
		w.add(c, x.Handle, w.rowOf(x.Handle, x.Place, x.known), c.class(x.Distance2))
	}
}

// lookIncluded adds the entities of Options.Include.
func (w *worker) lookIncluded(c *Client) {
	w.handles = w.include(w.handles[:0], c)
	for _, h := range w.handles {
		if w.found.Locate(h) == 0 {
			continue
		}
		known := w.known(h)
		slot := w.slot(c, h, known)
		if slot >= 0 && c.pairs.all[slot].seen == w.now || w.hide != nil && w.hide(c, h) {
			continue
		}
		row := w.rowOf(h, none, known)
		if slot < 0 {
			w.add(c, h, row, 0)
			continue
		}
		p := &c.pairs.all[slot]
		p.row, p.seen, p.class = row, w.now, 0
	}
}

// add adds an entity that has come.
func (w *worker) add(c *Client, h handle.Handle, row uint32, class uint8) {
	slot := c.pairs.add(h, w.now)
	p := &c.pairs.all[slot]
	p.row, p.seen, p.class = row, w.now, class
	if !w.hashed {
		return
	}
	if w.table.full() {
		w.table.begin(&c.pairs, 1, w.now-1)
		return
	}
	w.table.put(h, slot)
}

// indexPairs notes which pairs a client has: those seen in the last Update by their rows in it,
// others in the table.
func (w *worker) indexPairs(c *Client) {
	w.hashed = w.include != nil
	for slot := range c.pairs.all {
		p := &c.pairs.all[slot]
		switch {
		case p.seen == w.now-1:
			w.slots[p.row] = uint32(slot)
		case p.handle != handle.None:
			w.hashed = true
		}
	}
	if w.hashed {
		w.table.begin(&c.pairs, len(w.hits), w.now-1)
	}
}

// slot returns the slot of an entity in a client, or -1.
func (w *worker) slot(c *Client, h handle.Handle, known uint64) int {
	if before := uint32(known); before != none {
		if slot := int(w.slots[before]); slot < len(c.pairs.all) && c.pairs.all[slot].handle == h {
			return slot
		}
	}
	if w.hashed {
		return w.table.slot(h)
	}
	return -1
}

// spread returns the lower 21 bits of a number, with two zero bits after each.
func spread(f float64) uint64 {
	if !(f > 0) { // also if f is not a number
		return 0
	}
	x := uint64(min(f, 1<<21-1))
	x = (x | x<<32) & 0x1f00000000ffff
	x = (x | x<<16) & 0x1f0000ff0000ff
	x = (x | x<<8) & 0x100f00f00f00f00f
	x = (x | x<<4) & 0x10c30c30c30c30c3
	return (x | x<<2) & 0x1249249249249249
}
