package names_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/seed"
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

// TestTransactionOfMany names and destroys many entities in each transaction, at random: it sees what
// a model says, and so does the world after it, unless the transaction failed.
func TestTransactionOfMany(t *testing.T) {
	type Mark struct{}
	type Marked struct{ Mark }
	w := world.MustNew(world.Options{Shards: 2})
	world.Register[Mark](w, "mark")
	marked := world.NewBundle[Marked](w)
	n := names.New[string](w, "names", names.Options{})
	dice := rand.New(rand.NewPCG(seed.Of(t), 0))
	had := map[handle.Handle]string{}
	errFails := errors.New("it fails")
	var hs []handle.Handle
	act := world.RegisterTransaction(w, "act", func(tx *world.Tx, fails bool) (map[handle.Handle]string, error) {
		now, r := map[handle.Handle]string{}, n.Read(tx)
		for h, name := range had {
			now[h] = name
		}
		dead := map[handle.Handle]bool{}
		for range dice.IntN(60) {
			h, name := hs[dice.IntN(len(hs))], fmt.Sprint(dice.IntN(20))
			holder, taken := handle.None, false
			for k, has := range now {
				if has == name {
					holder, taken = k, true
				}
			}
			found, ok := r.Lookup(name)
			require.Equal(t, taken, ok)
			require.Equal(t, holder, found)
			has, named := now[h]
			got, ok := r.NameOf(h)
			require.Equal(t, named, ok)
			require.Equal(t, has, got)
			want := error(nil)
			switch dice.IntN(8) {
			case 0:
				require.NoError(t, tx.Destroy(h))
				dead[h] = true
				delete(now, h)
			case 1:
				if want = names.ErrUnnamed; dead[h] {
					want = world.ErrStale
				} else if named {
					want = nil
				}
				require.ErrorIs(t, n.Unbind(tx, h), want)
				delete(now, h)
			default:
				switch {
				case dead[h]:
					want = world.ErrStale
				case taken && holder != h:
					want = names.ErrTaken
				default:
					now[h] = name
				}
				require.ErrorIs(t, n.Bind(tx, h, name), want)
			}
		}
		if fails {
			return nil, errFails
		}
		return now, nil
	})
	for range iterations(2000) {
		for len(hs) < 24 {
			h, err := marked.Create(w, Marked{})
			require.NoError(t, err)
			hs = append(hs, h)
		}
		if now, err := act.Run(w, dice.IntN(3) == 0); err == nil {
			had = now
		}
		w.Refresh()
		living := hs[:0]
		for _, h := range hs {
			if w.Alive(h) {
				living = append(living, h)
			}
		}
		hs = living
		all := map[handle.Handle]string{}
		for h, name := range n.All() {
			all[h] = name
			found, ok := n.Lookup(name)
			require.True(t, ok)
			require.Equal(t, h, found)
		}
		require.Equal(t, had, all)
		require.Equal(t, len(had), n.Len())
	}
}
