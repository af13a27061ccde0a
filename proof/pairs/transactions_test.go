package pairs_test

import (
	"errors"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// What the transaction does beside writing a component, by its argument.
const (
	gains = iota
	loses
	marks
	ends
	fails
	breaks
	failsWithin
	manners = 10 // any other: nothing
)

var errRefused = errors.New("the transaction was asked to fail")

// deal is the argument of the transaction.
type deal struct {
	H handle.Handle
	N int64
}

// transactions asks for a transaction that writes, and then changes, flags or destroys an entity, or
// fails: then nothing is left of it.
func transactions() *feature {
	of := func(o *objects) *world.Transaction[deal, int64] {
		return o.made["transaction"].(*world.Transaction[deal, int64])
	}
	return &feature{
		name: "transactions", rate: 800, by: byAny &^ byGlobal,
		prepare: func(o *objects) {
			o.made["transaction"] = world.RegisterTransaction(o.World, "transaction", o.transact)
		},
		draw: func(d *drawer) *act {
			n := d.next()
			a := on("transact", d.someone(), func(o *objects, by world.Actor, h handle.Handle) (err error) {
				switch by := by.(type) {
				case *world.World: // a panic is the caller's
					defer func() {
						if r := recover(); r != nil {
							err = r.(error)
						}
					}()
				case *world.Context: // that it is gone only the refresh would say
					if !by.Alive(h) {
						return world.ErrStale
					}
				}
				return of(o).Call(by, deal{h, n})
			}, func(m *model, e *entity) world.Outcome { return m.transact(e, n) })
			a.joint, a.moves = true, true
			return a
		},
	}
}

// transact is the transaction.
func (o *objects) transact(tx *world.Tx, d deal) (int64, error) {
	own, other := o.parts[d.N%partsN], o.parts[d.N/partsN%partsN]
	if err := own.set(tx, d.H, d.N); err != nil {
		return 0, err
	}
	switch d.N % manners {
	case gains:
		return d.N, other.add(tx, d.H, d.N)
	case loses:
		if err := other.remove(tx, d.H); err != nil && !errors.Is(err, world.ErrMissing) {
			return 0, err
		}
	case marks:
		return d.N, world.AddFlags(tx, d.H, world.Flags(1<<(d.N%7)))
	case ends:
		return d.N, tx.Destroy(d.H)
	case fails:
		return 0, errors.Join(errRefused, other.add(tx, d.H, d.N), tx.Destroy(d.H))
	case breaks:
		_ = other.add(tx, d.H, d.N)
		panic(errAsked)
	case failsWithin:
		_, _ = o.made["transaction"].(*world.Transaction[deal, int64]).Run(tx, deal{d.H, d.N - failsWithin + fails})
	}
	return d.N, nil
}

func (m *model) transact(e *entity, n int64) world.Outcome {
	own, other := parts(1)<<(n%partsN), parts(1)<<(n/partsN%partsN)
	if e == nil || e.has&own == 0 || e.guarded() && n%manners == ends {
		return world.Refused
	}
	switch n % manners {
	case fails, failsWithin:
		return world.Refused
	case breaks:
		return world.Failed
	}
	stored := e.stored
	m.set(e, own, alike(n))
	switch n % manners {
	case gains:
		m.exchange(e, other, 0, alike(n))
	case loses:
		m.exchange(e, 0, other, alike(n))
		e.stored = stored | e.stored&e.has // what it sets and then removes is never set
	case marks:
		m.flag(e, world.Flags(1<<(n%7)), 0)
	case ends:
		e.marked = true
	}
	return world.Applied
}
