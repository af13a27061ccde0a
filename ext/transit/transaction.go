package transit

import (
	"errors"
	"fmt"
	"slices"

	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// All changes are made by transactions. What one writes is kept aside until it is done, as nothing
// may be left of one that fails.

// draft is a change of the transaction under way.
type draft struct {
	kind    draftKind
	ends    bool // resolved: it was the last part
	peer    World
	how     Resolution
	item    string    // boarded
	n       uint64    // settled, resolved: up to here
	era     uint64    // resolved
	in      inbox     // decided: as it is then, without the refusals
	refused []refusal // decided: the new ones
}

// draftKind says what a draft changes.
type draftKind uint8

const (
	boarded  draftKind = iota // an item is new in an outbox
	settled                   // items are forgotten
	decided                   // items have come
	resolved                  // a channel begins anew
	closed                    // nothing new is sent any more
)

// drafts has the changes of a transaction, and what they come to.
type drafts struct {
	all     []draft
	items   int
	bytes   int
	peers   map[World]bool // that get their first item
	closing bool
}

// party is Roads as a transaction sees it.
type party Roads

// write adds a change to a transaction.
func (r *Roads) write(tx *world.Tx, call string, d draft) error {
	t := (*engine.Tx)(tx)
	if err := t.Write(call, (*party)(r)); err != nil {
		return err
	}
	if err := t.Charge(uintptr(len(d.item)) + envelopeSize); err != nil {
		return err
	}
	x := &r.drafts
	x.all = append(x.all, d)
	switch d.kind {
	case boarded:
		x.items++
		x.bytes += len(d.item)
		if r.find(d.peer) == nil {
			if x.peers == nil {
				x.peers = map[World]bool{}
			}
			x.peers[d.peer] = true
		}
	case closed:
		x.closing = true
	}
	return nil
}

// Commit makes the changes of the transaction.
func (p *party) Commit() {
	r := (*Roads)(p)
	r.changing.Lock()
	defer r.changing.Unlock()
	for i := range r.drafts.all {
		r.commit(&r.drafts.all[i])
	}
	p.Drop()
}

// Drop forgets them.
func (p *party) Drop() {
	x := &p.drafts
	clear(x.all)
	clear(x.peers)
	x.all, x.items, x.bytes, x.closing = x.all[:0], 0, 0, false
}

func (r *Roads) commit(d *draft) {
	if d.kind == closed {
		r.closing = true
		return
	}
	c := r.channel(d.peer)
	switch d.kind {
	case boarded:
		r.push(c, d.item)
		r.items++
		r.bytes += len(d.item)
		r.tell(d.peer)
	case settled:
		r.forget(c, d.n)
	case decided:
		kept := c.in.refused
		if d.in.era != c.in.era {
			kept = kept[:0]
		}
		c.in = d.in
		c.in.refused = append(kept, d.refused...)
		c.in.prune()
	case resolved:
		r.forget(c, d.n)
		c.out.resolving = d.how
		switch {
		case d.ends && d.how == Forget:
			i, _ := r.search(d.peer)
			r.channels = slices.Delete(r.channels, i, i+1)
			r.forgot = addTo(r.forgot, d.peer)
			r.tell(d.peer)
		case d.ends:
			later := c.out.items()
			c.out = newOutbox(r.world, c.peer, d.era)
			for _, x := range later {
				r.push(c, x.bytes)
			}
			r.tell(c.peer)
		}
	}
}

// push appends an item to an outbox.
func (r *Roads) push(c *channel, item string) {
	if root := rootOf(item); root != handle.None {
		r.trees[root] = leaving{c.peer, c.out.next}
	}
	c.out.push(item, &r.scratch)
}

// forget forgets items of an outbox.
func (r *Roads) forget(c *channel, upto uint64) {
	n := len(c.out.items())
	for _, x := range c.out.items()[:max(upto, c.out.acked)-c.out.acked] {
		if root := rootOf(x.bytes); root != handle.None {
			delete(r.trees, root)
		}
	}
	r.bytes -= c.out.forget(upto)
	r.items -= n - len(c.out.items())
}

// ErrOlder is wrapped by errors about two worlds of which one was restored to an older day: it has
// forgotten what it has told the other. Nothing is carried between them, and nothing is acknowledged,
// until an operator has called Roads.Resolve.
var ErrOlder = errors.New("transit: a world was restored to an older day")

// ErrCarrier is wrapped by errors about what a carrier has brought and no world can have sent. It
// changes nothing.
var ErrCarrier = errors.New("transit: a carrier has brought what no world can have sent")

func older(which, other World, format string, args ...any) error {
	return fmt.Errorf("%w: world %d is older than world %d knows it: %s; see Roads.Resolve", ErrOlder, which, other, fmt.Sprintf(format, args...))
}

// turn settles what another world has answered, and returns what goes to it next.
func (r *Roads) turn(tx *world.Tx, a answers) (packet, error) {
	if a.From != r.world || a.To == r.world || a.To == 0 {
		return packet{}, fmt.Errorf("%w: world %d got answers for world %d from world %d", ErrCarrier, r.world, a.From, a.To)
	}
	if r.hasForgotten(a.To) {
		return packet{}, r.forgotten(a.To)
	}
	c := r.look(a.To)
	o := &c.out
	known := o.acked // what the peer has decided, as far as is certain
	switch {
	case a.Era < o.era: // it does not know of a Resolve yet
	case a.Era > o.era:
		return packet{}, older(r.world, a.To, "world %d has a channel that was resolved later", a.To)
	case a.Last >= o.next:
		return packet{}, older(r.world, a.To, "world %d has item %d, and the next here is %d", a.To, a.Last, o.next)
	case a.Acked > o.acked && planted != settledNotCompared:
		return packet{}, older(r.world, a.To, "world %d was told that all up to item %d was settled, and here it is %d", a.To, a.Acked, o.acked)
	case a.Last < o.acked: // these answers are late, or it is older, which it finds by our packet
	case o.at(a.Last) != a.Chain && planted != chainNotCompared:
		return packet{}, fmt.Errorf("%w: worlds %d and %d have different items up to %d on the way to world %d; see Roads.Resolve", ErrOlder, r.world, a.To, a.Last, a.To)
	default:
		known = a.Last
	}
	acked, err := r.settle(tx, c, a, known)
	if err != nil {
		return packet{}, err
	}
	return r.pack(tx, a.To, o, acked, known)
}

// settle gives back what was refused of the items up to one, and forgets what was accepted, of as many
// as may be. It returns the last.
func (r *Roads) settle(tx *world.Tx, c *channel, a answers, upto uint64) (acked uint64, err error) {
	o := &c.out
	if upto == o.acked {
		return upto, nil
	}
	var few [16]refusal
	refused, ok := readRefused(few[:0], a.Acked, max(a.Last, a.Acked), a.Refused)
	if !ok {
		return 0, fmt.Errorf("%w: answers of world %d are malformed", ErrCarrier, a.To)
	}
	t := ending{r: r, tx: tx, c: c}
	for n := o.acked + 1; n <= upto; n++ {
		for len(refused) > 0 && refused[0].n < n {
			refused = refused[1:]
		}
		why := Reason(0)
		if len(refused) > 0 && refused[0].n == n {
			why = refused[0].reason
		}
		done, err := t.end(n, why)
		if err != nil {
			return 0, err
		}
		if !done {
			upto = n - 1 // the rest the next time
			break
		}
	}
	if upto == o.acked {
		return upto, nil
	}
	return upto, r.write(tx, "settle", draft{kind: settled, peer: a.To, n: upto})
}

// ending ends items of an outbox by a transaction.
type ending struct {
	r    *Roads
	tx   *world.Tx
	c    *channel
	n    int // how many took work
	work int
}

// end gives an item back, if there is a reason, or else forgets what it has left here. It reports false
// if another transaction must do it.
func (t *ending) end(n uint64, why Reason) (done bool, err error) {
	if why == 0 && t.c.out.items()[n-t.c.out.acked-1].bytes[0] != treeItem {
		return true, nil
	}
	x, wrong := t.r.openAt(t.c, n)
	if wrong != 0 {
		return false, fmt.Errorf("transit: item %d to world %d cannot be given back: %v", n, t.c.peer, wrong)
	}
	if t.work += x.work(); t.n == settleMost || t.n > 0 && t.work > workMost {
		return false, nil
	}
	t.n++
	if why == 0 {
		return true, x.mail.forget(t.tx, &x)
	}
	err = x.mail.giveBack(t.tx, &x, why)
	t.work += x.held
	if errors.Is(err, world.ErrChunks) || errors.Is(err, world.ErrIndexes) || errors.Is(err, timer.ErrMax) {
		return false, nil // it stays under way until there is room
	}
	return true, err
}

// pack returns the items after those that a world is known to have.
func (r *Roads) pack(tx *world.Tx, to World, o *outbox, acked, known uint64) (packet, error) {
	p := packet{From: r.world, To: to, Era: o.era, Acked: acked, First: known + 1, Before: o.at(known)}
	if o.resolving != 0 {
		return p, nil
	}
	buf := r.building[:0]
	for i, x := range o.items()[known-o.acked:] {
		if i == packetItems || i > 0 && len(buf)+len(x.bytes) > packetBytes {
			break
		}
		buf = appendText(buf, x.bytes)
	}
	r.building = buf
	p.Items = string(buf)
	if planted == earlyForget && p.Items != "" {
		return p, r.write(tx, "settle", draft{kind: settled, peer: to, n: o.next - 1})
	}
	return p, nil
}

// arrive decides the items of a packet that are new, in order, as many as a transaction may, and
// returns what was decided until then.
func (r *Roads) arrive(tx *world.Tx, p packet) (answers, error) {
	if p.To != r.world || p.From == r.world || p.From == 0 {
		return answers{}, fmt.Errorf("%w: world %d got items for world %d from world %d", ErrCarrier, r.world, p.To, p.From)
	}
	known := r.find(p.From)
	if r.hasForgotten(p.From) {
		return answers{}, r.forgotten(p.From)
	}
	if known == nil && r.peersWith(p.From) > PeersMax {
		return answers{}, ErrPeers
	}
	x := &arrival{r: r, p: &p, in: r.look(p.From).in}
	x.kept, x.in.refused = x.in.refused, nil
	in := &x.in
	if p.Era < in.era { // it is late, or of a world that was restored, which finds that by our answers
		return x.answers(), nil
	}
	if p.Era > in.era && p.Acked == 0 {
		*in = inbox{era: p.Era, chain: chainOf(p.From, r.world, p.Era)}
		x.kept, x.changed = nil, true
	}
	switch {
	case p.Era > in.era || p.Acked > in.last:
		return answers{}, older(r.world, p.From, "world %d was told of items up to %d, and the last here is %d", p.From, p.Acked, in.last)
	case p.First == 0 && p.Items == "": // it only asks
	case p.First == 0 || p.Acked >= p.First:
		return answers{}, fmt.Errorf("%w: a packet from world %d contradicts itself", ErrCarrier, p.From)
	case p.First-1 > in.last:
		return answers{}, older(r.world, p.From, "world %d sends item %d, and the last here is %d", p.From, p.First, in.last)
	}
	if p.Acked > in.acked {
		in.acked, x.changed = p.Acked, true
		for len(x.kept) > 0 && x.kept[0].n <= p.Acked {
			x.kept = x.kept[1:]
		}
	}
	if err := x.decide(tx); err != nil {
		return answers{}, err
	}
	a := x.answers()
	if !x.changed {
		return a, nil
	}
	return a, r.write(tx, "arrive", draft{kind: decided, peer: p.From, in: *in, refused: x.refused})
}

// arrival is a packet that comes.
type arrival struct {
	r       *Roads
	p       *packet
	in      inbox // as it becomes, without refusals
	kept    []refusal
	refused []refusal // new
	some    bool      // an item was decided
	changed bool
	item    opened // the one that is decided
}

// decide decides the items.
func (x *arrival) decide(tx *world.Tx) error {
	r, in, n, c := x.r, &x.in, x.p.First, x.p.Before
	if x.p.First-1 == in.last && c != in.chain && x.p.First > 0 && planted != chainNotCompared {
		return x.differs()
	}
	rest, work := []byte(x.p.Items), 0
	for ; len(rest) > 0; n++ {
		bytes, next, ok := cutText(rest)
		if !ok {
			return fmt.Errorf("%w: item %d of a packet from world %d is malformed", ErrCarrier, n, x.p.From)
		}
		rest = next
		c = link(c, n, bytes, &r.scratch)
		if n <= in.last && planted != decideAgain {
			if n == in.last && c != in.chain && planted != chainNotCompared {
				return x.differs()
			}
			continue
		}
		item, why := &x.item, Reason(0)
		*item, why = r.open(bytes)
		item.peer, item.n, item.first = x.p.From, n, !x.some
		if work += item.work(); x.some && work > workMost || len(x.kept)+len(x.refused) >= refusedMost {
			return nil
		}
		if why == 0 && (r.closing || r.drafts.closing) {
			why = Closed
		}
		if why == 0 {
			var err error
			if why, err = item.mail.deliver(tx, item); err == errLater {
				return nil
			} else if err != nil {
				return err
			}
			work += item.held
		}
		x.some = true
		if why != 0 && !(planted == deadAccepted && why == Gone) {
			x.refused = append(x.refused, refusal{n, why})
		}
		in.last, in.chain, x.changed = max(n, in.last), c, true
	}
	return nil
}

func (x *arrival) differs() error {
	return fmt.Errorf("%w: worlds %d and %d have different items up to %d on the way to world %d; see Roads.Resolve", ErrOlder, x.p.From, x.r.world, x.in.last, x.r.world)
}

// answers returns what was decided.
func (x *arrival) answers() answers {
	in := &x.in
	a := answers{From: x.p.From, To: x.r.world, Era: in.era, Acked: in.acked, Last: in.last, Chain: in.chain}
	dst := appendRefused(x.r.building[:0], in.acked, x.kept)
	from := in.acked
	if n := len(x.kept); n > 0 {
		from = x.kept[n-1].n
	}
	dst = appendRefused(dst, from, x.refused)
	x.r.building = dst
	a.Refused = string(dst)
	return a
}
