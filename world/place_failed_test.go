package world_test

import (
	"errors"
	"math"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// badPlaces are values for which the function of TestPlaceByFails fails, and what errors say.
var badPlaces = map[int64]string{
	-1:          "bundle world_test.Unit: PlaceBy chose shard -1, want 0 to 3",
	4:           "bundle world_test.Unit: PlaceBy chose shard 4, want 0 to 3",
	math.MinInt: "PlaceBy chose shard " + strconv.Itoa(math.MinInt),
	panicking:   "the function of PlaceBy of bundle world_test.Unit panicked in tick",
}

const panicking = 99

// TestPlaceByFails: if a PlaceBy fails, each call that places returns an error and does nothing: a
// world with such calls becomes the same as one without.
func TestPlaceByFails(t *testing.T) {
	type placing struct {
		*fixture
		port  *world.Port
		fails bool // whether to make the calls that fail
	}
	bad := func(points int64) func(int, *Unit) {
		return func(i int, u *Unit) { u.Points = points * int64(i%2) } // the second of each two
	}
	must := func(t *testing.T, err error, points int64) {
		t.Helper()
		require.ErrorIs(t, err, world.ErrFailed)
		require.ErrorContains(t, err, badPlaces[points])
		var p *world.PanicError
		if points == panicking {
			require.ErrorAs(t, err, &p)
			require.ErrorIs(t, err, errCause)
			require.Contains(t, string(p.Stack), "place_failed_test.go")
		} else {
			require.False(t, errors.As(err, &p))
		}
	}
	calls := map[string]func(x *placing, points int64) error{
		"Create by the World": func(x *placing, points int64) error {
			h, err := x.unit.Create(x.World, Unit{Health{points}})
			require.Equal(t, handle.None, h)
			return err
		},
		"AppendN by the World": func(x *placing, points int64) error {
			hs, err := x.unit.AppendN(nil, x.World, 1, func(_ int, u *Unit) { u.Points = points })
			require.Empty(t, hs)
			return err
		},
		"Create by a Port": func(x *placing, points int64) error {
			var done world.Completion
			h, err := x.unit.Create(x.port.Notify(&done), Unit{Health{points}})
			require.Equal(t, handle.None, h)
			require.Equal(t, world.Undecided, done.Outcome())
			return err
		},
		"CreateN by a Port": func(x *placing, points int64) error {
			var done world.Completion
			hs, err := x.unit.AppendN(nil, x.port.Notify(&done), 40, bad(points))
			require.Empty(t, hs)
			require.Equal(t, world.Undecided, done.Outcome())
			return err
		},
		"CreateN of one by a Port": func(x *placing, points int64) error {
			return x.unit.CreateN(x.port, 1, func(_ int, u *Unit) { u.Points = points })
		},
		"Create in a Batch": func(x *placing, points int64) error {
			return x.port.Batch(func() error {
				_, err := x.unit.Create(x.port, Unit{Health{1}})
				require.NoError(t, err)
				_, _ = x.unit.Create(x.port, Unit{Health{points}})
				_, err = x.unit.Create(x.port, Unit{Health{1}})
				must(t, err, points)
				return nil
			})
		},
		"CreateN in a Batch": func(x *placing, points int64) error {
			return x.port.Batch(func() error {
				require.NoError(t, x.unit.CreateN(x.port, 5, nil))
				_ = x.unit.CreateN(x.port, 5, bad(points))
				must(t, x.unit.CreateN(x.port, 5, nil), points)
				return nil
			})
		},
		"Create by a global system": func(x *placing, points int64) (err error) {
			x.global(nil, func(b *world.Build) func(*world.Context) {
				b.Creates(x.unit)
				return func(c *world.Context) {
					if x.fails {
						_, err = x.unit.Create(c, Unit{Health{points}})
					}
				}
			}, nil)
			return err
		},
		"CreateN by a global system": func(x *placing, points int64) (err error) {
			x.global(nil, func(b *world.Build) func(*world.Context) {
				b.Creates(x.unit)
				return func(c *world.Context) {
					if x.fails {
						err = x.unit.CreateN(c, 1, func(_ int, u *Unit) { u.Points = points })
					}
				}
			}, nil)
			return err
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			var made [2][]handle.Handle
			for i := range made {
				f := newFixture(t, world.Options{Shards: 4, IndexMax: 200})
				f.unit.PlaceBy(func(u Unit) int {
					if u.Points == panicking {
						panic(errCause)
					}
					return int(u.Points)
				})
				x := &placing{f, f.port(), i == 1}
				for points := range badPlaces {
					for range 10 {
						if ticks := name[len(name)-6:] == "system"; x.fails || ticks {
							if err := call(x, points); x.fails {
								must(t, err, points)
							}
						}
						h, err := x.unit.Create(x.port, Unit{Health{2}})
						require.NoError(t, err)
						other, err := x.mover.Create(x.World, Mover{})
						require.NoError(t, err)
						x.Refresh()
						require.True(t, x.Alive(h))
						made[i] = append(made[i], h, other)
					}
				}
				require.Equal(t, len(made[i]), x.Count())
			}
			if !strings.Contains(name, "Batch") && !strings.Contains(name, "N ") { // batches keep what they took until the refresh
				require.Equal(t, made[0], made[1])
			}
		})
	}
}

// TestPlaceByGoexit has a PlaceBy end its goroutine, as a test that fails does: the port, which the
// program may use from another goroutine, goes on.
func TestPlaceByGoexit(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 4})
	f.unit.PlaceBy(func(u Unit) int {
		if u.Points < 0 {
			runtime.Goexit()
		}
		return int(u.Points)
	})
	p := f.port()
	for _, create := range []func(){
		func() { _, _ = f.unit.Create(p, Unit{Health{-1}}) },
		func() { _ = f.unit.CreateN(p, 5, func(i int, u *Unit) { u.Points = int64(1 - i) }) },
		func() { _, _ = f.unit.Create(f.World, Unit{Health{-1}}) },
	} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			create()
		}()
		<-done
		_, err := f.unit.Create(p, Unit{Health{1}})
		require.NoError(t, err)
		f.Refresh()
	}
	require.Equal(t, []int{0, 3, 0, 0}, f.perShard())
}
