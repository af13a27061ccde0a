package timer_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/world"
)

// model is what timers should do, as a list.
type model struct {
	all  []*modeled
	next int // the number of the next timer, and its message
}

// modeled is a timer that is set.
type modeled struct {
	id            timer.ID
	to            handle.Handle
	due, armed    uint64
	period, ticks int
	home, order   int
	n             int
}

// op is what a home does in a tick, decided before it runs.
type op struct {
	kind, ticks, pick int
	h                 handle.Handle
	id                timer.ID
	n                 int
}

const (
	opAfter = iota
	opAt
	opEvery
	opReset
	opCancel
	opKinds
)

// do does it by the timers, and returns the ID of a timer that was set.
func (g *game) do(by world.Actor, x op) (timer.ID, error) {
	switch x.kind {
	case opAfter:
		return g.timers.After(by, x.h, x.ticks, Ping{N: x.n})
	case opAt:
		return g.timers.At(by, x.h, g.Tick()+uint64(max(x.ticks, 0)), Ping{N: x.n, Text: "at"})
	case opEvery:
		return g.timers.Every(by, x.h, max(x.ticks, 1), Ping{N: x.n})
	case opReset:
		return timer.None, g.timers.Reset(by, x.id, x.ticks)
	}
	return timer.None, g.timers.Cancel(by, x.id)
}

// do does it by the model. now is the tick.
func (m *model) do(x op, id timer.ID, home int, now uint64) {
	due := now + uint64(max(x.ticks, 1))
	switch x.kind {
	case opAfter, opAt, opEvery:
		t := &modeled{id: id, to: x.h, due: due, armed: now, home: home, order: m.next, n: x.n}
		m.next++
		if x.kind == opEvery {
			t.period = max(x.ticks, 1)
		}
		m.all = append(m.all, t)
	case opReset:
		for _, t := range m.all {
			if t.id == x.id && x.id != timer.None {
				t.due, t.armed, t.order = due, now, m.next
				m.next++
			}
		}
	case opCancel:
		m.all = slices.DeleteFunc(m.all, func(t *modeled) bool { return t.id == x.id && x.id != timer.None })
	}
}

// due takes out what is due at a tick, by shard in order.
func (m *model) due(g *game, tick uint64) (all [][]world.Envelope[int]) {
	all = make([][]world.Envelope[int], g.Shards())
	slices.SortStableFunc(m.all, func(a, b *modeled) int {
		return cmp.Or(cmp.Compare(a.armed, b.armed), cmp.Compare(a.home, b.home), cmp.Compare(a.order, b.order))
	})
	var again []*modeled
	for _, t := range m.all {
		owner, alive := g.Owner(t.to)
		switch {
		case !alive:
			continue
		case t.due == tick:
			all[owner] = append(all[owner], world.Envelope[int]{To: t.to, Body: t.n})
			if t.period == 0 {
				continue
			}
			t.due, t.armed, t.order = tick+uint64(t.period), tick, m.next
			m.next++
		}
		again = append(again, t)
	}
	m.all = again
	return all
}

// TestModel does at random what can be done, from all sides, and compares with a list: on any
// number of workers, and saved and loaded now and then.
func TestModel(t *testing.T) {
	seeds := 30
	if testing.Short() || check.Enabled {
		seeds = 6
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runModel(t, seed) })
	}
}

func runModel(t *testing.T, seed uint64) {
	dice := rand.New(rand.NewPCG(seed, 1))
	shards, workers := 1+dice.IntN(4), []int{1, 2, 5}[dice.IntN(3)]
	g, m := newGame(t, shards, workers, timer.Options{}), &model{}
	var hs []handle.Handle
	port, err := g.OpenPort()
	require.NoError(t, err)
	want := make([][]world.Envelope[int], shards)
	ahead := []int{-1, 0, 1, 1, 2, 3, 5, 63, 64, 65, 128}
	choose := func(home int) op {
		m.next++
		x := op{kind: dice.IntN(opKinds), ticks: ahead[dice.IntN(len(ahead))], h: hs[dice.IntN(len(hs))], n: m.next}
		if len(m.all) > 0 {
			x.id = m.all[dice.IntN(len(m.all))].id
			if home >= 0 && x.kind >= opReset && x.id != timer.None && int(x.id>>52) != home && dice.IntN(3) > 0 {
				x.kind = opAfter // mostly one's own
			}
		}
		return x
	}
	for tick := range 250 {
		for dice.IntN(3) > 0 || len(hs) < 5 {
			hs = append(hs, g.create(len(hs)))
		}
		if dice.IntN(5) == 0 {
			i := dice.IntN(len(hs))
			g.Destroy(hs[i])
			hs = slices.Delete(hs, i, i+1)
		}
		for range dice.IntN(3) { // by the idle world
			x := choose(-1)
			id, err := g.do(g.World, x)
			if err == nil {
				owner, _ := g.Owner(x.h)
				m.do(x, id, owner, g.Tick())
			} else {
				require.ErrorIs(t, err, timer.ErrGone)
			}
		}
		if dice.IntN(4) == 0 {
			h := hs[dice.IntN(len(hs))]
			require.NoError(t, world.Move(port, h, dice.IntN(shards)))
		}
		ops, ids := make([][]op, shards+1), make([][]timer.ID, shards+1)
		for home := range ops {
			for range dice.IntN(4) {
				ops[home] = append(ops[home], choose(home))
			}
			ids[home] = make([]timer.ID, len(ops[home]))
		}
		act := func(c *world.Context, home int) {
			for i, x := range ops[home] {
				id, err := g.do(c, x)
				if err != nil && x.kind != opReset {
					t.Error(err)
				}
				ids[home][i] = id
			}
		}
		g.systems = func(c *world.Context) { act(c, c.Shard()) }
		g.global = func(c *world.Context) { act(c, shards) }
		now := g.Tick()
		var late []op
		var owners []int
		for range dice.IntN(3) { // by a port
			m.next++
			x := op{kind: opEvery, ticks: ahead[dice.IntN(len(ahead))], h: hs[dice.IntN(len(hs))], n: m.next}
			_, err := g.do(port, x)
			require.NoError(t, err)
			late = append(late, x)
			owner, _ := g.Owner(x.h) // moves come last in a refresh
			owners = append(owners, owner)
		}
		g.step()
		for shard := range want {
			if want, got := fmt.Sprint(want[shard]), fmt.Sprint(numbers(g.got[shard])); want != got {
				t.Fatalf("tick %d, shard %d:\nwant %s\ngot  %s", now, shard, want, got)
			}
		}
		for later := range 2 { // own timers are changed at once, those of others at the refresh
			for home := range ops {
				for i, x := range ops[home] {
					if own := x.kind < opReset || int(x.id>>52) == home; own == (later == 0) {
						m.do(x, ids[home][i], home, now)
					}
				}
			}
			if later == 0 {
				for i, x := range late {
					m.do(x, timer.None, owners[i], now)
				}
			}
		}
		g.systems, g.global = nil, nil
		want = m.due(g, g.Tick())
		if tick%50 == 49 {
			before := g.hash()
			g = loaded(t, g.save(), shards, []int{1, 2, 5}[dice.IntN(3)])
			require.Equal(t, before, g.hash())
			port, err = g.OpenPort()
			require.NoError(t, err)
		}
	}
}

// numbers returns what was delivered.
func numbers(got []world.Envelope[Ping]) (all []world.Envelope[int]) {
	for _, e := range got {
		all = append(all, world.Envelope[int]{To: e.To, Body: e.Body.N})
	}
	return all
}
