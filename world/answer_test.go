package world_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/world"
)

// TestAskClones asks for a component that a plain copy would share, and describes its entity: both
// copy by the function of CloneBy, whatever that does.
func TestAskClones(t *testing.T) {
	type bag struct{ Items []int }
	type holder struct{ bag }
	f := newFixture(t, world.Options{Shards: 1})
	do := func() {}
	bags := world.Register[bag](f.World, "bag").CloneBy(func(to, from *bag) {
		do()
		to.Items = append(to.Items[:0], from.Items...)
	})
	h, err := world.NewBundle[holder](f.World).Create(f.World, holder{bag{[]int{1}}})
	require.NoError(t, err)
	items := world.Write[bag](f.World)
	p := f.port()
	var answer world.Answer[bag]
	ask := func(want world.Outcome) []int {
		t.Helper()
		require.NoError(t, bags.Ask(p, h, &answer))
		f.Refresh()
		require.Equal(t, want, answer.Outcome())
		v, ok := answer.Value()
		require.Equal(t, want == world.Applied, ok)
		return v.Items
	}
	first := ask(world.Applied)
	info := f.DescribeEntity(h)
	items.Get(h).Items[0] = 2
	require.Equal(t, []int{2}, ask(world.Applied))
	require.Equal(t, []int{1}, first, "the next answer is another copy")
	require.Equal(t, bag{[]int{1}}, info.Components[0].Value)

	do = func() { panic(errCause) }
	ask(world.Failed)
	require.ErrorIs(t, f.Failure(), errCause)
	require.ErrorContains(t, f.Failure(), `world: the function of CloneBy of component "bag" panicked on `+h.String()+`, on shard 0, at the end of tick `)
	require.PanicsWithError(t, errCause.Error(), func() { f.DescribeEntity(h) })
	do = runtime.Goexit
	ask(world.Failed)
	require.ErrorContains(t, f.Failure(), "runtime.Goexit")
	do = func() {}
	require.Equal(t, []int{2}, ask(world.Applied))
	require.NoError(t, f.Err())
}
