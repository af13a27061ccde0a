package interest_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/interest"
	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/handle"
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

func (w *wire) send(_ *interest.Client, p *interest.Packet) {
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

// crowdSize is the number of entities of a benchmark. With -short, when it only runs once, a tenth
// does.
func crowdSize() int {
	if testing.Short() {
		return 10_000
	}
	return 100_000
}

// BenchmarkUpdate tells 10,000 clients what they see of 100,000 entities that all move: 50 each.
// cores is what that takes at 10 Hz, with the wire.
func BenchmarkUpdate(b *testing.B) {
	c := newCrowd(b, crowdSize(), 46, interest.Options{})
	for _, h := range c.viewers() {
		c.set.Open(interest.ClientOptions{Entity: h, Radius: 10, Margin: 1})
	}
	var to wire
	send := to.send
	c.measure(b, &to, func(f *world.Frame) { c.set.Update(f, 1, send) })
}

// BenchmarkByHand does the same without Clients: each client finds who is near, encodes them, and
// compares that with what it was told last.
func BenchmarkByHand(b *testing.B) {
	c := newCrowd(b, crowdSize(), 46, interest.Options{})
	var to wire
	var clients []*byHand
	for _, h := range c.viewers() {
		clients = append(clients, &byHand{viewer: h, known: map[handle.Handle]told{}})
	}
	c.measure(b, &to, func(f *world.Frame) {
		read, places, health := c.index.Read(f), world.Read[Place](f), world.Read[Health](f)
		for _, x := range clients {
			x.update(read, places, health, &to)
		}
	})
}

type byHand struct {
	viewer handle.Handle
	known  map[handle.Handle]told
	now    uint32
	hits   []near.Hit
}

type told struct {
	seen, size uint32
	bytes      [16]byte
}

func (x *byHand) update(read *near.Reader, places *world.Reader[Place], health *world.Reader[Health], to *wire) {
	x.now++
	x.hits = read.AppendWithin(x.hits[:0], places.Get(x.viewer).point(), 11)
	out := to.buf[:0]
	for i := range x.hits {
		h := x.hits[i].Handle
		t, ok := x.known[h]
		if !ok && x.hits[i].Distance2 > 100 {
			continue
		}
		value := appendHealth(appendPlace(make([]byte, 0, 16), places.Get(h)), health.Get(h))
		if !ok || !bytes.Equal(value, t.bytes[:t.size]) {
			out = append(append(binary.LittleEndian.AppendUint64(out, uint64(h)), 1), value...)
			to.rows++
		}
		t.seen, t.size = x.now, uint32(copy(t.bytes[:], value))
		x.known[h] = t
	}
	for h, t := range x.known {
		if t.seen != x.now {
			out = append(binary.LittleEndian.AppendUint64(out, uint64(h)), 0)
			delete(x.known, h)
		}
	}
	to.buf = out
	to.bytes += len(out)
}

// clients are a tenth of the crowd.
func (c *crowd) viewers() (all []handle.Handle) {
	for i := 0; i < len(c.players); i += 10 {
		all = append(all, c.players[i])
	}
	return all
}

// measure tells what update takes for frames of the crowd as it moves.
func (c *crowd) measure(b *testing.B, to *wire, update func(f *world.Frame)) {
	var took time.Duration
	step := func() {
		c.step()
		f, err := c.view.Now()
		require.NoError(b, err)
		f.Alive(handle.None) // makes the index
		at := cpu()
		update(f)
		took += cpu() - at
		f.Release()
	}
	for range 40 {
		step()
	}
	*to, took = wire{buf: to.buf}, 0
	b.ReportAllocs()
	for b.Loop() {
		step()
	}
	b.ReportMetric(float64(to.rows)/float64(b.N), "rows/op")
	b.ReportMetric(float64(to.bytes)/float64(b.N)/1e6, "MB/op")
	b.ReportMetric(took.Seconds()/float64(b.N)*10, "cores")
}
