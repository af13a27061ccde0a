package async_test

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/async"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Account counts what its entity has asked and heard.
type (
	Account struct{ Asked, Heard, Lost, Late int }
	holder  struct{ Account }
)

// bank is a world whose accounts ask all the time, and is kept in a directory.
type bank struct {
	*world.World
	s     *scheduler.Scheduler
	call  *async.Call[int, int]
	store *durable.Store
	pool  *async.Pool
	quiet bool // nobody asks
}

// openBank opens a bank. gate holds functions back until their tick is durable.
func openBank(t *testing.T, path string, again, gate bool, f func(ctx context.Context, n int) (int, error)) *bank {
	return openSealed(t, path, again, gate, false, f)
}

// openSealed is openBank whose ticks may be sealed.
func openSealed(t *testing.T, path string, again, gate, sealed bool, f func(ctx context.Context, n int) (int, error)) *bank {
	w := world.MustNew(world.Options{Shards: 2, VersionsEach: 10_000})
	world.Register[Account](w, "account")
	holders := world.NewBundle[holder](w)
	m := world.RegisterMessage[async.Result[int]](w, "done")
	x := &bank{World: w, call: async.New(w, "pay", m, f, async.Options{Ticks: 30, Rerun: again})}
	x.s = scheduler.New(w, scheduler.Options{Workers: 2})
	x.s.MustAdd("account", func(b *world.Build) func(*world.Context) {
		in, accounts := world.Receive[async.Result[int]](b), world.Write[Account](b)
		all := b.Query(world.With[Account](b))
		return func(c *world.Context) {
			for _, m := range in.All() {
				a := accounts.Get(m.To)
				a.Heard++
				switch m.Body.Status {
				case async.Lost:
					a.Lost++
				case async.TimedOut:
					a.Late++
				}
			}
			if x.quiet {
				return
			}
			for h := range all.Entities() {
				if a := accounts.Get(h); a.Asked-a.Heard < 3 {
					if _, err := x.call.Go(c, h, a.Asked); err == nil {
						a.Asked++
					}
				}
			}
		}
	})
	var err error
	x.store, err = durable.Open(t.Context(), path, w, x.s, durable.Options{Interval: -1, Sync: sealed, New: func(w *world.World) error {
		return holders.CreateN(w, 4, nil)
	}})
	require.NoError(t, err)
	o := async.PoolOptions{Workers: 4}
	if gate {
		o.Gate = x.store.Wait
	}
	x.pool, err = async.Attach(w, o)
	require.NoError(t, err)
	return x
}

// end ends a bank as a server does.
func (x *bank) end(t *testing.T) {
	require.NoError(t, x.pool.Close(t.Context()))
	x.step(t) // so that what was sent is applied, and heard
	require.NoError(t, x.store.Close())
	x.Close()
}

func (x *bank) step(t *testing.T) { require.NoError(t, x.s.Step(context.Background())) }

// sum returns what all accounts have counted.
func (x *bank) sum() (all Account) {
	accounts := world.Read[Account](x.World)
	for h := range x.Query(world.With[Account](x.World)).Entities() {
		a := accounts.Get(h)
		all = Account{all.Asked + a.Asked, all.Heard + a.Heard, all.Lost + a.Lost, all.Late + a.Late}
	}
	return all
}

// settle has all results told.
func (x *bank) settle(t *testing.T) {
	x.quiet = true
	for x.call.Len() > 0 {
		x.step(t)
		time.Sleep(time.Millisecond)
	}
	x.step(t)
}

// crash copies the directory of a bank, as it would be if the process died now. Only the end of the
// log may change meanwhile: it copies again if a file was added, removed or replaced.
func crash(t *testing.T, path string) string {
	dir := os.DirFS(path)
	for {
		to := filepath.Join(t.TempDir(), "copy")
		before := listing(t, dir)
		err := os.CopyFS(to, dir)
		if !errors.Is(err, fs.ErrNotExist) {
			require.NoError(t, err)
		}
		if err == nil && slices.Equal(before, listing(t, dir)) {
			return to
		}
	}
}

// listing returns the names of a bank's files, and what the one says that is replaced.
func listing(t *testing.T, dir fs.FS) (names []string) {
	entries, err := fs.ReadDir(dir, ".")
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	said, err := fs.ReadFile(dir, "incarnation")
	require.NoError(t, err)
	return append(names, string(said))
}

// TestCrashes lets a bank die at any moment, again and again: each ask has its one result in the
// world that comes back, from the log, the function, which is called again, or as Lost.
func TestCrashes(t *testing.T) {
	lives := 12
	if testing.Short() || check.Enabled {
		lives = 4
	}
	for _, again := range []bool{true, false} {
		dice := rand.New(rand.NewPCG(1, 1))
		path, lost := filepath.Join(t.TempDir(), "bank"), 0
		slow := func(ctx context.Context, n int) (int, error) {
			select {
			case <-time.After(time.Duration(n%5) * time.Millisecond):
			case <-ctx.Done():
			}
			return n, ctx.Err()
		}
		for range lives {
			x := openBank(t, path, again, dice.IntN(2) == 0, slow)
			for range 1 + dice.IntN(40) {
				x.step(t)
				time.Sleep(time.Duration(dice.IntN(1000)) * time.Microsecond)
			}
			if dice.IntN(3) == 0 {
				x.save(t)
				x.step(t)
			}
			died := crash(t, path)
			x.end(t)
			if dice.IntN(3) > 0 {
				path = died
			}
		}
		x := openBank(t, path, again, false, slow)
		x.settle(t)
		all := x.sum()
		require.Equal(t, all.Asked, all.Heard)
		require.Greater(t, all.Asked, lives)
		lost += all.Lost
		require.Equal(t, again, lost == 0, "%+v", all)
		x.end(t)
	}
}

// save saves a snapshot, for which it makes ticks.
func (x *bank) save(t *testing.T) {
	saved := make(chan error, 1)
	go func() { saved <- x.store.Save(context.Background()) }()
	for {
		select {
		case err := <-saved:
			require.NoError(t, err)
			return
		default:
			x.step(t)
		}
	}
}

// TestGateDurable acts outside because of no tick that a crash can lose: with a Gate, with sealed
// ticks, which need none, and with both.
func TestGateDurable(t *testing.T) {
	t.Run("gate", func(t *testing.T) { mustLoseNone(t, true, false) })
	t.Run("sealed", func(t *testing.T) { mustLoseNone(t, false, true) })
	t.Run("gate and sealed", func(t *testing.T) { mustLoseNone(t, true, true) })
}

func mustLoseNone(t *testing.T, gate, sealed bool) {
	path := filepath.Join(t.TempDir(), "bank")
	type effect struct {
		n    int
		path string
	}
	var mu sync.Mutex
	var effects []effect
	x := openSealed(t, path, false, gate, sealed, func(_ context.Context, n int) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		if len(effects) < 20 {
			effects = append(effects, effect{n, crash(t, path)})
		}
		return n, nil
	})
	for range 60 {
		x.step(t)
		time.Sleep(time.Millisecond)
	}
	x.end(t)
	require.Greater(t, len(effects), 10)
	for _, e := range effects {
		back := openSealed(t, e.path, false, gate, sealed, func(_ context.Context, n int) (int, error) { return n, nil })
		most := 0
		accounts := world.Read[Account](back.World)
		for h := range back.Query(world.With[Account](back.World)).Entities() {
			most = max(most, accounts.Get(h).Asked)
		}
		require.Greater(t, most, e.n, "the world that comes back has not asked for what was done")
		back.end(t)
	}
}
