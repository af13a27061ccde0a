package durable_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/internal/files/faulty"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// The components of the tests.
type (
	// Account is what a client pays into. Seq is the last payment: each is made once.
	Account struct {
		Client   int
		Seq, Sum uint64
	}
	// Ship has the number of the create.
	Ship struct{ N uint64 }

	holder struct{ Account }
	fleet  struct{ Ship }
	pay    struct{ Seq, N uint64 }
)

const clientsMax = 3

// bank is a world whose clients pay, and create and destroy ships.
type bank struct {
	*world.World
	s       *scheduler.Scheduler
	account *world.Reader[Account]
	ship    *world.Reader[Ship]
	shipOf  *world.Component[Ship]
	ships   *world.Bundle[fleet]
	pays    *world.Func[pay]
	grant   *world.Transaction[uint64, handle.Handle] // creates a ship
	options durable.Options
}

func newBank(workers int) *bank { return newBankOf(workers, nil) }

// newBankOf makes a bank whose options f changes.
func newBankOf(workers int, f func(*world.Options, *scheduler.Options)) *bank {
	o, s := world.Options{Shards: 3, VersionsEach: 1000, Seed: 3}, scheduler.Options{Workers: workers}
	if f != nil {
		f(&o, &s)
	}
	w := world.MustNew(o)
	accounts := world.Register[Account](w, "account")
	ships := world.Register[Ship](w, "ship")
	x := &bank{World: w, shipOf: ships, account: world.Read[Account](w), ship: world.Read[Ship](w), ships: world.NewBundle[fleet](w)}
	holders := world.NewBundle[holder](w)
	x.pays = world.RegisterFunc(w, "pay", func(self *world.EntityContext, p pay) {
		if a := accounts.Write(self); a.Seq+1 == p.Seq {
			a.Seq, a.Sum = p.Seq, a.Sum+p.N
		}
	})
	x.grant = world.RegisterTransaction(w, "grant", func(tx *world.Tx, n uint64) (handle.Handle, error) {
		return x.ships.Create(tx, fleet{Ship{n}})
	})
	x.s = scheduler.New(w, s)
	x.s.MustAdd("drift", func(b *world.Build) func(*world.Context) {
		ships := b.Query(world.With[Ship](b))
		b.Creates(x.ships)
		return func(c *world.Context) {
			if n := ships.Count(); n > 0 && c.Rand().IntN(4) == 0 && n < 300 {
				_, _ = x.ships.Create(c, fleet{Ship{c.Rand().Uint64() | 1<<63}})
			}
		}
	})
	x.options = durable.Options{
		Interval: -1,
		New: func(w *world.World) error {
			for i := range clientsMax {
				if _, err := holders.Create(w, holder{Account{Client: i}}); err != nil {
					return err
				}
			}
			return nil
		},
		Snapshot: snapshot.Options{Compression: snapshot.None},
	}
	return x
}

// open opens a bank of a directory.
func (x *bank) open(path string) (*durable.Store, error) {
	return durable.Open(context.Background(), path, x.World, x.s, x.options)
}

// accounts returns the accounts by client.
func (x *bank) accounts() (all [clientsMax]handle.Handle) {
	for rows := range x.Query(world.With[Account](x.World)).Chunks() {
		for _, h := range rows.Handles() {
			all[x.account.Get(h).Client] = h
		}
	}
	return all
}

// useDisk makes the packages use a disk in place of the files of a directory.
func useDisk(t *testing.T) (path string, disk *faulty.Disk) {
	path, disk = t.TempDir(), faulty.New()
	useAs(t, path, func() files.Files { return disk })
	return path, disk
}

func useAs(t *testing.T, path string, disk func() files.Files) {
	old := files.Of
	files.Of = func(p string) files.Files {
		if p == path {
			return disk()
		}
		return old(p)
	}
	t.Cleanup(func() { files.Of = old })
}

// mustRefuse reports whether all ticks are sealed, and checks that the idle world then refuses a change,
// which no log would have.
func mustRefuse(t testing.TB, change func()) (sealed bool) {
	t.Helper()
	if sealed = durable.Sealed; sealed {
		defer func() {
			t.Helper()
			require.Contains(t, fmt.Sprint(recover()), "cannot be changed while ticks are sealed")
		}()
		change()
	}
	return sealed
}

// add creates a ship between two ticks: on the idle world, or by a transaction and a tick where ticks
// are sealed.
func (x *bank) add(t *testing.T, n uint64) handle.Handle {
	t.Helper()
	if !mustRefuse(t, func() { _, _ = x.ships.Create(x.World, fleet{Ship{n}}) }) {
		h, err := x.ships.Create(x.World, fleet{Ship{n}})
		require.NoError(t, err)
		return h
	}
	p, err := x.OpenPort()
	require.NoError(t, err)
	var made world.Answer[handle.Handle]
	require.NoError(t, x.grant.Send(p, n, &made))
	p.Close()
	x.step(t)
	h, err := made.Get(t.Context())
	require.NoError(t, err)
	return h
}

// observe returns all that can be seen of the entities.
func (x *bank) observe() string {
	var all []string
	for h := range x.Query(world.With[Account](x.World)).Entities() {
		all = append(all, fmt.Sprint(h, *x.account.Get(h)))
	}
	for h := range x.Query(world.With[Ship](x.World)).Entities() {
		all = append(all, fmt.Sprint(h, *x.ship.Get(h)))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

func (x *bank) step(t *testing.T) {
	t.Helper()
	require.NoError(t, x.s.Step(context.Background()))
}
