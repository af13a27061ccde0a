package names_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// TestTransactionSwaps has transactions swap two names, while another goroutine looks them up: each
// name always has an entity.
func TestTransactionSwaps(t *testing.T) {
	type Mark struct{}
	type Marked struct{ Mark }
	w := world.MustNew(world.Options{Shards: 1})
	world.Register[Mark](w, "mark")
	marked := world.NewBundle[Marked](w)
	n := names.New[string](w, "names", names.Options{})
	var hs [2]handle.Handle
	for i, name := range []string{"ann", "bob"} {
		h, err := marked.Create(w, Marked{})
		require.NoError(t, err)
		require.NoError(t, n.Bind(w, h, name))
		hs[i] = h
	}
	swap := world.RegisterTransaction(w, "swap", func(tx *world.Tx, _ int) (int, error) {
		a, _ := n.Read(tx).NameOf(hs[0])
		b, _ := n.Read(tx).NameOf(hs[1])
		if err := n.Unbind(tx, hs[1]); err != nil {
			return 0, err
		}
		if err := n.Bind(tx, hs[0], b); err != nil {
			return 0, err
		}
		return 0, n.Bind(tx, hs[1], a)
	})
	var stop atomic.Bool
	missed := make(chan int)
	go func() {
		missing := 0
		for !stop.Load() {
			for _, name := range []string{"ann", "bob"} {
				if _, ok := n.Lookup(name); !ok {
					missing++
				}
			}
		}
		missed <- missing
	}()
	for range 20_000 {
		_, err := swap.Run(w, 0)
		require.NoError(t, err)
	}
	stop.Store(true)
	require.Zero(t, <-missed)
}

// TestTransactionReadsDying has a transaction read the names of entities that die: one that a request
// before it destroyed, and one that it destroys itself. They have none, by their name and by their
// handle.
func TestTransactionReadsDying(t *testing.T) {
	type Mark struct{}
	type Marked struct{ Mark }
	w := world.MustNew(world.Options{Shards: 2})
	world.Register[Mark](w, "mark")
	marked := world.NewBundle[Marked](w)
	n := names.New[string](w, "names", names.Options{})
	var hs []handle.Handle
	for _, name := range []string{"ann", "bob", "cid"} {
		h, err := marked.Create(w, Marked{})
		require.NoError(t, err)
		require.NoError(t, n.Bind(w, h, name))
		hs = append(hs, h)
	}
	type found struct{ byName, byHandle bool }
	look := world.RegisterTransaction(w, "look", func(tx *world.Tx, _ int) (all [3]found, err error) {
		if err := tx.Destroy(hs[1]); err != nil {
			return all, err
		}
		r := n.Read(tx)
		for i, name := range []string{"ann", "bob", "cid"} {
			_, all[i].byName = r.Lookup(name)
			_, all[i].byHandle = r.NameOf(hs[i])
		}
		return all, nil
	})
	p, err := w.OpenPort()
	require.NoError(t, err)
	require.NoError(t, p.Destroy(hs[0]))
	var answer world.Answer[[3]found]
	require.NoError(t, look.Send(p, 0, &answer))
	w.Refresh()
	all, err := answer.Get(t.Context())
	require.NoError(t, err)
	require.Equal(t, [3]found{{}, {}, {true, true}}, all)
}
