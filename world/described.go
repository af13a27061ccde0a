package world

import (
	"fmt"
	"reflect"

	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/store"
)

// This file describes each kind of request to tools that hash, record and replay requests
// without knowing their types.

func describe(what, name string) store.Description {
	return store.Description{Name: fmt.Sprintf("%s %q", what, name)}
}

func (s setter) Describe() store.Description { return describe("set of component", s.c.name()) }

func (a adder) Describe() store.Description { return describe("add of component", a.c.name()) }

func (r remover) Describe() store.Description { return describe("remove of component", r.c.name()) }

// Describe says that asking for a component changes nothing.
func (a asker) Describe() store.Description {
	d := describe("question for component", a.c.name())
	d.Asks = true
	return d
}

func (c creator) Describe() store.Description { return describe("create of bundle", c.b.name) }

func (c changer) Describe() store.Description { return describe("exchange of bundle", c.b.name) }

// Renumber says which components are removed.
func (c changer) Renumber(p mem.Pointer, now func(component int) int) {
	x := c.b.removeOf(p)
	was := *x
	*x = store.Set{}
	for id := range was.All {
		if id = now(id); id >= 0 {
			x.Add(id)
		}
	}
}

func (a assigner) Describe() store.Description { return describe("set of bundle", a.b.name) }

func (x *flagger) Describe() store.Description { return store.Description{Name: "flags of the entity"} }

// Describe says that messages may be for a shard.
func (d deliverer[M]) Describe() store.Description {
	x := describe("message", d.m.name)
	x.Direct = true
	return x
}

func (c caller[A]) Describe() store.Description { return describe("call of function", c.f.name) }

func (r replier[A, R]) Describe() store.Description { return describe("question", r.q.name) }

// PartType is the type of the argument. The rest of the payload says where the answer goes.
func (r replier[A, R]) PartType() reflect.Type { return reflect.TypeFor[A]() }

func (r replier[A, R]) Part(p mem.Pointer) mem.Cells {
	return mem.CellOf(&mem.As[asked[A, R]](p).arg)
}

func (r replier[A, R]) Complete(p mem.Pointer) { mem.As[asked[A, R]](p).to = new(Answer[R]) }
