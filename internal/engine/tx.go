package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// What one transaction may do, with those that it calls. See docs/limits.md.
const (
	TxEntitiesMax = 4096    // entities that it creates or changes
	TxBytesMax    = 1 << 20 // bytes of what it writes
	TxCallsMax    = 1 << 16 // calls of its Tx, and what counts as more of them
	// TxPortCallsMax is how many of them all transactions of a port may make in a refresh. One may
	// exceed it.
	TxPortCallsMax = 1 << 21
)

// What counts as one more call, so that the limit of calls also limits the time that long ones take.
const (
	stepsEach = 256     // steps of a Party, at about a nanosecond each
	copyEach  = 1 << 10 // bytes of a value that is written
)

// ErrTx is the error of a transaction that has reached one of its limits.
var ErrTx = errors.New("world: a transaction does too much; do less in one, or several after each other")

// Tx is what transactions act through. Whatever they change is kept here until the outermost has
// returned. Then it is made all at once, by code that runs nothing of the user and for which there is
// room; or it is forgotten, if a transaction has returned an error or panicked. So nobody ever sees
// half of it, not even a goroutine that looks up a handle meanwhile, and nothing has to be undone.
//
//	entities  those that are written, in the order in which that began     [h, row, set] …
//	values    their components that are written: a list for each entity    [copy, next] …
//	parties   what else was written: messages, resources, extensions
//
// Rows do not move before the end, so locations and pointers into rows stay good. A handle of an
// entity that is created is the one that the shard gives next; it is taken at the end.
//
// Ownership: the world's. In a refresh the coordinator, or the goroutine on which it runs
// transactions while it waits; on an idle world the world's goroutine.
type Tx struct {
	txSelf
	w        *World
	name     string // of the outermost that runs
	depth    int    // how many run, each called by the one before
	fault    error  // it fails with this, whatever the outermost returns
	returned bool   // the outermost has returned
	idle     bool   // on an idle world
	calls    int
	bytes    int
	changes  int // how many entities may take a row in another table
	entities []taken
	index    map[handle.Handle]int32 // of entities, once there are more than a few
	values   []kept
	spare    [][]mem.Address // by component: memory for values
	parties  []Party
	creates  []int // by shard
	placing  placing
	moves    []moving // of the transactions of this refresh
	random   random
	seeded   bool
	ordered  uint64    // by Order
	refused  []Refusal // in the last refresh, by systems; see refuse
	omitted  int       // how many more there were
	applied  uint64    // how many transactions of this tick's refresh were applied
	runs     uint64    // and how many on the idle world before it
	tick     uint64
}

// Party is something besides entities that a transaction has written.
type Party interface {
	// Commit makes what was written since the Party joined, and Drop forgets it. Neither may panic.
	Commit()
	Drop()
}

// taken is an entity that a transaction has written.
type taken struct {
	handle         handle.Handle
	loc            slots.Loc // 0: the transaction creates it
	owner          int32
	first, last    int32     // in values; -1: none
	to             int32     // the shard to move to, or -1
	set            store.Set // its components, as the transaction leaves them
	restructured   bool      // they are, or were, others than its row has
	dying          bool
	flags, cleared Flags
}

// kept is a value that a transaction has written.
type kept struct {
	at        mem.Address
	component int32
	next      int32
}

// moving is an entity that is to migrate.
type moving struct {
	handle handle.Handle
	to     int
}

// placing is where a world creates next.
type placing struct {
	cursor, run, after, begun int
}

func (t *Tx) world() *World {
	if t == nil {
		return nil
	}
	return t.w
}

// Fail makes the transaction fail with an error, unless it has failed already.
func (t *Tx) Fail(err error) {
	if t.fault == nil {
		t.fault = err
	}
}

// fewTaken is the number of entities up to which one is found by looking at all.
const fewTaken = 8

// find returns an entity that the transaction has written, or nil. The result is good until the
// next is added.
func (t *Tx) find(h handle.Handle) *taken {
	if len(t.entities) <= fewTaken {
		for i := range t.entities {
			if e := &t.entities[i]; e.handle == h {
				return e
			}
		}
		return nil
	}
	if i, ok := t.index[h]; ok {
		return &t.entities[i]
	}
	return nil
}

// take adds an entity.
func (t *Tx) take(e taken) (*taken, error) {
	n := len(t.entities)
	if n == TxEntitiesMax {
		return nil, t.limit("entities", TxEntitiesMax)
	}
	t.entities = append(t.entities, e)
	if n >= fewTaken {
		if t.index == nil {
			t.index = map[handle.Handle]int32{}
		}
		for i := len(t.index); i <= n; i++ {
			t.index[t.entities[i].handle] = int32(i)
		}
	}
	return &t.entities[n], nil
}

// touch returns an entity that is about to be written. It returns ErrStale for one that is dead or
// marked.
func (t *Tx) touch(h handle.Handle) (*taken, error) {
	if e := t.find(h); e != nil {
		if e.dying {
			return nil, ErrStale
		}
		return e, nil
	}
	w := t.w
	l := w.lookup.Locate(h)
	if l == 0 || w.space.Marked(l) {
		return nil, ErrStale
	}
	return t.take(taken{handle: h, loc: l, owner: int32(w.space.Owner(l)), first: -1, last: -1, to: -1, set: *w.space.Set(l)})
}

// limit makes the transaction fail, because it has reached a limit.
func (t *Tx) limit(what string, most int) error {
	err := fmt.Errorf("%w: %q has reached %d %s", ErrTx, t.name, most, what)
	t.Fail(err)
	return err
}

// restructure notes that an entity may come to another table. There must be a chunk for it.
func (t *Tx) restructure(e *taken) error {
	if e.restructured {
		return nil
	}
	if err := t.w.space.CheckChunks(t.changes + 1); err != nil {
		return err
	}
	t.changes++
	e.restructured = true
	return nil
}

// written returns the value of a component that was written, or nil.
func (t *Tx) written(e *taken, component int) mem.Address {
	for v := e.first; v >= 0; v = t.values[v].next {
		if t.values[v].component == int32(component) {
			return t.values[v].at
		}
	}
	return nil
}

// value returns where a component is written, which the caller is about to do. Unless it was written
// before, it holds old contents.
func (t *Tx) value(e *taken, component int) (at mem.Address, err error) {
	if at := t.written(e, component); at != nil {
		t.calls += int(t.w.space.TypeOf(component).Size / copyEach)
		return at, nil
	}
	return t.first(e, component)
}

// first is value for a component that was not written before.
func (t *Tx) first(e *taken, component int) (at mem.Address, err error) {
	of := t.w.space.TypeOf(component)
	t.calls += int(of.Size / copyEach)
	if t.bytes += int(of.Size); t.bytes > TxBytesMax {
		return nil, t.limit("bytes", TxBytesMax)
	}
	for len(t.spare) <= component {
		t.spare = append(t.spare, nil)
	}
	if spare := t.spare[component]; len(spare) > 0 {
		at = spare[len(spare)-1]
		t.spare[component] = spare[:len(spare)-1]
	} else {
		at = of.New(1)
	}
	n := int32(len(t.values))
	t.values = append(t.values, kept{at, int32(component), -1})
	if e.first < 0 {
		e.first = n
	} else {
		t.values[e.last].next = n
	}
	e.last = n
	return at, nil
}

// must panics if no transaction runs. It counts the call.
func (t *Tx) must(call string) {
	if t == nil || t.depth == 0 {
		t.panicLate(call)
	}
	if t.calls++; t.calls > TxCallsMax {
		t.limit("calls", TxCallsMax)
	}
}

// panicLate is a function of its own so that must inlines.
//
//go:noinline
func (t *Tx) panicLate(call string) {
	if t == nil {
		panic(fmt.Sprintf("world: %s of a nil Tx; pass the one that the transaction is given", call))
	}
	if t.w == nil {
		panic(fmt.Sprintf("world: %s of an empty Tx; pass the one that the transaction is given", call))
	}
	panic(fmt.Sprintf("world: %s after transaction %q returned; a Tx is for the running transaction alone", call, t.name))
}

// mayWrite is must for a call that writes. It returns the error of a transaction that has failed
// already.
func (t *Tx) mayWrite(call string) error {
	t.must(call)
	return t.fault
}

// Tick returns the number of the tick that ends, or on an idle world of the next tick.
func (t *Tx) Tick() uint64 {
	t.must("Tx.Tick")
	return t.tick
}

// Alive reports whether an entity is alive.
func (t *Tx) Alive(h handle.Handle) bool {
	t.must("Tx.Alive")
	return t.find(h) != nil || t.w.space.Alive(h)
}

// Must panics if the transaction does not run, and counts a call that reads a Party.
func (t *Tx) Must(call string) { t.must(call) }

// MustRun panics if no transaction runs.
func (t *Tx) MustRun(call string) {
	if t.depth == 0 {
		t.panicLate(call)
	}
}

// Touch counts an entity that a Party writes. It returns ErrStale for one that is dead or marked.
func (t *Tx) Touch(h handle.Handle) error {
	_, err := t.touch(h)
	return err
}

// Living reports whether an entity is alive and not marked: whether it may be written.
func (t *Tx) Living(h handle.Handle) bool {
	if e := t.find(h); e != nil {
		return !e.dying
	}
	l := t.w.lookup.Locate(h)
	return l != 0 && !t.w.space.Marked(l)
}

// Write says that a transaction writes to a Party.
func (t *Tx) Write(call string, p Party) error {
	if err := t.mayWrite(call); err != nil {
		return err
	}
	if !slices.Contains(t.parties, p) {
		t.parties = append(t.parties, p)
	}
	return nil
}

// Charge counts bytes that a Party keeps.
func (t *Tx) Charge(bytes uintptr) error {
	if t.bytes += int(bytes); t.bytes > TxBytesMax {
		return t.limit("bytes", TxBytesMax)
	}
	return nil
}

// Work counts steps that a Party has taken, or is about to take.
func (t *Tx) Work(steps int) error {
	if t.calls += steps / stepsEach; t.calls > TxCallsMax {
		return t.limit("calls", TxCallsMax)
	}
	return nil
}

// Idle reports whether the transaction runs on an idle world.
func (t *Tx) Idle() bool { return t.idle }

// bind refuses: accessors, queries and filters do not see what a transaction writes.
func (*txSelf) bind(call string) binding {
	panic(fmt.Sprintf("world: %s by a *world.Tx; within a transaction use Component.Get and Edit, and the Readers of names and relations", call))
}
