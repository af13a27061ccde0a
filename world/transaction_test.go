package world_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// Pay is the argument of a transaction: points go from one entity to another.
type Pay struct {
	From, To handle.Handle
	Points   int64
}

var errPoor = errors.New("too few points")

// registerPay makes the transaction. It returns what the payer has left.
func (f *fixture) registerPay() *world.Transaction[Pay, int64] {
	return world.RegisterTransaction(f.World, "pay", func(tx *world.Tx, p Pay) (int64, error) {
		from, to := f.health.Edit(tx, p.From), f.health.Edit(tx, p.To)
		if from == nil || to == nil {
			return 0, world.ErrStale
		}
		from.Points -= p.Points
		to.Points += p.Points
		if from.Points < 0 {
			return 0, errPoor
		}
		return from.Points, nil
	})
}

// doingIn registers a transaction that runs code.
func (f *fixture) doingIn() *world.Transaction[func(*world.Tx) error, int] {
	return world.RegisterTransaction(f.World, "do all", func(tx *world.Tx, run func(*world.Tx) error) (int, error) { return 7, run(tx) })
}

// TestTransaction pays by a port: both are paid, or nothing is left of it.
func TestTransaction(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 3})
	pay := f.registerPay()
	a, b, p := f.newUnit(10), f.newUnit(1), f.port()
	var left [3]world.Answer[int64]
	require.NoError(t, pay.Send(p, Pay{a, b, 4}, &left[0]))
	require.NoError(t, pay.Send(p, Pay{a, b, 7}, &left[1]))
	require.NoError(t, pay.Send(p, Pay{b, b, 5}, &left[2]))
	f.Refresh()
	require.NoError(t, f.Failure())
	v, err := left[0].Get(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 6, v)
	_, err = left[1].Get(t.Context())
	require.Equal(t, errPoor, err)
	require.Equal(t, world.Refused, left[1].Outcome())
	v, err = left[2].Get(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 5, v, "to itself: nothing is made")
	f.mustHave(6)(a)
	f.mustHave(5)(b)
}

// TestTransactionAsk waits for what is asked.
func TestTransactionAsk(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	pay := f.registerPay()
	a, b, p := f.newUnit(10), f.newUnit(0), f.port()
	done := make(chan error)
	go func() {
		_, err := pay.Ask(context.Background(), p, Pay{a, b, 3})
		done <- err
	}()
	for {
		f.Refresh()
		select {
		case err := <-done:
			require.NoError(t, err)
			f.mustHave(7)(a)
			f.mustHave(3)(b)
			return
		default:
			runtime.Gosched()
		}
	}
}

// TestTransactionDoes does everything in one transaction that is applied, and in one that fails.
func TestTransactionDoes(t *testing.T) {
	for _, fails := range []bool{true, false} {
		f := newFixture(t, world.Options{Shards: 3})
		do := f.doingIn()
		rules := world.RegisterResource(f.World, "rules", Health{5})
		hs, p := f.newUnits(20), f.port()
		var made, copied handle.Handle
		script := func(tx *world.Tx) error {
			var err error
			require.NoError(t, f.health.Set(tx, hs[0], Health{100}))
			v, ok := f.health.Get(tx, hs[0])
			require.True(t, ok)
			require.Equal(t, Health{100}, v)
			made, err = f.creature.Create(tx, Creature{Position{1, 2}, Health{3}, Name{"new"}})
			require.NoError(t, err)
			require.True(t, tx.Alive(made))
			require.False(t, f.World.Alive(made), "nobody else sees it")
			f.name.Edit(tx, made).Text = "newer"
			require.NoError(t, f.velocity.Add(tx, made, Velocity{9, 9}))
			require.NoError(t, f.position.Remove(tx, made))
			require.False(t, tx.Has(made, f.position))
			copied, err = world.Copy(tx, made)
			require.NoError(t, err)
			name, _ := f.name.Get(tx, copied)
			require.Equal(t, "newer", name.Text)
			require.NoError(t, f.position.Add(tx, hs[1], Position{4, 4}))
			require.NoError(t, f.mover.Add(tx, hs[2], Mover{Position{5, 5}, Velocity{6, 6}}, f.health))
			require.NoError(t, tx.Destroy(hs[3]))
			require.NoError(t, tx.Destroy(hs[3]))
			require.Equal(t, world.Dying, tx.Status(hs[3]))
			require.ErrorIs(t, f.health.Set(tx, hs[3], Health{}), world.ErrStale)
			require.ErrorIs(t, f.position.Set(tx, hs[4], Position{}), world.ErrMissing)
			require.NoError(t, world.AddFlags(tx, hs[5], 2))
			require.EqualValues(t, 2, world.FlagsOf(tx, hs[5]))
			require.NoError(t, world.Move(tx, hs[6], 2))
			require.NoError(t, f.hit.Send(tx, hs[7], Hit{8}))
			rules.Edit(tx).Points++
			require.NoError(t, f.unit.CreateN(tx, 3, func(i int, u *Unit) { u.Points = int64(i) }))
			tx.Rand().Uint64()
			if fails {
				return errPoor
			}
			return nil
		}
		before := f.Count()
		next, err := f.unit.Create(f.World, Unit{}) // takes a handle
		require.NoError(t, err)
		require.True(t, f.World.Destroy(next))
		var done world.Completion
		require.NoError(t, do.Call(p.Notify(&done), script))
		f.Refresh()
		require.NoError(t, f.Failure())
		if fails {
			require.Equal(t, world.Refused, done.Outcome())
			require.Equal(t, before, f.Count())
			require.False(t, f.World.Alive(made))
			require.EqualValues(t, 5, rules.Get().Points)
			require.EqualValues(t, 0, world.FlagsOf(f.World, hs[5]))
			f.mustHave(0)(hs[0])
			f.mustHave(3)(hs[3])
			continue
		}
		require.Equal(t, world.Applied, done.Outcome())
		require.Equal(t, before-1+2+3, f.Count())
		for _, h := range []handle.Handle{made, copied} {
			require.True(t, f.World.Has(h, f.velocity))
			require.False(t, f.World.Has(h, f.position))
			require.Equal(t, "newer", world.Read[Name](f.World).Get(h).Text)
		}
		require.False(t, f.World.Alive(hs[3]))
		require.True(t, f.World.Has(hs[2], f.mover))
		require.False(t, f.World.Has(hs[2], f.health))
		require.EqualValues(t, 2, world.FlagsOf(f.World, hs[5]))
		at, _ := f.Owner(hs[6])
		require.Equal(t, 2, at)
		require.EqualValues(t, 6, rules.Get().Points)
	}
}

// TestTransactionPanics panics, calls Goexit, and fails within another: the world goes on.
func TestTransactionPanics(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	do := f.doingIn()
	a, p := f.newUnit(1), f.port()
	set := func(points int64) func(tx *world.Tx) error {
		return func(tx *world.Tx) error { return f.health.Set(tx, a, Health{points}) }
	}
	var answers [5]world.Answer[int]
	for i, run := range []func(tx *world.Tx) error{
		set(2),
		func(tx *world.Tx) error { _ = set(3)(tx); panic("no") },
		func(tx *world.Tx) error { _ = set(4)(tx); runtime.Goexit(); return nil },
		func(tx *world.Tx) error {
			_ = set(5)(tx)
			_, err := do.Run(tx, func(*world.Tx) error { return errPoor })
			require.Equal(t, errPoor, err)
			require.Equal(t, errPoor, set(6)(tx))
			return nil
		},
		func(tx *world.Tx) error {
			v, _ := f.health.Get(tx, a)
			require.EqualValues(t, 2, v.Points)
			n, err := do.Run(tx, set(v.Points+10))
			require.Equal(t, 7, n)
			return err
		},
	} {
		require.NoError(t, do.Send(p, run, &answers[i]))
	}
	f.Refresh()
	for i, want := range []world.Outcome{world.Applied, world.Failed, world.Failed, world.Refused, world.Applied} {
		require.Equal(t, want, answers[i].Outcome(), i)
	}
	require.ErrorContains(t, f.Failure(), `world: transaction "do all" panicked, at the end of tick 0: no`)
	_, err := answers[1].Get(t.Context())
	require.ErrorIs(t, err, world.ErrFailed)
	var e *world.PanicError
	require.ErrorAs(t, err, &e)
	require.Equal(t, "transaction", e.In)
	f.mustHave(12)(a)
}

// TestTransactionLimits reaches each limit: the transaction fails with it, and nothing is left.
func TestTransactionLimits(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	type Large struct{ Bytes [1024]byte }
	type Big struct{ Large }
	world.Register[Large](f.World, "large")
	big := world.NewBundle[Big](f.World)
	do := f.doingIn()
	a := f.newUnit(1)
	for want, run := range map[string]func(tx *world.Tx){
		"4096 entities": func(tx *world.Tx) { _ = f.unit.CreateN(tx, 5000, nil) },
		"1048576 bytes": func(tx *world.Tx) {
			_ = big.CreateN(tx, 2000, nil)
		},
		"65536 calls": func(tx *world.Tx) {
			for range 70_000 {
				f.health.Get(tx, a)
			}
		},
	} {
		before := f.Count()
		_, err := do.Run(f.World, func(tx *world.Tx) error {
			require.NoError(t, f.health.Set(tx, a, Health{2}))
			run(tx)
			require.ErrorIs(t, f.health.Set(tx, a, Health{3}), world.ErrTx)
			return nil
		})
		require.ErrorIs(t, err, world.ErrTx)
		require.ErrorContains(t, err, want)
		require.Equal(t, before, f.Count())
		f.mustHave(1)(a)
	}
}

// TestTransactionMarked has a transaction look at an entity that an earlier request has destroyed.
func TestTransactionMarked(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	do := f.doingIn()
	a, p := f.newUnit(3), f.port()
	var answer world.Answer[int]
	require.NoError(t, do.Send(p, func(tx *world.Tx) error {
		v, ok := f.health.Get(tx, a)
		require.True(t, ok)
		require.EqualValues(t, 3, v.Points)
		require.Equal(t, world.Dying, tx.Status(a))
		require.Nil(t, f.health.Edit(tx, a))
		require.ErrorIs(t, f.health.Set(tx, a, Health{}), world.ErrStale)
		require.ErrorIs(t, f.frozen.Add(tx, a, Frozen{}), world.ErrStale)
		require.ErrorIs(t, f.hit.Send(tx, a, Hit{}), world.ErrStale)
		require.ErrorIs(t, tx.Destroy(a), world.ErrStale)
		return nil
	}, &answer))
	require.NoError(t, p.Destroy(a)) // sent later, and applied before
	f.Refresh()
	require.Equal(t, world.Applied, answer.Outcome())
}

// TestTransactionCleared runs a transaction in a Clear, and in a Close: what it makes dies, too.
func TestTransactionCleared(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	do := f.doingIn()
	f.newUnits(5)
	p := f.port()
	make := func(tx *world.Tx) error {
		_, err := f.unit.Create(tx, Unit{})
		return err
	}
	require.NoError(t, do.Call(p, make))
	f.Clear()
	require.Zero(t, f.Count())
	var answer world.Answer[int]
	require.NoError(t, do.Send(p, make, &answer))
	f.Close()
	require.Equal(t, world.Closed, answer.Outcome())
}

// TestTransactionRecovers recovers what panicked within: the transaction fails all the same.
func TestTransactionRecovers(t *testing.T) {
	type Sheet struct{ Cells []int }
	type Paper struct{ Sheet }
	f := newFixture(t, world.Options{})
	sheet := world.Register[Sheet](f.World, "sheet").CloneBy(func(_, _ *Sheet) { panic("no copy") })
	paper, err := world.NewBundle[Paper](f.World).Create(f.World, Paper{Sheet{[]int{1}}})
	require.NoError(t, err)
	do := f.doingIn()
	a := f.newUnit(1)
	try := func(run func()) {
		defer func() { _ = recover() }()
		run()
	}
	for _, run := range []func(tx *world.Tx){
		func(tx *world.Tx) {
			_, _ = do.Run(tx, func(tx *world.Tx) error { _ = f.health.Set(tx, a, Health{2}); panic("no") })
		},
		func(tx *world.Tx) { sheet.Edit(tx, paper) },
		func(tx *world.Tx) { _, _ = world.Copy(tx, paper) },
	} {
		err := do.Call(f.World, func(tx *world.Tx) error { try(func() { run(tx) }); return nil })
		require.ErrorIs(t, err, world.ErrFailed)
		f.mustHave(1)(a)
		require.Equal(t, 2, f.Count())
		require.Equal(t, []int{1}, world.Read[Sheet](f.World).Get(paper).Cells)
	}
}

// TestTransactionsAtOnce has many goroutines trade: no point is lost or made.
func TestTransactionsAtOnce(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 4, QueueRequests: 16})
	pay := f.registerPay()
	hs := f.newUnits(40)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			p, err := f.OpenPort()
			if !assert.NoError(t, err) {
				return
			}
			defer p.Close()
			dice := rand.New(rand.NewPCG(1, uint64(i)))
			for range 100 {
				_, err := pay.Ask(t.Context(), p, Pay{hs[dice.IntN(40)], hs[dice.IntN(40)], dice.Int64N(20)})
				assert.True(t, err == nil || errors.Is(err, errPoor), err)
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	for over := false; !over; {
		f.Refresh()
		select {
		case <-done:
			over = true
		default:
		}
	}
	sum, health := int64(0), world.Read[Health](f.World)
	for _, h := range hs {
		require.GreaterOrEqual(t, health.Get(h).Points, int64(0))
		sum += health.Get(h).Points
	}
	require.EqualValues(t, 40*39/2, sum)
}
