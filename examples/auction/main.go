// Auction is an auction house: traders, a goroutine each, put goods up for sale and bid
// on those of others, while a world that ticks keeps accounts and lots.
//
//	go run ./examples/auction -traders 8 -for 5s
//
// At the end it closes all lots, prints what every trader has, and checks that no gold and
// no goods were made or lost.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

const startGold, startGoods = 1000, 100 // of each trader

func main() {
	traders := flag.Int("traders", 8, "how many goroutines trade")
	long := flag.Duration("for", 5*time.Second, "how long they trade")
	tick := flag.Duration("tick", 10*time.Millisecond, "the time of a tick")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), *long)
	defer cancel()

	h, err := NewHouse(*tick)
	if err != nil {
		log.Fatal(err)
	}
	defer h.World.Close()
	if err := h.Trade(ctx, *traders); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d lots, %d bids accepted, %d refused\n", h.made.Load(), h.accepted.Load(), h.refused.Load())
	total := h.Total()
	fmt.Printf("together: %d gold and %d goods\n", total.Gold, total.Goods)
	if total != (Account{startGold * *traders, startGoods * *traders}) {
		log.Fatal("the books do not balance")
	}
}

// Trade lets traders trade until ctx ends, and then closes all lots.
func (h *House) Trade(ctx context.Context, traders int) error {
	s := scheduler.New(h.World, scheduler.Options{OnTick: func(scheduler.Report) { h.publish() }})
	s.MustAdd("close", h.Close)
	var trading sync.WaitGroup
	errs := make([]error, traders)
	for i := range errs {
		// No tick is running: the world is ours, and does it at once.
		me, err := h.traders.Create(h.World, Trader{Account{startGold, startGoods}})
		if err != nil {
			return err
		}
		trading.Go(func() { errs[i] = h.trade(ctx, me) })
	}
	go func() {
		trading.Wait()
		s.Stop()
	}()
	// Traders need ticks to end what they have begun, so ctx does not stop the ticks.
	if err := s.Run(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	// From here on the world is ours again. Finish what is under way.
	for first := true; first || h.lots.Count() > 0; first = false {
		if err := s.Step(context.Background()); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}

// trade is one trader: it sells and bids through a port of its own. It finishes
// each trade, so it checks ctx only between trades.
func (h *House) trade(ctx context.Context, me handle.Handle) error {
	port, err := h.World.OpenPort()
	if err != nil {
		return err
	}
	defer port.Close()
	for ctx.Err() == nil && err == nil {
		if offers := *h.offers.Load(); len(offers) == 0 || rand.IntN(3) == 0 {
			var lot handle.Handle
			if lot, err = h.sell.Ask(context.Background(), port, Lot{Seller: me, Goods: 1 + rand.IntN(5)}); lot != handle.None {
				h.made.Add(1)
			}
		} else {
			o := offers[rand.IntN(len(offers))]
			_, err = h.Bid(port, me, o.Lot, o.Gold+1+rand.IntN(10))
		}
	}
	return err
}

// Bid bids on a lot and reports whether that is the highest bid now.
func (h *House) Bid(port *world.Port, me, lot handle.Handle, gold int) (accepted bool, err error) {
	accepted, err = h.bid.Ask(context.Background(), port, Offer{lot, me, gold})
	if accepted {
		h.accepted.Add(1)
	} else if err == nil {
		h.refused.Add(1)
	}
	return accepted, err
}

// publish shows the traders which lots are open. The world must be idle.
func (h *House) publish() {
	offers := make([]Offer, 0, h.lots.Count())
	for ch := range h.lots.Chunks() {
		for i, l := range h.lot.Slice(ch) {
			offers = append(offers, Offer{ch.Handle(i), l.Bidder, l.Gold})
		}
	}
	h.offers.Store(&offers)
}
