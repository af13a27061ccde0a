package pairs_test

import (
	"strconv"

	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// The components: plain ones of several sizes, one with a pointer, one of no bytes.
type (
	Alpha struct{ N int64 }
	Beta  struct{ N, Again int64 }
	Note  struct{ Text string }
	Tag   struct{}
	Gamma [3]int32
)

const partsN = 5

// parts is a set of components, by position.
type parts uint8

func (p parts) has(i int) bool { return p>>i&1 != 0 }

// values are numbers that stand for components.
type values [partsN]int64

// alike makes what each component holds of one number.
func alike(n int64) values { return values{n, n, n, 0, int64(int32(n))} }

// part is one component: all that can be done with it, for numbers.
type part struct {
	name          string
	component     world.ComponentSet
	give          func(n int64) prefab.Part
	set, add      func(by world.Actor, h handle.Handle, n int64) error
	setN          func(by world.Actor, hs []handle.Handle, first int64) error
	remove        func(by world.Actor, h handle.Handle) error
	ask           func(p *world.Port, h handle.Handle) (*world.Completion, func() (int64, bool), error)
	write         func(self *world.EntityContext, n int64)
	read          func(self *world.EntityContext) (int64, bool)
	addTo         func(q *world.Query) error
	removeFrom    func(q *world.Query) error
	with, without func(world.Binder) world.Term
	reader        func(world.Binder) func(handle.Handle) (int64, bool)
	declare       func(*world.Build)
	foreign       func(b *world.Build) func(handle.Handle) (int64, bool)
}

func newPart[T any](w *world.World, name string, encode func(int64) T, decode func(T) int64) *part {
	c := world.Register[T](w, name)
	return &part{
		name:      name,
		component: c,
		give:      func(n int64) prefab.Part { return prefab.With(c, encode(n)) },
		set:       func(by world.Actor, h handle.Handle, n int64) error { return c.Set(by, h, encode(n)) },
		add:       func(by world.Actor, h handle.Handle, n int64) error { return c.Add(by, h, encode(n)) },
		setN: func(by world.Actor, hs []handle.Handle, first int64) error {
			values := make([]T, len(hs))
			for i := range values {
				values[i] = encode(first + int64(i))
			}
			return c.SetN(by, hs, values)
		},
		remove: c.Remove,
		ask: func(p *world.Port, h handle.Handle) (*world.Completion, func() (int64, bool), error) {
			a := new(world.Answer[T])
			return &a.Completion, func() (int64, bool) {
				v, ok := a.Value()
				return decode(v), ok
			}, c.Ask(p, h, a)
		},
		write: func(self *world.EntityContext, n int64) {
			if v := c.Write(self); v != nil {
				*v = encode(n)
			}
		},
		read: func(self *world.EntityContext) (int64, bool) {
			if v := c.Read(self); v != nil {
				return decode(*v), true
			}
			return 0, false
		},
		addTo:      func(q *world.Query) error { return c.AddTo(q, nil) },
		removeFrom: func(q *world.Query) error { return q.Remove(c) },
		with:       func(a world.Binder) world.Term { return world.With[T](a) },
		without:    func(a world.Binder) world.Term { return world.Without[T](a) },
		reader: func(a world.Binder) func(handle.Handle) (int64, bool) {
			r := world.Read[T](a)
			return func(h handle.Handle) (int64, bool) {
				if v := r.Get(h); v != nil {
					return decode(*v), true
				}
				return 0, false
			}
		},
		declare: func(b *world.Build) { world.Write[T](b) },
		foreign: func(b *world.Build) func(handle.Handle) (int64, bool) {
			r := world.ReadForeign[T](b)
			return func(h handle.Handle) (int64, bool) {
				v, ok := r.Get(h)
				return decode(v), ok
			}
		},
	}
}

// partMakers register the components.
var partMakers = [partsN]func(*world.World) *part{
	makePart("alpha", func(n int64) Alpha { return Alpha{n} }, func(v Alpha) int64 { return v.N }),
	makePart("beta", func(n int64) Beta { return Beta{n, n} }, func(v Beta) int64 { return v.N&v.Again | v.N&^v.Again }),
	makePart("note", newNote, func(v Note) int64 { return v.number() }),
	makePart("tag", func(int64) Tag { return Tag{} }, func(Tag) int64 { return 0 }),
	makePart("gamma", func(n int64) Gamma { return Gamma{int32(n), int32(n), int32(n)} }, func(v Gamma) int64 { return int64(v[2]) }),
}

func makePart[T any](name string, encode func(int64) T, decode func(T) int64) func(*world.World) *part {
	return func(w *world.World) *part { return newPart(w, name, encode, decode) }
}

func newParts(w *world.World) (all [partsN]*part) {
	for i, f := range partMakers {
		all[i] = f(w)
	}
	return all
}

func newNote(n int64) Note {
	if n == 0 {
		return Note{}
	}
	return Note{strconv.FormatInt(n, 10)}
}

func (v Note) number() int64 {
	n, _ := strconv.ParseInt(v.Text, 10, 64)
	return n
}

// newCodecs returns the codecs of what holds more than numbers.
func newCodecs() *state.Codecs {
	codecs := new(state.Codecs)
	state.Register(codecs, state.Codec[Note]{
		Append: func(dst []byte, v *Note) []byte { return append(dst, v.Text...) },
		Read:   func(src []byte, v *Note) error { v.Text = string(src); return nil },
	})
	return codecs
}

// The bundles.
type (
	Single struct{ Alpha }
	Double struct {
		Alpha
		Beta
	}
	Named struct {
		Note
		Alpha
		Tag
	}
	Rich struct {
		Gamma
		Beta
		Note
	}
)

// bundle is one bundle, for numbers.
type bundle struct {
	parts    parts
	part     world.ComponentSet
	create   func(by world.Actor, n int64) (handle.Handle, error)
	appendN  func(dst []handle.Handle, by world.Actor, count int, n int64) ([]handle.Handle, error)
	rows     func(count int, init func(rows world.Chunk)) error
	exchange func(by world.Actor, h handle.Handle, n int64, remove ...world.ComponentSet) error
}

func newBundle[T any](w *world.World, of parts, encode func(int64) T) *bundle {
	b := world.NewBundle[T](w)
	return &bundle{
		parts:  of,
		part:   b,
		create: func(by world.Actor, n int64) (handle.Handle, error) { return b.Create(by, encode(n)) },
		appendN: func(dst []handle.Handle, by world.Actor, count int, n int64) ([]handle.Handle, error) {
			return b.AppendN(dst, by, count, func(i int, v *T) { *v = encode(n + int64(i)) })
		},
		rows: func(count int, init func(world.Chunk)) error {
			if init == nil {
				return b.CreateN(w, count, nil)
			}
			return b.CreateRows(w, count, init)
		},
		exchange: func(by world.Actor, h handle.Handle, n int64, remove ...world.ComponentSet) error {
			return b.Add(by, h, encode(n), remove...)
		},
	}
}

func newBundles(w *world.World) []*bundle {
	return []*bundle{
		newBundle(w, 0b00001, func(n int64) Single { return Single{Alpha{n}} }),
		newBundle(w, 0b00011, func(n int64) Double { return Double{Alpha{n}, Beta{n, n}} }),
		newBundle(w, 0b01101, func(n int64) Named { return Named{newNote(n), Alpha{n}, Tag{}} }),
		newBundle(w, 0b10110, func(n int64) Rich { return Rich{Gamma{int32(n), int32(n), int32(n)}, Beta{n, n}, newNote(n)} }),
	}
}
