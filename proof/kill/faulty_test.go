package kill_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/internal/files/faulty"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/world"
)

// told is what a town was when all of it was durable.
type told struct {
	tick   uint64
	paid   [clientsMax]uint64
	listed []uint64
	given  map[handle.Handle]bool
	number uint64
}

// TestFaultyDisk keeps the world of TestKill on a disk that fails, or loses power, at any call:
// opening, reading, writing, syncing, renaming. The next process finds what was told durable.
func TestFaultyDisk(t *testing.T) {
	dice := rand.New(rand.NewPCG(seed.Of(t), 0))
	rounds := 20
	if testing.Short() {
		rounds = 4
	}
	for range rounds {
		for _, fault := range faulty.Faults {
			path, disk := t.TempDir(), faulty.New()
			old := files.Of
			files.Of = func(string) files.Files { return disk }
			b := &told{given: map[handle.Handle]bool{}}
			for life := range 3 {
				at := 0
				if life == 1 {
					at = 1 + dice.IntN(250)
					disk.FailAt(at, fault)
				}
				what := fmt.Sprintf("life %d, %s at call %d", life, fault.Name, at)
				x := newTown(1+dice.IntN(3), dice.IntN(3))
				x.options.Interval = -1
				st, err := durable.Open(context.Background(), path, x.World, x.s, x.options)
				if err != nil {
					require.True(t, life == 1 && (errors.Is(err, faulty.ErrDisk) || errors.Is(err, durable.ErrDamaged)), "%s: %v", what, err)
				} else {
					b.check(t, x, what)
					b.live(t, x, st, dice)
					if dice.IntN(2) == 0 {
						disk.PowerOff()
					}
					_ = st.Close() // the disk may fail
				}
				disk.Reboot()
			}
			files.Of = old
		}
	}
}

// check compares a town that was opened with what was told.
func (b *told) check(t *testing.T, x *town, what string) {
	require.GreaterOrEqual(t, x.Tick(), b.tick, "%s: ticks are lost", what)
	for client, h := range x.holders() {
		require.GreaterOrEqual(t, world.Read[Account](x.World).Get(h).Seq, b.paid[client], "%s: a payment is lost", what)
	}
	require.Subset(t, world.Read[Clerk](x.World).Get(x.clerk()).List, b.listed, what)
	for range delay + 5 {
		require.NoError(t, x.s.Step(context.Background()))
	}
	require.Empty(t, x.audit(), what)
}

// live lets clients and the idle world act for some ticks.
func (b *told) live(t *testing.T, x *town, st *durable.Store, dice *rand.Rand) {
	port, err := x.OpenPort()
	require.NoError(t, err)
	defer port.Close()
	accounts, clerk := x.holders(), x.clerk()
	sent := [clientsMax]uint64{}
	for client, h := range accounts {
		sent[client] = world.Read[Account](x.World).Get(h).Seq
	}
	give := func(hs []handle.Handle, err error) {
		require.NoError(t, err)
		for _, h := range hs {
			require.NotContains(t, b.given, h, "a handle is given again")
			b.given[h] = true
		}
	}
	for range 5 + dice.IntN(20) {
		for range dice.IntN(5) {
			b.number++
			n, client := b.number, dice.IntN(clientsMax)
			switch dice.IntN(4) {
			case 0:
				give(x.crew.Append(nil, port, prefab.With(x.all, Thing{N: n, Tags: []uint64{n}})))
			case 1: // in pairs
				x.s.Between(func(w *world.World) {
					h, err := x.things.Create(w, thing{Thing{N: n, Tags: []uint64{n}}})
					give([]handle.Handle{h}, err)
				})
				x.s.Between(func(w *world.World) {
					c := world.Write[Clerk](w).Get(clerk)
					c.Notes[fmt.Sprint(n)] = n
					c.List = append(c.List, n)
				})
			case 2:
				x.s.Between(func(w *world.World) { _ = world.AddFlags(w, accounts[client], asleep) }) // it is alive
			default:
				sent[client]++
				require.NoError(t, x.pays.Call(port, accounts[client], pay{sent[client], amount(client, sent[client])}))
			}
		}
		require.NoError(t, x.s.Step(context.Background()))
		if dice.IntN(3) == 0 && st.Wait(context.Background()) == nil {
			b.tick = x.Tick()
			for client, h := range accounts {
				b.paid[client] = world.Read[Account](x.World).Get(h).Seq
			}
			b.listed = append(b.listed[:0], world.Read[Clerk](x.World).Get(clerk).List...)
		}
	}
}
