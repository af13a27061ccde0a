package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"

	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/handle"
)

// ledger is what the clients of all towns know.
//
// Ownership: the mutex guards all but what only audits use, while clients run.
type ledger struct {
	sync.Mutex
	senders   [][]*sender       // by town, and by name from 1 on
	handles   [][]handle.Handle // of their citizens, as the towns said first
	addresses []string
	seen      []townLook // by the last audit of each town, without citizens
	counts
	findings []string
}

// sender is a client of a town. It lives longer than processes do.
type sender struct {
	town  transit.World
	name  uint64
	order transfer // the last that was sent
	waits bool     // it may be done, and was not answered
	last  transfer // the last order that is known to be done
	sent  sum      // of all that are
	got   sum      // what has to arrive
	back  sum      // what has to come back
}

func newLedger(worlds, clients int) *ledger {
	l := &ledger{senders: make([][]*sender, worlds), handles: make([][]handle.Handle, worlds), addresses: make([]string, worlds), seen: make([]townLook, worlds)}
	for i := range worlds {
		for name := range uint64(clients) {
			l.senders[i] = append(l.senders[i], &sender{town: transit.World(i + 1), name: name + 1})
		}
	}
	return l
}

// say notes something that is wrong, and wrong reports whether something is, while clients run.
func (l *ledger) say(format string, values ...any) {
	l.Lock()
	defer l.Unlock()
	l.find(format, values...)
}

func (l *ledger) wrong() bool {
	l.Lock()
	defer l.Unlock()
	return len(l.findings) > 0
}

// find is say by who has the mutex.
func (l *ledger) find(format string, values ...any) {
	if len(l.findings) < findingsMax {
		l.findings = append(l.findings, fmt.Sprintf(format, values...))
	}
}

// nobody is a citizen that no town has.
var nobody = handle.New(0, 9999, 1)

// trade sends orders until the town is dead, or ctx ends. It begins with what was sent last: it has the
// same number, so it is not done twice.
func (s *sender) trade(ctx context.Context, l *ledger, address string, dice *rand.Rand) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return // it is dead
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer func() { _ = conn.Close() }()
	out, in := json.NewEncoder(conn), json.NewDecoder(conn)
	if !s.waits && s.last.Number > 0 {
		s.order = s.last
	} else if !s.waits {
		s.order = s.next(l, dice)
	}
	for ctx.Err() == nil {
		s.waits = s.order.Number > s.last.Number
		var a townAnswer
		if out.Encode(call{l.handles[s.town-1][s.name-1], s.order}) != nil || in.Decode(&a) != nil {
			return
		}
		if again := l.note(s, &a); again {
			continue
		}
		if s.waits = false; dice.IntN(8) > 0 { // else as if it had not heard of it
			s.order = s.next(l, dice)
		}
	}
}

// next thinks of an order. Some are to be refused, and some are for nobody.
func (s *sender) next(l *ledger, dice *rand.Rand) transfer {
	to := transit.World(1 + dice.IntN(len(l.senders)-1))
	if to >= s.town {
		to++
	}
	h := nobody
	if all := l.handles[to-1]; dice.IntN(10) > 0 {
		h = all[dice.IntN(len(all))]
	}
	o := transfer{Client: s.name, Number: s.last.Number + 1, To: transit.RefOf(to, h), Gold: 1 + dice.Int64N(50)}
	if dice.IntN(20) == 0 {
		o.Gold = 1 << 40
	}
	return o
}

// note notes what a client is told about its order. It reports whether the client is to ask again.
func (l *ledger) note(s *sender, a *townAnswer) (again bool) {
	l.Lock()
	defer l.Unlock()
	o := s.order
	switch {
	case a.Status == full:
		return true
	case a.Status == unknown:
		l.Unknown++
		return true
	case a.Status == done && a.Order != o:
		l.find("town %d, client %d: order %+v is answered by %+v", s.town, s.name, o, a.Order)
	case a.Status == done && o.Number == s.last.Number:
		l.Repeated++
	case a.Status == done:
		l.Done++
		l.take(s, o)
	case o.Number == s.last.Number:
		l.find("town %d, client %d: order %d was told done, and now %v: %s", s.town, s.name, o.Number, a.Status, a.Why)
	case a.Why != errPoor.Error():
		l.find("town %d, client %d: order %+v: %v: %s", s.town, s.name, o, a.Status, a.Why)
	default:
		l.Refused++
	}
	return false
}

// take takes in an order that was done.
func (l *ledger) take(s *sender, o transfer) {
	s.last = o
	p := payment{s.town, o.Client, o.Number, o.Gold}
	s.sent.add(p)
	to := o.To.World() - 1
	if i := slices.Index(l.handles[to], o.To.Handle()); i >= 0 {
		l.senders[to][i].got.add(p)
	} else {
		s.back.add(p)
	}
}

// opened compares what a town has found at its start with what its clients know. None of these runs.
func (l *ledger) opened(town transit.World, found *townLook) {
	l.Lock()
	defer l.Unlock()
	i := town - 1
	l.addresses[i] = found.Address
	l.Played += found.Played
	if l.handles[i] == nil {
		l.handles[i] = found.Handles
	}
	seen := &l.seen[i]
	if found.Tick < seen.Tick || found.Incarnation <= seen.Incarnation {
		l.find("town %d: tick %d, incarnation %d, after tick %d, incarnation %d", town, found.Tick, found.Incarnation, seen.Tick, seen.Incarnation)
	}
	seen.Tick, seen.Incarnation = found.Tick, found.Incarnation
	l.citizens(town, found)
}

// citizens compares the citizens of a town with what its clients know.
func (l *ledger) citizens(town transit.World, found *townLook) {
	if !slices.Equal(found.Handles, l.handles[town-1]) || len(found.Handles) != len(l.senders[town-1]) {
		l.find("town %d has the citizens %v, and had %v", town, found.Handles, l.handles[town-1])
		return
	}
	for k, s := range l.senders[town-1] {
		c := &found.Citizens[k]
		switch {
		case c.Last < s.last.Number:
			l.Lost += s.last.Number - c.Last
			l.find("town %d, client %d: order %d was told done, and the last is %d", town, s.name, s.last.Number, c.Last)
		case c.Last > s.last.Number && (!s.waits || c.Kept != s.order):
			l.find("town %d, client %d: order %+v is done; it had %d and waits for %+v (%v)", town, s.name, c.Kept, s.last.Number, s.order, s.waits)
		case c.Last > s.last.Number:
			l.Unheard++
			l.take(s, c.Kept)
		}
		if c.Sent.N > c.Last {
			l.Doubled += c.Sent.N - c.Last
		}
		if c.Sent != s.sent {
			l.find("town %d, client %d has sent %+v, and should have sent %+v", town, s.name, c.Sent, s.sent)
		}
		if gold := townGold - c.Sent.Gold + c.Got.Gold + c.Back.Gold; c.Gold != gold {
			l.find("town %d, client %d has %d gold, and should have %d", town, s.name, c.Gold, gold)
		}
	}
}

// audit compares all towns with what all clients know. Nothing is under way, and no client runs.
func (l *ledger) audit(looks []*townLook) {
	l.Lock()
	defer l.Unlock()
	l.Audits++
	for i, found := range looks { // first, since what one has sent the other has got
		l.citizens(transit.World(i+1), found)
		l.seen[i].Tick = found.Tick
	}
	if len(l.findings) > 0 {
		return
	}
	var gold int64
	l.Arrived, l.Returned = 0, 0
	for i, found := range looks {
		for k, s := range l.senders[i] {
			c := &found.Citizens[k]
			gold += c.Gold
			l.Arrived += c.Got.N
			l.Returned += c.Back.N
			l.compare(s, "got", c.Got, s.got)
			l.compare(s, "got back", c.Back, s.back)
		}
	}
	if want := int64(townGold * len(looks) * len(l.senders[0])); gold != want {
		l.find("there is %d gold in all towns, and should be %d", gold, want)
	}
}

// compare compares payments to a citizen.
func (l *ledger) compare(s *sender, what string, has, want sum) {
	if has == want {
		return
	}
	if has.N < want.N {
		l.Lost += want.N - has.N
	} else {
		l.Doubled += has.N - want.N
	}
	l.find("town %d, client %d has %s %d payments of %d gold, and should have %d of %d", s.town, s.name, what, has.N, has.Gold, want.N, want.Gold)
}
