package linear_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// The trades of one history: so many clients do so many operations each on so many purses.
const (
	traders = 5
	trades  = 8
	purses  = 3
	full    = 10 // what each has at first
)

// trade is one operation: gold goes from one purse to another, or both are read.
type trade struct {
	A, B  int
	N     int64
	reads how
}

// how says in which way two purses are read.
type how uint8

const (
	not           how = iota // gold is paid
	byAsks                   // by two questions in one batch
	byTransaction            // by a transaction that reads
	byFrame                  // from a frame
)

// receipt is what the client learns: what is in both purses then, unless the trade failed.
type receipt struct {
	A, B int64
	OK   bool
}

type purse struct{ Gold int64 }

var errPoor = errors.New("there is not enough")

// TestTrades has ports trade between few purses, and look at two at a time in all ways there are:
// what they learn can have happened in one order, one trade after the other. A trade that fails has
// taken the gold before it finds out. So whoever saw half of one, or something left of it, is
// found.
func TestTrades(t *testing.T) {
	n := *histories
	if testing.Short() {
		n = max(1, n/10)
	}
	failed, applied := 0, 0
	for i := range n {
		operations := playTrades(t, seedOf(i))
		for _, o := range operations {
			switch {
			case o.Input.(trade).reads != not:
			case o.Output.(receipt).OK:
				applied++
			default:
				failed++
			}
		}
		require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(purseModel, operations, checkTime), "history of seed %d: %+v", seedOf(i), operations)
	}
	t.Logf("%d histories, %d trades, %d of them failed", n, applied+failed, failed)
	require.NotZero(t, applied)
	require.NotZero(t, failed)
}

// TestTradesFlaws damages good histories: there is one piece of gold more than in all purses
// together, as if half of a trade was seen, or something was left of one that failed. No order
// explains that; one piece more in one purse might be there in another order.
func TestTradesFlaws(t *testing.T) {
	seen, made := 0, 0
	for i := range 50 {
		operations := playTrades(t, seedOf(i))
		for k, o := range operations {
			if r, ok := o.Output.(receipt); ok && r.OK && o.Input.(trade).reads != not {
				r.A = purses*full + 1 - r.B
				operations[k].Output = r
				made++
				break
			}
		}
		if porcupine.CheckOperationsTimeout(purseModel, operations, checkTime) == porcupine.Illegal {
			seen++
		}
	}
	require.NotZero(t, made)
	require.Equal(t, made, seen)
}

// purseModel is what a single thread that did all trades would see.
var purseModel = porcupine.Model{
	Init: func() any { return [purses]int64{full, full, full} },
	Step: func(state, input, output any) (bool, any) {
		s, in, out := state.([purses]int64), input.(trade), output.(receipt)
		switch {
		case in.reads != not:
		case s[in.A] < in.N:
			return !out.OK, s
		default:
			s[in.A] -= in.N
			s[in.B] += in.N
		}
		return out == receipt{s[in.A], s[in.B], true}, s
	},
	Equal:             func(a, b any) bool { return a == b },
	DescribeOperation: func(in, out any) string { return fmt.Sprint(in, out) },
}

// playTrades lets clients trade, and returns what each has learned and when.
func playTrades(t *testing.T, seed uint64) []porcupine.Operation {
	w := world.MustNew(world.Options{Shards: 1 + int(seed%3), FramesMax: traders + 1})
	defer w.Close()
	gold := world.Register[purse](w, "purse")
	type bag struct{ purse }
	bags := world.NewBundle[bag](w)
	var hs [purses]handle.Handle
	for i := range hs {
		var err error
		hs[i], err = bags.Create(w, bag{purse{full}})
		require.NoError(t, err)
	}
	paying := world.RegisterTransaction(w, "trade", func(tx *world.Tx, d trade) (receipt, error) {
		a, b := gold.Edit(tx, hs[d.A]), gold.Edit(tx, hs[d.B])
		b.Gold += d.N
		if a.Gold -= d.N; a.Gold < 0 {
			return receipt{}, errPoor
		}
		return receipt{a.Gold, b.Gold, true}, nil
	})
	reading := world.RegisterTransaction(w, "look", func(tx *world.Tx, d trade) (receipt, error) {
		a, _ := gold.Get(tx, hs[d.A])
		b, _ := gold.Get(tx, hs[d.B])
		return receipt{a.Gold, b.Gold, true}, nil
	})
	ticks := scheduler.New(w, scheduler.Options{Workers: w.Shards()})
	view, err := w.NewView(gold)
	require.NoError(t, err)
	var time clock
	var running atomic.Int64
	var all sync.WaitGroup
	learned := make([][]porcupine.Operation, traders)
	do := func(p *world.Port, d trade) (r receipt, err error) {
		switch d.reads {
		case not:
			r, err = paying.Ask(context.Background(), p, d)
		case byTransaction:
			r, err = reading.Ask(context.Background(), p, d)
		case byFrame:
			f, err := view.Capture(context.Background())
			if err != nil {
				return r, err
			}
			defer f.Release()
			rows := world.Read[purse](f)
			return receipt{rows.Get(hs[d.A]).Gold, rows.Get(hs[d.B]).Gold, true}, nil
		case byAsks:
			var a, b world.Answer[purse]
			if err := p.Batch(func() error { return errors.Join(gold.Ask(p, hs[d.A], &a), gold.Ask(p, hs[d.B], &b)) }); err != nil {
				return r, err
			}
			x, err := a.Get(context.Background())
			y, also := b.Get(context.Background())
			return receipt{x.Gold, y.Gold, true}, errors.Join(err, also)
		}
		return r, err
	}
	for i := range traders {
		dice := rand.New(rand.NewPCG(seed, uint64(i)))
		p, err := w.OpenPort()
		require.NoError(t, err)
		running.Add(1)
		all.Go(func() {
			defer running.Add(-1)
			for range trades {
				d := trade{A: dice.IntN(purses), N: 1 + dice.Int64N(12)}
				d.B = (d.A + 1 + dice.IntN(purses-1)) % purses
				if dice.IntN(2) == 0 {
					d.reads = byAsks + how(dice.IntN(3))
				}
				o := porcupine.Operation{ClientId: i, Input: d, Call: time.now()}
				r, err := do(p, d)
				o.Return = time.now()
				if err != nil && !errors.Is(err, errPoor) {
					panic(err)
				}
				o.Output = r
				learned[i] = append(learned[i], o)
			}
		})
	}
	for running.Load() > 0 {
		require.NoError(t, ticks.Step(context.Background()))
	}
	all.Wait()
	var operations []porcupine.Operation
	for _, o := range learned {
		operations = append(operations, o...)
	}
	return operations
}
