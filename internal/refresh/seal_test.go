package refresh

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/queue"
)

// sealed is a Recorder for sealed ticks that counts the requests of each port.
type sealed struct {
	notes
	by map[int]int // in this tick
}

func (s *sealed) Begin()                                   { s.by = map[int]int{} }
func (s *sealed) Request(port int, _ queue.PendingRequest) { s.by[port]++ }
func (s *sealed) Fail(int, queue.PendingRequest, any)      {}
func (s *sealed) Commit() error                            { return nil }

func (e *Engine) tick(t *testing.T) {
	t.Helper()
	e.Seal()
	require.NoError(t, e.Commit())
	e.Run(Serial, false)
}

// sendBatch sends a batch of n requests about nobody.
func (e *Engine) sendBatch(p *Endpoint, n int) {
	q := p.Queue.Load()
	q.Begin()
	for range n {
		q.PushBare(queue.Destroying(), handle.None, e.Epoch.Load(), nil)
	}
	q.Commit(e.Epoch.Load())
	p.Activate()
}

// TestSealBounded floods ports: a tick takes SealBytes at most, or one larger batch alone. Batches
// stay whole, and a port that sends little is not kept waiting.
func TestSealBounded(t *testing.T) {
	const most = extend.SealBytes / queue.RequestBytes
	e, log := newEngine(t, 2), new(sealed)
	e.Record(log)
	flood, huge, little, batches := e.open(t), e.open(t), e.open(t), e.open(t)
	e.send(flood, 2*most+most/2)
	e.sendBatch(huge, most+5)
	e.sendBatch(huge, 7)
	for range 900 {
		e.sendBatch(batches, 1000)
	}
	left := map[int]int{0: 2*most + most/2, 1: most + 12, 3: 900_000}
	ticks := 0
	for ; left[0]+left[1]+left[3] > 0; ticks++ {
		e.send(little, 10)
		e.tick(t)
		sum := 0
		for _, n := range log.by {
			sum += n
		}
		require.Equal(t, 10, log.by[2], "tick %d", ticks)
		require.Zero(t, log.by[3]%1000, "tick %d", ticks)
		require.Contains(t, []int{0, 7, most + 5, most + 12}, log.by[1])
		if log.by[1] < most {
			require.LessOrEqual(t, sum, most)
		}
		for i := range left {
			left[i] -= log.by[i]
		}
		waiting := 0
		for i, p := range []*Endpoint{flood, huge, little, batches} {
			require.Equal(t, left[i], p.Queue.Load().Waiting(), "what was sealed is done, and nothing else")
			waiting += left[i]
		}
		require.Less(t, ticks, 20)
	}
	require.GreaterOrEqual(t, ticks, 5)
	e.tick(t)
	require.Empty(t, log.by)
}

// TestSealLater sends between Seal and the refresh, from a port that has sent before and from one
// that has not, and closes a port: what was sent belongs to the next tick.
func TestSealLater(t *testing.T) {
	e, log := newEngine(t, 2), new(sealed)
	e.Record(log)
	p, q := e.open(t), e.open(t)
	e.send(p, 3)
	e.Seal()
	require.Equal(t, map[int]int{0: 3}, log.by)
	e.send(p, 4)
	e.send(q, 5)
	q.Close()
	e.Seal() // it is sealed
	require.NoError(t, e.Commit())
	e.Run(Serial, false)
	require.Equal(t, 4, p.Queue.Load().Waiting())
	require.Equal(t, 5, q.Queue.Load().Waiting())
	e.tick(t)
	require.Equal(t, map[int]int{0: 4, 1: 5}, log.by)
	open, waiting := e.Ports.Count()
	require.Equal(t, 1, open)
	require.Zero(t, waiting)
}

// TestSealDrawn draws between Seal and the refresh: what systems go by changes in the refresh only,
// to what was drawn at Seal; and what was recalled since is free after the next refresh.
func TestSealDrawn(t *testing.T) {
	e, log := newEngine(t, 2), new(sealed)
	p := e.open(t)
	e.Record(log)
	draw := func(n int) []handle.Handle {
		require.NoError(t, e.PortSlots.Take(&p.Hand, int(p.Number), n, 0))
		some := make([]handle.Handle, n)
		p.Hand.GiveN(some)
		return some
	}
	first := draw(100)
	e.PortSlots.Recall(first[0])
	e.Seal()
	require.Zero(t, e.PortSlots.Settled())
	second := draw(10)
	e.PortSlots.Recall(second[0])
	e.Run(Serial, false)
	require.EqualValues(t, 100, e.PortSlots.Settled())
	require.False(t, e.PortSlots.Pending(first[0]))
	require.True(t, e.PortSlots.Pending(second[0]))
	e.tick(t)
	require.EqualValues(t, 110, e.PortSlots.Settled())
	require.False(t, e.PortSlots.Pending(second[0]))
	require.Equal(t, []uint32{100, 110}, log.drawn)
	require.Equal(t, [][]handle.Handle{first[:1], second[:1]}, log.recalled)
}
