package store_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// finished is a Finisher that remembers what it was told.
type finished []queue.Outcome

func (f *finished) Finish(o queue.Outcome) { *f = append(*f, o) }

// deed is the payload of requests that do what it, a function, does.
type deed func(handle.Handle, slots.Loc) queue.Outcome

// doing applies deeds.
type doing struct{}

func (doing) Apply(_ *store.Shard, h handle.Handle, l slots.Loc, p mem.Pointer) queue.Outcome {
	return (*mem.As[deed](p))(h, l)
}

func (doing) Describe() store.Description { return store.Description{Name: "deed"} }

func (doing) CreateAll(s *store.Shard, creates []queue.PendingRequest) {
	for _, r := range creates {
		s.DecideCreate(r, (*mem.As[deed](r.Payload()))(r.Handle, 0))
	}
}

func (doing) CreateMany(*store.Shard, queue.PendingRequest) { panic("deeds are sent one by one") }

// office is a storage with one queue, for deeds.
type office struct {
	*storage
	kind    queue.Kind
	queue   *queue.Queue
	drained queue.Drained
	tick    uint64 // that a test has set
	// committed, if any, is called after the commit step.
	committed func()
}

func newOffice(t *testing.T, shards int) *office {
	o := &office{storage: newStorage(t, shards, handle.IndexMax, handle.VersionMax)}
	o.kind = store.NewKind(o.space, mem.TypeOf[deed](), doing{})
	o.queue = queue.New(o.space.Registry, 1000, 1<<20)
	o.drained.Creates = make([][]queue.PendingRequest, shards)
	return o
}

// ask sends a request, and returns who hears of it.
func (o *office) ask(h handle.Handle, f deed) *finished {
	told := new(finished)
	_, at := o.kind.Push(o.queue, h, 0, 0, told)
	*mem.As[deed](at) = f
	o.queue.Publish()
	return told
}

func (o *office) askDestroy(h handle.Handle) *finished {
	told := new(finished)
	o.queue.PushBare(queue.Destroying(), h, 0, told)
	o.queue.Publish()
	return told
}

func (o *office) askCreate(h handle.Handle, at int, f deed) *finished {
	told := new(finished)
	r, to := o.kind.Push(o.queue, h, 0, queue.Create, told)
	*mem.As[deed](to) = f
	r.Place(at)
	o.queue.Publish()
	return told
}

// apply does what a refresh does up to the end of its apply step, and then the
// rest. between is called before the commit step.
func (o *office) apply(between func()) {
	o.queue.Drain(o.queue.Sent(), 0, &o.drained)
	for i, s := range o.shards {
		s.ApplyCreates(o.drained.Creates[i], o.drained.Cancels)
	}
	var lost queue.Outcomes
	to := make([][]uint32, len(o.shards))
	for i, r := range o.drained.Others {
		if l := r.Loc(); l != 0 {
			at := o.space.Owner(l)
			to[at] = append(to[at], uint32(i))
		} else {
			lost.Decide(r.Request, queue.Gone)
		}
	}
	for i, s := range o.shards {
		s.ApplyRequests(o.drained.Others, to[i], nil, nil, 0)
	}
	between()
	for i, s := range o.shards {
		s.Commit(o.drained.Creates[i])
	}
	if o.committed != nil {
		o.committed()
	}
	o.refresh()
	o.drained.Forget()
	o.queue.Release()
	o.queue.Notify()
}

// TestRouted applies creates before everything else, each in the order in which
// they were sent, and tells the outcomes at the end.
func TestRouted(t *testing.T) {
	o := newOffice(t, 1)
	sh := o.shards[0]
	there := o.mustCreate(sh, 3)
	drawn, err := o.outside.Take(nil, 2, 0)
	require.NoError(t, err)
	pending, refused := drawn[0], drawn[1]

	var order []string
	do := func(name string, what queue.Outcome) deed {
		return func(handle.Handle, slots.Loc) queue.Outcome {
			order = append(order, name)
			return what
		}
	}
	told := []*finished{
		o.ask(pending, do("set pending", queue.Applied)),
		o.ask(there[0], do("set", queue.Missing)),
		o.askDestroy(there[0]),
		o.ask(there[0], do("set the marked", queue.Applied)),
		o.askDestroy(there[0]),
		o.askDestroy(there[1] + 1),
		o.askDestroy(there[2]),
		o.askCreate(pending, 0, func(h handle.Handle, l slots.Loc) queue.Outcome {
			require.Zero(t, l)
			order = append(order, "create")
			a, err := sh.Adopt(sh.Table(set(number)), h)
			require.NoError(t, err)
			o.fill(a, set(number), 1)
			return queue.Applied
		}),
		o.askCreate(refused, 0, do("refuse", queue.Refused)),
	}
	o.apply(func() {
		require.Equal(t, []string{"create", "refuse", "set pending", "set"}, order)
		require.True(t, o.space.Alive(pending))
		require.Contains(t, sh.PortDead(), refused, "its slot goes back")
		for _, f := range told {
			require.Empty(t, *f, "told at the end of the refresh")
		}
	})
	want := []queue.Outcome{
		queue.Applied, queue.Missing, queue.Applied, queue.Gone, queue.Gone, queue.Gone, queue.Applied, queue.Applied, queue.Refused,
	}
	for i, f := range told {
		require.Equal(t, finished{want[i]}, *f, "request %d", i)
	}
	require.Equal(t, []uint64{4, 2, 1, 1}, []uint64{
		sh.Count(queue.Applied), sh.Count(queue.Gone), sh.Count(queue.Missing), sh.Count(queue.Refused),
	}, "one of nobody's is not the shard's")
	require.False(t, o.space.Alive(there[0]))
	require.False(t, o.space.Alive(there[2]))
	require.False(t, o.space.Alive(refused))
	version, state := o.state(refused)
	require.Equal(t, []any{uint32(2), slots.StateUnused}, []any{version, state})
	require.Equal(t, 2, sh.Alive())
}

// TestRoutedStages creates and destroys in one refresh: who is destroyed is not
// alive for a moment, who is not is alive at the end, and both are found by the
// requests between.
func TestRoutedStages(t *testing.T) {
	o := newOffice(t, 2)
	drawn, err := o.outside.Take(nil, 16, 0)
	require.NoError(t, err)
	var told, found []*finished
	here := func(h handle.Handle, l slots.Loc) queue.Outcome {
		require.NotZero(t, l)
		require.False(t, o.space.Alive(h), "veiled")
		_, state := o.state(h)
		require.Equal(t, slots.StateStaged, state)
		return queue.Applied
	}
	for i, h := range drawn {
		told = append(told, o.askCreate(h, i%2, func(h handle.Handle, _ slots.Loc) queue.Outcome {
			sh := o.shards[i%2]
			a, err := sh.Adopt(sh.Table(set(number)), h)
			require.NoError(t, err)
			o.fill(a, set(number), 1)
			return queue.Applied
		}))
		found = append(found, o.ask(h, here))
		if i%3 == 0 {
			told = append(told, o.askDestroy(h))
		}
	}
	o.committed = func() {
		for i, h := range drawn {
			require.Equal(t, i%3 != 0, o.space.Alive(h), "the marked stay veiled until they go")
		}
	}
	o.apply(func() {
		for _, h := range drawn {
			require.False(t, o.space.Alive(h))
		}
	})
	for i, h := range drawn {
		require.Equal(t, i%3 != 0, o.space.Alive(h))
		require.Equal(t, finished{queue.Applied}, *found[i])
	}
	for _, f := range told {
		require.Equal(t, finished{queue.Applied}, *f)
	}
	version, state := o.state(drawn[0])
	require.Equal(t, []any{uint32(2), slots.StateUnused}, []any{version, state})
}

// TestRoutedNobody gives a shard requests whose entity is gone, and one that is for itself.
func TestRoutedNobody(t *testing.T) {
	o := newOffice(t, 2)
	sh := o.shards[0]
	h := o.mustCreate(sh, 1)[0]
	o.destroy(h)
	o.refresh()
	told := []*finished{
		o.askMove(1, h)[0],
		o.ask(h, func(handle.Handle, slots.Loc) queue.Outcome { panic("it is gone") }),
		o.askDestroy(h),
		new(finished),
	}
	_, at := o.kind.Push(o.queue, handle.None, 0, queue.To(1), told[3])
	*mem.As[deed](at) = func(_ handle.Handle, l slots.Loc) queue.Outcome {
		require.Zero(t, l)
		return queue.Applied
	}
	o.queue.Publish()
	o.queue.Drain(o.queue.Sent(), 0, &o.drained)
	require.Equal(t, 1, o.drained.Moves)
	for i, r := range o.drained.Others {
		require.Equal(t, []int{-1, -1, -1, 1}[i], r.For())
	}
	sh.HoldDestroys = true
	sh.ApplyRequests(o.drained.Others, []uint32{0, 1, 2, 3}, nil, nil, 0)
	sh.DecideHeld()
	require.Zero(t, sh.Migrating())
	o.drained.Forget()
	require.Zero(t, o.drained.Moves)
	o.queue.Release()
	o.queue.Notify()
	for i, want := range []queue.Outcome{queue.Gone, queue.Gone, queue.Gone, queue.Applied} {
		require.Equal(t, finished{want}, *told[i])
	}
}

// TestRoutedEnded has functions end the goroutine that applies requests, the first of all
// and one in the middle: they have failed, and the next goroutine goes on behind them.
func TestRoutedEnded(t *testing.T) {
	o := newOffice(t, 1)
	h := o.mustCreate(o.shards[0], 1)[0]
	done := func(handle.Handle, slots.Loc) queue.Outcome { return queue.Applied }
	ends := func(handle.Handle, slots.Loc) queue.Outcome { runtime.Goexit(); return queue.Applied }
	told := []*finished{o.ask(h, ends), o.ask(h, done), o.ask(h, ends), o.ask(h, done)}
	o.queue.Drain(o.queue.Sent(), 0, &o.drained)
	for range 3 {
		var wg sync.WaitGroup
		wg.Go(func() { o.shards[0].ApplyRequests(o.drained.Others, []uint32{0, 1, 2, 3}, nil, nil, 0) })
		wg.Wait()
	}
	o.drained.Forget()
	o.queue.Release()
	o.queue.Notify()
	for i, want := range []queue.Outcome{queue.Failed, queue.Applied, queue.Failed, queue.Applied} {
		require.Equal(t, finished{want}, *told[i])
	}
}

// TestRoutedFull creates, from bundles without pointers, more than there is room for.
func TestRoutedFull(t *testing.T) {
	o := newOffice(t, 1)
	sh := o.shards[0]
	fields, _ := sh.Table(set(number)).Fields([]store.Field{{Component: number}})
	kind := store.NewKind(o.space, mem.TypeOf[int64](), adopting{fields: fields.All})
	o.mustCreate(sh, 14) // of 16 rows
	o.space.SetChunks(slots.ChunksMax)
	drawn, err := o.outside.Take(nil, 4, 0)
	require.NoError(t, err)
	told := make([]finished, 4)
	for i := range told {
		kind.Push(o.queue, drawn[i], 0, queue.Create, &told[i])
	}
	o.queue.Publish()
	o.apply(func() {})
	require.Equal(t, []finished{{queue.Applied}, {queue.Applied}, {queue.Refused}, {queue.Refused}}, told)
	require.Equal(t, drawn[:2], rows(sh.Table(set(number)))[14:])
}
