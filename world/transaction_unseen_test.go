package world_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

var errUnseen = errors.New("nobody is to see it")

// TestTransactionUnseen has transactions that fail write all that there is: no frame, no ChunksSince
// and no Status shows it, on an idle world and in a refresh. The same that succeeds shows.
func TestTransactionUnseen(t *testing.T) {
	for name, end := range map[string]func() error{
		"succeeds": func() error { return nil },
		"fails":    func() error { return errUnseen },
		"panics":   func() error { panic(errUnseen) },
	} {
		for _, idle := range []bool{true, false} {
			f := newFixture(t, world.Options{Shards: 2})
			do, hs := f.doingIn(), f.newUnits(20)
			view, err := f.NewView(f.health, f.position)
			require.NoError(t, err)
			f.Refresh()
			f.Refresh()
			before, err := view.Now()
			require.NoError(t, err)
			tick, since := f.Tick(), f.Query(world.Read[Health](f.World))
			var made handle.Handle
			run := func(tx *world.Tx) error {
				made, err = f.unit.Create(tx, Unit{})
				require.NoError(t, err)
				f.health.Edit(tx, hs[0]).Points++
				require.NoError(t, f.health.Set(tx, hs[1], Health{9}))
				require.NoError(t, f.health.Remove(tx, hs[2]))
				require.NoError(t, world.AddFlags(tx, hs[3], 1))
				require.NoError(t, world.Move(tx, hs[4], 1))
				require.NoError(t, tx.Destroy(hs[5]))
				return end()
			}
			if idle {
				func() {
					defer func() { _ = recover() }()
					_ = do.Call(f.World, run)
				}()
			} else {
				require.NoError(t, do.Call(f.port(), run))
			}
			f.Refresh()
			_ = f.Failure()
			after, err := view.Now()
			require.NoError(t, err)
			changed := 0
			for range since.ChunksSince(tick) {
				changed++
			}
			diff := after.Diff(before)
			if name == "succeeds" {
				require.True(t, f.Alive(made))
				require.NotZero(t, changed)
				require.Equal(t, []handle.Handle{made}, diff.Created)
				require.Equal(t, []handle.Handle{hs[5]}, diff.Destroyed)
				require.Equal(t, world.Flags(1), after.Flags(hs[3]))
			} else {
				require.Equal(t, world.Unused, f.Status(made))
				require.Zero(t, changed, "%s, idle %v", name, idle)
				require.Empty(t, diff.Created)
				require.Empty(t, diff.Destroyed)
				require.Empty(t, diff.Retyped)
				for _, h := range hs {
					was, _ := before.Owner(h)
					is, ok := after.Owner(h)
					require.True(t, ok)
					require.Equal(t, was, is)
					require.Zero(t, after.Flags(h))
				}
			}
			before.Release()
			after.Release()
			f.Close()
		}
	}
}

// TestTransactionIndexes has a transaction create more than there are indexes for. The calls that fail
// have changed nothing; if it succeeds all the same, the rest is there, and if not, nothing is: the
// next gets the same handles.
func TestTransactionIndexes(t *testing.T) {
	for _, idle := range []bool{true, false} {
		f := newFixture(t, world.Options{Shards: 2, IndexMax: 7})
		do, p := f.doingIn(), f.port()
		a := f.newUnit(1)
		var first []handle.Handle
		for _, fails := range []bool{true, false} {
			var made []handle.Handle
			run := func(tx *world.Tx) error {
				for {
					h, err := f.unit.Create(tx, Unit{})
					if err != nil {
						require.ErrorIs(t, err, world.ErrIndexes)
						require.True(t, h.IsNone())
						break
					}
					made = append(made, h)
				}
				_, err := world.Copy(tx, a)
				require.ErrorIs(t, err, world.ErrIndexes)
				require.NoError(t, f.health.Set(tx, a, Health{2}))
				if fails {
					return world.ErrIndexes
				}
				return nil
			}
			if idle {
				if err := do.Call(f.World, run); fails {
					require.ErrorIs(t, err, world.ErrIndexes)
				} else {
					require.NoError(t, err)
				}
			} else {
				require.NoError(t, do.Call(p, run))
				f.Refresh()
			}
			require.NotEmpty(t, made)
			if fails {
				require.Equal(t, 1, f.Count())
				f.mustHave(1)(a)
				first = made
				continue
			}
			require.Equal(t, first, made)
			require.Equal(t, 1+len(made), f.Count())
			f.mustHave(2)(a)
		}
		f.Close()
	}
}
