package world

import (
	"fmt"
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// Func is a registered function: the right to have it called on an entity. It runs in the refresh,
// on the shard that holds the entity, in its turn among the other requests; see EntityContext for
// what it may do. Safe for concurrent use.
type Func[A any] struct {
	requested
	w       *engine.World
	name    string
	run     func(*EntityContext, A)
	calling queue.Kind
}

// RegisterFunc makes f a function of the world, under a name. f runs on any shard, and on
// several at the same time. What it touches besides its EntityContext and its argument must be
// safe for that, and must not influence what f does if the same inputs are to give the same
// world. It panics if the name is empty or taken, or if an A cannot be moved. When to call it, and
// what can be moved: see Register.
func RegisterFunc[A any](w *World, name string, f func(self *EntityContext, arg A)) *Func[A] {
	x := &Func[A]{w: (*engine.World)(w), name: name, run: f}
	x.w.AddFunction("world.RegisterFunc", name, f == nil, reflect.TypeFor[A]())
	x.calling = store.NewCall(x.w.Space(), mem.TypeOf[A](), caller[A]{x})
	x.requested = x.w.RequestedBy(name, &x.calling)
	return x
}

// Call has the function called on an entity. A *World calls it at once, and a panic in it reaches
// the caller. By other actors Call is a request that the refresh applies. If the function then
// panics, the refresh keeps the panic, see World.Failure, and the outcome is Failed; what the
// function had written until then stays.
//
// It returns ErrStale if the entity is known not to be alive, ErrFull if the request was not
// accepted. An entity that is marked when the refresh reaches the request counts as gone, even if a
// system has marked it in the same tick: the outcome is Gone, and the function is not called.
func (f *Func[A]) Call(by Actor, on handle.Handle, arg A) error {
	self := selfOf(by)
	f.w.Check(self, "Func.Call", "function", f.name)
	if _, ok := self.(*engine.World); ok {
		return f.callNow(on, arg)
	}
	x, err := engine.Request(self, "Func.Call", &f.calling, on)
	if err == nil {
		*mem.As[A](x.To) = arg
		x.Done()
	}
	return err
}

// callNow is Call by a *World: on this goroutine. It returns ErrStale, or the error of a closed
// world, without calling the function.
func (f *Func[A]) callNow(on handle.Handle, arg A) error {
	var c engine.Call
	if err := c.Begin(f.w, f.name, on); err != nil {
		return err
	}
	defer c.End()
	if of := f.calling.Type(); of.HasTimes() {
		own := arg // so that only this one is on the heap
		of.DropClocks(mem.PointerTo(&own).Address, 1)
		arg = own
	}
	f.run((*EntityContext)(&c.Self), arg)
	return nil
}

// caller applies a request to call at the refresh.
type caller[A any] struct{ f *Func[A] }

// Apply calls the function on the entity at l. The worker of the shard calls it in the step apply.
// If the function panics, the outcome is Failed, and what it wrote stays.
func (c caller[A]) Apply(s *store.Shard, h handle.Handle, l slots.Loc, arg mem.Pointer) (o queue.Outcome) {
	f := c.f
	self := f.w.BeginCall(s, f.name, h, l)
	defer func() { o, _ = self.EndCall(recover()) }()
	f.run((*EntityContext)(self), *mem.As[A](arg))
	self.Returned()
	return queue.Applied
}

// Question is a registered function that returns something: the right to ask an entity. Everything
// else is as for Func.
type Question[A, R any] struct {
	requested
	w      *engine.World
	name   string
	run    func(*EntityContext, A) R
	asking queue.Kind
}

// asked is the payload of a question: its argument, and where the answer goes.
type asked[A, R any] struct {
	arg A
	to  *Answer[R]
}

// RegisterQuestion is RegisterFunc for a function that returns something. The result leaves the
// shard: it must not point to components.
func RegisterQuestion[A, R any](w *World, name string, f func(self *EntityContext, arg A) R) *Question[A, R] {
	x := &Question[A, R]{w: (*engine.World)(w), name: name, run: f}
	x.w.AddFunction("world.RegisterQuestion", name, f == nil, reflect.TypeFor[A]())
	x.asking = store.NewCall(x.w.Space(), mem.TypeOf[asked[A, R]](), replier[A, R]{x})
	x.requested = x.w.RequestedBy(name, &x.asking)
	return x
}

// Ask asks an entity; the refresh fills in the answer. It returns ErrFull if the request was not
// accepted. As with Func.Call, the outcome is also Gone for an entity that a system has marked in
// the same tick.
func (q *Question[A, R]) Ask(p *Port, of handle.Handle, arg A, answer *Answer[R]) error {
	if answer == nil {
		panic(fmt.Sprintf("world: Question.Ask of %q with a nil Answer; pass one to fill", q.name))
	}
	self := (*engine.Port)(p)
	q.w.Check(self, "Question.Ask", "question", q.name)
	x, err := self.Ask((*engine.Completion)(&answer.Completion), &q.asking, of)
	if err == nil {
		*mem.As[asked[A, R]](x.To) = asked[A, R]{arg, answer}
		x.Done()
	}
	return err
}

// replier applies a request to ask at the refresh.
type replier[A, R any] struct{ q *Question[A, R] }

// Apply calls the function on the entity at l, as caller.Apply does, and stores what it returns in
// the answer, or its failure.
func (r replier[A, R]) Apply(s *store.Shard, h handle.Handle, l slots.Loc, p mem.Pointer) (o queue.Outcome) {
	q := r.q
	self := q.w.BeginCall(s, q.name, h, l)
	a := mem.As[asked[A, R]](p)
	defer func() { o, a.to.failure = self.EndCall(recover()) }()
	a.to.value = q.run((*EntityContext)(self), a.arg)
	self.Returned()
	return queue.Applied
}

// Describe implements store.Handler.
func (c caller[A]) Describe() store.Description { return engine.Describe("call of function", c.f.name) }

// Describe implements store.Handler.
func (r replier[A, R]) Describe() store.Description { return engine.Describe("question", r.q.name) }

// PartType returns the type of the argument, which logs have. The rest of the payload says where
// the answer goes.
func (r replier[A, R]) PartType() reflect.Type { return reflect.TypeFor[A]() }

// Part returns the argument in a payload, for logs.
func (r replier[A, R]) Part(p mem.Pointer) mem.Cells {
	return mem.CellOf(&mem.As[asked[A, R]](p).arg)
}

// Complete gives the payload of a request that a replay or a load sends again an answer, which
// nobody reads.
func (r replier[A, R]) Complete(p mem.Pointer) { mem.As[asked[A, R]](p).to = new(Answer[R]) }
