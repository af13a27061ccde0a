package world_test

import (
	"container/list"
	"container/ring"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unique"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/world"
)

type (
	marker struct{}
	marked struct {
		_ marker
		N int
	}
	arrayed struct {
		_ [0]sync.Mutex
		N int
	}
	spinLock struct{ is atomic.Bool } // a type of the program: it works wherever it is while it is free
	door     struct{}                 // a tag, which is locked and unlocked
	self     struct{ Next unique.Handle[self] }
)

func (*marker) Lock()     {}
func (*marker) Unlock()   {}
func (*spinLock) Lock()   {}
func (*spinLock) Unlock() {}
func (*door) Lock()       {}
func (*door) Unlock()     {}

// registerAll registers a T in each way in which values of it are moved, and says what came of it.
func registerAll[T any](t *testing.T) (said []string) {
	for _, register := range []func(w *world.World){
		func(w *world.World) { world.Register[T](w, "x") },
		func(w *world.World) { world.RegisterMessage[T](w, "x") },
		func(w *world.World) { world.RegisterFunc(w, "x", func(*world.EntityContext, T) {}) },
		func(w *world.World) {
			world.RegisterQuestion(w, "x", func(*world.EntityContext, T) int { return 0 })
		},
	} {
		w := world.MustNew(world.Options{})
		func() {
			defer func() {
				if v := recover(); v != nil {
					said = append(said, v.(string))
					require.NotPanics(t, func() { world.Register[Health](w, "health") }, "nothing is left half registered")
				}
			}()
			register(w)
		}()
		world.RegisterResource(w, "stays", *new(T))
	}
	return said
}

func mustNotMove[T any](t *testing.T, says string) {
	t.Helper()
	said := registerAll[T](t)
	require.Len(t, said, 4, reflect.TypeFor[T]().String())
	require.Equal(t, `world: component "x": `+says+", but the world moves such values by assignment; hold what needs it behind a pointer, or leave it out", said[0])
	require.Contains(t, said[1], `message "x"`)
	require.Contains(t, said[2], `argument of function "x"`)
	for _, s := range said {
		require.Contains(t, s, says)
	}
}

// TestRegisterRefuses registers what breaks when it is moved.
func TestRegisterRefuses(t *testing.T) {
	const used = ", which must not be moved once it is used"
	mustNotMove[strings.Builder](t, "strings.Builder is a strings.Builder"+used)
	mustNotMove[struct{ Log strings.Builder }](t, "struct { Log strings.Builder }.Log is a strings.Builder"+used)
	mustNotMove[struct{ In [2]struct{ mu sync.RWMutex } }](t, "struct { In [2]struct { mu sync.RWMutex } }.In[0].mu is a sync.RWMutex"+used)
	mustNotMove[struct{ sync.Mutex }](t, "struct { sync.Mutex }.Mutex is a sync.Mutex"+used)
	mustNotMove[struct{ X sync.WaitGroup }](t, "struct { X sync.WaitGroup }.X is a sync.WaitGroup"+used)
	mustNotMove[struct{ X sync.Cond }](t, "struct { X sync.Cond }.X is a sync.Cond"+used)
	mustNotMove[struct{ X sync.Once }](t, "struct { X sync.Once }.X is a sync.Once"+used)
	mustNotMove[struct{ X sync.Pool }](t, "struct { X sync.Pool }.X is a sync.Pool"+used)
	mustNotMove[struct{ X sync.Map }](t, "struct { X sync.Map }.X is a sync.Map"+used)
	mustNotMove[struct{ X list.List }](t, "struct { X list.List }.X is a list.List"+used)
	mustNotMove[struct{ X list.Element }](t, "struct { X list.Element }.X is a list.Element"+used)
	mustNotMove[struct{ X ring.Ring }](t, "struct { X ring.Ring }.X is a ring.Ring"+used)
	mustNotMove[struct{ X time.Timer }](t, "struct { X time.Timer }.X is a time.Timer"+used)
	mustNotMove[struct{ X time.Ticker }](t, "struct { X time.Ticker }.X is a time.Ticker"+used)
	const marks = " is a world_test.marker, which marks what must not be copied"
	mustNotMove[marked](t, "world_test.marked._"+marks)
	mustNotMove[arrayed](t, "world_test.arrayed._[0] is a sync.Mutex"+used)
}

// TestRegisterTakes registers what works when it is moved.
func TestRegisterTakes(t *testing.T) {
	require.Empty(t, registerAll[struct {
		Count atomic.Int64
		At    atomic.Pointer[int]
		Any   atomic.Value
	}](t))
	require.Empty(t, registerAll[struct {
		Builder *strings.Builder
		Mutex   *sync.Mutex
		Many    []sync.Mutex
		Lock    sync.Locker
	}](t))
	require.Empty(t, registerAll[spinLock](t))
	require.Empty(t, registerAll[door](t))
}

// TestAtomicsMove moves rows with atomics, which keep their values.
func TestAtomicsMove(t *testing.T) {
	type score struct{ N atomic.Int64 }
	w := world.MustNew(world.Options{Shards: 2})
	world.Register[score](w, "score")
	scores := world.NewBundle[struct{ score }](w)
	hs, err := scores.AppendN(nil, w, 100, nil)
	require.NoError(t, err)
	get := world.Write[score](w)
	for i, h := range hs {
		get.Get(h).N.Store(int64(i))
		if i%3 == 0 {
			require.True(t, w.Destroy(h))
		} else {
			require.NoError(t, world.Move(w, h, i%2))
		}
	}
	w.Refresh()
	for i, h := range hs {
		if i%3 != 0 {
			require.Equal(t, int64(i), get.Get(h).N.Load())
		}
	}
}

// TestFrameTakes holds that a component is in a view, without a CloneBy, if nobody writes to what
// it points to.
func TestFrameTakes(t *testing.T) {
	type tag struct{ A, B string }
	type seen struct {
		At    time.Time
		Zone  *time.Location
		From  netip.AddrPort
		Net   [2]netip.Prefix
		Clan  unique.Handle[string]
		Tag   unique.Handle[tag]
		Type  reflect.Type
		Again self
	}
	zone := time.FixedZone("there", 3600)
	value := seen{
		time.Date(2020, 2, 3, 4, 5, 6, 7, zone), zone, netip.MustParseAddrPort("[fe80::1%eth0]:80"), [2]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
		unique.Make("reds"), unique.Make(tag{"a", "b"}), reflect.TypeFor[int](), self{},
	}
	w := world.MustNew(world.Options{})
	c := world.Register[seen](w, "seen")
	of := world.NewBundle[struct{ seen }](w)
	h, err := of.Create(w, struct{ seen }{value})
	require.NoError(t, err)
	v, err := w.NewView()
	require.NoError(t, err)
	frame, err := v.Now()
	require.NoError(t, err)
	defer frame.Release()
	require.NoError(t, c.Set(w, h, seen{}))
	w.Refresh()
	require.Equal(t, value, *world.Read[seen](frame).Get(h))
}

func mustNotShare[T any](t *testing.T, says string) {
	t.Helper()
	w := world.MustNew(world.Options{})
	world.Register[T](w, "x")
	_, err := w.NewView()
	require.ErrorContains(t, err, says)
}

// TestFrameRefusesPointers holds that what may be written stays refused, whatever is around it.
func TestFrameRefusesPointers(t *testing.T) {
	mustNotShare[struct{ X *time.Time }](t, "}.X is a ptr")
	mustNotShare[struct{ X unique.Handle[*int] }](t, "}.X.Value() is a ptr")
	mustNotShare[struct {
		X unique.Handle[struct {
			S string
			C chan int
		}]
	}](t, "}.X.Value().C is a chan")
	mustNotShare[struct{ X any }](t, "}.X is a interface")
	mustNotShare[struct{ X *netip.Addr }](t, "}.X is a ptr")
	mustNotShare[struct{ X atomic.Pointer[int] }](t, "}.X.v is a unsafe.Pointer")
}
