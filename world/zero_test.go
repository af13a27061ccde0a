package world_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/world"
)

// TestRowsHoldZeroes fills rows, frees them in every way and takes them again
// without storing anything: what is created has zero components.
func TestRowsHoldZeroes(t *testing.T) {
	for _, o := range []world.Options{{Shards: 1}, {Shards: 3}, {Shards: 2, KeepOrder: true}} {
		seed := seed.Of(t)
		t.Logf("%+v", o)
		r := rand.New(rand.NewPCG(seed, 0))
		f := newFixture(t, o)
		pos, vel := world.Write[Position](f.World), world.Write[Velocity](f.World)
		placed, moving := f.Query(pos), f.Query(pos, vel)
		var all []handle.Handle
		for range iterations(400) {
			switch r.IntN(7) {
			case 0, 1:
				require.NoError(t, f.mover.CreateRows(f.World, r.IntN(300), func(rows world.Chunk) {
					for i, p := range pos.Slice(rows) {
						require.Equal(t, Mover{}, Mover{p, vel.Slice(rows)[i]}, "row %d of %d", i, rows.Len())
					}
				}))
			case 2:
				for range r.IntN(100) {
					_, err := f.mover.Create(f.World, Mover{Position{1, 2}, Velocity{3, 4}})
					require.NoError(t, err)
				}
			case 3:
				require.NoError(t, moving.Remove(f.velocity))
			case 4:
				require.NoError(t, f.velocity.AddTo(placed, func(rows world.Chunk) {
					for _, v := range vel.Slice(rows) {
						require.Equal(t, Velocity{}, v)
					}
				}))
			case 5:
				for _, h := range all {
					if r.IntN(4) == 0 && f.Alive(h) && !f.Has(h, f.velocity) {
						require.NoError(t, f.velocity.Add(f.World, h, Velocity{5, 6}))
					}
				}
			case 6:
				switch {
				case r.IntN(3) == 0:
					moving.Destroy()
				default:
					share := 1 + r.IntN(9)
					for _, h := range all {
						if r.IntN(10) < share {
							f.Destroy(h)
						}
					}
				}
				f.Refresh()
			}
			all = all[:0]
			for ch := range placed.Chunks() {
				all = append(all, ch.Handles()...)
				for i := range pos.Slice(ch) {
					pos.Slice(ch)[i] = Position{7, 8}
				}
			}
			for ch := range moving.Chunks() {
				for i := range vel.Slice(ch) {
					vel.Slice(ch)[i] = Velocity{9, 10}
				}
			}
		}
	}
}

// TestNewComponentsAreZero adds a component to rows that held it before.
func TestNewComponentsAreZero(t *testing.T) {
	for _, n := range []int{1, 5, 20, 40, 100, 500} {
		f := newFixture(t, world.Options{Shards: 1})
		pos, vel := world.Read[Position](f.World), world.Write[Velocity](f.World)
		placed, moving := f.Query(pos), f.Query(pos, vel)
		for range n {
			_, err := f.mover.Create(f.World, Mover{Position{1, 2}, Velocity{3, 4}})
			require.NoError(t, err)
		}
		for range 3 {
			require.NoError(t, moving.Limit(1+n/3).Remove(f.velocity))
			rows := 0
			require.NoError(t, f.velocity.AddTo(placed, func(ch world.Chunk) {
				for i := range vel.Slice(ch) {
					require.Equal(t, Velocity{}, vel.Slice(ch)[i], "of %d", n)
					vel.Slice(ch)[i] = Velocity{5, 6}
					rows++
				}
			}))
			require.Equal(t, 1+n/3, rows)
		}
	}
}
