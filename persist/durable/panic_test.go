package durable_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

var errUser = errors.New("on purpose")

// TestSavePanics has the user's code panic, or end its goroutine, in a snapshot that a Store saves
// because the idle world was changed. That is told, the next snapshot has the change, and nothing
// hangs or is lost. Where ticks are sealed a transaction makes the change, and no snapshot is needed
// for it.
func TestSavePanics(t *testing.T) {
	for name, fail := range map[string]func(){"panics": func() { panic(errUser) }, "exits": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			path, disk := useDisk(t)
			var fails atomic.Bool
			told := make(chan error, 100)
			also := snapshot.Extra{Name: "also", Read: func([]byte) error { return nil }, Append: func(dst []byte) []byte {
				if fails.Load() {
					fail()
				}
				return dst
			}}
			x := newBank(1)
			x.options.Snapshot.Extras = []snapshot.Extra{also}
			x.options.OnError = func(err error) { told <- err }
			d, err := x.open(path)
			require.NoError(t, err)
			fails.Store(true)
			for i := range uint64(3) { // in the capture of the world, each time
				require.NoError(t, x.change(i))
				if durable.Sealed {
					require.GreaterOrEqual(t, d.Durable(), x.Tick())
					continue
				}
				require.ErrorContains(t, <-told, "durable: no snapshot was saved: a function that a snapshot calls panicked: ")
				require.NoError(t, x.s.Step(t.Context()))
			}
			if !durable.Sealed {
				require.ErrorContains(t, d.Wait(t.Context()), "the idle world was changed, which is not saved")
			}
			saved := make(chan error, 1)
			go func() { saved <- d.Save(t.Context()) }()
			for len(saved) == 0 {
				require.NoError(t, x.s.Step(t.Context()))
			}
			require.ErrorContains(t, <-saved, "a function that a snapshot calls panicked")
			fails.Store(false)
			require.NoError(t, x.change(3))  // is saved, with those before
			for d.Wait(t.Context()) != nil { // another try to save may be under way, from before
				require.NoError(t, x.s.Step(t.Context()))
			}
			names, err := disk.List()
			require.NoError(t, err)
			for _, name := range names {
				require.NotContains(t, name, ".part")
			}
			require.NoError(t, x.s.Step(t.Context()))
			require.NoError(t, d.Close())
			y := newBank(1)
			y.options.Snapshot.Extras = x.options.Snapshot.Extras
			e, err := y.open(path)
			require.NoError(t, err)
			require.Equal(t, x.observe(), y.observe())
			require.NoError(t, e.Close())
		})
	}
}

// change creates a ship between two ticks, and makes the next one, in which a transaction creates it
// where ticks are sealed.
func (x *bank) change(n uint64) error {
	if durable.Sealed {
		p, err := x.OpenPort()
		if err != nil {
			return err
		}
		defer p.Close()
		var made world.Answer[handle.Handle]
		if err = errors.Join(x.grant.Send(p, n, &made), x.s.Step(context.Background())); err == nil {
			_, err = made.Get(context.Background())
		}
		return err
	}
	done := x.s.Between(func(*world.World) { _, _ = x.ships.Create(x.World, fleet{Ship{n}}) })
	err := x.s.Step(context.Background())
	return errors.Join(err, <-done)
}

// TestOnTickPanics opens a directory again and again whose log has a tick in which OnTick panics, or
// ends its goroutine, after it has changed the world.
func TestOnTickPanics(t *testing.T) {
	for name, fail := range map[string]func(){"panics": func() { panic(errUser) }, "exits": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			path, _ := useDisk(t)
			newBank := func() *bank {
				x := newBank(1)
				x.s = scheduler.New(x.World, scheduler.Options{Workers: 1, OnTick: func(r scheduler.Report) {
					_, _ = x.ships.Create(x.World, fleet{Ship{r.Tick}})
					if r.Tick == 2 {
						fail()
					}
				}})
				return x
			}
			x := newBank()
			d, err := x.open(path)
			require.NoError(t, err)
			for range 3 { // the process dies before the next tick
				stepAside(x.s)
			}
			require.NoError(t, d.Wait(t.Context()))
			for range 3 {
				d.Crash()
				y := newBank()
				d, err = y.open(path)
				require.NoError(t, err)
				require.Equal(t, x.World.Tick(), y.World.Tick())
				require.Equal(t, x.observe(), y.observe())
			}
			require.NoError(t, d.Close())
		})
	}
}

// stepAside makes a tick that panics, or that ends its goroutine.
func stepAside(s *scheduler.Scheduler) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		_ = s.Step(context.Background())
	}()
	<-done
}
