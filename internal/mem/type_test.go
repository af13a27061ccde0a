package mem_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/mem"
)

// serial is a type of which a copy of an entity has none.
type serial uint32

func init() { mem.Single[serial]() }

// TestClearSingles finds what is single in fields and arrays, and nowhere else.
func TestClearSingles(t *testing.T) {
	type part struct {
		N  byte
		Of serial
	}
	type all struct {
		Text  string
		One   serial
		Two   [2]serial
		Not   [2]uint32
		Parts [2][2]part
		None  [0]serial
		In    struct{ Deep struct{ Of, After serial } }
		Many  []serial
		At    *serial
		last  serial
	}
	shared := serial(5)
	full := all{
		Text: "text", One: 1, Two: [2]serial{2, 3}, Not: [2]uint32{4, 5}, Parts: [2][2]part{{{6, 7}, {8, 9}}, {{10, 11}, {12, 13}}},
		Many: []serial{14}, At: &shared, last: 15,
	}
	full.In.Deep.Of, full.In.Deep.After = 16, 17
	want := all{Text: "text", Not: [2]uint32{4, 5}, Parts: [2][2]part{{{N: 6}, {N: 8}}, {{N: 10}, {N: 12}}}, Many: []serial{14}, At: &shared}
	values := []all{full, full, full}
	of := mem.TypeOf[all]()
	require.True(t, of.HasSingles())
	of.ClearSingles(mem.AddressOf(values), 2)
	require.Equal(t, []all{want, want, full}, values)

	itself := []serial{1, 2}
	mem.TypeOf[serial]().ClearSingles(mem.AddressOf(itself), 1)
	require.Equal(t, []serial{0, 2}, itself)

	both, _ := mem.StructOf([]*mem.Type{mem.TypeOf[uint64](), mem.TypeOf[part]()})
	require.True(t, both.HasSingles())

	for _, of := range []*mem.Type{mem.TypeOf[uint32](), mem.TypeOf[struct{}](), mem.TypeOf[[0]serial](), mem.TypeOf[[1 << 20]byte](), mem.TypeOf[[]serial](), mem.TypeOf[struct{ Not *serial }]()} {
		require.False(t, of.HasSingles(), of.Of)
	}
}

// TestDropClocks finds times in fields and arrays, of types made of time.Time, too.
func TestDropClocks(t *testing.T) {
	type stamp time.Time
	type all struct {
		N    int
		At   time.Time
		In   [2]struct{ Deep stamp }
		Not  *time.Time
		Many []time.Time
		last time.Time
	}
	now := time.Now()
	full := all{N: 1, At: now, In: [2]struct{ Deep stamp }{{stamp(now)}, {stamp(now)}}, Not: &now, Many: []time.Time{now}, last: now}
	want := full
	bare := now.Round(0)
	want.At, want.In, want.last = bare, [2]struct{ Deep stamp }{{stamp(bare)}, {stamp(bare)}}, bare
	values, of := []all{full, full, full}, mem.TypeOf[all]()
	require.True(t, of.HasTimes())
	of.DropClocks(mem.AddressOf(values), 2)
	require.True(t, values[0].At == bare && values[0].last == bare && values[1].In == want.In && values[2].At == now)
	require.False(t, mem.TypeOf[struct{ Not *time.Time }]().HasTimes())
}

// TestNewTooMany allocates more values than there can be, and fewer than none.
func TestNewTooMany(t *testing.T) {
	for _, n := range []int{-1, math.MinInt, math.MaxInt, math.MaxInt/16 + 1, math.MaxUint/16 + 1} {
		require.Panics(t, func() { mem.TypeOf[[2]uint64]().New(n) }, n)
		require.Panics(t, func() { mem.TypeOf[[2]*int]().New(n) }, n)
	}
	require.Panics(t, func() { mem.TypeOf[struct{}]().New(-1) })
	mem.TypeOf[struct{}]().New(1 << 20)
}
