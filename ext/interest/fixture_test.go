package interest_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/interest"
	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/world"
)

// The components and bundles of the tests.
type (
	Position struct{ X, Y float64 }
	Name     struct{ Text string }
	Level    struct{ Number int }
	Tag      struct{}
	Unit     struct {
		Position
		Level
	}
	Thing struct{ Level } // is nowhere
)

func (p Position) point() near.Point { return near.Point{X: p.X, Y: p.Y} }

// hidden is the flag of entities that are not seen.
const hidden = world.Flags(1)

// field is a world with Clients.
type field struct {
	*world.World
	t        testing.TB
	position *world.Component[Position]
	name     *world.Component[Name]
	tag      *world.Component[Tag]
	units    *world.Bundle[Unit]
	things   *world.Bundle[Thing]
	index    *near.Index
	view     *world.View
}

// columns are those of the tests, in this order.
const (
	positions = 1 << iota
	names
	levels
	tags
)

func encodePosition(dst []byte, p *Position) []byte {
	return binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(dst, uint16(int(p.X))), uint16(int(p.Y)))
}

func encodeName(dst []byte, n *Name) []byte {
	return append(append(dst, byte(len(n.Text))), n.Text...)
}

func encodeLevel(dst []byte, l *Level) []byte { return append(dst, byte(l.Number)) }

func encodeTag(dst []byte, _ *Tag) []byte { return dst }

// split divides bytes in columns.
func split(t testing.TB, columns uint32, b []byte) map[int]string {
	values := map[int]string{}
	for c := range 4 {
		if columns>>c&1 == 0 {
			continue
		}
		n := []int{4, 1, 1, 0}[c]
		if c == 1 {
			n += int(b[0])
		}
		values[c], b = string(b[:n]), b[n:]
	}
	if len(b) > 0 {
		require.Fail(t, "bytes behind the last column", b)
	}
	return values
}

func newField(t testing.TB, o world.Options) *field {
	w := world.MustNew(o)
	t.Cleanup(w.Close)
	x := &field{World: w, t: t}
	x.position, x.name = world.Register[Position](w, "position"), world.Register[Name](w, "name")
	world.Register[Level](w, "level")
	x.tag = world.Register[Tag](w, "tag")
	x.units, x.things = world.NewBundle[Unit](w), world.NewBundle[Thing](w)
	x.index = near.New(w, Position.point, near.Options{Max: near.Point{X: 100, Y: 100}, Cell: 10})
	var err error
	x.view, err = w.NewView()
	require.NoError(t, err)
	return x
}

// newSet makes Clients with all columns.
func (x *field) newSet(o interest.Options) *interest.Clients {
	return interest.New(x.World, x.index, o, interest.Encode(encodePosition), interest.Encode(encodeName), interest.Encode(encodeLevel), interest.Encode(encodeTag))
}

// drift moves all eastwards, around the world.
func (x *field) drift() {
	pos := world.Write[Position](x.World)
	for ch := range x.Query(pos).Chunks() {
		for i := range pos.Slice(ch) {
			pos.Slice(ch)[i].X = math.Mod(pos.Slice(ch)[i].X+1, 100)
		}
	}
}

func (x *field) unit(px, py float64) handle.Handle {
	h, err := x.units.Create(x.World, Unit{Position{px, py}, Level{1}})
	require.NoError(x.t, err)
	return h
}

// now returns a frame.
func (x *field) now() *world.Frame {
	f, err := x.view.Now()
	require.NoError(x.t, err)
	return f
}

// update makes an Update, and returns what was told, by client.
func (x *field) update(s *interest.Clients, workers int) map[*interest.Client]interest.Packet {
	f := x.now()
	defer f.Release()
	return update(s, f, workers)
}

// client is what a client knows.
type client struct {
	t     testing.TB
	slots map[uint32]*known
	last  uint64 // the newest packet
}

type known struct {
	handle handle.Handle
	values map[int]string
}

func newClient(t testing.TB) *client { return &client{t: t, slots: map[uint32]*known{}} }

// apply applies a packet. If packets may be lost, it says nothing against what was lost.
func (c *client) apply(p *interest.Packet, lossy bool) {
	require.Greater(c.t, p.Number, c.last)
	c.last = p.Number
	sameOnWire(c.t, p)
	for _, l := range p.Leaves {
		if k := c.slots[l.Slot]; k == nil || k.handle != l.Handle {
			require.True(c.t, lossy, "leave of %v, whom the client does not know as %d", l.Handle, l.Slot)
			if k != nil {
				continue
			}
		}
		delete(c.slots, l.Slot)
	}
	for _, r := range p.Rows {
		values := split(c.t, r.Columns, r.Bytes)
		k := c.slots[r.Slot]
		if r.Enter {
			if !lossy && k != nil {
				require.Fail(c.t, "a slot is taken", r.Slot)
			}
			c.slots[r.Slot] = &known{r.Handle, values}
			continue
		}
		if r.Columns|r.Removed == 0 || r.Columns&r.Removed != 0 {
			require.Fail(c.t, "a row tells nothing, or both", r)
		}
		if k == nil || k.handle != r.Handle {
			require.True(c.t, lossy)
			continue
		}
		maps.Copy(k.values, values)
		for i := range 4 {
			if r.Removed>>i&1 != 0 {
				delete(k.values, i)
			}
		}
	}
}

// has returns what the client has, by handle.
func (c *client) has() map[handle.Handle]map[int]string {
	all := map[handle.Handle]map[int]string{}
	for _, k := range c.slots {
		all[k.handle] = k.values
	}
	require.Len(c.t, all, len(c.slots), "the client has somebody twice")
	return all
}

// sees is a naive Set: what each client sees, by a look at each entity.
type sees struct {
	f    *world.Frame
	all  map[handle.Handle]map[int]string
	at   map[handle.Handle]Position
	also func(dst []handle.Handle, v *interest.Client) []handle.Handle
	hide func(v *interest.Client, h handle.Handle) bool
}

func look(f *world.Frame, o interest.Options) *sees {
	s := &sees{f: f, all: map[handle.Handle]map[int]string{}, at: map[handle.Handle]Position{}}
	pos, name, level, tag := world.Read[Position](f), world.Read[Name](f), world.Read[Level](f), world.Read[Tag](f)
	for ch := range f.Query().Chunks() {
		for i := range ch.Len() {
			h := ch.Handle(i)
			values := map[int]string{}
			if p := pos.Get(h); p != nil {
				values[0], s.at[h] = string(encodePosition(nil, p)), *p
			}
			if n := name.Get(h); n != nil {
				values[1] = string(encodeName(nil, n))
			}
			if l := level.Get(h); l != nil {
				values[2] = string(encodeLevel(nil, l))
			}
			if tag.Get(h) != nil {
				values[3] = ""
			}
			s.all[h] = values
		}
	}
	if o.Include != nil {
		s.also = o.Include(f)
	}
	if o.Hide != nil {
		s.hide = o.Hide(f)
	}
	return s
}

// by returns whom a client sees, of which it showed was.
func (s *sees) by(v *interest.Client, was map[handle.Handle]map[int]string) map[handle.Handle]map[int]string {
	is := map[handle.Handle]map[int]string{}
	x := v.Options()
	from, placed := Position{x.At.X, x.At.Y}, true
	if x.Entity != handle.None {
		from, placed = s.at[x.Entity]
	}
	if placed {
		for h, p := range s.at {
			dx, dy := p.X-from.X, p.Y-from.Y
			_, before := was[h]
			if d := dx*dx + dy*dy; d <= x.Radius*x.Radius || before && d <= (x.Radius+x.Margin)*(x.Radius+x.Margin) {
				is[h] = s.all[h]
			}
		}
	}
	if s.also != nil {
		for _, h := range s.also(nil, v) {
			if values, ok := s.all[h]; ok {
				is[h] = values
			}
		}
	}
	if s.hide != nil {
		maps.DeleteFunc(is, func(h handle.Handle, _ map[int]string) bool { return s.hide(v, h) })
	}
	return is
}

// iterations is n, or less where that takes long.
func iterations(n int) int {
	switch {
	case check.Enabled: // also under -short: most of it is shown to the race detector
		return max(1, n/5)
	case testing.Short():
		return max(1, n/20)
	}
	return n
}

// newRand returns random numbers that are the same for the same seed, and says which seed in case
// the test fails.
func newRand(t testing.TB, seed uint64) *rand.Rand {
	t.Helper()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// clone copies a packet, which is good for a while only.
func clone(p *interest.Packet) interest.Packet {
	c := *p
	c.Leaves, c.Rows = append([]interest.Leave(nil), p.Leaves...), append([]interest.Row(nil), p.Rows...)
	for i := range c.Rows {
		c.Rows[i].Bytes = slices.Clone(c.Rows[i].Bytes)
	}
	return c
}

// mustPanic requires a panic that says all of that.
func mustPanic(t testing.TB, says string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		v := recover()
		require.NotNil(t, v, "no panic")
		require.Contains(t, fmt.Sprint(v), says)
	}()
	f()
}

func none(*interest.Client, *interest.Packet) {}
