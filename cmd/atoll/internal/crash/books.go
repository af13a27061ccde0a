package crash

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/atoll-sim/atoll/handle"
)

// books are what the clients know: what they have sent, and what they were told.
//
// Ownership: the mutex guards all but what only the audit uses, while no client runs.
type books struct {
	sync.Mutex
	clients []*client // by name; the bank's is nil
	counts
	fresh    []Receipt // since the last audit
	findings []string

	// What the last audit has found, and the receipts since then lead to.
	gold        []int64 // of each account, without wages
	wares       map[uint64]*owned
	ended       map[uint64]bool          // wares that are no more
	handles     map[handle.Handle]uint64 // the ware that it was given to
	tick        uint64
	incarnation uint32
}

// owned is a ware as the receipts say.
type owned struct {
	owner, turn uint64
	handle      handle.Handle
}

// counts are told at the end.
type counts struct {
	Done     uint64 `json:"done"`    // orders that were told done
	Refused  uint64 `json:"refused"` // that were told refused
	Failed   uint64 `json:"failed"`  // that panicked, and were told so
	Unheard  uint64 `json:"unheard"` // done, as an audit found; a kill came before the answer
	Repeated uint64 `json:"repeated"`
	Unknown  uint64 `json:"unknown"`
	Lost     uint64 `json:"told_and_lost"`
	Doubled  uint64 `json:"doubled"`
	Played   uint64 `json:"ticks_played"` // by starts
	Audits   int    `json:"audits"`
	Arrived  uint64 `json:"arrived,omitempty"`  // payments, in another world
	Returned uint64 `json:"returned,omitempty"` // that nobody was there for
}

func newBooks(clients int) *books {
	b := &books{clients: []*client{nil}, gold: []int64{bankGold}, wares: map[uint64]*owned{}, ended: map[uint64]bool{}, handles: map[handle.Handle]uint64{}}
	for name := range uint64(clients) {
		b.clients = append(b.clients, &client{name: name + 1})
		b.gold = append(b.gold, clientGold)
	}
	return b
}

// findingsMax is how many findings are kept.
const findingsMax = 50

// find notes something that is wrong.
func (b *books) find(format string, values ...any) {
	if len(b.findings) < findingsMax {
		b.findings = append(b.findings, fmt.Sprintf(format, values...))
	}
}

// note notes what a client is told about its order.
func (b *books) note(c *client, a *answer) {
	b.Lock()
	defer b.Unlock()
	o := c.order
	switch a.Status {
	case refused:
		b.Refused++
	case failed:
		b.Failed++
	case unknown:
		b.Unknown++
	}
	if o.Kind == Curse && a.Status == done {
		b.find("client %d: order %d was to panic, and is told done", c.name, o.Number)
	}
	switch {
	case a.Status == done && o.Number == c.last.Number: // again
		b.Repeated++
		if a.Receipt != c.last {
			b.find("client %d: order %d comes again, and is answered by %+v, and not by %+v", c.name, o.Number, a.Receipt, c.last)
		}
	case a.Status == done && a.Receipt.Order != o:
		b.find("client %d: order %+v is answered by %+v", c.name, o, a.Receipt)
	case a.Status == done:
		b.Done++
		b.take(c, &a.Receipt)
	case o.Number == c.last.Number && a.Status != full && a.Status != unknown:
		b.find("client %d: order %d was told done, and now %v: %s", c.name, o.Number, a.Status, a.Why)
	case a.Why == errNumber.Error(), a.Why == errNobody.Error():
		b.find("client %d: order %+v after %d: %s", c.name, o, c.last.Number, a.Why)
	}
}

// take takes in a receipt that is new.
func (b *books) take(c *client, r *Receipt) {
	c.last = *r
	if r.Kind == Craft || r.Kind == Buy {
		c.seen = append(c.seen[max(0, len(c.seen)-seenMax+1):], r.Ware)
	}
	b.fresh = append(b.fresh, *r)
}

// audit compares what a server has found at its start with the books. No client runs.
func (b *books) audit(l *look) {
	b.Audits++
	b.Played += l.Played
	if l.Tick < b.tick || b.incarnation >= l.Incarnation {
		b.find("tick %d, incarnation %d, after tick %d, incarnation %d", l.Tick, l.Incarnation, b.tick, b.incarnation)
	}
	b.tick, b.incarnation = l.Tick, l.Incarnation
	if len(l.Accounts) != len(b.clients) {
		b.find("there are %d accounts, not %d", len(l.Accounts), len(b.clients))
		return
	}
	for i := range l.Accounts[1:] {
		b.orders(b.clients[i+1], &l.Accounts[i+1])
	}
	b.apply()
	b.money(l.Accounts)
	b.owners(l)
}

// orders compares the last order of a client, and takes in one that was done and not told.
func (b *books) orders(c *client, a *Account) {
	switch told := c.last.Number; {
	case a.Last < told:
		b.Lost += told - a.Last
		b.find("client %d: order %d was told done, and the last is %d", c.name, told, a.Last)
	case a.Last == told && a.Kept != c.last:
		b.find("client %d: order %d was told %+v, and is %+v", c.name, told, c.last, a.Kept)
	case a.Last > told && (!c.waits || a.Kept.Order != c.order):
		b.find("client %d: order %d, %+v, is done; it had %d and waits for %+v (%v)", c.name, a.Last, a.Kept, told, c.order, c.waits)
	case a.Last > told:
		b.Unheard++
		b.take(c, &a.Kept)
	}
	if a.Orders > a.Last {
		b.Doubled += a.Orders - a.Last
	}
	if a.Orders != a.Last {
		b.find("client %d: %d orders are done, and the last is %d", c.name, a.Orders, a.Last)
	}
}

// apply takes the receipts since the last audit to gold and wares: the receipts of a ware in their
// turn, since clients heard of them in any order.
func (b *books) apply() {
	slices.SortFunc(b.fresh, func(x, y Receipt) int { return int(int64(x.Turn) - int64(y.Turn)) })
	for i := range b.fresh {
		r := &b.fresh[i]
		switch w := b.wares[r.Ware]; r.Kind {
		case Pay:
			b.pay(r.Client, r.To, r.Gold)
		case Craft:
			b.pay(r.Client, bank, craftGold)
			if of, used := b.handles[r.Handle]; used {
				b.find("%v is ware %d, and was ware %d", r.Handle, r.Ware, of)
			}
			b.handles[r.Handle] = r.Ware
			b.wares[r.Ware] = &owned{owner: r.Client, handle: r.Handle}
		case Buy, Melt:
			if w == nil || w.turn+1 != r.Turn || w.owner != r.From || w.handle != r.Handle {
				b.find("ware %d: it is %+v before %+v", r.Ware, w, *r)
			}
			if w == nil {
				continue
			}
			if r.Kind == Melt {
				b.pay(bank, r.Client, craftGold)
				delete(b.wares, r.Ware)
				b.ended[r.Ware] = true
				continue
			}
			b.pay(r.Client, r.From, r.Gold)
			w.owner, w.turn = r.Client, r.Turn
		}
	}
	b.fresh = b.fresh[:0]
}

func (b *books) pay(from, to uint64, gold int64) {
	b.gold[from] -= gold
	b.gold[to] += gold
}

// money compares what each account has.
func (b *books) money(accounts []Account) {
	var sum, want, wages int64
	for i := range accounts {
		wages += int64(accounts[i].Wages)
	}
	for i := range accounts {
		a := &accounts[i]
		gold := b.gold[i] + int64(a.Wages)
		if i == bank {
			gold -= wages
		}
		if a.Gold != gold || a.Name != uint64(i) {
			b.find("account %d, %d, has %d gold, and should have %d", i, a.Name, a.Gold, gold)
		}
		sum, want = sum+a.Gold, want+b.gold[i]
	}
	if sum != want {
		b.find("there is %d gold, and should be %d", sum, want)
	}
}

// owners compares who has which ware.
func (b *books) owners(l *look) {
	bags := map[uint64]int{} // how many have a ware
	for name, bag := range l.Bags {
		for _, id := range bag {
			bags[id]++
			if w := b.wares[id]; w != nil && w.owner != uint64(name) {
				b.find("ware %d is in the bag of %d, and belongs to %d", id, name, w.owner)
			}
		}
	}
	missing := maps.Clone(b.wares)
	for _, x := range l.Wares {
		w := b.wares[x.ID]
		switch {
		case w == nil:
			b.find("ware %d is there, with %d; it has ended: %v", x.ID, x.Owner, b.ended[x.ID])
		case bags[x.ID] != 1:
			b.find("ware %d is in %d bags", x.ID, bags[x.ID])
		case x.Owner != w.owner || x.Turn != w.turn || x.Handle != w.handle:
			b.find("ware %d is %+v, and should be %+v", x.ID, x, *w)
		case missing[x.ID] == nil:
			b.find("ware %d is there twice", x.ID)
		}
		delete(missing, x.ID)
	}
	for id, w := range missing {
		b.find("ware %d of %d is gone", id, w.owner)
	}
}
