package transit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
)

// item is what an outbox holds, and what it makes of the chain. It never changes.
type item struct {
	bytes string
	chain chain
}

// outbox has what goes to another world.
//
// Invariants: next = acked + 1 + len(items()).
type outbox struct {
	era   uint64
	next  uint64 // the number of the next item; the first is 1
	acked uint64 // up to here everything is decided and settled
	base  chain  // of acked
	store []item
	head  int // store before it is forgotten
	// resolving is what an operator wants to be done with all items before a new era begins; 0:
	// nothing.
	resolving Resolution
}

func newOutbox(from, to World, era uint64) outbox {
	return outbox{era: era, next: 1, base: chainOf(from, to, era)}
}

// items returns the items after acked.
func (o *outbox) items() []item { return o.store[o.head:] }

// at returns the chain of an item, from acked on.
func (o *outbox) at(n uint64) chain {
	if n == o.acked {
		return o.base
	}
	return o.items()[n-o.acked-1].chain
}

func (o *outbox) push(bytes string, scratch *[]byte) {
	c := link(o.at(o.next-1), o.next, bytes, scratch)
	o.store = append(o.store, item{bytes, c})
	o.next++
}

// forget forgets the items up to one, and returns how many bytes these had.
func (o *outbox) forget(upto uint64) (bytes int) {
	if upto <= o.acked {
		return 0
	}
	o.base = o.at(upto)
	gone := o.items()[:upto-o.acked]
	for i := range gone {
		bytes += len(gone[i].bytes)
		gone[i] = item{}
	}
	o.acked, o.head = upto, o.head+len(gone)
	if 2*o.head >= len(o.store) {
		n := copy(o.store, o.store[o.head:])
		clear(o.store[n:])
		o.store, o.head = o.store[:n], 0
	}
	return bytes
}

// inbox has what has come from another world.
//
// Invariants: acked <= last, and refused has numbers from acked+1 to last that grow.
type inbox struct {
	era     uint64
	last    uint64 // the last item that was decided
	acked   uint64 // up to here the other world knows it
	chain   chain  // of last
	refused []refusal
}

// prune forgets the answers that the other world has.
func (in *inbox) prune() {
	k := 0
	for k < len(in.refused) && in.refused[k].n <= in.acked {
		k++
	}
	if planted == earlyPrune {
		k = len(in.refused)
	}
	in.refused = slices.Delete(in.refused, 0, k)
}

// channel is both directions between this world and another.
type channel struct {
	peer World
	out  outbox
	in   inbox
}

// find returns the channel of a world, or nil.
func (r *Roads) find(peer World) *channel {
	if i, ok := r.search(peer); ok {
		return r.channels[i]
	}
	return nil
}

func (r *Roads) search(peer World) (int, bool) {
	return slices.BinarySearchFunc(r.channels, peer, func(c *channel, w World) int { return cmp.Compare(c.peer, w) })
}

// channel returns the channel of a world, which it makes if there is none.
func (r *Roads) channel(peer World) *channel {
	i, ok := r.search(peer)
	if !ok {
		r.channels = slices.Insert(r.channels, i, r.fresh(peer))
	}
	return r.channels[i]
}

func (r *Roads) fresh(peer World) *channel {
	return &channel{peer, newOutbox(r.world, peer, 0), inbox{chain: chainOf(peer, r.world, 0)}}
}

// span is a run of numbers of worlds. Worlds that exist no more are kept as spans, so that a
// program that gives its worlds numbers in order keeps a few.
type span struct{ first, last World }

// hasForgotten reports whether a world exists no more.
func (r *Roads) hasForgotten(w World) bool {
	i := sort.Search(len(r.forgot), func(i int) bool { return r.forgot[i].last >= w })
	return i < len(r.forgot) && r.forgot[i].first <= w
}

// forgotten is the error for what comes from such a world, late.
func (r *Roads) forgotten(w World) error {
	return fmt.Errorf("%w: world %d was forgotten by world %d, and its number must not be used again", ErrCarrier, w, r.world)
}

// addTo adds a number to spans that do not have it.
func addTo(all []span, w World) []span {
	i := sort.Search(len(all), func(i int) bool { return all[i].last >= w })
	all = slices.Insert(all, i, span{w, w})
	if i+1 < len(all) && all[i+1].first == w+1 {
		all[i].last = all[i+1].last
		all = slices.Delete(all, i+1, i+2)
	}
	if i > 0 && all[i-1].last+1 == w {
		all[i-1].last = all[i].last
		all = slices.Delete(all, i, i+1)
	}
	return all
}

// look returns the channel of a world, to read: a new one if there is none.
func (r *Roads) look(peer World) *channel {
	if c := r.find(peer); c != nil {
		return c
	}
	return r.fresh(peer)
}

// adapter is Roads as the world sees them. It keeps its methods out of the exported ones of Roads.
type adapter struct{ *Roads }

// Due, Collect and Deliver have nothing to do: all changes are made by transactions.
func (a adapter) Due(uint64) int { return 0 }
func (a adapter) Collect(int)    {}
func (a adapter) Deliver(int)    {}

// Measure reports how much is under way.
func (a adapter) Measure(add func(extend.Measured)) {
	refused := 0
	for _, c := range a.channels {
		refused += len(c.in.refused)
	}
	add(extend.Measured{Name: "atoll_transit_items", Help: "Items in outboxes.", Of: a.name, Value: float64(a.items)})
	add(extend.Measured{Name: "atoll_transit_bytes", Help: "Bytes of the items in outboxes.", Of: a.name, Value: float64(a.bytes)})
	add(extend.Measured{Name: "atoll_transit_refused", Help: "Items that this world has refused, and whose sender does not know it yet.", Of: a.name, Value: float64(refused)})
}

// SavedOptions describes the options, and what mail there is. The world must have the same number.
func (a adapter) SavedOptions() (all, same string) {
	same = fmt.Sprintf("items of world %d", a.world)
	all = fmt.Sprintf("%s, Max %d, MaxBytes %d", same, a.options.Max, a.options.MaxBytes)
	for _, name := range slices.Sorted(maps.Keys(a.mails)) {
		all += fmt.Sprintf(", mail %q of form %08x", name, uint32(a.mails[name].shaped()))
	}
	for _, name := range slices.Sorted(maps.Keys(a.gates)) {
		all += fmt.Sprintf(", gate %q of form %08x", name, uint32(a.gates[name].shaped()))
	}
	return all, same
}

// Refuses returns why LoadSaved would refuse a state that another program has saved, for a plan.
func (a adapter) Refuses(src []byte) error {
	return adapter{&Roads{w: a.w, name: a.name, world: a.world, mails: a.mails, gates: a.gates, options: a.options}}.LoadSaved(src)
}

// SavedCount returns how many items are under way.
func (a adapter) SavedCount() int { return a.items }

// AppendState appends all that decides what the roads do next, for a hash of the world's state. The
// chains stand for the items.
func (a adapter) AppendState(dst []byte) []byte { return a.append(dst, false) }

// AppendSaved appends the state for LoadSaved.
func (a adapter) AppendSaved(dst []byte) []byte { return a.append(dst, true) }

// stateVersion is what the state begins with.
const stateVersion = 1

func (a adapter) append(dst []byte, items bool) []byte {
	dst = append(dst, stateVersion)
	dst = extend.AppendNumber(dst, uint32(a.world))
	dst = extend.AppendNumber(dst, extend.FlagsOf(a.closing))
	dst = extend.AppendNumber(dst, len(a.channels))
	for _, c := range a.channels {
		o, in := &c.out, &c.in
		dst = extend.AppendNumber(dst, uint32(c.peer))
		if planted == withoutInbox {
			in = &a.fresh(c.peer).in
		}
		for _, n := range []uint64{o.era, o.acked, o.base, uint64(o.resolving), in.era, in.last, in.acked, in.chain} {
			dst = extend.AppendNumber(dst, n)
		}
		dst = extend.AppendNumber(dst, len(in.refused))
		dst = appendRefused(dst, in.acked, in.refused)
		dst = extend.AppendNumber(dst, len(o.items()))
		if !items {
			dst = extend.AppendNumber(dst, o.at(o.next-1))
			continue
		}
		for _, x := range o.items() {
			dst = extend.AppendText(dst, x.bytes)
		}
	}
	dst = extend.AppendNumber(dst, len(a.forgot))
	for _, x := range a.forgot {
		dst = extend.AppendNumber(dst, uint32(x.first))
		dst = extend.AppendNumber(dst, uint32(x.last))
	}
	return dst
}

// LoadSaved gives the roads the state that AppendSaved wrote, and no other.
func (a adapter) LoadSaved(src []byte) error {
	r := a.Roads
	r.changing.Lock()
	defer r.changing.Unlock()
	r.channels, r.forgot, r.items, r.bytes, r.closing, r.trees = nil, nil, 0, 0, false, map[handle.Handle]leaving{}
	c := extend.Cursor{Rest: src}
	if v := c.Take(1); v != nil && v[0] != stateVersion {
		return fmt.Errorf("transit: %q has a state of version %d; this program reads %d", r.name, v[0], stateVersion)
	}
	if n := World(c.Word()); c.Err == nil && n != r.world {
		return fmt.Errorf("transit: %q is world %d here, and world %d in the snapshot (%w)", r.name, r.world, n, extend.ErrImage)
	}
	r.closing = c.Flags(1) != 0
	before := World(0)
	for range c.Count(11) {
		peer := World(c.Word())
		if c.Err == nil && (peer <= before || peer == r.world) {
			return fmt.Errorf("transit: %q has channels out of order (%w)", r.name, extend.ErrImage)
		}
		before = peer
		x, err := r.load(&c, peer)
		if err != nil {
			return err
		}
		r.channels = append(r.channels, x)
	}
	next := uint64(1)
	for range c.Count(2) {
		x := span{World(c.Word()), World(c.Word())}
		if c.Err == nil && (uint64(x.first) < next || x.last < x.first) {
			return fmt.Errorf("transit: %q has forgotten worlds out of order (%w)", r.name, extend.ErrImage)
		}
		next = uint64(x.last) + 2
		r.forgot = append(r.forgot, x)
	}
	if err := c.End(); err != nil {
		return fmt.Errorf("transit: %q: %w", r.name, err)
	}
	r.tellAll()
	return nil
}

// load reads a channel.
func (r *Roads) load(c *extend.Cursor, peer World) (*channel, error) {
	x := &channel{peer: peer}
	o, in := &x.out, &x.in
	o.era, o.acked, o.base, o.resolving = c.Number(), c.Number(), c.Number(), Resolution(c.Below(uint64(resolutions)))
	in.era, in.last, in.acked, in.chain = c.Number(), c.Number(), c.Number(), c.Number()
	wrong := in.acked > in.last || o.acked > 1<<62
	n := in.acked
	for range c.Count(2) {
		d := c.Number()
		reason := c.Take(1)
		if c.Err != nil {
			break
		}
		wrong = wrong || d == 0 || d > in.last-n || reason[0] == 0
		n += d
		in.refused = append(in.refused, refusal{n, Reason(reason[0])})
		if wrong {
			break
		}
	}
	o.next = o.acked + 1
	for range c.Count(1) {
		text := c.Text()
		if c.Err != nil {
			break
		}
		if err := r.known(text); err != nil {
			return nil, err
		}
		r.push(x, text)
		r.items++
		r.bytes += len(text)
	}
	if wrong {
		return nil, fmt.Errorf("transit: %q: the channel with world %d contradicts itself (%w)", r.name, peer, extend.ErrImage)
	}
	return x, nil
}
