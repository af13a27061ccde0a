package world

import (
	"fmt"
	"reflect"

	"github.com/atoll-sim/atoll/shard"
)

// This file is what each kind of request says of itself to tools that hash, record
// and replay requests without knowing their types.

func describe(what, name string) shard.Description {
	return shard.Description{Name: fmt.Sprintf("%s %q", what, name)}
}

func (s setter[T]) Describe() shard.Description { return describe("set of component", s.c.Name()) }

func (a adder[T]) Describe() shard.Description { return describe("add of component", a.c.Name()) }

func (r remover[T]) Describe() shard.Description { return describe("remove of component", r.c.Name()) }

// Describe tells that to ask for a component changes nothing.
func (a asker[T]) Describe() shard.Description {
	d := describe("question for component", a.c.Name())
	d.Asks = true
	return d
}

func (c creator[T]) Describe() shard.Description { return describe("create of bundle", c.b.name) }

func (c changer[T]) Describe() shard.Description { return describe("exchange of bundle", c.b.name) }

func (a assigner[T]) Describe() shard.Description { return describe("set of bundle", a.b.name) }

func (x *flagger) Describe() shard.Description { return shard.Description{Name: "flags of the entity"} }

// Describe tells that messages may be for a shard.
func (d deliverer[M]) Describe() shard.Description {
	x := describe("message", d.m.name)
	x.Direct = true
	return x
}

func (c caller[A]) Describe() shard.Description { return describe("call of function", c.f.name) }

func (r replier[A, R]) Describe() shard.Description { return describe("question", r.q.name) }

// PartType is the type of the argument: the rest of the payload is where the
// answer goes.
func (r replier[A, R]) PartType() reflect.Type { return reflect.TypeFor[A]() }

func (r replier[A, R]) Part(p shard.Payload) shard.Cells {
	return shard.CellOf(&shard.As[asked[A, R]](p).arg)
}

func (r replier[A, R]) Complete(p shard.Payload) { shard.As[asked[A, R]](p).to = new(Answer[R]) }

func (j jointly[T]) Describe() shard.Description { return describe("extension", j.r.name) }
