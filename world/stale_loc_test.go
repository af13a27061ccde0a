package world_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/shard"
	"github.com/atoll-sim/atoll/world"
)

// TestStaleLocations keeps locations over refreshes in which chunks are merged, lose
// their component, empty and are used again, and writes through all of them: other
// components and other memory stay as they are.
func TestStaleLocations(t *testing.T) {
	if check.Enabled {
		t.Skip("the check build finds it at the first use")
	}
	f := newFixture(t, world.Options{Shards: 2})
	r := newRand(t, 1)
	position, health, name := world.Write[Position](f), world.Read[Health](f), world.Read[Name](f)
	all, seen := f.Query(), map[shard.Loc]bool{}
	var canaries [][]int64
	number := map[handle.Handle]int64{}
	for round := range iterations(60) {
		for range r.IntN(4) {
			n := []int{1, 10, 100, 3000}[r.IntN(4)]
			switch r.IntN(3) {
			case 0:
				for range n {
					i := int64(len(number) + 1)
					h, err := f.creature.Create(f.World, Creature{Health: Health{i}, Name: Name{fmt.Sprint(i)}})
					require.NoError(t, err)
					number[h] = i
				}
			case 1:
				err := f.statue.CreateN(f.World, n, nil)
				require.NoError(t, err)
			case 2:
				err := f.mover.CreateN(f.World, n, nil)
				require.NoError(t, err)
			}
			canaries = append(canaries, make([]int64, 16<<r.IntN(8)))
		}
		for _, l := range all.Entities() {
			seen[l] = true
		}
		switch r.IntN(6) {
		case 0:
			all.Destroy()
		case 1:
			require.NoError(t, all.Remove(f.position))
		default:
			for h := range all.Entities() {
				if r.IntN(2) == 0 {
					f.Destroy(h)
				}
			}
		}
		f.Refresh()
		for l := range seen {
			if p := position.At(l); p != nil {
				p.X, p.Y = math.Inf(1), math.Inf(-1)
			}
		}
		for h, i := range number {
			if !f.Alive(h) {
				delete(number, h)
				continue
			}
			require.Equal(t, Health{i}, *health.Get(h), "round %d", round)
			require.Equal(t, fmt.Sprint(i), name.Get(h).Text, "round %d", round)
		}
		for _, c := range canaries {
			for _, v := range c {
				require.Zero(t, v, "round %d", round)
			}
		}
	}
	require.NotEmpty(t, seen)
}
