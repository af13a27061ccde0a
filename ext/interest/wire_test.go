package interest_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/interest"
	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// readPacket reads what AppendTo has written, if the columns are those of the tests.
func readPacket(t testing.TB, b []byte) (p interest.Packet) {
	number := func() uint64 {
		x, n := binary.Uvarint(b)
		require.Positive(t, n)
		b = b[n:]
		return x
	}
	p.Number = number()
	for range number() {
		x := number()
		p.Leaves = append(p.Leaves, interest.Leave{Slot: uint32(x >> 1), Gone: x&1 != 0})
	}
	for len(b) > 0 {
		slot, columns := number(), number()
		r := interest.Row{Slot: uint32(slot >> 1), Enter: slot&1 != 0, Columns: uint32(columns >> 1)}
		if r.Enter {
			r.Handle, b = handle.Handle(binary.LittleEndian.Uint64(b)), b[8:]
		}
		if columns&1 != 0 {
			r.Removed = uint32(number())
		}
		size := 0
		if r.Columns&positions != 0 {
			size += 4
		}
		if r.Columns&names != 0 {
			size += 1 + int(b[size])
		}
		if r.Columns&levels != 0 {
			size++
		}
		r.Bytes, b = b[:size], b[size:]
		p.Rows = append(p.Rows, r)
	}
	return p
}

// sameOnWire requires that a client reads what the packet has.
func sameOnWire(t testing.TB, p *interest.Packet) {
	got := readPacket(t, p.AppendTo([]byte{1})[1:])
	want := clone(p)
	for i := range want.Leaves {
		want.Leaves[i].Handle = 0
	}
	for i := range want.Rows {
		if !want.Rows[i].Enter {
			want.Rows[i].Handle = 0
		}
	}
	require.Equal(t, want.Number, got.Number)
	require.Equal(t, len(want.Leaves), len(got.Leaves))
	require.Equal(t, len(want.Rows), len(got.Rows))
	for i := range want.Leaves {
		require.Equal(t, want.Leaves[i], got.Leaves[i])
	}
	for i, r := range want.Rows {
		require.Equal(t, string(r.Bytes), string(got.Rows[i].Bytes))
		r.Bytes, got.Rows[i].Bytes = nil, nil
		require.Equal(t, r, got.Rows[i])
	}
}

// TestWire has the bytes of a packet, as clients count on them.
func TestWire(t *testing.T) {
	p := interest.Packet{Number: 300,
		Leaves: []interest.Leave{{Handle: 7, Slot: 1}, {Slot: 64, Gone: true}},
		Rows: []interest.Row{
			{Handle: 0x0102030405060708, Slot: 2, Enter: true, Columns: positions | levels, Bytes: []byte{1, 0, 2, 0, 9}},
			{Handle: 9, Slot: 3, Columns: levels, Removed: names | tags, Bytes: []byte{8}},
			{Slot: 4, Removed: names},
		}}
	require.Equal(t, []byte{0xac, 2, 2, 2, 0x81, 1,
		5, 10, 8, 7, 6, 5, 4, 3, 2, 1, 1, 0, 2, 0, 9,
		6, 9, 10, 8,
		8, 1, 2}, p.AppendTo(nil))
	require.Equal(t, []byte{0, 0}, new(interest.Packet).AppendTo(nil))
	most := interest.Packet{Number: math.MaxUint64, Rows: []interest.Row{{Slot: math.MaxUint32, Removed: math.MaxUint32}}}
	sameOnWire(t, &most)
}

// TestWireBound compares how long packets are with what ClientOptions.Bytes counts.
func TestWireBound(t *testing.T) {
	row := interest.Row{Slot: 8191, Columns: 1 << 12}
	empty := len((&interest.Packet{}).AppendTo(nil))
	size := func(p interest.Packet) int { return len(p.AppendTo(nil)) - empty }
	require.Equal(t, interest.RowBytes, size(interest.Packet{Rows: []interest.Row{row}}))
	row.Enter = true
	require.Equal(t, interest.RowBytes+8, size(interest.Packet{Rows: []interest.Row{row}}))
	require.LessOrEqual(t, size(interest.Packet{Leaves: []interest.Leave{{Slot: 8191, Gone: true}}}), interest.LeaveBytes)
}

// TestWireAllocates writes packets to memory that is there.
func TestWireAllocates(t *testing.T) {
	x := newField(t, world.Options{})
	s := x.newSet(interest.Options{})
	for i := range 100 {
		x.unit(float64(i%10), 5)
	}
	s.Open(interest.ClientOptions{At: near.Point{X: 5, Y: 5}, Radius: 20})
	dst := make([]byte, 0, 10_000)
	x.update(s, 1)
	for i := range 3 {
		x.drift()
		f := x.now()
		s.Update(f, 1, func(_ *interest.Client, p *interest.Packet) {
			require.Greater(t, len(p.Rows), 50, i)
			require.Zero(t, testing.AllocsPerRun(10, func() { _ = p.AppendTo(dst) }))
		})
		f.Release()
	}
}
