package crash

import (
	"errors"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// What the market begins with, and what it takes.
const (
	bankGold   = 1_000_000
	clientGold = 200
	craftGold  = 10 // what it costs to craft a ware; melting gives it back
	waresMax   = 6  // that a client may have
)

// bank is the name of the bank's account. Those of clients follow.
const bank = 0

// Kind is what an order asks for.
type Kind uint8

// The kinds of orders.
const (
	Pay   Kind = iota // gold to another account
	Buy               // a ware of whoever has it
	Craft             // a new ware, for gold that the bank gets
	Melt              // a ware ends, and the bank gives gold
	Curse             // buy a ware, and panic
)

// String returns the kind's name.
func (k Kind) String() string { return [...]string{"pay", "buy", "craft", "melt", "curse"}[k] }

type (
	// Order is what a client asks for. Numbers begin at 1.
	Order struct {
		Client, Number uint64
		Kind           Kind
		To             uint64 // an account, to Pay
		Ware           uint64
		Gold           int64
	}
	// Receipt is what an order did.
	Receipt struct {
		Order
		From   uint64        // whoever had the ware
		Turn   uint64        // how often the ware has changed hands by then
		Handle handle.Handle // of the ware
		Left   int64         // gold that the client has
	}
)

// The components.
type (
	// Account is what a client has, with the number and receipt of its last order. So an order that
	// comes again is answered, and not done again.
	Account struct {
		Name   uint64
		Gold   int64
		Orders uint64 // that were done
		Wages  uint64 // that were got
		Last   uint64
		Kept   Receipt
	}
	// Ware is what clients trade. Its parent in the relation "bags" is the account that has it.
	Ware struct{ ID, Turn uint64 }
	// Wear is what a system does to wares.
	Wear struct{ Days uint64 }

	trader struct{ Account }
	goods  struct {
		Ware
		Wear
	}
)

// The reasons to refuse an order.
var (
	errNobody = errors.New("there is no such account")
	errNumber = errors.New("the number is neither the last nor the next")
	errPoor   = errors.New("there is not enough gold")
	errWare   = errors.New("it has no such ware, or has it already, or too many")
)

// market is a world whose clients trade wares for gold.
type market struct {
	*world.World
	s        *scheduler.Scheduler
	fault    fault
	accounts *world.Component[Account]
	wares    *world.Component[Ware]
	traders  *world.Bundle[trader]
	goods    *world.Bundle[goods]
	called   *names.Names[uint64]
	bags     *hierarchy.Relation
	trade    *world.Transaction[Order, Receipt]
	wage     *world.Transaction[uint64, int64]
}

func newMarket(l life) (*market, error) {
	w, err := world.New(world.Options{Shards: 3, VersionsEach: 10_000, Seed: l.Seed, TickInterval: l.Interval})
	if err != nil {
		return nil, err
	}
	m := &market{World: w, fault: l.Fault, accounts: world.Register[Account](w, "account"), wares: world.Register[Ware](w, "ware")}
	world.Register[Wear](w, "wear")
	m.traders, m.goods = world.NewBundle[trader](w), world.NewBundle[goods](w)
	m.called = names.New[uint64](w, "called", names.Options{})
	m.bags = hierarchy.New(w, "bags", hierarchy.Options{})
	m.trade = world.RegisterTransaction(w, "trade", m.do)
	m.wage = world.RegisterTransaction(w, "wage", m.payWage)
	m.s = scheduler.New(w, scheduler.Options{Workers: l.Workers, IfPanics: scheduler.DisableSystem})
	m.s.MustAdd("wear", func(b *world.Build) func(*world.Context) {
		wear := world.Write[Wear](b)
		q := b.Query(wear)
		return func(c *world.Context) {
			for rows := range q.Chunks() {
				all := wear.Slice(rows)
				for i := range all {
					all[i].Days += c.Rand().Uint64N(3)
				}
			}
		}
	})
	m.s.MustAdd("wages", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			if c.Rand().IntN(4) == 0 { // if the outbox is full, nobody gets any
				_ = m.wage.Call(c, 1+c.Rand().Uint64N(uint64(l.Clients)))
			}
		}
	}, scheduler.Global())
	return m, nil
}

// fill makes the accounts.
func (m *market) fill(clients int) error {
	for name := range uint64(clients + 1) {
		gold := int64(clientGold)
		if name == bank {
			gold = bankGold
		}
		h, err := m.traders.Create(m.World, trader{Account{Name: name, Gold: gold}})
		if err = errors.Join(err, m.bags.Add(m.World, h), m.called.Bind(m.World, h, name)); err != nil {
			return err
		}
	}
	return nil
}

// account returns an account for writing, nil if there is none.
func (m *market) account(tx *world.Tx, name uint64) (handle.Handle, *Account) {
	h, ok := m.called.Read(tx).Lookup(name)
	if !ok {
		return handle.None, nil
	}
	return h, m.accounts.Edit(tx, h)
}

// do is the transaction of an order. The last number of the client and its receipt are kept with
// what it did. An order that is refused leaves nothing behind, and its number is free.
func (m *market) do(tx *world.Tx, o Order) (Receipt, error) {
	h, me := m.account(tx, o.Client)
	switch {
	case me == nil:
		return Receipt{}, errNobody
	case o.Number == me.Last && m.fault != twice:
		return me.Kept, nil
	case o.Number != me.Last+1 && o.Number != me.Last:
		return Receipt{}, errNumber
	}
	r := Receipt{Order: o}
	err := m.deal(tx, h, me, &r)
	if err == nil && me.Gold < 0 {
		err = errPoor
	}
	switch {
	case err == errPoor && m.fault == half:
		return Receipt{Turn: halfDone}, nil
	case err != nil:
		return Receipt{}, err
	}
	r.Left = me.Gold
	me.Last, me.Kept = o.Number, r
	me.Orders++
	return r, nil
}

// deal does what an order asks for. What it has done is dropped if it returns an error, so it tests
// last what is simplest to test last.
func (m *market) deal(tx *world.Tx, h handle.Handle, me *Account, r *Receipt) (err error) {
	switch r.Kind {
	case Pay:
		_, to := m.account(tx, r.To)
		if to == nil {
			return errNobody
		}
		move(r.Gold, me, to)
	case Buy, Curse:
		err = m.buy(tx, h, me, r)
		if r.Kind == Curse {
			panic("a curse")
		}
	case Craft:
		_, to := m.account(tx, bank)
		move(craftGold, me, to)
		r.Handle, err = m.goods.Create(tx, goods{Ware: Ware{ID: r.Ware}})
		err = errors.Join(err, m.bags.AddChild(tx, h, r.Handle), m.called.Bind(tx, r.Handle, r.Ware))
		if m.bags.Read(tx).Count(h) > waresMax {
			err = errors.Join(err, errWare)
		}
	case Melt:
		err = m.melt(tx, h, me, r)
	default:
		err = errNobody
	}
	return err
}

// move moves gold. One after the other: both may be the same account.
func move(gold int64, from, to *Account) {
	from.Gold -= gold
	to.Gold += gold
}

// ware returns a ware for writing, and the account that has it.
func (m *market) ware(tx *world.Tx, r *Receipt) (of handle.Handle, x *Ware) {
	var ok bool
	if r.Handle, ok = m.called.Read(tx).Lookup(r.Ware); !ok {
		return handle.None, nil
	}
	of = m.bags.Read(tx).Parent(r.Handle)
	if x = m.wares.Edit(tx, r.Handle); x != nil {
		x.Turn++
		r.Turn = x.Turn
	}
	return of, x
}

// buy gives a ware to a client, and gold to whoever had it.
func (m *market) buy(tx *world.Tx, h handle.Handle, me *Account, r *Receipt) error {
	of, x := m.ware(tx, r)
	if x == nil {
		return errWare
	}
	seller := m.accounts.Edit(tx, of)
	move(r.Gold, me, seller)
	r.From = seller.Name
	if m.fault != stays {
		if err := m.bags.Move(tx, r.Handle, h); err != nil {
			return err
		}
	}
	if of == h || m.bags.Read(tx).Count(h) > waresMax {
		return errWare
	}
	return nil
}

// melt ends a ware of a client, and gives gold for it.
func (m *market) melt(tx *world.Tx, h handle.Handle, me *Account, r *Receipt) error {
	of, x := m.ware(tx, r)
	if x == nil {
		return errWare
	}
	_, from := m.account(tx, bank)
	move(craftGold, from, me)
	r.From = me.Name
	if err := tx.Destroy(r.Handle); err != nil {
		return err
	}
	if of != h {
		return errWare
	}
	return nil
}

// payWage has the bank pay a piece of gold.
func (m *market) payWage(tx *world.Tx, name uint64) (int64, error) {
	_, from := m.account(tx, bank)
	_, to := m.account(tx, name)
	move(1, from, to)
	to.Wages++
	if from.Gold < 0 {
		return 0, errPoor
	}
	return to.Gold, nil
}
