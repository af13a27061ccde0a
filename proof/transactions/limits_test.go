package transactions_test

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/world"
)

// trying registers a transaction that runs code.
func (x *scene) trying() func(run func(tx *world.Tx) error) error {
	try := world.RegisterTransaction(x.World, "try", func(tx *world.Tx, run func(tx *world.Tx) error) (int, error) { return 0, run(tx) })
	return func(run func(tx *world.Tx) error) error { return try.Call(x.World, run) }
}

// TestLimits reaches each limit exactly, which succeeds, and then goes one over it, which fails and
// leaves nothing.
func TestLimits(t *testing.T) {
	for name, test := range map[string]struct {
		most int // so many calls succeed
		call func(x *scene, tx *world.Tx, hs []handle.Handle, i int) error
	}{
		"entities created": {engine.TxEntitiesMax, func(x *scene, tx *world.Tx, _ []handle.Handle, _ int) error {
			_, err := x.player.Create(tx, Player{})
			return err
		}},
		"entities changed": {engine.TxEntitiesMax, func(x *scene, tx *world.Tx, hs []handle.Handle, i int) error {
			return x.purse.Set(tx, hs[i], Purse{1})
		}},
		"entities named": {engine.TxEntitiesMax, func(x *scene, tx *world.Tx, hs []handle.Handle, i int) error {
			return x.names.Bind(tx, hs[i], fmt.Sprint("name ", i))
		}},
		"entities with a parent": {engine.TxEntitiesMax - 1, func(x *scene, tx *world.Tx, hs []handle.Handle, i int) error {
			return x.kin.AddChild(tx, hs[0], hs[i+1])
		}},
		"bytes of messages": {engine.TxBytesMax / 24, func(x *scene, tx *world.Tx, hs []handle.Handle, _ int) error {
			return x.ring.Send(tx, hs[0], Ring{1})
		}},
		"bytes of broadcasts": {engine.TxBytesMax / 24 / 3, func(x *scene, tx *world.Tx, _ []handle.Handle, _ int) error {
			return x.ring.Broadcast(tx, Ring{1})
		}},
		"bytes of timers": {engine.TxBytesMax / 72, func(x *scene, tx *world.Tx, hs []handle.Handle, i int) error {
			_, err := x.timers.After(tx, hs[0], i, Ring{1})
			return err
		}},
		"bytes of names": {engine.TxBytesMax / (64 + 16), func(x *scene, tx *world.Tx, hs []handle.Handle, i int) error {
			return x.names.Bind(tx, hs[0], fmt.Sprintf("%016d", i))
		}},
		"calls": {engine.TxCallsMax, func(x *scene, tx *world.Tx, hs []handle.Handle, _ int) error {
			return tx.Destroy(hs[0])
		}},
		"calls that read": {engine.TxCallsMax - 1, func(x *scene, tx *world.Tx, hs []handle.Handle, i int) error {
			if i < engine.TxCallsMax-1 {
				tx.Alive(hs[0])
				return nil
			}
			tx.Tick()
			return tx.Destroy(hs[0])
		}},
	} {
		t.Run(name, func(t *testing.T) {
			x := newScene(t, 1)
			defer x.Close()
			hs, err := x.player.AppendN(nil, x.World, engine.TxEntitiesMax+2, nil)
			require.NoError(t, err)
			try := x.trying()
			var last error
			times := func(n int) func(tx *world.Tx) error {
				return func(tx *world.Tx) error {
					for i := range n {
						if last = test.call(x, tx, hs, i); last != nil {
							require.Equal(t, test.most, i)
						}
					}
					return nil
				}
			}
			before := x.hash()
			require.ErrorIs(t, try(times(test.most+1)), world.ErrTx)
			require.ErrorIs(t, last, world.ErrTx)
			require.Equal(t, before, x.hash(), "nothing is left")
			require.NoError(t, try(times(test.most)))
			require.NoError(t, last)
			require.NoError(t, x.s.Step(t.Context()))
		})
	}
}

// TestEnded uses a Tx, and a Reader of one, after the transaction, and a Tx of no world.
func TestEnded(t *testing.T) {
	x := newScene(t, 1)
	defer x.Close()
	var kept *world.Tx
	var reader *names.Reader[string]
	require.NoError(t, x.trying()(func(tx *world.Tx) error { kept, reader = tx, x.names.Read(tx); return nil }))
	before := x.hash()
	for i, call := range []func(){
		func() { kept.Alive(x.hs[0]) },
		func() { kept.Tick() },
		func() { reader.Lookup("one") },
		func() { reader.NameOf(x.hs[0]) },
		func() { kept.Status(x.hs[0]) },
		func() { kept.Has(x.hs[0], x.purse) },
		func() { kept.Owner(x.hs[0]) },
		func() { _ = kept.Destroy(x.hs[0]) },
		func() { kept.Rand() },
		func() { x.purse.Get(kept, x.hs[0]) },
		func() { x.purse.Edit(kept, x.hs[0]) },
		func() { _ = x.purse.Set(kept, x.hs[0], Purse{1}) },
		func() { _ = x.purse.Remove(kept, x.hs[0]) },
		func() { _, _ = x.player.Create(kept, Player{}) },
		func() { _, _ = world.Copy(kept, x.hs[0]) },
		func() { _ = world.Move(kept, x.hs[0], 1) },
		func() { _ = world.AddFlags(kept, x.hs[0], 1) },
		func() { _ = x.ring.Send(kept, x.hs[0], Ring{1}) },
		func() { _ = x.names.Bind(kept, x.hs[0], "late") },
		func() { x.kin.Read(kept) },
		func() { _ = x.kin.AddChild(kept, x.hs[0], x.hs[1]) },
		func() { _, _ = x.timers.After(kept, x.hs[0], 1, Ring{1}) },
	} {
		require.Contains(t, fmt.Sprint(panicIn(call)), `after transaction "try" returned`, i)
	}
	require.Equal(t, before, x.hash())
	var none *world.Tx
	for name, call := range map[string]func(){
		"Tx.Alive":   func() { none.Alive(x.hs[0]) },
		"Tx.Tick":    func() { none.Tick() },
		"Tx.Status":  func() { none.Status(x.hs[0]) },
		"Tx.Has":     func() { none.Has(x.hs[0], x.purse) },
		"Tx.Owner":   func() { none.Owner(x.hs[0]) },
		"Tx.Destroy": func() { _ = none.Destroy(x.hs[0]) },
		"Tx.Rand":    func() { none.Rand() },
	} {
		require.Equal(t, "world: "+name+" of a nil Tx; pass the one that the transaction is given", panicIn(call))
	}
	none = new(world.Tx)
	require.Equal(t, "world: Tx.Alive of an empty Tx; pass the one that the transaction is given", panicIn(func() { none.Alive(x.hs[0]) }))
}

// panicIn returns what a call panics with.
func panicIn(call func()) (v any) {
	defer func() { v = recover() }()
	call()
	return nil
}

// TestCopyTakenAway has a CloneBy take away a component that Copy has still to copy.
func TestCopyTakenAway(t *testing.T) {
	type Coat struct{ Size int }
	type Zip struct{ Open bool }
	type Dressed struct {
		Coat
		Zip
	}
	w := world.MustNew(world.Options{})
	defer w.Close()
	var under *world.Tx
	var h handle.Handle
	coat, zip := world.Register[Coat](w, "coat"), world.Register[Zip](w, "zip")
	coat.CloneBy(func(to, from *Coat) {
		*to = *from
		if under != nil {
			require.NoError(t, zip.Remove(under, h))
		}
	})
	zip.CloneBy(func(to, from *Zip) { *to = *from })
	h, err := world.NewBundle[Dressed](w).Create(w, Dressed{Coat{3}, Zip{true}})
	require.NoError(t, err)
	dress := world.RegisterTransaction(w, "copy", func(tx *world.Tx, _ int) (handle.Handle, error) {
		under = tx
		defer func() { under = nil }()
		return world.Copy(tx, h)
	})
	_, err = dress.Run(w, 0)
	require.ErrorIs(t, err, world.ErrFailed)
	require.ErrorContains(t, err, `a CloneBy has taken away component "zip"`)
	require.True(t, w.Has(h, zip))
	require.Equal(t, 1, w.Count())
}

// TestWork has transactions do for long what they may do often: long values, long lists. Each fails
// long before it has done that as often as short things, and leaves nothing.
func TestWork(t *testing.T) {
	type Long struct{ Bytes [1 << 16]byte }
	for name, test := range map[string]struct {
		below int
		call  func(x *scene, tx *world.Tx, long *world.Component[Long], hs []handle.Handle, i int) error
	}{
		"sets": {1100, func(_ *scene, tx *world.Tx, long *world.Component[Long], hs []handle.Handle, _ int) error {
			if long.Edit(tx, hs[0]) == nil { // which copies the value once
				return world.ErrTx
			}
			return long.Set(tx, hs[0], Long{})
		}},
		"sorts": {100, func(x *scene, tx *world.Tx, _ *world.Component[Long], hs []handle.Handle, _ int) error {
			return x.kin.Sort(tx, hs[0], func(a, b handle.Handle) int { return b.Compare(a) })
		}},
		"gaps": {4000, func(x *scene, tx *world.Tx, _ *world.Component[Long], hs []handle.Handle, i int) error {
			if err := x.kin.RemoveChild(tx, hs[1+i%1000], hierarchy.Close); err != nil {
				return err
			}
			x.kin.Read(tx).Children(hs[0])
			return x.kin.AddChild(tx, hs[0], hs[1+i%1000])
		}},
		"first places": {2000, func(x *scene, tx *world.Tx, _ *world.Component[Long], hs []handle.Handle, i int) error {
			return x.kin.MoveAt(tx, hs[1+i%1000], hs[0], 0)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			x := newScene(t, 1)
			defer x.Close()
			long := world.Register[Long](x.World, "long")
			hs, err := x.player.AppendN(nil, x.World, 20_001, nil)
			require.NoError(t, err)
			require.NoError(t, long.Add(x.World, hs[0], Long{}))
			require.NoError(t, x.kin.AddChildren(x.World, hs[0], hs[1:]...))
			try, before, last := x.trying(), x.hash(), 0
			err = try(func(tx *world.Tx) error {
				for i := range engine.TxCallsMax / 8 {
					if err := test.call(x, tx, long, hs, i); err != nil {
						last = i
						return err
					}
				}
				return nil
			})
			require.ErrorIs(t, err, world.ErrTx)
			require.Less(t, last, test.below)
			require.Greater(t, last, test.below/10)
			require.Equal(t, before, x.hash())
		})
	}
}

// TestPortCalls sends more transactions by a port than a refresh runs, and some by another. Those that
// are refused have done nothing, and may be sent again; a replay refuses the same ones.
func TestPortCalls(t *testing.T) {
	const sent, each, exits = 40, 60_000, 59_999 // one ends its goroutine
	const done = engine.TxPortCallsMax/(each+2) + 1
	var log bytes.Buffer
	newBusy := func(workers int) (*scene, *world.Transaction[int, int]) {
		x := newScene(t, workers)
		return x, world.RegisterTransaction(x.World, "busy", func(tx *world.Tx, n int) (int, error) {
			for range n {
				tx.Alive(x.hs[0])
			}
			if n == exits {
				runtime.Goexit()
			}
			_, err := x.player.Create(tx, Player{})
			return n, err
		})
	}
	x, busy := newBusy(1)
	recorder, err := inputlog.NewRecorder(x.World, &log, inputlog.Options{Codecs: codecs()})
	require.NoError(t, err)
	port, err := x.OpenPort()
	require.NoError(t, err)
	other, err := x.OpenPort()
	require.NoError(t, err)
	before := x.Count()
	for range 2 {
		answers := make([]world.Answer[int], sent+1)
		for i := range sent {
			n := each
			if i == 7 {
				n = exits
			}
			require.NoError(t, busy.Send(port, n, &answers[i]))
		}
		require.NoError(t, busy.Send(other, 1, &answers[sent]))
		require.ErrorContains(t, x.s.Step(t.Context()), "Goexit")
		for i := range answers {
			n, err := answers[i].Get(t.Context())
			switch {
			case i == sent:
				require.Equal(t, 1, n)
			case i == 7:
				require.ErrorIs(t, err, world.ErrFailed)
			case i < done:
				require.Equal(t, each, n)
			default:
				require.ErrorIs(t, err, world.ErrTx)
				require.ErrorContains(t, err, "send \"busy\" again")
				require.Equal(t, world.Refused, answers[i].Outcome())
			}
		}
	}
	require.LessOrEqual(t, x.Count(), before+2*done, "a system may destroy some")
	require.NoError(t, recorder.Close())
	hash := x.hash()

	y, _ := newBusy(5)
	l, err := inputlog.Open(&log)
	require.NoError(t, err)
	p, err := l.Play(y.World, codecs())
	require.NoError(t, err)
	defer p.Close()
	for p.Next() {
		_ = p.Make(func() error { return y.s.Step(t.Context()) }) // says what Step has said
		if y.Tick() == x.Tick() {
			require.Equal(t, hash, y.hash())
		}
	}
	require.NoError(t, p.Err())
	require.Equal(t, x.Tick(), y.Tick())
}
