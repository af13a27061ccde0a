package world

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// Transaction is a registered transaction: the right to have it run. It is a function over any
// entities of any shards that happens as a whole or not at all:
//
//	trade := world.RegisterTransaction(w, "trade", func(tx *world.Tx, d Deal) (Receipt, error) {
//		buyer, seller := purse.Edit(tx, d.Buyer), purse.Edit(tx, d.Seller)
//		if buyer == nil || seller == nil || buyer.Gold < d.Price {
//			return Receipt{}, ErrNoDeal
//		}
//		buyer.Gold -= d.Price
//		seller.Gold += d.Price
//		return Receipt{d.Price}, owner.Set(tx, d.Item, Owner{d.Buyer})
//	})
//	receipt, err := trade.Ask(ctx, port, deal)
//
// If it returns an error or panics, nothing is left of what it did: no change, no entity, message or
// random number. Nobody sees a part of it, at no time.
//
// The refresh runs transactions one after the other, when all requests on single entities are done:
// in turn with the requests to extensions, ports by number, then shards, each in the order sent.
// After that come the deaths that follow from others, hooks, moves and the end of the dead. So what a
// transaction destroys is gone when its outcome is known. An entity that was marked before, by a
// system of this tick or by a request, can still be read in it, but not be written: that is ErrStale,
// even if an extension then spares the entity.
//
// Everything else about requests is as for Func. Safe for concurrent use.
type Transaction[A, R any] struct {
	requested
	w      *engine.World
	name   string
	run    func(*Tx, A) (R, error)
	asking queue.Kind
}

// RegisterTransaction makes f a transaction of the world, under a name. f must touch nothing besides
// its Tx and its argument, if the same inputs are to give the same world. It panics if the name is
// empty or taken by another function, question or transaction, or if an A cannot be moved. When to
// call it, and what can be moved: see Register.
func RegisterTransaction[A, R any](w *World, name string, f func(tx *Tx, arg A) (R, error)) *Transaction[A, R] {
	x := &Transaction[A, R]{w: (*engine.World)(w), name: name, run: f}
	x.w.AddTransaction(name, f == nil, reflect.TypeFor[A]())
	x.asking = store.NewTransaction(x.w.Space(), mem.TypeOf[asked[A, R]](), transactor[A, R]{x})
	x.requested = x.w.RequestedBy(name, &x.asking)
	return x
}

// Ask requests the transaction and waits for what it returns. Unlike other requests it waits for room
// in the queue, too. It returns the error of the transaction; an ErrFailed, which wraps the
// *PanicError, if it panicked; the context's error if the context ends first, and then it is not
// known whether the transaction was or will be done; and the errors of Answer.Get. It panics within a
// batch: use Send. Nothing that a tick or a refresh waits for may call it, such as a system or a
// transaction: the outcome comes with that refresh, so both would wait until the context ends.
func (t *Transaction[A, R]) Ask(ctx context.Context, p *Port, arg A) (R, error) {
	if p != nil && (*engine.Port)(p).Batching() {
		panic(fmt.Sprintf("world: Transaction.Ask of %q within a batch, which is not sent before it ends; use Transaction.Send", t.name))
	}
	var answer Answer[R]
	t.w.Check((*engine.Port)(p), "Transaction.Ask", "transaction", t.name)
	if err := t.Send(p.Within(ctx), arg, &answer); err != nil {
		return *new(R), err
	}
	return answer.Get(ctx)
}

// Send requests the transaction. The refresh fills in the answer, whose Get returns what Ask does. It
// returns ErrFull if the request was not accepted.
func (t *Transaction[A, R]) Send(p *Port, arg A, answer *Answer[R]) error {
	if answer == nil {
		panic(fmt.Sprintf("world: Transaction.Send of %q with a nil Answer; pass one to fill, or use Transaction.Call", t.name))
	}
	self := (*engine.Port)(p)
	t.w.Check(self, "Transaction.Send", "transaction", t.name)
	x, err := self.Ask((*engine.Completion)(&answer.Completion), &t.asking, handle.None)
	if err == nil {
		answer.failure = nil
		*mem.As[asked[A, R]](x.To) = asked[A, R]{arg, answer}
		x.Done()
	}
	return err
}

// Call has the transaction run, without its result. By a *Tx and an idle *World it is Run. By other
// actors it is a request that the refresh applies, and that a port can await with Port.Notify:
// Applied, Refused if the transaction returned an error, Failed if it panicked. A system, function or
// hook is not told: Call has returned nil before the transaction runs. An error of the transaction
// then goes to the Logger of the scheduler, up to 16 for each tick; if the world is to react, let the
// transaction send a message, and return nil. Call returns ErrFull if the request was not accepted.
func (t *Transaction[A, R]) Call(by Actor, arg A) error {
	self := selfOf(by)
	t.w.Check(self, "Transaction.Call", "transaction", t.name)
	switch self.(type) {
	case *engine.Tx, *engine.World:
		_, err := t.now(self, "Transaction.Call", arg)
		return err
	}
	x, err := engine.RequestOfNone(self, "Transaction.Call", &t.asking)
	if err == nil {
		*mem.As[asked[A, R]](x.To) = asked[A, R]{arg: arg}
		x.Done()
	}
	return err
}

// Run runs the transaction at once, and returns what it returns. By a *Tx it becomes a part of the
// transaction that runs: if it returns an error, that one fails with it, whatever it returns itself.
// By a *World, which must be idle, a panic reaches the caller, and what is destroyed stays marked
// until the refresh; Run panics within a query loop, and where ticks are sealed, even if the
// transaction would change nothing. It panics for other actors.
func (t *Transaction[A, R]) Run(by Actor, arg A) (result R, err error) {
	self := selfOf(by)
	t.w.Check(self, "Transaction.Run", "transaction", t.name)
	return t.now(self, "Transaction.Run", arg)
}

// now is Run; call is the name for messages.
func (t *Transaction[A, R]) now(self engine.Self, call string, arg A) (result R, err error) {
	if x, ok := self.(*engine.Tx); ok {
		x.Enter(call)
		err = ErrFailed // unless it returns: the caller may recover a panic
		defer func() { x.Leave(err) }()
		return t.run((*Tx)(x), arg)
	}
	x, err := engine.BeginRun(self, call, t.name)
	if err != nil {
		return result, err
	}
	defer x.EndIdle()
	if of := t.asking.Type(); of.HasTimes() {
		own := asked[A, R]{arg: arg} // so that only this one is on the heap
		of.DropClocks(mem.PointerTo(&own).Address, 1)
		arg = own.arg
	}
	result, err = t.run((*Tx)(x), arg)
	return result, x.Returned(err)
}

// transactor applies a request to run a transaction at the refresh.
type transactor[A, R any] struct{ t *Transaction[A, R] }

// Apply runs the transaction, and stores what it returns in the answer.
func (x transactor[A, R]) Apply(_ *store.Shard, _ handle.Handle, _ slots.Loc, p mem.Pointer) (o queue.Outcome) {
	t := x.t
	a := mem.As[asked[A, R]](p)
	tx, err := t.w.BeginTx(t.name)
	if err != nil {
		if a.to != nil {
			a.to.failure = err
		}
		return queue.Refused
	}
	defer func() {
		var failure error
		if o, failure = tx.End(recover()); a.to != nil {
			a.to.failure = failure
		}
	}()
	value, err := t.run((*Tx)(tx), a.arg)
	if err = tx.Returned(err); err == nil && a.to != nil {
		a.to.value = value
	}
	return
}

// Describe implements store.Handler.
func (x transactor[A, R]) Describe() store.Description {
	return engine.Describe("transaction", x.t.name)
}

// PartType is the type of the argument. The rest of the payload says where the answer goes.
func (x transactor[A, R]) PartType() reflect.Type { return reflect.TypeFor[A]() }

// Part returns the argument in a payload.
func (x transactor[A, R]) Part(p mem.Pointer) mem.Cells {
	return mem.CellOf(&mem.As[asked[A, R]](p).arg)
}

// Complete says that nobody waits for an answer to a request that is sent again.
func (x transactor[A, R]) Complete(p mem.Pointer) { mem.As[asked[A, R]](p).to = nil }

// Tx is what a transaction acts through, on any entity of the world:
//
//	Component.Get, Edit, Set         read a component; write it
//	Component.Add, Remove            and Bundle.Add, Set: change the components of an entity
//	Bundle.Create, Copy              make an entity, where a *World would; its handle is good at once
//	Tx.Destroy, Move                 the refresh then destroys it, or moves it last of all
//	AddFlags, RemoveFlags, FlagsOf
//	Message.Send                     and SendShard, Broadcast: delivered in the next tick
//	Resource.Edit                    read and write a resource
//	Transaction.Run, Call            run another as a part of this one
//
// Reads see what the transaction has written. The rest of the world sees it when the transaction has
// returned without an error, all of it at once. Calls that return an error have changed nothing; a
// limit of the transaction, see docs/limits.md, makes all later ones fail as well, and the
// transaction with them. Nothing but the Tx shows its writes: not accessors, queries or readers.
//
// Names, relations, timers and prefabs take part, too; their comments say more. A Func cannot be called
// by a Tx: make what it does a Transaction.
//
// A Tx, and what Edit returned, are good until the transaction returns.
//
// Ownership: the goroutine that runs the transaction, while it runs.
type Tx engine.Tx

// Tick returns the number of the tick that ends, or, on an idle world, of the next tick.
func (t *Tx) Tick() uint64 { return (*engine.Tx)(t).Tick() }

// Alive reports whether an entity is alive. One that the transaction has created is; one that it has
// destroyed, or that was marked before, is until the refresh ends.
func (t *Tx) Alive(h handle.Handle) bool { return (*engine.Tx)(t).Alive(h) }

// Status returns what a handle stands for. Handles of ports are as for Context.Status.
func (t *Tx) Status(h handle.Handle) Status { return Status((*engine.Tx)(t).Status(h)) }

// Has reports whether an entity is alive and has all of the components.
func (t *Tx) Has(h handle.Handle, x ComponentSet) bool { return (*engine.Tx)(t).Has(h, x) }

// Owner returns the shard that holds an entity, and whether it is alive. A Move changes that at the
// end of the refresh.
func (t *Tx) Owner(h handle.Handle) (shard int, ok bool) { return (*engine.Tx)(t).Owner(h) }

// Destroy marks an entity: the refresh destroys it. It returns ErrStale for one that is not alive,
// or was marked before the transaction, and transit.ErrAway for one that is away.
func (t *Tx) Destroy(h handle.Handle) error { return (*engine.Tx)(t).Destroy(h) }

// Rand returns the random numbers of the transaction. They are a stream of their own, made from the
// world's Seed, the tick, the transaction's name, and how many transactions the refresh has done. So
// one that has failed, and is asked for again in the same tick, gets the same numbers. Those of an
// idle world are counted apart, from the last tick on.
func (t *Tx) Rand() *rand.Rand { return (*engine.Tx)(t).Rand() }

// draftMessage is a message that a transaction sends.
type draftMessage[M any] struct {
	shard int
	Envelope[M]
}

// draftBytes is what a draftMessage takes, besides the body.
const draftBytes = 16

// draft keeps a message of a transaction, of which the Message is a part.
func (m *Message[M]) draft(t *engine.Tx, shard int, to handle.Handle, body M) error {
	err := t.Charge(draftBytes + m.sending.Type().Size)
	if err == nil {
		m.drafts = append(m.drafts, draftMessage[M]{shard, Envelope[M]{to, body}})
	}
	return err
}

// draftMessages is a Message as a transaction sees it.
type draftMessages[M any] Message[M]

// Commit sends the messages of the transaction.
func (d *draftMessages[M]) Commit() {
	m := (*Message[M])(d)
	for i := range m.drafts {
		x := &m.drafts[i]
		if m.w.Tx().Idle() {
			m.put(x.shard, x.To, x.Body)
			continue
		}
		if of := m.sending.Type(); of.HasTimes() {
			of.DropClocks(mem.PointerTo(&x.Body).Address, 1)
		}
		box := m.box(x.shard)
		box.next = append(box.next, x.Envelope)
		if m.w.Shard(x.shard).InMigration {
			box.order = append(box.order, m.w.Tx().Order())
		}
	}
	d.Drop()
}

// Drop forgets them.
func (d *draftMessages[M]) Drop() {
	clear(d.drafts)
	d.drafts = d.drafts[:0]
}

// draftResource is a Resource as a transaction sees it.
type draftResource[T any] Resource[T]

// Commit stores the value of the transaction.
func (d *draftResource[T]) Commit() {
	(*Resource[T])(d).put(*d.draft)
	d.Drop()
}

// Drop forgets it.
func (d *draftResource[T]) Drop() {
	*d.draft = *new(T)
	d.own = false
}
