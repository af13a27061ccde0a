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
	// in an account or in a lot.
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

// House is a world with the transactions for trading in it. Each happens as a whole or
// not at all.
type House struct {
	World          *world.World
	traders        *world.Bundle[Trader]
	account        *world.Reader[Account]
	lot            *world.Reader[Lot]
	accounts, lots *world.Query
	offers         atomic.Pointer[[]Offer]

	made, accepted, refused atomic.Int64 // lots, and bids

	sell  *world.Transaction[Lot, handle.Handle]      // make goods a lot, if the seller has them
	bid   *world.Transaction[Offer, bool]             // be the highest bidder
	close *world.Transaction[handle.Handle, struct{}] // give away what is in a lot
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

	h.sell = world.RegisterTransaction(w, "sell", func(tx *world.Tx, l Lot) (handle.Handle, error) {
		a := account.Edit(tx, l.Seller)
		if l.Goods <= 0 || l.Goods > a.Goods {
			return handle.None, nil
		}
		a.Goods -= l.Goods
		l.Closes = tx.Tick() + openTicks
		return sales.Create(tx, Sale{l})
	})
	h.bid = world.RegisterTransaction(w, "bid", func(tx *world.Tx, o Offer) (bool, error) {
		l, from := lot.Edit(tx, o.Lot), account.Edit(tx, o.From)
		if l == nil || tx.Tick() >= l.Closes || o.From == l.Seller || o.Gold <= l.Gold || o.Gold > from.Gold {
			return false, nil // it is closed, for one
		}
		from.Gold -= o.Gold
		if l.Gold > 0 {
			account.Edit(tx, l.Bidder).Gold += l.Gold // who may be the same
		}
		l.Bidder, l.Gold = o.From, o.Gold
		return true, nil
	})
	h.close = world.RegisterTransaction(w, "close", func(tx *world.Tx, of handle.Handle) (none struct{}, err error) {
		l := lot.Edit(tx, of)
		buyer := l.Bidder
		if l.Gold == 0 {
			buyer = l.Seller // there were no bids
		}
		account.Edit(tx, buyer).Goods += l.Goods
		account.Edit(tx, l.Seller).Gold += l.Gold
		return none, tx.Destroy(of)
	})
	return h, nil
}

// Close is the system that ends lots. If a request is refused, the next tick tries again.
func (h *House) Close(b *world.Build) func(*world.Context) {
	lot := world.Read[Lot](b)
	open := b.Query(lot)
	return func(c *world.Context) {
		for ch := range open.Chunks() {
			for i, l := range lot.Slice(ch) {
				if c.Tick() >= l.Closes {
					_ = h.close.Call(c, ch.Handle(i))
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
