package transactions_test

import (
	"flag"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/world"
)

var transactions = flag.Int("transactions", 100_000, "transactions to run, a tenth of that under -short")

// model says how much gold entities have. A nil model notes nothing.
type model struct{ gold map[handle.Handle]int64 }

func (m *model) clone() *model { return &model{maps.Clone(m.gold)} }

func (m *model) pay(h handle.Handle, n int64) {
	if m != nil {
		m.gold[h] += n
	}
}

// set notes a call that gives an entity a purse, or replaces it.
func (m *model) set(err error, h handle.Handle, n int64) {
	if m != nil && err == nil {
		m.gold[h] = n
	}
}

func (m *model) remove(err error, h handle.Handle) {
	if m != nil && err == nil {
		delete(m.gold, h)
	}
}

// look makes a model of a world as it is.
func look(x *scene) *model {
	m := &model{map[handle.Handle]int64{}}
	purse := world.Read[Purse](x.World)
	for _, h := range x.hs {
		if p := purse.Get(h); p != nil {
			m.gold[h] = p.Gold
		}
	}
	return m
}

// TestModel runs random transactions in two worlds: in one all, in the other only those that do not
// fail. After each refresh both worlds have the same state, and the gold that a model says.
func TestModel(t *testing.T) {
	n := *transactions
	if testing.Short() {
		n /= 10
	}
	dice := rand.New(rand.NewPCG(seed.Of(t), 0))
	for done := 0; done < n; {
		all, some := newScene(t, 1+dice.IntN(5)), newScene(t, 1+dice.IntN(5))
		p, err := all.OpenPort()
		require.NoError(t, err)
		q, err := some.OpenPort()
		require.NoError(t, err)
		for range 40 {
			done += step(t, dice, all, some, p, q)
		}
		all.Close()
		some.Close()
	}
}

// step makes a tick of both worlds, and returns how many transactions the first ran.
func step(t *testing.T, dice *rand.Rand, all, some *scene, p, q *world.Port) int {
	t.Helper()
	deeds := make([]Deed, dice.IntN(60))
	answers := make([]world.Answer[uint64], len(deeds))
	for i := range deeds {
		deeds[i] = Deed{Seed: dice.Uint64(), Fails: uint8(dice.IntN(8))}
		require.NoError(t, all.deed.Send(p, deeds[i], &answers[i]))
	}
	all.model = look(all)
	err := all.s.Step(t.Context())
	if err != nil {
		require.ErrorContains(t, err, "no deal")
	}
	sums := map[int]uint64{}
	again := make([]world.Answer[uint64], len(deeds))
	for i := range deeds {
		want := world.Applied
		switch deeds[i].Fails {
		case 1, 3:
			want = world.Refused
		case 2:
			want = world.Failed
		}
		require.Equal(t, want, answers[i].Outcome(), "%+v", deeds[i])
		if want == world.Applied {
			sums[i], _ = answers[i].Value()
			require.NoError(t, some.deed.Send(q, deeds[i], &again[i]))
		}
	}
	require.NoError(t, some.s.Step(t.Context()))
	for i, want := range sums {
		got, ok := again[i].Value()
		require.True(t, ok)
		require.Equal(t, want, got, "what it read and drew")
	}
	require.Equal(t, some.hash(), all.hash())
	purse := world.Read[Purse](all.World)
	for h, gold := range all.model.gold {
		if all.Alive(h) {
			if p := purse.Get(h); p != nil {
				require.Equal(t, gold, p.Gold, h)
			} else {
				t.Errorf("%v has no purse, but %d in the model", h, gold)
			}
		}
	}
	idle(t, dice, all, some)
	return len(deeds)
}

// idle runs transactions on the idle worlds: those that fail only on one of them.
func idle(t *testing.T, dice *rand.Rand, all, some *scene) {
	t.Helper()
	all.model, some.model = nil, nil
	all.draft = nil
	for range dice.IntN(6) {
		d := Deed{Seed: dice.Uint64(), Fails: uint8(dice.IntN(6))}
		before := all.hash()
		switch d.Fails {
		case 1, 3:
			require.ErrorIs(t, all.deed.Call(all.World, d), errNoDeal)
			require.Equal(t, before, all.hash())
		case 2:
			require.Panics(t, func() { _ = all.deed.Call(all.World, d) })
			require.Equal(t, before, all.hash())
		default:
			got, err := all.deed.Run(all.World, d)
			require.NoError(t, err)
			want, err := some.deed.Run(some.World, d)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	}
	require.Equal(t, some.hash(), all.hash())
}
