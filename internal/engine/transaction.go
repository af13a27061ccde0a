package engine

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime/debug"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

func (w *World) placing() placing { return placing{w.cursor, w.run, w.begun.after, w.begun.run} }

func (w *World) placeAs(p placing) {
	w.cursor, w.run, w.begun.after, w.begun.run = p.cursor, p.run, p.after, p.begun
}

// AddTransaction reserves a name for a transaction.
func (w *World) AddTransaction(name string, isNil bool, arg reflect.Type) {
	w.AddFunction("world.RegisterTransaction", name, isNil, arg)
	if w.tx == nil {
		w.tx = &Tx{w: w}
		w.tx.random.init()
		w.tx.creates = make([]int, len(w.shards))
	}
}

// BeginTx begins a transaction in a refresh. It returns an error, and begins none, if the port's
// transactions have made too many calls.
func (w *World) BeginTx(name string) (*Tx, error) {
	if by := w.Sender(); by.Port && by.Calls >= TxPortCallsMax {
		return nil, fmt.Errorf("%w: the transactions of a port have reached %d calls in a refresh; send %q again", ErrTx, TxPortCallsMax, name)
	}
	w.tx.begin(name)
	return w.tx, nil
}

func (t *Tx) begin(name string) {
	t.name, t.depth, t.fault, t.returned, t.idle = name, 1, nil, false, false
	t.placing = t.w.placing()
	if now := t.w.engine.Tick.Load(); now != t.tick {
		t.tick, t.applied, t.runs = now, 0, 0
	}
}

// Returned notes what the transaction has returned. It returns the error with which it fails.
func (t *Tx) Returned(err error) error {
	t.returned = true
	t.Fail(err)
	return t.fault
}

// End ends a transaction in a refresh; v is the recovered value. It returns the outcome, and the
// error if that is not Applied.
func (t *Tx) End(v any) (queue.Outcome, error) {
	t.w.Sender().Calls += t.calls + 1
	switch {
	case !t.returned:
		t.drop()
		return queue.Failed, t.panicked(v)
	case t.fault != nil:
		t.drop()
		t.refuse()
		return queue.Refused, t.fault
	}
	t.commit()
	return queue.Applied, nil
}

// panicked keeps the panic of a transaction. It returns the *world.PanicError if the refresh keeps it.
func (t *Tx) panicked(v any) error {
	c := t.w.contexts[len(t.w.shards)]
	t.w.panicked.Store(true)
	if !t.w.keepsFailure(len(c.failures)) {
		c.omitted++
		return nil
	}
	if v == nil {
		v = aside.ErrGoexit
	}
	p := newPanic(&Panic{In: InTransaction, Name: t.name, Shard: AllShards, Tick: t.tick, Value: v, Stack: debug.Stack()})
	c.failures = append(c.failures, p)
	return p.Err
}

// Refusal is a transaction that a system, function or hook has asked for, and that returned an error.
type Refusal struct {
	Name  string
	Shard int // of the system; or AllShards
	Err   error
}

// refusedMax is how many transactions that returned an error a refresh keeps, the first in order; the
// others are only counted.
const refusedMax = 16

// refuse keeps that the transaction has returned an error, if nobody else is told: a port has its
// Completion.
func (t *Tx) refuse() {
	by := t.w.Sender()
	switch {
	case by.Port:
		return
	case len(t.refused) == refusedMax:
		t.omitted++
		return
	}
	x := Refusal{t.name, by.Shard, t.fault}
	if x.Shard == len(t.w.shards) {
		x.Shard = AllShards
	}
	t.refused = append(t.refused, x)
}

// forgetRefused begins a refresh.
func (t *Tx) forgetRefused() {
	if len(t.refused) > 0 {
		clear(t.refused)
		t.refused, t.omitted = t.refused[:0], 0
	}
}

// Refused returns the transactions that systems, functions and hooks had asked for and that returned
// an error in the refresh, in order; omitted is how many more there were. It is good until the next
// refresh.
func (t *Tick) Refused() (all []Refusal, omitted int) {
	if t.tx == nil {
		return nil, 0
	}
	return t.tx.refused, t.tx.omitted
}

// Enter begins a transaction that the running one calls.
func (t *Tx) Enter(call string) {
	t.must(call)
	t.depth++
}

// Leave ends what Enter began, with the error that the transaction returned.
func (t *Tx) Leave(err error) {
	t.depth--
	if err != nil {
		t.Fail(err)
	}
}

// Tx returns the transaction that runs.
func (w *World) Tx() *Tx { return w.tx }

// TxRuns returns how many transactions the idle world has run since its last tick. They decide what
// the next one draws.
func (s *Survey) TxRuns() uint64 {
	if s.tx == nil || s.tx.tick != s.engine.Tick.Load() {
		return 0
	}
	return s.tx.runs
}

// BeginRun begins a transaction of an idle world, which is then not idle. EndIdle follows. It panics
// where ticks are sealed, whatever the transaction would do.
func BeginRun(by Self, call, name string) (*Tx, error) {
	w, ok := by.(*World)
	if !ok {
		turnDownBy(by)
		panic(notFor(by, call))
	}
	if err := w.idle(call); err != nil {
		return nil, err
	}
	w.refuseSealed()
	w.LookForChanges()
	w.enterPhase(call, phaseRefresh)
	w.tx.begin(name)
	w.tx.idle = true
	w.outdate()
	for _, s := range w.shards {
		s.Loop = w.loop
	}
	return w.tx, nil
}

// EndIdle ends a transaction on an idle world, also one that panics.
func (t *Tx) EndIdle() {
	if t.returned && t.fault == nil {
		t.commit()
		t.w.moveTaken()
		t.w.touched = true
	} else {
		t.drop()
	}
	t.w.leavePhase()
}

// commit makes what the transaction has written.
func (t *Tx) commit() {
	for i := range t.entities {
		if e := &t.entities[i]; e.loc == 0 {
			t.store(e)
		} else {
			t.change(e)
		}
	}
	for _, p := range t.parties {
		p.Commit()
	}
	if t.idle {
		t.runs++
	} else {
		t.applied++
	}
	t.reset()
}

// drop forgets what the transaction has written.
func (t *Tx) drop() {
	for _, p := range t.parties {
		p.Drop()
	}
	t.w.placeAs(t.placing)
	t.reset()
}

// reset makes ready for the next transaction. Memory for values is kept, but nothing in it.
func (t *Tx) reset() {
	for i := range t.values {
		v := &t.values[i]
		if of := t.w.space.TypeOf(int(v.component)); !of.Plain {
			of.Clear(v.at, 1)
		}
		t.spare[v.component] = append(t.spare[v.component], v.at)
		v.at = nil
	}
	if len(t.entities) > fewTaken {
		clear(t.index)
	}
	for i := range t.creates {
		t.creates[i] = 0
	}
	clear(t.parties)
	t.entities, t.values, t.parties = t.entities[:0], t.values[:0], t.parties[:0]
	t.depth, t.calls, t.bytes, t.changes, t.seeded = 0, 0, 0, 0, false
}

// store creates an entity.
func (t *Tx) store(e *taken) {
	s := t.w.shards[e.owner]
	a, err := s.Create(s.Table(e.set))
	if err != nil || a.Handle != e.handle {
		panic(fmt.Sprintf("world: transaction %q has less room than there was: %v, %v instead of %v", t.name, err, a.Handle, e.handle))
	}
	for v := e.first; v >= 0; v = t.values[v].next {
		x := &t.values[v]
		if id := int(x.component); e.set.Has(id) {
			t.w.space.TypeOf(id).Copy(store.Value(a, id), t.settle(x), 1)
		}
	}
	a.Publish()
	t.finish(e, a.Loc())
}

// change changes an entity.
func (t *Tx) change(e *taken) {
	w, l := t.w, e.loc
	if t.changes > 0 { // rows may have moved
		l = w.lookup.Locate(e.handle)
	}
	had := e.set
	if e.restructured {
		had = *w.space.Set(l)
		a, err := w.shards[e.owner].Change(l, e.set)
		if err != nil {
			panic(fmt.Sprintf("world: transaction %q has less room than there was: %v", t.name, err))
		}
		l = a.Loc()
	}
	for v := e.first; v >= 0; v = t.values[v].next {
		x := &t.values[v]
		id := int(x.component)
		if !e.set.Has(id) { // written, and then removed: it was never in the world, and hooks are not told
			continue
		}
		c := w.space.Columns[id]
		c.Store(l, t.settle(x))
		if c.Watched() && had.Has(id) {
			w.shards[e.owner].NoteStored(e.handle, id)
		}
	}
	t.finish(e, l)
}

// settle returns a value that is about to be stored; its times lose their reading of the monotonic
// clock.
func (t *Tx) settle(x *kept) mem.Address {
	if of := t.w.space.TypeOf(int(x.component)); of.HasTimes() {
		of.DropClocks(x.at, 1)
	}
	return x.at
}

// finish does what concerns no component.
func (t *Tx) finish(e *taken, l slots.Loc) {
	if e.flags|e.cleared != 0 {
		if t.idle {
			t.w.space.SetFlagsNow(e.handle, l, e.flags, e.cleared)
		} else {
			t.w.shards[e.owner].SetFlags(l, e.flags, e.cleared)
		}
	}
	switch {
	case e.dying:
		t.w.space.Mark(l)
	case e.to >= 0:
		t.moves = append(t.moves, moving{e.handle, int(e.to)})
	}
}

// moveTaken moves the entities that transactions have moved. The world is idle, or the refresh has
// done everything else. One that is gone by now, or for which there is no room, stays.
func (w *World) moveTaken() {
	t := w.tx
	for _, m := range t.moves {
		l := w.lookup.Locate(m.handle)
		if l == 0 || w.space.Marked(l) || w.shards[m.to].Owns(l) {
			continue
		}
		w.engine.Mail.Misrouted = true
		_ = w.shards[m.to].Migrate(l)
	}
	t.moves = t.moves[:0]
}

// Status returns what a handle stands for.
func (t *Tx) Status(h handle.Handle) Status {
	t.must("Tx.Status")
	e := t.find(h)
	switch {
	case e == nil:
	case e.dying:
		return Dying
	default:
		return Alive
	}
	if l := t.w.space.Locate(h); l != 0 {
		if t.w.space.Marked(l) {
			return Dying
		}
		return Alive
	}
	return statusInTick(t.w, h)
}

// Has reports whether an entity is alive and has all of the components.
func (t *Tx) Has(h handle.Handle, x ComponentSet) bool {
	t.must("Tx.Has")
	if e := t.find(h); e != nil {
		if isNil(x) {
			mustPart("Tx.Has", 0, x)
		}
		return x.in(t.w, &e.set)
	}
	return t.w.has("Tx.Has", t.w.space.Locate(h), x)
}

// Owner returns the shard that holds an entity, and whether it is alive.
func (t *Tx) Owner(h handle.Handle) (shard int, ok bool) {
	t.must("Tx.Owner")
	if e := t.find(h); e != nil {
		return int(e.owner), true
	}
	return t.w.ShardOf(h)
}

// Destroy destroys an entity, at this refresh.
func (t *Tx) Destroy(h handle.Handle) error {
	if err := t.mayWrite("Tx.Destroy"); err != nil {
		return err
	}
	if t.w.husks != (store.Set{}) {
		if r, ok := t.Row(h); ok && t.Away(h, &r) {
			return ErrAway
		}
	}
	return t.discard(h)
}

// Discard is Destroy for the extension that guards the entity.
func (t *Tx) Discard(h handle.Handle) error {
	if err := t.mayWrite("Tx.Destroy"); err != nil {
		return err
	}
	return t.discard(h)
}

func (t *Tx) discard(h handle.Handle) error {
	if e := t.find(h); e != nil && e.dying {
		return nil
	}
	e, err := t.touch(h)
	if err == nil {
		e.dying = true
	}
	return err
}

// Target returns the shard of an entity that a transaction sends a message to.
func (t *Tx) Target(h handle.Handle) (shard int, err error) {
	if e := t.find(h); e != nil && !e.dying {
		return int(e.owner), nil
	}
	l := t.w.lookup.Locate(h)
	if l == 0 || t.w.space.Marked(l) || t.find(h) != nil {
		return 0, ErrStale
	}
	return t.w.space.Owner(l), nil
}

// Order is what an applied transaction has instead of store.Shard.Order: later ones have a higher
// number, and all have a higher one than other requests.
func (t *Tx) Order() uint64 {
	t.ordered++
	return 1<<63 | t.ordered
}

// Rand returns the random numbers of the transaction.
func (t *Tx) Rand() *rand.Rand {
	t.must("Tx.Rand")
	if !t.seeded {
		t.seeded = true
		seed := named(t.w.options.Seed, t.name)
		seed = mix(mix(seed) + t.tick)
		if t.idle {
			seed = mix(mix(seed + t.runs<<1))
		} else {
			seed = mix(seed + t.applied<<1)
		}
		t.random.source.Seed(seed, mix(seed))
	}
	return t.random.rand
}
