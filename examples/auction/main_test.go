package main

import (
	"context"
	"testing"
	"time"
)

func TestBooksBalance(t *testing.T) {
	const traders = 8
	h, err := NewHouse(time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer h.World.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := h.Trade(ctx, traders); err != nil {
		t.Fatal(err)
	}
	if want := (Account{startGold * traders, startGoods * traders}); h.Total() != want {
		t.Errorf("%+v, not %+v", h.Total(), want)
	}
	if n := h.lots.Count(); n != 0 {
		t.Errorf("%d lots are open", n)
	}
	richest := Account{}
	for ch := range h.accounts.Chunks() {
		for _, a := range h.account.Slice(ch) {
			if a.Gold < 0 || a.Goods < 0 {
				t.Errorf("%+v", a)
			}
			richest.Gold, richest.Goods = max(richest.Gold, a.Gold), max(richest.Goods, a.Goods)
		}
	}
	if richest.Gold <= startGold || richest.Goods <= startGoods {
		t.Errorf("nothing changed hands: %+v", richest)
	}
	if h.made.Load() == 0 || h.accepted.Load() == 0 || h.refused.Load() == 0 {
		t.Errorf("%d lots, %d bids accepted, %d refused", h.made.Load(), h.accepted.Load(), h.refused.Load())
	}
	t.Logf("%d lots, %d bids accepted, %d refused in %d ticks",
		h.made.Load(), h.accepted.Load(), h.refused.Load(), h.World.Tick())
}
