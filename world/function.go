package world

import (
	"fmt"
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// Func is a registered function: the right to have it called on an entity. It runs in the refresh,
// on the shard that holds the entity, in its turn among the other requests; see EntityContext for
// what it may do. Safe for concurrent use.
type Func[A any] struct {
	w       *World
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
	w.addFunction("world.RegisterFunc", name, f == nil, reflect.TypeFor[A]())
	x := &Func[A]{w: w, name: name, run: f}
	x.calling = store.NewCall(w.space, mem.TypeOf[A](), caller[A]{x})
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
	if by == nil || by.world() != f.w {
		f.w.panicForeign(by, "Func.Call", "function", f.name)
	}
	w, ok := by.(*World)
	if !ok {
		x, err := request(by, "Func.Call", &f.calling, on)
		if err == nil {
			*mem.As[A](x.to) = arg
			x.done()
		}
		return err
	}
	if err := w.ready("Func.Call by the World"); err != nil {
		return err
	}
	l := w.space.Locate(on)
	if l == 0 {
		return ErrStale
	}
	c := w.contexts[w.space.Owner(l)]
	var self EntityContext
	self.begin(c, f.name, on, l)
	outer := w.calling
	w.calling, w.touched = f.name, true
	w.open++ // calls that would move the entity's row are refused
	defer func() {
		self.over()
		w.calling = outer
		w.closeLoop()
		c.shard.PublishFlags() // at once, even if it panics
	}()
	if of := f.calling.Type(); of.HasTimes() {
		own := arg // so that only this one is on the heap
		of.DropClocks(mem.PointerTo(&own).Address, 1)
		arg = own
	}
	f.run(&self, arg)
	return nil
}

// caller applies a request to call at the refresh.
type caller[A any] struct{ f *Func[A] }

func (c caller[A]) Apply(s *store.Shard, h handle.Handle, l slots.Loc, arg mem.Pointer) (o queue.Outcome) {
	f := c.f
	self := f.w.contexts[s.ID()].self.begin(f.w.contexts[s.ID()], f.name, h, l)
	defer func() { o, _ = self.end(recover()) }()
	f.run(self, *mem.As[A](arg))
	self.returned = true
	return queue.Applied
}

// addFunction reserves a name for a function or a question.
func (w *World) addFunction(call, name string, isNil bool, arg reflect.Type) {
	mustBe(w, call)
	w.mustIdle(call)
	w.mustRegister("%s of %q", call, name)
	if name == "" {
		panic(fmt.Sprintf("world: %s needs a name; pass one that logs can use", call))
	}
	if isNil {
		panic(fmt.Sprintf("world: %s of %q with a nil function; pass one to call", call, name))
	}
	if w.functions[name] {
		panic(fmt.Sprintf("world: function name %q is taken; pass another", name))
	}
	mustMove(arg, "argument of function %q", name)
	if w.functions == nil {
		w.functions = map[string]bool{}
	}
	w.functions[name] = true
}

// Question is a registered function that returns something: the right to ask an entity. Everything
// else is as for Func.
type Question[A, R any] struct {
	w      *World
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
	w.addFunction("world.RegisterQuestion", name, f == nil, reflect.TypeFor[A]())
	x := &Question[A, R]{w: w, name: name, run: f}
	x.asking = store.NewCall(w.space, mem.TypeOf[asked[A, R]](), replier[A, R]{x})
	return x
}

// Ask asks an entity; the refresh fills in the answer. It returns ErrFull if the request was not
// accepted. As with Func.Call, the outcome is also Gone for an entity that a system has marked in
// the same tick.
func (q *Question[A, R]) Ask(p *Port, of handle.Handle, arg A, answer *Answer[R]) error {
	if answer == nil {
		panic(fmt.Sprintf("world: Question.Ask of %q with a nil Answer; pass one to fill", q.name))
	}
	if p.world() != q.w {
		q.w.panicForeign(p, "Question.Ask", "question", q.name)
	}
	x, err := p.notifyAnswer(&answer.Completion).request(&q.asking, of)
	if err == nil {
		*mem.As[asked[A, R]](x.to) = asked[A, R]{arg, answer}
		x.done()
	}
	return err
}

// replier applies a request to ask at the refresh.
type replier[A, R any] struct{ q *Question[A, R] }

func (r replier[A, R]) Apply(s *store.Shard, h handle.Handle, l slots.Loc, p mem.Pointer) (o queue.Outcome) {
	q := r.q
	self := q.w.contexts[s.ID()].self.begin(q.w.contexts[s.ID()], q.name, h, l)
	a := mem.As[asked[A, R]](p)
	defer func() { o, a.to.failure = self.end(recover()) }()
	a.to.value = q.run(self, a.arg)
	self.returned = true
	return queue.Applied
}
