package crash

import (
	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// townGold is what each client of a town begins with.
const townGold = 1000

type (
	// transfer is what a client asks for: gold to a citizen of another town. Numbers begin at 1. A
	// traveller between towns would be another kind of order here, with a sum of its own in citizen.
	transfer struct {
		Client, Number uint64
		To             transit.Ref
		Gold           int64
	}
	// payment is what travels.
	payment struct {
		From           transit.World
		Client, Number uint64
		Gold           int64
	}
	// sum adds up payments, in any order.
	sum struct {
		N    uint64
		Gold int64
		Hash uint64
	}
	// citizen is what a client has, with the number of its last order, which is not done again.
	citizen struct {
		Name uint64
		Gold int64
		Last uint64
		Kept transfer
		Sent sum
		Got  sum
		Back sum // what nobody was there for
	}
	dweller struct{ citizen }
)

// add adds a payment.
func (s *sum) add(p payment) {
	s.N++
	s.Gold += p.Gold
	h := uint64(p.From)<<48 ^ p.Client<<32 ^ p.Number
	for _, x := range [...]uint64{uint64(p.Gold), 0} { // the finalizer of MurmurHash3
		h = (h ^ h>>33) * 0xff51afd7ed558ccd
		h = (h^h>>33)*0xc4ceb9fe1a85ec53 + x
	}
	s.Hash += h ^ h>>33
}

// town is a world whose clients send gold to citizens of others.
type town struct {
	*world.World
	s        *scheduler.Scheduler
	fault    fault
	roads    *transit.Roads
	mail     *transit.Mail[payment]
	citizens *world.Component[citizen]
	dwellers *world.Bundle[dweller]
	do       *world.Transaction[call, transfer]
	tells    *world.Transaction[call, transfer] // what the fault apart leaves to do
	onTick   func()
}

// call is an order, with the citizen of its client.
type call struct {
	By    handle.Handle
	Order transfer
}

func newTown(l *townLife) (*town, error) {
	w, err := world.New(world.Options{Shards: 3, VersionsEach: 10_000, Seed: l.Seed, TickInterval: l.Interval})
	if err != nil {
		return nil, err
	}
	t := &town{World: w, fault: l.Fault, citizens: world.Register[citizen](w, "citizen"), onTick: func() {}}
	t.dwellers = world.NewBundle[dweller](w)
	t.roads = transit.New(w, "roads", transit.Options{World: l.Number})
	t.mail = transit.RegisterMail(t.roads, world.RegisterMessage[payment](w, "payment"))
	t.do = world.RegisterTransaction(w, "transfer", t.transfer)
	t.tells = world.RegisterTransaction(w, "tell", t.tell)
	t.s = scheduler.New(w, scheduler.Options{Workers: l.Workers, OnTick: func(scheduler.Report) { t.onTick() }})
	return t, t.s.Add("payments", t.receive)
}

// fill makes the citizens.
func (t *town) fill(n int) error {
	for name := range uint64(n) {
		if _, err := t.dwellers.Create(t.World, dweller{citizen{Name: name + 1, Gold: townGold}}); err != nil {
			return err
		}
	}
	return nil
}

// transfer is the transaction of an order.
func (t *town) transfer(tx *world.Tx, c call) (transfer, error) {
	o := c.Order
	me := t.citizens.Edit(tx, c.By)
	switch {
	case me == nil || me.Name != o.Client:
		return transfer{}, errNobody
	case o.Number == me.Last && t.fault != twice:
		return me.Kept, nil
	case o.Number != me.Last+1 && o.Number != me.Last:
		return transfer{}, errNumber
	case o.Gold > me.Gold:
		return transfer{}, errPoor
	}
	me.Last, me.Kept = o.Number, o
	me.Gold -= o.Gold
	me.Sent.add(t.paid(o))
	if t.fault == apart {
		return o, nil
	}
	return t.tell(tx, c)
}

// tell is the half of transfer that sends.
func (t *town) tell(tx *world.Tx, c call) (transfer, error) {
	return c.Order, t.mail.Tell(tx, c.By, c.Order.To, t.paid(c.Order))
}

func (t *town) paid(o transfer) payment {
	return payment{t.roads.World(), o.Client, o.Number, o.Gold}
}

// receive is the system that takes what has come, and what has come back.
func (t *town) receive(b *world.Build) func(*world.Context) {
	in, back := world.Receive[payment](b), world.Receive[transit.Returned[payment]](b)
	citizens := world.Write[citizen](b)
	return func(*world.Context) {
		for _, m := range in.All() {
			x := citizens.Get(m.To)
			x.Gold += m.Body.Gold
			x.Got.add(m.Body)
		}
		for _, m := range back.All() {
			x := citizens.Get(m.To)
			x.Gold += m.Body.Body.Gold
			x.Back.add(m.Body.Body)
		}
	}
}
