package world_test

import (
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/world"
)

// sets is a world in which a client gives an entity one set of components after the other.
type sets struct {
	*world.World
	h    []handle.Handle
	tags []tag
	big  *world.Component[Big]
	base *world.Component[Base]

	bases *world.Bundle[entity]
}

type (
	Big    [1 << 20]byte
	Base   struct{ Shard int }
	entity struct{ Base }
)

// tag is a component of any type.
type tag struct {
	add, remove func(by world.Actor, h handle.Handle) error
	has         func(h handle.Handle) bool
}

func addTag[T any](x *sets, name string) {
	c, r := world.Register[T](x.World, name), world.Read[T](x.World)
	x.tags = append(x.tags, tag{
		func(by world.Actor, h handle.Handle) error { return c.Add(by, h, *new(T)) },
		func(by world.Actor, h handle.Handle) error { return c.Remove(by, h) },
		func(h handle.Handle) bool { return r.Get(h) != nil },
	})
}

func newSets(t *testing.T) *sets {
	x := &sets{World: world.MustNew(world.Options{Shards: 2})}
	addTag[[1]byte](x, "1")
	addTag[[2]byte](x, "2")
	addTag[[3]byte](x, "3")
	addTag[[4]byte](x, "4")
	addTag[[5]byte](x, "5")
	addTag[[6]byte](x, "6")
	addTag[[7]byte](x, "7")
	addTag[[8]byte](x, "8")
	addTag[[9]byte](x, "9")
	addTag[[10]byte](x, "10")
	addTag[[11]byte](x, "11")
	addTag[[12]byte](x, "12")
	x.base = world.Register[Base](x.World, "base")
	x.big = world.Register[Big](x.World, "big")
	x.bases = world.NewBundle[entity](x.World)
	x.bases.PlaceBy(func(e entity) int { return e.Shard })
	for i := range 4 {
		h, err := x.bases.Create(x.World, entity{Base{i % 2}})
		require.NoError(t, err)
		x.h = append(x.h, h)
	}
	return x
}

// turn is the n-th of 4,095 changes, each of which makes a set of components that no other makes.
func (x *sets) turn(by world.Actor, h handle.Handle, n int) error {
	at := bits.TrailingZeros(uint(n))
	if (n^n>>1)>>at&1 == 1 {
		return x.tags[at].add(by, h)
	}
	return x.tags[at].remove(by, h)
}

// turns returns how many turns an entity has made.
func (x *sets) turns(h handle.Handle) (n int) {
	for i, t := range x.tags {
		if t.has(h) {
			n ^= 1<<(i+1) - 1
		}
	}
	return n
}

// refresh returns how many requests were applied and refused.
func (x *sets) refresh() (applied, refused int) {
	var was, is world.Stats
	x.Stats(&was)
	x.Refresh()
	x.Stats(&is)
	return int(is.Applied - was.Applied), int(is.Refused - was.Refused)
}

// TestChangeBytes: what the requests of one port to add and remove components take and move in a
// shard has a limit; what exceeds it is refused and changes nothing. Other ports, other shards and
// the next refresh are not concerned.
func TestChangeBytes(t *testing.T) {
	x := newSets(t)
	var ports [2]*world.Port
	for i := range ports {
		p, err := x.OpenPort()
		require.NoError(t, err)
		ports[i] = p
	}
	const sent, few, table = 4000, 100, (32 + 4) << 10 // at least, and with at most 14 columns 8 KB more
	for round := range 2 {
		from := x.turns(x.h[0])
		for i := from + 1; i <= sent; i++ {
			require.NoError(t, x.turn(ports[0], x.h[0], i))
		}
		far := new(world.Completion)
		require.NoError(t, x.tags[0].add(ports[0].Notify(far), x.h[1]))
		for i := range few {
			require.NoError(t, x.turn(ports[1], x.h[2], round*few+i+1))
		}
		applied, refused := x.refresh()
		require.Equal(t, world.Applied, far.Outcome())
		require.Equal(t, (round+1)*few, x.turns(x.h[2]))
		made := applied - 1 - few
		require.Equal(t, made, x.turns(x.h[0])-from, "what was refused has changed something")
		require.Equal(t, sent-from-made, refused)
		require.LessOrEqual(t, made, store.ChangeBytesMax/table)
		require.GreaterOrEqual(t, made, store.ChangeBytesMax/(table+8<<10))
	}
}

// TestChangeBytesLargeRows: rows that move count by their size, also between tables that are there.
// So few requests are read by one worker, and still count for their own port alone.
func TestChangeBytesLargeRows(t *testing.T) {
	x := newSets(t)
	require.NoError(t, x.big.Add(x.World, x.h[0], Big{}))
	toggle := func(by world.Actor, h handle.Handle, times int) {
		for i := range times {
			if i%2 == 0 {
				require.NoError(t, x.tags[0].add(by, h))
			} else {
				require.NoError(t, x.tags[0].remove(by, h))
			}
		}
	}
	const small = 20
	for range 2 {
		p, err := x.OpenPort()
		require.NoError(t, err)
		toggle(p, x.h[0], 24)
		toggle(p, x.h[1], small) // in the other shard
	}
	p, err := x.OpenPort()
	require.NoError(t, err)
	toggle(p, x.h[2], small)
	applied, refused := x.refresh()
	require.Equal(t, 2*24+3*small, applied+refused)
	require.LessOrEqual(t, applied, 2*16+3*small)
	require.GreaterOrEqual(t, applied, 2*10+3*small)
	toggle(x.World, x.h[0], 200) // the world has no limit
}

// TestMoveBytes: large rows that go to another shard count four times, together with what the port
// adds and removes. What is refused stays where it was. Small rows do not count, nor do moves to the
// shard that the entity is in. Other ports, other shards and the next refresh are not concerned.
func TestMoveBytes(t *testing.T) {
	x := newSets(t)
	const large, each = 8, store.ChangeBytesMax / 4 >> 20
	var h, far []handle.Handle
	for range large {
		for shard, to := range []*[]handle.Handle{&h, &far} {
			e, err := x.bases.Create(x.World, entity{Base{shard}})
			require.NoError(t, err)
			require.NoError(t, x.big.Add(x.World, e, Big{}))
			*to = append(*to, e)
		}
	}
	var ports [2]*world.Port
	for i := range ports {
		p, err := x.OpenPort()
		require.NoError(t, err)
		ports[i] = p
	}
	owners := func(of []handle.Handle) (there [2]int) {
		for _, h := range of {
			shard, ok := x.Owner(h)
			require.True(t, ok)
			there[shard]++
		}
		return there
	}
	for range 10 {
		require.NoError(t, world.Move(ports[0], h[0], 0))
	}
	require.NoError(t, world.Move(ports[0], x.h[0], 1)) // small, and before the others
	for _, h := range h {
		require.NoError(t, world.Move(ports[0], h, 1))
	}
	require.NoError(t, x.tags[0].add(ports[0], x.h[2])) // refused, too
	require.NoError(t, world.Move(ports[0], far[0], 0))
	require.NoError(t, world.Move(ports[1], h[large-1], 1))
	require.NoError(t, x.tags[0].add(ports[1], x.h[2]))
	applied, refused := x.refresh()
	require.Equal(t, large-each+1, refused)
	require.Equal(t, 10+1+each+1+1+1, applied)
	require.Equal(t, [2]int{large - each - 1, each + 1}, owners(h))
	require.Equal(t, [2]int{1, large - 1}, owners(far))
	require.Equal(t, [2]int{0, 1}, owners(x.h[:1]))
	for _, h := range h[each : large-1] {
		require.NoError(t, world.Move(ports[0], h, 1))
	}
	x.refresh()
	require.Equal(t, [2]int{0, large}, owners(h))
}

// TestAnswerBytes: what the requests of one port to ask may copy of large components in a shard has
// a limit, beside the limit of its changes; what exceeds it is refused.
func TestAnswerBytes(t *testing.T) {
	x := newSets(t)
	for _, h := range x.h {
		require.NoError(t, x.big.Add(x.World, h, Big{}))
	}
	var ports [2]*world.Port
	for i := range ports {
		p, err := x.OpenPort()
		require.NoError(t, err)
		ports[i] = p
	}
	const most, more = store.AnswerBytesMax >> 20, 4
	var answers [most + more]world.Answer[Big]
	var far, other world.Answer[Big]
	var small world.Answer[Base]
	for range 2 {
		for i := range answers {
			require.NoError(t, x.big.Ask(ports[0], x.h[i%2*2], &answers[i]))
		}
		require.NoError(t, x.base.Ask(ports[0], x.h[0], &small))
		require.NoError(t, x.big.Ask(ports[0], x.h[1], &far))
		require.NoError(t, x.big.Ask(ports[1], x.h[0], &other))
		require.NoError(t, x.tags[0].add(ports[0], x.h[0]))
		x.refresh()
		for i := range answers {
			_, err := answers[i].Get(t.Context())
			if i < most {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, world.ErrRefused)
			}
		}
		require.Equal(t, world.Applied, small.Outcome())
		require.Equal(t, world.Applied, far.Outcome())
		require.Equal(t, world.Applied, other.Outcome())
		require.True(t, x.tags[0].has(x.h[0]))
	}
}

// TestChangeBytesAdjacent: requests for rows that follow one another are applied at once, unless
// they count; and then each of them counts, and is refused, as if it were alone.
func TestChangeBytesAdjacent(t *testing.T) {
	x := newSets(t)
	type (
		Page [1 << 16]byte
		book struct{ Page }
	)
	world.Register[Page](x.World, "page")
	b := world.NewBundle[book](x.World)
	b.PlaceBy(func(book) int { return 0 })
	const n, most = 400, store.ChangeBytesMax>>16 + 1
	var hs []handle.Handle
	for range n {
		h, err := b.Create(x.World, book{})
		require.NoError(t, err)
		hs = append(hs, h)
		require.NoError(t, x.tags[0].add(x.World, h))
	}
	for _, h := range slices.Backward(hs) { // their table keeps its chunks, so only the rows count
		require.NoError(t, x.tags[0].remove(x.World, h))
	}
	slices.Reverse(hs)
	p, err := x.OpenPort()
	require.NoError(t, err)
	for _, h := range hs {
		require.NoError(t, x.tags[0].add(p, h))
	}
	applied, refused := x.refresh()
	require.Equal(t, n, applied+refused)
	require.LessOrEqual(t, applied, most)
	require.Greater(t, applied, most/4)
	for i, h := range hs {
		require.Equal(t, i < applied, x.tags[0].has(h))
	}

	var few []handle.Handle // small rows, which cost nothing
	for range 40 {
		h, err := x.bases.Create(x.World, entity{Base{0}})
		require.NoError(t, err)
		few = append(few, h)
	}
	require.NoError(t, x.tags[1].add(x.World, few[0])) // the table is there
	for _, h := range hs {
		require.NoError(t, x.tags[2].add(p, h))
	}
	for _, h := range few[1:] {
		require.NoError(t, x.tags[1].add(p, h))
	}
	_, _ = x.refresh()
	for _, h := range few[1:] {
		require.False(t, x.tags[1].has(h), "the port has spent all before")
	}
}
