package stateful_test

import (
	"strconv"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// The components: plain ones of several sizes, one with a pointer, one of no bytes.
type (
	Alpha struct{ N int64 }
	Beta  struct{ N, Again int64 }
	Name  struct{ Text string }
	Tag   struct{}
	Gamma [3]int32

	Hit struct{ N int64 } // a message
)

const partsN = 5

// parts is a set of components, by position.
type parts uint8

func (p parts) has(i int) bool { return p>>i&1 != 0 }

const allParts parts = 1<<partsN - 1

// values are numbers that stand for components.
type values [partsN]int64

// alike makes the values of an entity from one number: what each component can hold of it.
func alike(n int64) values { return values{n, n, n, 0, int64(int32(n))} }

// part is one component: all that can be done with it, for numbers.
type part struct {
	component interface {
		world.ComponentSet
		world.ComponentSet
	}
	set, add      func(by world.Actor, h handle.Handle, n int64) error
	setN          func(by world.Actor, hs []handle.Handle, first int64) error
	remove        func(by world.Actor, h handle.Handle) error
	inquire       func(p *world.Port, h handle.Handle) (*promise, error)
	read          func(self *world.EntityContext) (int64, bool)
	write         func(self *world.EntityContext, n int64)
	taken         func(tx *world.Tx, h handle.Handle) (int64, bool)
	edit          func(tx *world.Tx, h handle.Handle, n int64) bool
	addTo         func(q *world.Query, init func(world.Chunk)) error
	removeFrom    func(q *world.Query) error
	with, without func(world.Binder) world.Term

	idle    look // the idle world's
	foreign func(b *world.Build) func(handle.Handle) (int64, bool)
	ask     func(b *world.Build, write bool) look
}

// look is an accessor.
type look struct {
	term  world.Term
	get   func(h handle.Handle) (int64, bool)
	slice func(ch world.Chunk, i int) (int64, bool)
	fill  func(ch world.Chunk, n int64) // nil of a reader
}

func newPart[T any](w *world.World, name string, encode func(int64) T, decode func(T) int64) *part {
	c := world.Register[T](w, name)
	p := &part{
		component: c,
		set:       func(by world.Actor, h handle.Handle, n int64) error { return c.Set(by, h, encode(n)) },
		setN: func(by world.Actor, hs []handle.Handle, first int64) error {
			values := make([]T, len(hs))
			for i := range values {
				values[i] = encode(first + int64(i))
			}
			return c.SetN(by, hs, values)
		},
		add:    func(by world.Actor, h handle.Handle, n int64) error { return c.Add(by, h, encode(n)) },
		remove: c.Remove,
		inquire: func(p *world.Port, h handle.Handle) (*promise, error) {
			var a world.Answer[T]
			err := c.Ask(p, h, &a)
			return promised(&a, decode), err
		},
		read: func(self *world.EntityContext) (int64, bool) {
			if v := c.Read(self); v != nil {
				return decode(*v), true
			}
			return 0, false
		},
		write: func(self *world.EntityContext, n int64) {
			if v := c.Write(self); v != nil {
				*v = encode(n)
			}
		},
		taken: func(tx *world.Tx, h handle.Handle) (int64, bool) {
			v, ok := c.Get(tx, h)
			return decode(v), ok
		},
		edit: func(tx *world.Tx, h handle.Handle, n int64) bool {
			v := c.Edit(tx, h)
			if v != nil {
				*v = encode(n)
			}
			return v != nil
		},
		addTo:      c.AddTo,
		removeFrom: func(q *world.Query) error { return q.Remove(c) },
		with:       func(a world.Binder) world.Term { return world.With[T](a) },
		without:    func(a world.Binder) world.Term { return world.Without[T](a) },
		foreign: func(b *world.Build) func(handle.Handle) (int64, bool) {
			r := world.ReadForeign[T](b)
			return func(h handle.Handle) (int64, bool) {
				v, ok := r.Get(h)
				return decode(v), ok
			}
		},
	}
	p.idle = reading(world.Read[T](w), decode)
	p.ask = func(b *world.Build, write bool) look {
		if write {
			return writing(world.Write[T](b), encode, decode)
		}
		return reading(world.Read[T](b), decode)
	}
	p.idle.fill = writing(world.Write[T](w), encode, decode).fill
	return p
}

func reading[T any](r *world.Reader[T], decode func(T) int64) look {
	return look{
		term: r,
		get: func(h handle.Handle) (int64, bool) {
			v := r.Get(h)
			if v == nil {
				return 0, false
			}
			return decode(*v), true
		},
		slice: func(ch world.Chunk, i int) (int64, bool) {
			s := r.Slice(ch)
			if s == nil {
				return 0, false
			}
			return decode(s[i]), true
		},
	}
}

func writing[T any](w *world.Writer[T], encode func(int64) T, decode func(T) int64) look {
	l := reading(&w.Reader, decode)
	l.term = w
	l.fill = func(ch world.Chunk, n int64) {
		for i := range w.Slice(ch) {
			w.Slice(ch)[i] = encode(n)
		}
	}
	return l
}

func newParts(w *world.World) [partsN]*part {
	return [partsN]*part{
		newPart(w, "alpha", func(n int64) Alpha { return Alpha{n} }, func(v Alpha) int64 { return v.N }),
		newPart(w, "beta", func(n int64) Beta { return Beta{n, n} }, func(v Beta) int64 { return v.N&v.Again | v.N&^v.Again }),
		newPart(w, "name", newName, func(v Name) int64 { return v.number() }),
		newPart(w, "tag", func(int64) Tag { return Tag{} }, func(Tag) int64 { return 0 }),
		newPart(w, "gamma", func(n int64) Gamma { return Gamma{int32(n), int32(n), int32(n)} }, func(v Gamma) int64 { return int64(v[2]) }),
	}
}

func newName(n int64) Name {
	if n == 0 {
		return Name{}
	}
	return Name{strconv.FormatInt(n, 10)}
}

func (v Name) number() int64 {
	n, _ := strconv.ParseInt(v.Text, 10, 64)
	return n
}
