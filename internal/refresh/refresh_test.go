package refresh

import (
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// The tests of package world do refreshes; these are of parts that need no world.

// owner is a world without hooks, frames and Recorders.
type owner struct{}

func (owner) GatherEvents() int             { panic("there are no hooks") }
func (owner) CallHooks(int)                 { panic("there are no hooks") }
func (owner) FramesDue() bool               { return false }
func (owner) Capture(extend.Parallel)       { panic("there are no frames") }
func (owner) MoveTaken()                    { panic("there are no transactions") }
func (owner) RecorderPanicked(*Panic) error { panic("there is no Recorder") }

// newEngine makes an Engine of a store without tables.
func newEngine(t *testing.T, shards int) *Engine {
	s := store.NewSpace(shards+1, 1<<20-1, 1<<20, 0)
	e := &Engine{Space: s, PortSlots: slots.NewPortAllocator(&s.Directory)}
	for i := range shards {
		e.Shards = append(e.Shards, store.New(s, i))
		require.NoError(t, e.Shards[i].ReserveSlots(1))
	}
	e.Init(owner{})
	return e
}

func allowed() error { return nil }

// open opens a port with a queue.
func (e *Engine) open(t *testing.T) *Endpoint {
	t.Helper()
	p, err := e.Ports.Open(100, allowed)
	require.NoError(t, err)
	require.NotNil(t, p)
	p.Queue.Store(queue.New(e.Space.Registry, 1<<20, 1<<30))
	return p
}

// send sends n requests about nobody.
func (e *Engine) send(p *Endpoint, n int) {
	q := p.Queue.Load()
	for range n {
		q.PushBare(queue.Destroying(), handle.None, e.Epoch.Load(), nil)
	}
	q.Publish()
	p.Activate()
}

// TestPortNumbers opens as many ports as may be open, and closes some: their numbers come back when
// what they sent is done.
func TestPortNumbers(t *testing.T) {
	e := newEngine(t, 2)
	var all []*Endpoint
	for i := range 3 {
		p, err := e.Ports.Open(3, allowed)
		require.NoError(t, err)
		require.Equal(t, int32(i), p.Number)
		all = append(all, p)
	}
	p, err := e.Ports.Open(3, allowed)
	require.NoError(t, err)
	require.Nil(t, p, "three are open")
	all[1].Queue.Store(queue.New(e.Space.Registry, 10, 1000))
	e.send(all[1], 1)
	all[1].Close()
	all[1].Close()
	open, waiting := e.Ports.Count()
	require.Equal(t, [2]int{3, 1}, [2]int{open, waiting}, "something is in its queue")
	p, err = e.Ports.Open(3, allowed)
	require.NoError(t, err)
	require.Nil(t, p)
	e.Run(Serial, false)
	require.Equal(t, 1, e.Senders())
	p, err = e.Ports.Open(3, allowed)
	require.NoError(t, err)
	require.Equal(t, int32(1), p.Number)
	e.Run(Serial, false)
	require.Zero(t, e.Senders(), "what the closed one sent does not count for this one")

	wrong := errors.New("not now")
	all[0].Close()
	e.Run(Serial, false)
	_, err = e.Ports.Open(3, func() error { return wrong })
	require.ErrorIs(t, err, wrong)
}

// TestTakeBack takes back handles of a port that had drawn many: it keeps no more than others.
func TestTakeBack(t *testing.T) {
	e := newEngine(t, 1)
	p := e.open(t)
	require.NoError(t, p.Draw(e.PortSlots, 500, 0))
	require.GreaterOrEqual(t, p.Hand.Len(), 500)
	taken := make([]handle.Handle, 100)
	p.Hand.GiveN(taken)
	p.TakeBack(e.PortSlots, taken, 0)
	require.Equal(t, CacheMax, p.Hand.Len())
	require.Equal(t, 100, p.TookBack(0))
	require.Zero(t, p.TookBack(1), "in another epoch")
	var hand slots.Hand
	require.NoError(t, e.PortSlots.Take(&hand, 1, 1000, 0))
	next := make([]handle.Handle, 1000)
	hand.GiveN(next)
	for _, h := range taken {
		require.NotContains(t, next, h, "it is not used before the next refresh")
	}
}

// TestShut keeps ports from being opened, if there are none.
func TestShut(t *testing.T) {
	e := newEngine(t, 1)
	p := e.open(t)
	require.Equal(t, 1, e.Ports.Shut())
	open, err := e.Ports.Alone(func() error { panic("it is not alone") })
	require.Equal(t, 1, open)
	require.NoError(t, err)
	p.Close()
	e.Run(Serial, false)
	require.Zero(t, e.Ports.Shut())
	_, err = e.Ports.Open(100, allowed)
	require.ErrorIs(t, err, ErrReplaying)
	e.Ports.Reopen()
	e.open(t)
}

// TestDivide divides queues among partitions: each queue is in one, in order, and no partition has
// more than its part, except for one queue.
func TestDivide(t *testing.T) {
	for _, sent := range [][]int{
		{1}, {0, 0, 1}, {smallStep, smallStep, smallStep}, {10 * smallStep}, {1, 10 * smallStep, 1},
		{3 * smallStep, 1, 1, 1, 3 * smallStep}, make([]int, 99),
	} {
		e := newEngine(t, 2)
		total, most := 0, 0
		for i, n := range sent {
			if len(sent) == 99 {
				n = 1 + 100*(i%7)
			}
			e.send(e.open(t), n)
			total, most = total+n, max(most, n)
		}
		require.Equal(t, total, e.gather(true))
		e.divide(total)
		var all []producer
		for _, x := range e.active {
			n := 0
			for _, from := range x.producers {
				n += from.queue.Ready()
			}
			require.LessOrEqual(t, n, total/len(e.active)+1+most)
			all = append(all, x.producers...)
		}
		require.Equal(t, e.producers, all)
		require.LessOrEqual(t, len(e.active), max(1, total/smallStep))
	}
}

// TestAside passes a panic on, and nothing if the goroutine is ended.
func TestAside(t *testing.T) {
	var a Aside
	var do func()
	a.Bind(func() { do() })
	for _, do = range []func(){func() {}, runtime.Goexit} {
		require.NotPanics(t, a.MustCall)
	}
	do = func() { panic(1) }
	defer func() {
		p := recover().(*Panic)
		require.Equal(t, []any{"the refresh", 1}, []any{p.During, p.Value})
	}()
	a.MustCall()
}

// box is a Mailbox that writes down what it is asked.
type box struct {
	calls []string
	full  bool
}

func (b *box) Swap(*store.Shard) bool       { b.calls = append(b.calls, "swap"); return b.full }
func (b *box) CollectOutgoing(*store.Shard) { b.calls = append(b.calls, "collect") }
func (b *box) CountLeaving()                { b.calls = append(b.calls, "count") }
func (b *box) AddLeaving()                  { b.calls = append(b.calls, "add") }
func (b *box) Forward(int)                  { b.calls = append(b.calls, "forward") }

// TestMail lists boxes: a refresh swaps them, and forgets those that are empty.
func TestMail(t *testing.T) {
	e := newEngine(t, 2)
	require.True(t, e.Mail.Empty())
	full, empty := &box{full: true}, &box{}
	e.Mail.List(0, empty)
	e.Mail.List(0, full)
	e.Mail.List(1, full)
	require.False(t, e.Mail.Empty())
	e.Run(Serial, false)
	require.Equal(t, []string{"swap"}, empty.calls)
	require.Equal(t, []string{"swap", "swap"}, full.calls)
	e.Mail.Forward()
	require.Len(t, full.calls, 2, "nothing is misrouted")
	e.Mail.Misrouted = true
	e.Mail.Forward()
	e.Mail.Forward()
	require.Equal(t, []string{"swap", "swap", "forward", "forward"}, full.calls)
	require.Equal(t, []string{"swap"}, empty.calls)
	full.full = false
	e.Run(Serial, false)
	require.True(t, e.Mail.Empty())
}
