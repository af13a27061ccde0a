package interest_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/interest"
	"github.com/atoll-sim/atoll/world"
)

// crowd is a world of n entities, per of them in a circle of radius 10, all of which move.
type crowd struct {
	*island
	side  float64
	pos   *world.Writer[Place]
	all   *world.Query
	steps float64
}

func newCrowd(b testing.TB, n int, per float64, o interest.Options) *crowd {
	side := math.Sqrt(float64(n) / per * math.Pi * 100)
	c := &crowd{island: newIslandOf(side, o), side: side}
	players := world.NewBundle[player](c.World)
	r := rand.New(rand.NewPCG(1, 2))
	c.players = nil
	for range n {
		h, err := players.Create(c.World, player{Place{r.Float64() * side, r.Float64() * side}, Health{int32(r.IntN(100))}})
		require.NoError(b, err)
		c.players = append(c.players, h)
	}
	c.pos = world.Write[Place](c.World)
	c.all = c.Query(c.pos)
	return c
}

func (c *crowd) step() {
	c.steps++
	for ch := range c.all.Chunks() {
		for i := range c.pos.Slice(ch) {
			p := &c.pos.Slice(ch)[i]
			p.X = min(max(p.X+math.Sin(c.steps/8+float64(i)), 0), c.side)
			p.Y = min(max(p.Y+math.Cos(c.steps/8+float64(i)), 0), c.side)
		}
	}
}

// wire writes packets as a server does.
type wire struct {
	bytes, rows, packets int
	buf                  []byte
}

func (w *wire) send(_ *interest.View, p *interest.Packet) {
	b := binary.AppendUvarint(w.buf[:0], p.Number)
	b = binary.AppendUvarint(b, uint64(len(p.Leaves)))
	for _, l := range p.Leaves {
		b = binary.AppendUvarint(b, uint64(l.Slot))
	}
	for i := range p.Rows {
		r := &p.Rows[i]
		b = binary.AppendUvarint(b, uint64(r.Slot))
		if r.Enter {
			b = binary.LittleEndian.AppendUint64(append(b, 0xff), uint64(r.Handle))
		}
		b = append(append(b, byte(r.Columns)), r.Bytes...)
	}
	w.buf = b
	w.bytes += len(b)
	w.rows += len(p.Rows)
	w.packets++
}

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkUpdate tells 10,000 views what they see of 100,000 entities that all move: 50 each. cores is what
// that takes at 10 Hz, with the wire.
func BenchmarkUpdate(b *testing.B) {
	c := newCrowd(b, 100_000, 46, interest.Options{})
	for i := range 10_000 {
		c.set.Open(interest.Viewer{Entity: c.players[i*10], Radius: 10, Margin: 1})
	}
	var to wire
	var took time.Duration
	update := func() {
		c.step()
		f, err := c.view.Now()
		require.NoError(b, err)
		f.Alive(handle.None) // makes the index
		at := cpu()
		c.set.Update(f, 1, to.send)
		took += cpu() - at
		f.Release()
	}
	for range 20 {
		update()
	}
	to, took = wire{buf: to.buf}, 0
	b.ReportAllocs()
	for b.Loop() {
		update()
	}
	b.ReportMetric(float64(to.rows)/float64(b.N), "rows/op")
	b.ReportMetric(float64(to.bytes)/float64(b.N)/1e6, "MB/op")
	b.ReportMetric(took.Seconds()/float64(b.N)*10, "cores")
}
