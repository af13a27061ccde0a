package many_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// Component types without end: one for each pair of A and B, which are pointers so
// that the compiler makes the code once for all. In a row of sixteen
// by B, half hold a number, a quarter text, a quarter nothing.
type (
	manyNumber[A, B any] struct{ N int64 }
	manyText[A, B any]   struct{ S string }
	manyTag[A, B any]    struct{}
)

// manyKind is one of them, whichever it is.
type manyKind interface {
	world.ComponentSet
	world.ComponentSet
	// term is the condition to have it, without or with access.
	terms() (with, without, read, write world.Term)
	// of makes the value for a number, as what it may hold of it.
	of(n int64) any
	// get returns the value of an entity, nil if it has none, by handle, and by
	// the query's slice.
	get(h handle.Handle) any
	at(ch world.Chunk, row int) any
	put(ch world.Chunk, n int64)
	add(by world.Actor, h handle.Handle, n int64) error
	set(by world.Actor, h handle.Handle, n int64) error
	remove(by world.Actor, h handle.Handle) error
	addTo(q *world.Query, init func(world.Chunk)) error
	removeFrom(q *world.Query) error
}

type manyOf[T any] struct {
	*world.Component[T]
	w    *world.World
	r    *world.Reader[T]
	make func(n int64) T
}

func (k manyOf[T]) terms() (with, without, read, write world.Term) {
	return world.With[T](k.w), world.Without[T](k.w), k.r, world.Write[T](k.w)
}

func (k manyOf[T]) of(n int64) any { return k.make(n) }

func (k manyOf[T]) get(h handle.Handle) any {
	if p := k.r.Get(h); p != nil {
		return *p
	}
	return nil
}

func (k manyOf[T]) at(ch world.Chunk, row int) any {
	if s := k.r.Slice(ch); s != nil {
		return s[row]
	}
	return nil
}

// put writes n plus the row.
func (k manyOf[T]) put(ch world.Chunk, n int64) {
	for i := range world.Write[T](k.w).Slice(ch) {
		world.Write[T](k.w).Slice(ch)[i] = k.make(n + int64(i))
	}
}

func (k manyOf[T]) add(by world.Actor, h handle.Handle, n int64) error {
	return k.Add(by, h, k.make(n))
}
func (k manyOf[T]) set(by world.Actor, h handle.Handle, n int64) error {
	return k.Set(by, h, k.make(n))
}
func (k manyOf[T]) remove(by world.Actor, h handle.Handle) error       { return k.Remove(by, h) }
func (k manyOf[T]) removeFrom(q *world.Query) error                    { return q.Remove(k) }
func (k manyOf[T]) addTo(q *world.Query, init func(world.Chunk)) error { return k.AddTo(q, init) }

func newMany[T any](w *world.World, make func(n int64) T) manyKind {
	c := world.Register[T](w, reflect.TypeFor[T]().String())
	return manyOf[T]{c, w, world.Read[T](w), make}
}

func manyNumberOf[A, B any](w *world.World) manyKind {
	return newMany(w, func(n int64) manyNumber[A, B] { return manyNumber[A, B]{n} })
}

func manyTextOf[A, B any](w *world.World) manyKind {
	return newMany(w, func(n int64) manyText[A, B] { return manyText[A, B]{fmt.Sprint("text ", n)} })
}

func manyTagOf[A, B any](w *world.World) manyKind {
	return newMany(w, func(int64) manyTag[A, B] { return manyTag[A, B]{} })
}

// sixteen registers the sixteen component types of an A.
func sixteen[A any](w *world.World) []manyKind {
	return []manyKind{
		manyNumberOf[A, *[0]byte](w), manyNumberOf[A, *[1]byte](w), manyNumberOf[A, *[2]byte](w), manyNumberOf[A, *[3]byte](w),
		manyTextOf[A, *[0]byte](w), manyTagOf[A, *[0]byte](w), manyNumberOf[A, *[4]byte](w), manyTextOf[A, *[1]byte](w),
		manyTagOf[A, *[1]byte](w), manyNumberOf[A, *[5]byte](w), manyTextOf[A, *[2]byte](w), manyNumberOf[A, *[6]byte](w),
		manyTagOf[A, *[2]byte](w), manyNumberOf[A, *[7]byte](w), manyTextOf[A, *[3]byte](w), manyTagOf[A, *[3]byte](w),
	}
}

// Bundles of the first ten and the first forty of them, in their order.
type (
	manyTen struct {
		A0 manyNumber[*[0]byte, *[0]byte]
		A1 manyNumber[*[0]byte, *[1]byte]
		A2 manyNumber[*[0]byte, *[2]byte]
		A3 manyNumber[*[0]byte, *[3]byte]
		A4 manyText[*[0]byte, *[0]byte]
		A5 manyTag[*[0]byte, *[0]byte]
		A6 manyNumber[*[0]byte, *[4]byte]
		A7 manyText[*[0]byte, *[1]byte]
		A8 manyTag[*[0]byte, *[1]byte]
		A9 manyNumber[*[0]byte, *[5]byte]
	}

	manyForty struct {
		A0 manyNumber[*[0]byte, *[0]byte]
		A1 manyNumber[*[0]byte, *[1]byte]
		A2 manyNumber[*[0]byte, *[2]byte]
		A3 manyNumber[*[0]byte, *[3]byte]
		A4 manyText[*[0]byte, *[0]byte]
		A5 manyTag[*[0]byte, *[0]byte]
		A6 manyNumber[*[0]byte, *[4]byte]
		A7 manyText[*[0]byte, *[1]byte]
		A8 manyTag[*[0]byte, *[1]byte]
		A9 manyNumber[*[0]byte, *[5]byte]
		AA manyText[*[0]byte, *[2]byte]
		AB manyNumber[*[0]byte, *[6]byte]
		AC manyTag[*[0]byte, *[2]byte]
		AD manyNumber[*[0]byte, *[7]byte]
		AE manyText[*[0]byte, *[3]byte]
		AF manyTag[*[0]byte, *[3]byte]
		B0 manyNumber[*[1]byte, *[0]byte]
		B1 manyNumber[*[1]byte, *[1]byte]
		B2 manyNumber[*[1]byte, *[2]byte]
		B3 manyNumber[*[1]byte, *[3]byte]
		B4 manyText[*[1]byte, *[0]byte]
		B5 manyTag[*[1]byte, *[0]byte]
		B6 manyNumber[*[1]byte, *[4]byte]
		B7 manyText[*[1]byte, *[1]byte]
		B8 manyTag[*[1]byte, *[1]byte]
		B9 manyNumber[*[1]byte, *[5]byte]
		BA manyText[*[1]byte, *[2]byte]
		BB manyNumber[*[1]byte, *[6]byte]
		BC manyTag[*[1]byte, *[2]byte]
		BD manyNumber[*[1]byte, *[7]byte]
		BE manyText[*[1]byte, *[3]byte]
		BF manyTag[*[1]byte, *[3]byte]
		C0 manyNumber[*[2]byte, *[0]byte]
		C1 manyNumber[*[2]byte, *[1]byte]
		C2 manyNumber[*[2]byte, *[2]byte]
		C3 manyNumber[*[2]byte, *[3]byte]
		C4 manyText[*[2]byte, *[0]byte]
		C5 manyTag[*[2]byte, *[0]byte]
		C6 manyNumber[*[2]byte, *[4]byte]
		C7 manyText[*[2]byte, *[1]byte]
	}

	// manyTags has no bytes at all.
	manyTags struct {
		A manyTag[*[0]byte, *[0]byte]
		B manyTag[*[0]byte, *[1]byte]
		C manyTag[*[0]byte, *[2]byte]
	}
)

// manyBundle makes a bundle's value for a number.
func manyBundle[T any](kinds []manyKind, n int64) T {
	var v T
	fields := reflect.ValueOf(&v).Elem()
	for i := range fields.NumField() {
		fields.Field(i).Set(reflect.ValueOf(kinds[i].of(n + int64(i))))
	}
	return v
}

// mustHaveMany checks the first size components of an entity, each of n plus its
// number, and that it has no others.
func mustHaveMany(t testing.TB, kinds []manyKind, h handle.Handle, size int, n int64) {
	t.Helper()
	for i, k := range kinds {
		var want any
		if i < size {
			want = k.of(n + int64(i))
		}
		require.Equal(t, want, k.get(h), "component %d of %v", i, h)
	}
}
