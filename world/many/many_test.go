package many_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// TestManyPaths takes entities of ten and of forty components through every path.
func TestManyPaths(t *testing.T) {
	t.Run("ten", func(t *testing.T) { manyPaths[manyTen](t, 10) })
	t.Run("forty", func(t *testing.T) { manyPaths[manyForty](t, 40) })
}

func manyPaths[T any](t *testing.T, size int) {
	f := world.MustNew(world.Options{Shards: 2})
	kinds := sixteen[*[0]byte](f)
	kinds = append(append(kinds, sixteen[*[1]byte](f)...), sixteen[*[2]byte](f)...)
	bundle, tags := world.NewBundle[T](f), world.NewBundle[manyTags](f)
	of := func(n int64) T { return manyBundle[T](kinds, n) }
	whole := make([]world.Term, size)
	for i, k := range kinds[:size] {
		_, _, whole[i], _ = k.terms()
	}
	q := f.Query(whole...)
	want := map[handle.Handle]int64{}
	check := func() {
		t.Helper()
		require.Equal(t, len(want), q.Count())
		seen := 0
		for ch := range q.Chunks() {
			for row, h := range ch.Handles() {
				seen++
				for i, k := range kinds[:size] {
					require.Equal(t, k.of(want[h]+int64(i)), k.at(ch, row), "component %d", i)
				}
			}
		}
		require.Equal(t, len(want), seen)
	}

	// Creation, by whom and how many at a time it may be.
	for i, kind := range []string{"World", "Port", "Context"} {
		create := func(by world.Actor) {
			for k := range int64(70) {
				n := int64(i)*1_000_000 + k*1000
				h, err := bundle.Create(by, of(n))
				require.NoError(t, err)
				want[h] = n
			}
			more, err := bundle.AppendN(nil, by, 70, func(k int, v *T) { *v = of(int64(i)*1_000_000 + int64(k)*1000 + 100) })
			require.NoError(t, err)
			for k, h := range more {
				want[h] = int64(i)*1_000_000 + int64(k)*1000 + 100
			}
		}
		switch kind {
		case "World":
			create(f)
		case "Port":
			create(open(t, f))
			f.Refresh()
		case "Context":
			inSystem(f, 1, bundle, create)
		}
		check()
	}
	require.NoError(t, bundle.CreateRows(f, 300, func(rows world.Chunk) {
		for i, k := range kinds[:size] {
			k.put(rows, 5_000_000+int64(i))
		}
		for row, h := range rows.Handles() {
			want[h] = 5_000_000 + int64(row)
		}
	}))
	check()

	// Since: all of them came in this tick or the ones before, none will have.
	require.NotZero(t, rowsSince(q, f.Tick()))
	f.Refresh()
	require.Zero(t, rowsSince(q, f.Tick()))

	// Copies, and the death of every third.
	i := 0
	for _, h := range chosen(q) {
		if i++; i%3 == 0 {
			twin, err := world.Copy(f, h)
			require.NoError(t, err)
			want[twin] = want[h]
			require.True(t, f.Destroy(h))
		}
	}
	for _, h := range chosen(q) {
		if f.Status(h) == world.Dying {
			delete(want, h)
		}
	}
	f.Refresh()
	check()
	require.NotZero(t, rowsSince(q, f.Tick()-1), "copies came")

	// Every component set, taken, and given back: by the world, by a port, in
	// batches.
	victim := q.Limit(1)
	var h handle.Handle
	for ch := range victim.Chunks() {
		h = ch.Handle(0)
	}
	require.True(t, f.Alive(h))
	p := open(t, f)
	for i, k := range kinds[:size] {
		for _, by := range []world.Actor{f, p} {
			require.NoError(t, k.set(by, h, 7))
			require.NoError(t, k.remove(by, h))
			if by == p {
				f.Refresh()
			}
			require.Nil(t, k.get(h))
			require.NoError(t, k.add(by, h, want[h]+int64(i)))
			if by == p {
				f.Refresh()
			}
		}
	}
	check()
	mustHaveMany(t, kinds, h, size, want[h])
	for i, k := range kinds[:size] {
		with, without, _, _ := k.terms()
		require.NoError(t, k.removeFrom(f.Query(with)))
		require.Zero(t, q.Count())
		require.NoError(t, k.addTo(f.Query(without), func(rows world.Chunk) {
			for row := range rows.Len() {
				require.Zero(t, k.at(rows, row))
			}
			for _, h := range rows.Handles() {
				require.NoError(t, k.set(f, h, want[h]+int64(i)))
			}
		}))
	}
	check()

	// Away with all but the tags, and back.
	require.NoError(t, tags.AddTo(q, nil, bundle))
	require.Zero(t, q.Count())
	for h := range want {
		require.NoError(t, bundle.Add(f, h, of(want[h])))
	}
	for _, k := range kinds[size:] { // tags that the ten have not
		if k.get(h) != nil {
			require.NoError(t, k.removeFrom(f.Query()))
		}
	}
	mustHaveMany(t, kinds, h, size, want[h])
	check()

	require.Equal(t, len(want), q.Destroy())
	f.Refresh()
	clear(want)
	check()
	require.Zero(t, f.Count())
}

// rowsSince counts what a query tells of since a tick.
func rowsSince(q *world.Query, tick uint64) (n int) {
	for ch := range q.ChunksSince(tick) {
		n += ch.Len()
	}
	return n
}

// TestManyTags has entities that are nothing but tags, in chunks of every size.
func TestManyTags(t *testing.T) {
	w := world.MustNew(world.Options{Shards: 1})
	kinds := sixteen[*[0]byte](w)
	tags := world.NewBundle[manyTags](w)
	require.NoError(t, tags.CreateRows(w, 20_000, func(rows world.Chunk) {
		for _, i := range []int{5, 8, 12} {
			require.NotNil(t, kinds[i].at(rows, rows.Len()-1), "a slice as long as the rows, of nothing")
		}
	}))
	with, _, _, _ := kinds[5].terms()
	q := w.Query(with)
	half := q.Limit(10_000)
	require.NoError(t, half.Remove(kinds[5]))
	require.Equal(t, 10_000, q.Count())
	for ch := range q.Chunks() {
		for row, h := range ch.Handles() {
			require.NotNil(t, kinds[8].get(h))
			require.NotNil(t, kinds[8].at(ch, row))
			if row%2 == 0 {
				w.Destroy(h)
			}
		}
	}
	w.Refresh()
	require.Equal(t, 5000, q.Count())
	require.Equal(t, 15_000, w.Count())
	var s world.Stats
	w.Stats(&s)
	require.Positive(t, s.BytesUsed, "handles and slots")
}

// open opens a port.
func open(t testing.TB, w *world.World) *world.Port {
	p, err := w.OpenPort()
	require.NoError(t, err)
	return p
}

// inSystem runs a tick of one system, which does something on one shard.
func inSystem(w *world.World, shard int, creates world.ComponentSet, do func(by world.Actor)) {
	b := (*world.Build)(engine.Of(w).NewBuild(shard, "test"))
	b.Creates(creates)
	access := (*engine.Build)(b).Finish()
	tick := engine.Of(w).BeginTick()
	c := (*world.Context)(engine.Of(w).Context(shard))
	(*engine.Context)(c).Acting().Start("test", access)
	do(c)
	(*engine.Context)(c).Acting().Stop()
	tick.End(func(n int, f func(int)) {
		for i := range n {
			f(i)
		}
	})
}

// chosen returns the entities that a query matches.
func chosen(q *world.Query) (all []handle.Handle) {
	for ch := range q.Chunks() {
		all = append(all, ch.Handles()...)
	}
	return all
}
