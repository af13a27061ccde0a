package durable_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/internal/files/faulty"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/world"
)

var lives = flag.Int("lives", 25, "processes of TestCrashes")

// book is what clients know of a bank, whatever process it was.
type book struct {
	t      *testing.T
	dice   *rand.Rand
	given  map[handle.Handle]uint64 // every handle, and what for
	kept   []handle.Handle          // ships that a client was told to be durable, and has not destroyed
	safe   [clientsMax]uint64       // the last payment that a client was told to be durable
	seen   map[uint64][]string      // by tick, of the present course of events
	number uint64
}

// amount is what a client pays with its n-th payment.
func amount(client int, n uint64) uint64 { return n*7 + uint64(client) }

// check compares a bank that was opened with the book.
func (b *book) check(x *bank, st *durable.Store, what string) (paid [clientsMax]uint64) {
	b.t.Helper()
	unseen := durable.Sealed && b.seen[x.Tick()] == nil && b.seen[x.Tick()-1] != nil // its log was written, and then failed
	if b.seen != nil && !unseen {
		require.Contains(b.t, b.seen[x.Tick()], x.observe(), what)
	}
	for h, n := range b.given {
		if x.Alive(h) {
			require.Equal(b.t, n, x.ship.Get(h).N, "%s: %v names another ship", what, h)
		} else {
			require.NotEqual(b.t, world.Unused, x.Status(h), "%s: %v is given again", what, h)
		}
	}
	for _, h := range b.kept {
		require.True(b.t, x.Alive(h), "%s: ship %v is lost", what, h)
	}
	for client, h := range x.accounts() {
		a := x.account.Get(h)
		require.GreaterOrEqual(b.t, a.Seq, b.safe[client], "%s: a payment is lost", what)
		sum := uint64(0)
		for n := uint64(1); n <= a.Seq; n++ {
			sum += amount(client, n)
		}
		require.Equal(b.t, sum, a.Sum, "%s: a payment was made twice, or not at all", what)
		paid[client] = a.Seq
	}
	require.Equal(b.t, x.Incarnation(), st.Recovered().Incarnation)
	return paid
}

// see notes what can be seen of a bank: at one tick it may change.
func (b *book) see(x *bank) { b.seen[x.Tick()] = append(b.seen[x.Tick()], x.observe()) }

// change changes the idle bank, by what no log has.
func (b *book) change(x *bank, ships []handle.Handle) []handle.Handle {
	t := b.t
	if durable.Sealed { // only ticks change it
		if x.Refresh(); x.Err() == nil {
			b.see(x)
		}
		return ships
	}
	switch f := func(*world.World) {
		b.number++
		h, err := x.ships.Create(x.World, fleet{Ship{b.number}})
		require.NoError(t, err)
		require.NotContains(t, b.given, h)
		b.given[h] = b.number
		ships = append(ships, h)
		b.see(x)
	}; b.dice.IntN(4) {
	case 0:
		f(x.World)
	case 1: // before the next tick, with what else waits
		x.s.Between(f)
	case 2:
		x.Refresh() // a tick without systems
		b.see(x)
		f(x.World)
	case 3:
		if n := len(ships); n > 0 && x.Destroy(ships[n-1]) {
			ships, b.kept = ships[:n-1], nil
		}
	}
	return ships
}

// step makes a tick. Where ticks are sealed it returns false if the log cannot be written, so that
// the world is closed.
func (b *book) step(x *bank) bool {
	b.t.Helper()
	if err := x.s.Step(context.Background()); err != nil && durable.Sealed {
		require.ErrorIs(b.t, err, world.ErrClosed)
		require.ErrorIs(b.t, err, durable.ErrFailed)
		return false
	} else {
		require.NoError(b.t, err)
	}
	b.see(x)
	return true
}

// live lets clients of a bank send requests for some ticks.
func (b *book) live(x *bank, st *durable.Store, paid [clientsMax]uint64, saves bool) {
	t := b.t
	port, err := x.OpenPort()
	require.NoError(t, err)
	accounts, sent := x.accounts(), paid
	var ships []handle.Handle // alive, or to be
	for h := range x.Query(world.With[Ship](x.World)).Entities() {
		if _, own := b.given[h]; own {
			ships = append(ships, h)
		}
	}
	if b.seen == nil {
		b.seen = map[uint64][]string{}
	}
	b.see(x)
	var saved chan error
	for range 1 + b.dice.IntN(10) {
		for range b.dice.IntN(12) {
			switch client := b.dice.IntN(clientsMax); b.dice.IntN(3) {
			case 0:
				sent[client]++
				require.NoError(t, x.pays.Call(port, accounts[client], pay{sent[client], amount(client, sent[client])}))
			case 1:
				b.number++
				h, err := x.ships.Create(port, fleet{Ship{b.number}})
				require.NoError(t, err)
				require.NotContains(t, b.given, h)
				b.given[h] = b.number
				ships = append(ships, h)
			case 2:
				if n := len(ships); n > 0 {
					k := b.dice.IntN(n)
					require.NoError(t, port.Destroy(ships[k]))
					ships[k] = ships[n-1]
					ships = ships[:n-1]
					b.kept = nil // until the next time that all is durable
				}
			}
		}
		if saves && b.dice.IntN(5) == 0 {
			ships = b.change(x, ships)
		}
		if saves && saved == nil && b.dice.IntN(4) == 0 {
			saved = make(chan error, 1)
			go func() { saved <- st.Save(context.Background()) }()
		}
		if b.dice.IntN(8) == 0 {
			break // the end comes before the refresh
		}
		if !b.step(x) {
			return
		}
		if b.dice.IntN(3) == 0 && st.Wait(context.Background()) == nil {
			require.GreaterOrEqual(t, st.Durable(), x.Tick())
			b.safe, b.kept = sent, append(b.kept[:0], ships...)
		}
	}
	for saved != nil && b.dice.IntN(2) == 0 {
		select {
		case <-saved:
			saved = nil
		default:
			if !b.step(x) {
				return
			}
		}
	}
	if b.dice.IntN(2) == 0 {
		port.Close()
	}
}

// TestCrashes lets a bank die again and again, by the end of its process, by a loss of power, or by
// being closed: nothing that was told durable is lost or done twice, and no handle names two ships.
func TestCrashes(t *testing.T) {
	seed := seed.Of(t)
	path, disk := useDisk(t)
	b := &book{t: t, dice: rand.New(rand.NewPCG(seed, 0)), given: map[handle.Handle]uint64{}}
	if testing.Short() || check.Enabled {
		*lives = min(*lives, 12)
	}
	for n := range *lives {
		x := newBank(1 + b.dice.IntN(3))
		x.options.Increments = b.dice.IntN(4)
		st, err := x.open(path)
		what := fmt.Sprintf("life %d", n)
		require.NoError(t, err, what)
		require.Equal(t, n == 0, st.Recovered().New)
		paid := b.check(x, st, what)
		b.seen = nil
		b.live(x, st, paid, true)
		switch b.dice.IntN(4) {
		case 0:
			x.step(t)
			b.see(x)
			require.NoError(t, st.Close())
			require.NoError(t, st.Close())
			require.ErrorIs(t, st.Save(context.Background()), durable.ErrClosed)
		case 1:
			disk.PowerOff()
			fallthrough
		default:
			st.Crash()
			disk.Reboot()
		}
	}
}

// TestFaultyDisk lets each call of a store fail, or the power go.
func TestFaultyDisk(t *testing.T) {
	first, stride := 1, 1
	switch {
	case check.Enabled: // other calls with another seed
		if stride = 61; testing.Short() {
			stride = 127
		}
		first += int(seed.Of(t) % uint64(stride))
	case testing.Short():
		stride = 9
	}
	for _, fault := range faulty.Faults {
		missed := 0 // calls in a row that no life came to
		for at := first; missed < 5; at += stride {
			what := fmt.Sprintf("%s at call %d", fault.Name, at)
			path, disk := useDisk(t)
			b := &book{t: t, dice: rand.New(rand.NewPCG(uint64(at), 0)), given: map[handle.Handle]uint64{}}
			reached := false
			for life := range 3 {
				if life == 1 {
					disk.FailAt(at, fault)
				}
				x := newBank(2)
				x.options.Increments = at % 3
				st, err := x.open(path)
				if err == nil {
					paid := b.check(x, st, what)
					b.seen = nil
					b.live(x, st, paid, true)
					if life == 1 && at%2 == 0 {
						_ = st.Close()
					} else {
						st.Crash()
					}
				} else {
					require.ErrorIs(t, err, faulty.ErrDisk, what)
					require.Equal(t, 1, life, what)
				}
				if life == 1 {
					reached = disk.Calls() >= at
				}
				disk.Reboot()
			}
			if missed++; reached {
				missed = 0
			}
		}
	}
}

// TestFaultyOpen lets each call of an Open fail, behind a Close and behind a crash: that is an error of
// the disk, and no damage.
func TestFaultyOpen(t *testing.T) {
	for _, closed := range []bool{false, true} {
		path, disk := useDisk(t)
		x := newBank(1)
		st, err := x.open(path)
		require.NoError(t, err)
		x.saves(t, st, 1)
		x.step(t)
		if closed {
			require.NoError(t, st.Close())
		} else {
			require.NoError(t, st.Wait(t.Context()))
			st.Crash()
		}
		for at := 1; ; at++ {
			copied := disk.Clone()
			useAs(t, path, func() files.Files { return copied })
			copied.FailAt(at, faulty.Faults[0])
			y := newBank(1)
			st, err := y.open(path)
			if err == nil {
				require.Equal(t, x.observe(), y.observe(), "call %d", at)
				st.Crash()
			} else {
				require.ErrorIs(t, err, faulty.ErrDisk, "call %d", at)
				require.NotErrorIs(t, err, durable.ErrDamaged, "call %d", at)
			}
			if copied.Calls() < at {
				break
			}
		}
	}
}
