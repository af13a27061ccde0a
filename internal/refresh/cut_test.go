package refresh

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// These tests are of what happens at the cut of a refresh, and while it runs.

// notes is a Recorder that keeps what it is told.
type notes struct {
	requests int
	drawn    []uint32
	recalled [][]handle.Handle
}

func (n *notes) Begin()                                         {}
func (n *notes) Requests(_, _ int, sent []queue.PendingRequest) { n.requests += len(sent) }
func (n *notes) Settled()                                       {}
func (n *notes) Failed(err error)                               { panic(err) }
func (n *notes) End(in *extend.Inputs) {
	n.drawn = append(n.drawn, in.Drawn)
	n.recalled = append(n.recalled, append([]handle.Handle(nil), in.Recalled...))
}

// TestDrawnAtTheCut draws before the cut of a refresh, right after it, and while the refresh reads:
// what is recorded, and what systems go by afterwards, is the number at the cut.
func TestDrawnAtTheCut(t *testing.T) {
	e, log := newEngine(t, 2), new(notes)
	p, q := e.open(t), e.open(t)
	e.Record(log)
	draw := func(of *Endpoint, n int) []handle.Handle {
		require.NoError(t, e.PortSlots.Take(&of.Hand, int(of.Number), n, 0))
		some := make([]handle.Handle, n)
		of.Hand.GiveN(some)
		return some
	}
	before := draw(p, 100)
	e.PortSlots.Recall(before[0])
	e.send(p, 1)
	var after handle.Handle
	e.Meanwhile.Cut = func() { after = draw(q, 10)[0]; e.PortSlots.Recall(after) }
	e.Meanwhile.Read = func(int) { draw(q, 1000) }
	e.Run(Serial, false)
	e.Meanwhile.Cut, e.Meanwhile.Read = nil, nil
	require.Equal(t, uint32(100), e.PortSlots.Settled())
	require.Equal(t, uint32(1110), e.PortSlots.Drawn())
	e.Run(Serial, false)
	require.Equal(t, uint32(1110), e.PortSlots.Settled())
	require.Equal(t, []uint32{100, 1110}, log.drawn)
	require.Equal(t, [][]handle.Handle{before[:1], {after}}, log.recalled)
	draw(p, 500)
	e.Run(Serial, false)
	require.Equal(t, e.PortSlots.Drawn(), e.PortSlots.Settled(), "also if nothing was recalled")
	require.Less(t, uint32(1110), e.PortSlots.Drawn())
}

// TestSentDuringRefresh sends while a refresh runs: after the cut and before the ports are looked
// for, and when a queue was read. The next refresh takes it, and none twice.
func TestSentDuringRefresh(t *testing.T) {
	e, log := newEngine(t, 2), new(notes)
	e.Record(log)
	p, q, idle := e.open(t), e.open(t), e.open(t)
	e.send(p, 3)
	e.Meanwhile.Cut = func() { e.send(q, 5) }
	e.Meanwhile.Read = func(int) { e.send(p, 7); e.send(idle, 1) }
	e.Run(Serial, false)
	e.Meanwhile.Cut, e.Meanwhile.Read = nil, nil
	require.Equal(t, 3, log.requests)
	_, waiting := e.Ports.Count()
	require.Equal(t, 5+2*7+2*1, waiting, "p and q were read")
	e.Run(Serial, false)
	require.Equal(t, 3+5+2*7+2*1, log.requests)
	require.Equal(t, 3, e.Senders())
	e.Run(Serial, false)
	require.Equal(t, 3+5+2*7+2*1, log.requests)
	require.Zero(t, e.Senders())
}

// TestBitOfARetiredPort has a port set its bit for what the running refresh has taken already, and
// close: the bit does not count for the next port with its number.
func TestBitOfARetiredPort(t *testing.T) {
	e := newEngine(t, 2)
	p := e.open(t)
	e.send(p, 1)
	e.Meanwhile.Read = func(int) {
		p.Activate()
		p.Close()
	}
	e.Run(Serial, false)
	e.Meanwhile.Read = nil
	next, err := e.Ports.Open(100, allowed)
	require.NoError(t, err)
	require.Equal(t, p.Number, next.Number)
	require.Zero(t, (*e.Ports.active.Load())[0].Load())
	e.Run(Serial, false) // would look for the queue of a port that has none
	require.Zero(t, e.Senders())
}

// TestStaged destroys what the same refresh may create, by one request and by one for many: what
// is created is staged. Requests for entities that cannot come do not make it so.
func TestStaged(t *testing.T) {
	for name, c := range map[string]struct {
		send func(q *queue.Queue, epoch uint32, hs []handle.Handle)
		want bool
	}{
		"Destroy": {func(q *queue.Queue, epoch uint32, hs []handle.Handle) {
			q.PushBare(queue.Destroying(), hs[0], epoch, nil)
		}, true},
		"Destroy of nobody": {func(q *queue.Queue, epoch uint32, _ []handle.Handle) {
			q.PushBare(queue.Destroying(), handle.None, epoch, nil)
		}, false},
		"DestroyN":           {func(q *queue.Queue, epoch uint32, hs []handle.Handle) { many(q, epoch, hs) }, true},
		"nothing to destroy": {func(*queue.Queue, uint32, []handle.Handle) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, 2)
			p := e.open(t)
			require.NoError(t, p.Draw(e.PortSlots, 2, 0))
			hs := make([]handle.Handle, 2)
			p.Hand.GiveN(hs)
			e.send(p, 1)
			c.send(p.Queue.Load(), e.Epoch.Load(), hs)
			p.Queue.Load().Publish()
			e.Run(Serial, false)
			require.Equal(t, c.want, e.staged)
		})
	}
}

func many(q *queue.Queue, epoch uint32, hs []handle.Handle) {
	copy(queue.Destroys.PushMany(q, len(hs), 0, epoch, 0, nil).Handles, hs)
}

// TestMisrouted moves an entity to a shard that has no room for it: the messages for it are on
// their way there, and are forwarded back.
func TestMisrouted(t *testing.T) {
	for _, full := range []bool{false, true} {
		e := newEngine(t, 2)
		store.NewColumn(e.Space, mem.TypeOf[int64]())
		var set store.Set
		set.Add(0)
		a, err := e.Shards[0].Create(e.Shards[0].Table(set))
		require.NoError(t, err)
		a.Publish()
		if full { // all numbers of chunks were given
			of := reflect.ValueOf(e.Space).Elem().FieldByName("mu").FieldByName("chunks")
			*(*int)(unsafe.Pointer(of.UnsafeAddr())) = slots.ChunksMax
		}
		e.Shift([]extend.Shift{{From: 0, To: 1, Entities: 1}})
		e.Run(Serial, false)
		require.Equal(t, full, e.Mail.Misrouted)
		require.True(t, e.Space.Alive(a.Handle))
		owner := 1
		if full {
			owner = 0
		}
		require.Equal(t, owner, e.Space.Owner(e.Space.Locate(a.Handle)))
	}
}
