package main

import (
	"sync/atomic"
	"time"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

const openTicks = 20 // for which a lot is open

type (
	Account struct{ Gold, Goods int }
	Trader  struct{ Account }

	// Lot holds the goods, and the gold of the highest bid. So all gold and goods are
	// in an account, in a lot, or on their way to an account.
	Lot struct {
		Seller, Bidder handle.Handle
		Goods, Gold    int
		Closes         uint64 // the tick
	}
	Sale struct{ Lot }

	// Offer is gold for a lot: the published highest bid, or a trader's bid.
	Offer struct {
		Lot, From handle.Handle
		Gold      int
	}
)

// House is a world with the functions for trading in it. A function acts on one
// entity, and sends requests to others, which the next refresh applies.
type House struct {
	World          *world.World
	traders        *world.Bundle[Trader]
	account        *world.Reader[Account]
	lot            *world.Reader[Lot]
	accounts, lots *world.Query
	offers         atomic.Pointer[[]Offer]

	made, accepted, refused atomic.Int64 // lots, and bids

	give *world.Func[Account]                // on a trader: add this
	take *world.Question[Account, bool]      // on a trader: take this away, if it is there
	sell *world.Question[int, handle.Handle] // on a trader: make goods a lot, if they are there
	bid  *world.Question[Offer, bool]        // on a lot: be the highest bidder
}

// NewHouse makes a house without traders.
func NewHouse(tick time.Duration) (*House, error) {
	w, err := world.New(world.Options{TickInterval: tick})
	if err != nil {
		return nil, err
	}
	account, lot := world.Register[Account](w, "account"), world.Register[Lot](w, "lot")
	h, sales := &House{World: w, traders: world.NewBundle[Trader](w)}, world.NewBundle[Sale](w)
	h.account, h.lot = world.Read[Account](w), world.Read[Lot](w)
	h.accounts, h.lots = w.Query(h.account), w.Query(h.lot)
	h.publish()

	h.give = world.RegisterFunc(w, "give", func(self *world.EntityContext, more Account) {
		a := account.Write(self)
		a.Gold += more.Gold
		a.Goods += more.Goods
	})
	h.take = world.RegisterQuestion(w, "take", func(self *world.EntityContext, less Account) bool {
		a := account.Write(self)
		if a.Gold < less.Gold || a.Goods < less.Goods {
			return false
		}
		a.Gold -= less.Gold
		a.Goods -= less.Goods
		return true
	})
	h.sell = world.RegisterQuestion(w, "sell", func(self *world.EntityContext, goods int) handle.Handle {
		a := account.Write(self)
		if goods <= 0 || goods > a.Goods {
			return handle.None
		}
		// Created in this shard, at once, so the goods are always in the account or in the lot.
		l, err := sales.Create(self, Sale{Lot{Seller: self.Handle(), Goods: goods, Closes: self.Tick() + openTicks}})
		if err != nil {
			return handle.None
		}
		a.Goods -= goods
		return l
	})
	h.bid = world.RegisterQuestion(w, "bid", func(self *world.EntityContext, o Offer) bool {
		l := lot.Write(self)
		if self.Tick() >= l.Closes || o.Gold <= l.Gold || o.From == l.Seller {
			return false
		}
		if l.Gold > 0 && h.give.Call(self, l.Bidder, Account{Gold: l.Gold}) != nil {
			return false // too many requests in this tick
		}
		l.Bidder, l.Gold = o.From, o.Gold
		return true
	})
	return h, nil
}

// Close is the system that ends lots. It gives away what is in them and destroys them
// when they are empty: if a request is refused, the next tick tries again.
func (h *House) Close(b *world.Build) func(*world.Context) {
	lot := world.Write[Lot](b)
	open := b.Query(lot)
	return func(c *world.Context) {
		for ch := range open.Chunks() {
			lots := lot.Slice(ch)
			for i := range lots {
				l := &lots[i]
				if c.Tick() < l.Closes {
					continue
				}
				buyer := l.Bidder
				if l.Gold == 0 {
					buyer = l.Seller // there were no bids
				}
				if l.Goods > 0 && h.give.Call(c, buyer, Account{Goods: l.Goods}) == nil {
					l.Goods = 0
				}
				if l.Goods == 0 && l.Gold > 0 && h.give.Call(c, l.Seller, Account{Gold: l.Gold}) == nil {
					l.Gold = 0
				}
				if l.Goods == 0 && l.Gold == 0 {
					_ = c.Destroy(ch.Handle(i)) // bids of this tick find it gone
				}
			}
		}
	}
}

// Total returns all gold and goods. The world must be idle.
func (h *House) Total() (sum Account) {
	for ch := range h.accounts.Chunks() {
		for _, a := range h.account.Slice(ch) {
			sum.Gold += a.Gold
			sum.Goods += a.Goods
		}
	}
	for ch := range h.lots.Chunks() {
		for _, l := range h.lot.Slice(ch) {
			sum.Gold += l.Gold
			sum.Goods += l.Goods
		}
	}
	return sum
}
