package interest

import (
	"bytes"
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/nearby"
	"github.com/atoll-sim/atoll/internal/slots"
)

// due is a row that is to go into a client's packet.
type due struct {
	slot    uint32
	columns uint32 // which have changed, including those that the entity no longer has
	urgency uint8
	enter   bool
	bytes   []byte
}

// tell makes the packet of a client.
func (w *worker) tell(c *Client) {
	if c.closed.Load() || c.looked != w.now {
		return
	}
	p := &w.packet
	p.Leaves, p.Rows, p.Waiting, w.due, w.sent = p.Leaves[:0], p.Rows[:0], 0, w.due[:0], nil
	w.bound = c.options.Bytes > 0
	waits := c.mu.unacked.full() || c.writer.waits()
	if c.mu.unacked.most > 0 && !waits {
		w.sent = c.mu.unacked.spare()
	}
	w.find(c, waits)
	if len(w.due) > 0 {
		w.put(c)
	}
	if len(p.Leaves)+len(p.Rows) > 0 {
		w.leave(c)
		c.number++
		if w.sent != nil {
			c.mu.Lock()
			c.mu.unacked.add(c.number)
			c.mu.Unlock()
		}
		p.Number = c.number
		if c.writer != nil {
			c.writer.begin(p)
		} else {
			w.sink(c, p)
		}
	}
	c.pairs.trim()
}

// find finds what is to go into a client's packet, or if the client waits only how much that is. It
// frees the slots of entities that have gone before a packet had them.
func (w *worker) find(c *Client, waits bool) {
	if w.use > 1 {
		w.wait(c)
	}
	for slot := range c.pairs.all {
		p := &c.pairs.all[slot]
		switch {
		case p.handle == handle.None:
		case p.seen == w.now:
			if !p.told || p.left {
				w.packet.Waiting++
			}
			if !p.left && !waits {
				w.findRow(c, uint32(slot), p)
			}
		case p.left:
		case !p.mayHave:
			c.pairs.free(slot)
		case !waits:
			w.packet.Leaves = append(w.packet.Leaves, Leave{p.handle, uint32(slot), w.found.Locate(p.handle) == 0})
		}
	}
}

// findRow finds what is due of an entity. Without a bound it goes into the packet at once.
func (w *worker) findRow(c *Client, slot uint32, p *pair) {
	r := w.rows().at(p.row)
	var columns uint32
	var bytes []byte
	switch {
	case !p.told:
		columns, bytes = r.present, r.bytes[:r.all:r.all]
	case r.newest <= p.since:
		return
	case p.since == w.now-1:
		columns, bytes = r.news, r.bytes[r.from:r.to:r.to]
	default:
		columns, bytes = w.changed(r, p.row, p.since)
	}
	if w.bound {
		w.due = append(w.due, due{slot, columns, urgency(uint32(r.weight), w.now-p.since, uint32(p.class)), !p.told, bytes})
		return
	}
	w.putRow(slot, p, columns, r.present, bytes)
}

// changed returns which columns of a row have changed after an Update, and their bytes.
func (w *worker) changed(r *row, number, since uint32) (columns uint32, bytes []byte) {
	values := w.rows().valuesOf(number, len(w.columns))
	for i := range values {
		if values[i].changed > since {
			columns |= 1 << i
		}
	}
	from, to, whole := r.span(values, columns&r.present)
	if whole {
		return columns, r.bytes[from:to:to]
	}
	start := len(w.joined)
	w.joined = r.join(w.joined, values, columns&r.present)
	return columns, w.joined[start:len(w.joined):len(w.joined)]
}

// urgency returns how urgent a row is, from 0 to 63: the logarithm of weight times age by distance,
// in half octaves.
func urgency(weight, age, class uint32) uint8 {
	x := min(uint64(weight)*(uint64(age)+1)*uint64(8*classes/(class+1)), math.MaxUint32)
	n := bits.Len64(x)
	return uint8(2*(n-1)) + uint8(x<<(64-n)>>62&1)
}

// put puts what is due into the packet: all, or the most urgent.
func (w *worker) put(c *Client) {
	spent, all, most := LeaveBytes*len(w.packet.Leaves), 0, c.options.Bytes
	for i := range w.due {
		all += w.due[i].size()
	}
	if spent+all <= most {
		for i := range w.due {
			w.putDue(c, &w.due[i])
		}
		return
	}
	n := w.sort()
	first, then, part := w.order[:n], w.order[n:], max(1, most/4)
	if c.number%2 != 0 { // the first row is put even if it takes all: an enter and a change take turns
		first, then, part = then, first, most-most/4
	}
	next := w.putSome(c, first, &spent, min(spent+part, most))
	w.putSome(c, then, &spent, most)
	w.putSome(c, first[next:], &spent, most)
}

// putSome puts rows into the packet until most is spent, and at least one into a packet. It returns
// how many.
func (w *worker) putSome(c *Client, which []int32, spent *int, most int) int {
	for i, at := range which {
		if *spent >= most && len(w.packet.Rows) > 0 {
			return i
		}
		d := &w.due[at]
		*spent += d.size()
		w.putDue(c, d)
	}
	return len(which)
}

// size returns how many bytes a row counts as.
func (d *due) size() int {
	if d.enter {
		return enterBytes + len(d.bytes)
	}
	return RowBytes + len(d.bytes)
}

func (w *worker) putDue(c *Client, d *due) {
	p := &c.pairs.all[d.slot]
	w.putRow(d.slot, p, d.columns, w.rows().at(p.row).present, d.bytes)
}

// putRow puts a row into the packet, and notes that the packet has it.
func (w *worker) putRow(slot uint32, p *pair, columns, present uint32, bytes []byte) {
	if w.sent != nil {
		w.sent.rows = append(w.sent.rows, sentRow{slot, p.since, p.told})
	}
	if !p.told {
		w.packet.Waiting--
	}
	w.packet.Rows = append(w.packet.Rows, Row{p.handle, slot, !p.told, columns & present, columns &^ present, bytes})
	p.told, p.mayHave, p.since = true, true, w.now
}

// leave notes that the packet has its leaves.
func (w *worker) leave(c *Client) {
	for _, l := range w.packet.Leaves {
		if w.sent == nil {
			c.pairs.free(int(l.Slot))
			continue
		}
		c.pairs.all[l.Slot].left = true
		w.sent.leaves = append(w.sent.leaves, l.Slot)
	}
}

// sort orders what is due: enters before others, then the most urgent first, then by slot. It
// returns how many enters there are.
func (w *worker) sort() (enters int) {
	var starts [2*64 + 1]int32
	key := func(d *due) int {
		k := 63 - int(d.urgency)
		if !d.enter {
			k += 64
		}
		return k
	}
	for i := range w.due {
		starts[key(&w.due[i])+1]++
	}
	for i := range starts[1:] {
		starts[i+1] += starts[i]
	}
	enters = int(starts[64])
	w.order = append(w.order[:0], make([]int32, len(w.due))...)
	for i := range w.due {
		k := key(&w.due[i])
		w.order[starts[k]] = int32(i)
		starts[k]++
	}
	return enters
}

// rowOf returns the number of an entity's row. If no client has seen the entity in this Update the
// worker gets the row, to encode it.
func (w *worker) rowOf(h handle.Handle, place uint32, known uint64) uint32 {
	if known>>32 != 0 {
		return uint32(known>>32) - 1
	}
	return w.claim(h, place, uint32(known))
}

// claim takes a free row for an entity, and returns its number. If another worker has claimed the
// entity first, claim returns the number of that worker's row.
func (w *worker) claim(h handle.Handle, place, before uint32) uint32 {
	rows := w.rows()
	if w.chunk == nil || w.chunkUsed == chunkRows {
		w.chunkNumber, w.chunkUsed = uint32(rows.used.Add(1)-1), 0
		at := &rows.chunks[w.chunkNumber]
		if *at == nil {
			*at = &chunk{values: make([]value, chunkRows*len(w.columns))}
		}
		w.chunk = *at
	}
	number := w.chunkNumber<<chunkBits | w.chunkUsed
	r := &w.chunk.rows[w.chunkUsed]
	r.handle, r.before = h, before
	r.done.Store(false)
	mark := w.marks.Make(h)
	was := mark.Load()
	if uint32(was>>32) == w.now || !mark.CompareAndSwap(was, uint64(w.now)<<32|uint64(number)) {
		return uint32(mark.Load())
	}
	w.chunkUsed++
	w.claims = append(w.claims, number)
	if place != none {
		w.publish(place, uint64(number+1)<<32|uint64(before))
	}
	return number
}

// known returns what is known of an entity.
func (w *worker) known(h handle.Handle) uint64 {
	was := w.marks.Make(h).Load()
	switch uint32(was >> 32) {
	case w.now:
		return (was&none+1)<<32 | uint64(w.rows().at(uint32(was)).before)
	case w.now - 1:
		return was & none
	}
	return none
}

// What is known of an entity is a number: in the upper half 1 + that of its row, or 0 if no client
// has seen it in this Update; in the lower half that of its row in the last one, or none.

// knownAt finds what is known of a hit by its handle.
func (w *worker) knownAt(hit *nearby.Hit) uint64 {
	known := w.known(hit.Handle)
	if known>>32 != 0 {
		w.publish(hit.Place, known)
	}
	return known
}

// publish notes what is known of the entity at a place, so that others need not look for its mark.
func (w *worker) publish(place uint32, known uint64) {
	if w.use == 1 {
		w.places[place] = known
		return
	}
	atomic.StoreUint64(&w.places[place], known)
}

const (
	rowsEach = 128 // how many rows are encoded at a time
	endsEach = rowsEach + 1
	// valuesFirst is longer than what encode returns if it fails to append. So that mistake is
	// detected.
	valuesFirst = 4000
)

// batch is a worker's memory for encoding rows column by column. That waits for memory less often
// than row by row.
type batch struct {
	at     [rowsEach]slots.Loc
	values []byte
	ends   []end // by column: where its values begin, and where that of each row ends
}

// encode encodes what the worker has claimed.
func (w *worker) encode() {
	for from := 0; from < len(w.claims); from += rowsEach {
		w.encodeRows(w.claims[from:min(from+rowsEach, len(w.claims))])
	}
	w.claims = w.claims[:0]
}

// encodeRows encodes some rows.
func (w *worker) encodeRows(claims []uint32) {
	b, rows := &w.batch, w.rows()
	for i, number := range claims {
		b.at[i] = w.found.Locate(rows.at(number).handle)
	}
	if len(b.ends) == 0 {
		b.ends = make([]end, endsEach*len(w.columns))
		b.values = make([]byte, 0, valuesFirst)
	}
	b.values = b.values[:0]
	for c := range w.columns {
		w.ahead += w.columns[c].of.touch(w.opened[c], b.at[:len(claims)])
	}
	for c := range w.columns {
		ends := b.ends[c*endsEach:]
		ends[0].at = uint32(len(b.values))
		b.values = w.columns[c].of.append(b.values, w.opened[c], b.at[:len(claims)], ends[1:])
	}
	for i, number := range claims {
		w.finish(number, i)
	}
}

// finish joins the columns of a row, and finds out what has changed since the last Update. If no
// client has seen the entity in that Update, everything counts as changed.
func (w *worker) finish(number uint32, i int) {
	r, values := w.rows().at(number), w.rows().valuesOf(number, len(w.columns))
	var was *row
	var before []value
	if r.before != none {
		if x := w.last().at(r.before); x.handle == r.handle && x.done.Load() {
			was, before = x, w.last().valuesOf(r.before, len(w.columns))
		}
	}
	b, size := &w.batch, uint32(0)
	for k := range w.columns {
		size += b.ends[k*endsEach+i+1].at - b.ends[k*endsEach+i].at
	}
	block := w.bytes[w.now%2].room(2 * int(size))
	to := (*block)[len(*block):]
	r.newest, r.present, r.news = w.now, 0, 0
	if was != nil {
		r.newest = was.newest
	}
	old := uint32(0)
	for k := range w.columns {
		begin, e := b.ends[k*endsEach+i].at, b.ends[k*endsEach+i+1]
		is, v, bit := b.values[begin:e.at], &values[k], uint32(1)<<k
		if !e.absent {
			r.present |= bit
		}
		if was != nil && (was.present^r.present)&bit == 0 && bytes.Equal(was.bytes[old:before[k].end], is) {
			v.changed = before[k].changed
		} else {
			v.changed, r.newest = w.now, w.now
			r.news |= bit
		}
		if was != nil {
			old = before[k].end
		}
		to = append(to, is...)
		v.end = uint32(len(to))
	}
	r.all, r.bytes = size, to
	whole := false
	if r.from, r.to, whole = r.span(values, r.news&r.present); !whole {
		r.bytes = r.join(to, values, r.news&r.present)
		r.from, r.to = size, uint32(len(r.bytes))
	}
	*block = (*block)[:len(*block)+len(r.bytes)]
	r.weight = 1
	if w.value != nil {
		r.weight = uint8(min(max(w.value(r.handle), 1), 255))
	}
	r.done.Store(true) // publishes the row
}
