package stateful_test

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// The bundles.
type (
	Single struct{ Alpha }
	Double struct {
		Alpha
		Beta
	}
	Named struct {
		Name
		Alpha
		Tag
	}
	Rich struct {
		Gamma
		Beta
		Name
	}
)

// bundle is one bundle, for numbers.
type bundle struct {
	parts    parts
	part     world.ComponentSet
	create   func(by world.Actor, n int64) (handle.Handle, error)
	appendN  func(dst []handle.Handle, by world.Actor, count int, n int64) ([]handle.Handle, error)
	rows     func(count int, init func(world.Chunk)) error
	reserve  func(count int) error
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
		rows:    func(count int, init func(world.Chunk)) error { return b.CreateRows(w, count, init) },
		reserve: func(count int) error { return b.Reserve(w, count) },
		exchange: func(by world.Actor, h handle.Handle, n int64, remove ...world.ComponentSet) error {
			if len(remove) == 0 {
				return b.Add(by, h, encode(n))
			}
			return b.Add(by, h, encode(n), remove...)
		},
	}
}

func newBundles(w *world.World) []*bundle {
	return []*bundle{
		newBundle(w, 0b00001, func(n int64) Single { return Single{Alpha{n}} }),
		newBundle(w, 0b00011, func(n int64) Double { return Double{Alpha{n}, Beta{n, n}} }),
		newBundle(w, 0b01101, func(n int64) Named { return Named{newName(n), Alpha{n}, Tag{}} }),
		newBundle(w, 0b10110, func(n int64) Rich { return Rich{Gamma{int32(n), int32(n), int32(n)}, Beta{n, n}, newName(n)} }),
	}
}
