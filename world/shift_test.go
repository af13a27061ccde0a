package world_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// shift makes a tick of nothing but decisions.
func (f *fixture) shift(parallel extend.Parallel, shifts ...extend.Shift) {
	f.t.Helper()
	t := engine.Of(f.World).BeginTick()
	t.Shift(shifts)
	t.End(parallel)
}

// rows returns the handles of a shard by table: units, movers, creatures, statues.
func (f *fixture) rows(shard int) [4][]handle.Handle {
	var rows [4][]handle.Handle
	for ch := range f.Query().Chunks() {
		for _, h := range ch.Handles() {
			if owner, _ := f.Owner(h); owner == shard {
				rows[f.kind(h)] = append(rows[f.kind(h)], h)
			}
		}
	}
	return rows
}

func (f *fixture) kind(h handle.Handle) int {
	switch {
	case f.Has(h, f.frozen):
		return 3
	case f.Has(h, f.name):
		return 2
	case f.Has(h, f.velocity):
		return 1
	}
	return 0
}

// TestShift compares with a naive model which rows leave: of each table the last,
// in proportion, the remainder of the largest; none that is pinned, marked, or
// moved by somebody.
func TestShift(t *testing.T) {
	for seed := range uint64(iterations(60)) {
		r := newRand(t, seed)
		const shards = 4
		f := newFixture(t, world.Options{Shards: shards})
		pinned := r.IntN(3) == 0
		if pinned {
			f.Pin(f.velocity)
		}
		for range 4 + r.IntN(12) { // in runs, so that chunks of different sizes fill
			require.NoError(t, f.unit.CreateN(f.World, r.IntN(1+20*int(seed%3)), nil))
			require.NoError(t, f.mover.CreateN(f.World, r.IntN(30), nil))
			require.NoError(t, f.creature.CreateN(f.World, r.IntN(10), nil))
			require.NoError(t, f.statue.CreateN(f.World, r.IntN(3), nil))
		}
		for range 5 {
			f.checkShift(r.IntN, pinned)
		}
	}
}

// checkShift lets some die and some be moved, decides on shifts, and compares.
func (f *fixture) checkShift(random func(int) int, pinned bool) {
	f.t.Helper()
	port := f.port()
	var tables [4][4][]handle.Handle // by shard, kind
	owner := map[handle.Handle]int{}
	dead, busy := map[handle.Handle]bool{}, map[handle.Handle]bool{}
	for s := range tables {
		tables[s] = f.rows(s)
		for _, h := range slices.Concat(tables[s][:]...) {
			owner[h] = s
			switch random(10) {
			case 0:
				dead[h] = true
				f.Destroy(h)
			case 1:
				busy[h] = true
				owner[h] = random(4) // maybe where it is: then it stays
				require.NoError(f.t, world.Move(port, h, owner[h]))
			}
		}
	}
	var shifts []extend.Shift
	for range 1 + random(4) {
		from := random(4)
		shifts = append(shifts, extend.Shift{From: from, To: (from + 1 + random(3)) % 4, Entities: 1 + random(200)})
	}
	for from := range tables {
		total, largest, rows := 0, 0, [4]int{}
		for kind, all := range tables[from] {
			if !pinned || kind != 1 {
				rows[kind] = len(all)
			}
			total += rows[kind]
			if rows[kind] > rows[largest] {
				largest = kind
			}
		}
		for _, x := range shifts {
			if x.From != from || total == 0 {
				continue
			}
			n := min(x.Entities, total)
			parts := [4]int{}
			for kind := range parts {
				parts[kind] = n * rows[kind] / total
			}
			parts[largest] += n - parts[0] - parts[1] - parts[2] - parts[3]
			for kind, part := range parts {
				for all := &tables[from][kind]; part > 0 && len(*all) > 0; {
					h := (*all)[len(*all)-1]
					*all = (*all)[:len(*all)-1]
					if !dead[h] && !busy[h] {
						owner[h] = x.To
						part--
					}
				}
			}
		}
	}
	f.shift([]extend.Parallel{serial, pair}[random(2)], shifts...)
	for h, want := range owner {
		got, ok := f.Owner(h)
		require.Equal(f.t, !dead[h], ok)
		if ok {
			require.Equal(f.t, want, got, "%v, by %v", h, shifts)
		}
	}
}

// TestShiftKeepsAll shifts while ports and systems create, send and destroy: what
// is in the world is what it would be without, but for who is where.
func TestShiftKeepsAll(t *testing.T) {
	run := func(shifts bool, parallel extend.Parallel) (points []string) {
		f := newFixture(t, world.Options{Shards: 3})
		r := newRand(t, 7)
		p := f.port()
		var all []handle.Handle
		for i := range 300 {
			h, err := f.creature.Create(f.World, Creature{Health: Health{int64(i)}, Name: Name{fmt.Sprint(i)}})
			require.NoError(t, err)
			all = append(all, h)
		}
		hits := f.build(func(b *world.Build) func(*world.Context) {
			health, in := world.Write[Health](b), world.Receive[Hit](b)
			return func(c *world.Context) {
				for _, e := range in.All() {
					x := health.Get(e.To)
					if x == nil {
						require.False(t, c.Alive(e.To), "a message is where its entity is")
						continue
					}
					x.Points = x.Points*31 + e.Body.Damage // so that the order shows
				}
			}
		})
		for range iterations(100) {
			for range 50 {
				require.NoError(t, f.hit.Send(p, all[r.IntN(len(all))], Hit{r.Int64N(10)}))
			}
			h, err := f.creature.Create(p, Creature{})
			require.NoError(t, err)
			all = append(all, h)
			require.NoError(t, p.Destroy(all[r.IntN(len(all))]))
			tick := engine.Of(f.World).BeginTick()
			for i, s := range hits {
				c := (*world.Context)(engine.Of(f.World).Context(i))
				(*engine.Context)(c).Acting().Start("test", s.access)
				s.run(c)
				(*engine.Context)(c).Acting().Stop()
			}
			if from := r.IntN(3); shifts {
				tick.Shift([]extend.Shift{{From: from, To: (from + 1) % 3, Entities: 40}})
			}
			tick.End(parallel)
		}
		names := world.Read[Name](f.World)
		for i, h := range all {
			if at := f.Locate(h); at != 0 {
				points = append(points, fmt.Sprint(i, world.Read[Health](f.World).At(at).Points, names.At(at).Text))
			}
		}
		stats := f.stats()
		require.Equal(t, shifts, stats.Moved > 0)
		return append(points, fmt.Sprint(stats.Applied, stats.Gone, stats.Created, stats.Destroyed))
	}
	want := run(false, serial)
	require.Equal(t, want, run(true, serial))
	require.Equal(t, want, run(true, pair))
}

// TestShiftRefused decides on what cannot be: nothing of it is done.
func TestShiftRefused(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	f.newUnits(200)
	tick := engine.Of(f.World).BeginTick()
	for _, x := range []extend.Shift{{From: 0, To: 0, Entities: 1}, {From: -1, To: 0, Entities: 1}, {From: 0, To: 2, Entities: 1}, {From: 2, To: 0, Entities: 1}, {From: 0, To: -1, Entities: 1}, {From: 0, To: 1, Entities: 0}, {From: 0, To: 1, Entities: -1}} {
		require.PanicsWithValue(t, fmt.Sprintf("world: shift of %d entities from shard %d to %d, want 1 or more, and two shards of 0 to 1", x.Entities, x.From, x.To), func() {
			tick.Shift([]extend.Shift{{From: 0, To: 1, Entities: 1}, x})
		})
	}
	before := []int{tick.Entities(0), tick.Entities(1)}
	tick.End(serial)
	stats := f.stats()
	require.Zero(t, stats.Moved)
	require.Equal(t, before, []int{stats.Shards[0].Entities, stats.Shards[1].Entities})
	f.shift(serial, extend.Shift{From: 0, To: 1, Entities: 1000})
	require.Zero(t, f.stats().Shards[0].Entities, "there are no more")
	f.shift(serial, extend.Shift{From: 0, To: 1, Entities: 1000})
	require.EqualValues(t, before[0], f.stats().Moved)
}

// TestShiftAllocatesNothing shifts to and fro.
func TestShiftAllocatesNothing(t *testing.T) {
	if check.Enabled {
		t.Skip("the check build moves at each refresh what was handed out")
	}
	f := newFixture(t, world.Options{Shards: 2})
	require.NoError(t, f.mover.CreateN(f.World, 5000, nil))
	shifts := []extend.Shift{{From: 0, To: 1, Entities: 700}, {From: 1, To: 0, Entities: 700}}
	tick := func() {
		tick := engine.Of(f.World).BeginTick()
		tick.Shift(shifts)
		tick.End(serial)
	}
	for range 10 {
		tick()
	}
	require.Zero(t, testing.AllocsPerRun(100, tick))
}
