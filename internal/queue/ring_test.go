package queue_test

import (
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/allocs"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
)

// ring is a Ring of elements whose type is known.
type ring[T any] struct{ *queue.Ring }

func newRing[T any]() ring[T] { return ring[T]{queue.NewRing(mem.TypeOf[T]())} }

func (r ring[T]) Push() *T { return (*T)(r.Ring.Push()) }

func (r ring[T]) Peek() *T { return (*T)(r.Ring.Peek()) }

func (r ring[T]) Pop() *T { return (*T)(r.Ring.Pop()) }

// TestRingAgainstModel pushes, takes back, peeks, pops and releases at random, and
// compares with a slice. What was popped stays good until it is released.
func TestRingAgainstModel(t *testing.T) {
	for seed := range uint64(iterations(50)) {
		r := newRand(t, seed)
		q := newRing[string]()
		var model []string
		type popped struct {
			p    *string
			want string
		}
		var kept []popped
		n := 0
		burst := 1 + r.IntN(100)
		for range 2000 {
			switch r.IntN(9) {
			case 0, 1:
				for range r.IntN(burst) {
					v := strconv.Itoa(n)
					n++
					*q.Push() = v
					model = append(model, v)
				}
			case 2, 3, 4:
				for range r.IntN(burst) {
					if len(model) == 0 {
						break
					}
					require.Equal(t, model[0], *q.Peek())
					require.Equal(t, model[0], *q.Peek(), "looking does not take")
					kept = append(kept, popped{q.Pop(), model[0]})
					model = model[1:]
				}
			case 5:
				for _, k := range kept {
					require.Equal(t, k.want, *k.p)
				}
			case 6:
				q.Release()
				q.Release()
				kept = kept[:0]
			case 7: // begins and takes back
				q.Begin()
				for range r.IntN(3 * burst) {
					*q.Push() = "never"
				}
				q.Rollback()
			case 8:
				q.Begin()
				for range r.IntN(burst) {
					v := strconv.Itoa(n)
					n++
					*q.Push() = v
					model = append(model, v)
				}
				q.Commit()
			}
		}
		for _, want := range model {
			require.Equal(t, want, *q.Pop())
		}
	}
}

// TestRingSteady pushes and pops as much again and again: once warm, it
// allocates nothing.
func TestRingSteady(t *testing.T) {
	for _, n := range []int{1, 7, 8, 9, 100, 1000} {
		q := newRing[[4]uint64]()
		round := func() {
			for i := range n {
				q.Push()[0] = uint64(i)
			}
			for i := range n {
				if q.Pop()[0] != uint64(i) {
					panic("out of order")
				}
			}
			q.Release()
		}
		for range 20 {
			round()
		}
		many := func() { // so many that one ring after the other, each twice as long, would show
			for range 1000 {
				round()
			}
		}
		require.Zero(t, allocs.Least(2, many), "%d at a time", n)
	}
}

// TestRingStress has a producer and a consumer run against each other, the
// consumer releasing now and then: it gets everything, in order, unharmed.
func TestRingStress(t *testing.T) {
	type element struct {
		n     uint64
		words [3]uint64 // all n, too: torn elements show
	}
	n := uint64(iterations(300_000))
	q := newRing[element]()
	var published atomic.Uint64
	go func() {
		r := newRand(t, 1)
		for i := uint64(0); i < n; {
			for range 1 + r.IntN(60) {
				if i == n {
					break
				}
				*q.Push() = element{i, [3]uint64{i, i, i}}
				i++
			}
			published.Store(i)
			if r.IntN(10) == 0 {
				runtime.Gosched()
			}
		}
	}()
	r := newRand(t, 2)
	var kept []*element
	for got := uint64(0); got < n; {
		if got == published.Load() {
			runtime.Gosched()
			continue
		}
		e := q.Pop()
		if e.n != got || e.words != [3]uint64{got, got, got} {
			t.Fatalf("element %d is %v", got, *e)
		}
		got++
		kept = append(kept, e)
		if r.IntN(50) == 0 {
			for i, k := range kept {
				if k.n != got-uint64(len(kept)-i) {
					t.Fatalf("element %d was overwritten before its release, by %d", got-uint64(len(kept)-i), k.n)
				}
			}
			q.Release()
			kept = kept[:0]
		}
	}
}

// TestRingForgets keeps nothing alive that was released.
func TestRingForgets(t *testing.T) {
	q := newRing[*[64]byte]()
	var seen []weak.Pointer[[64]byte]
	for range 100 {
		p := new([64]byte)
		*q.Push() = p
		seen = append(seen, weak.Make(p))
	}
	for range 90 {
		q.Pop()
	}
	runtime.GC()
	require.NotNil(t, seen[89].Value(), "not released yet")
	q.Release()
	runtime.GC()
	runtime.GC()
	for i, w := range seen {
		require.Equal(t, i >= 90, w.Value() != nil, "element %d", i)
	}
	runtime.KeepAlive(q)
}

// TestRingRollbackTwice takes back what made a ring, and then what filled that and made
// another: between what there was and what comes now is a ring without anything in it.
func TestRingRollbackTwice(t *testing.T) {
	q := newRing[int]()
	*q.Push(), *q.Push() = 0, 1 // the first ring is full
	for _, n := range []int{1, 5} {
		q.Begin()
		for range n {
			*q.Push() = -1
		}
		q.Rollback()
	}
	for want := range 10 {
		if want > 1 {
			*q.Push() = want
		}
		require.Equal(t, want, *q.Pop())
	}
}
