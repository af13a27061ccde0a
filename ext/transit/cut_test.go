package transit_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// books is what a world has, as the program counts it between two ticks. A scratch world is for what is
// in pieces.
func (x *town) books(scratch *town, others []*town) (gold int64, things int) {
	gold = x.chest.Get()
	purses := world.Read[Purse](x.World)
	for ch := range x.Query(purses).Chunks() {
		for _, p := range purses.Slice(ch) {
			gold += p.Gold
		}
	}
	all, problem := x.things(true)
	for m := range x.coins.Message().Waiting() {
		gold += m.Body.Gold
	}
	for m := range x.coins.Returned.Waiting() {
		gold += m.Body.Body.Gold
	}
	for m := range x.gate.Arrived.Waiting() {
		gold += m.Body.Body.Fee
	}
	for m := range x.gate.Returned.Waiting() {
		gold += m.Body.Body.Fee
	}
	if x.secret != nil {
		for m := range x.secret.Arrived.Waiting() {
			gold += m.Body.Body.Fee
		}
		for m := range x.secret.Returned.Waiting() {
			gold += m.Body.Body.Fee
		}
	}
	for _, y := range others {
		if x == y {
			continue
		}
		for _, m := range x.coins.Unaccepted(y.roads) {
			gold += m.Body.Gold
		}
		add := func(p *snapshot.Piece, fee int64) {
			if _, err := snapshot.Insert(scratch.World, p, snapshot.InsertOptions{WithoutNames: true}); err != nil {
				panic(err)
			}
			gold += fee
		}
		for _, v := range x.gate.Unaccepted(y.roads) {
			add(v.Piece, v.Body.Fee)
		}
		if x.secret != nil {
			for _, v := range x.secret.Unaccepted(y.roads) {
				add(v.Piece, v.Body.Fee)
			}
		}
	}
	away, wrong := scratch.things(false)
	if problem += wrong; problem != "" {
		panic(problem)
	}
	scratch.Clear()
	for _, v := range append(all, away...) {
		gold += v.gold
	}
	return gold, len(all) + len(away)
}

// TestCut adds up all gold and all things of three worlds again and again, while they make ticks and
// carriers carry.
func TestCut(t *testing.T) {
	const gold, ships = 1000, 6
	cuts := 100
	if testing.Short() {
		cuts = 20
	}
	var all []*town
	var people []transit.Ref
	things := 0
	for i := range 3 {
		x := newTown(transit.World(i+1), 1, transit.Options{})
		for range 4 {
			people = append(people, x.roads.Ref(x.born(t, gold)))
		}
		for k := range ships { // of which some are refused: their names are taken in another world
			_, err := x.launch(uint64(i*1000+k*10+1), uint64(max(0, 3-k)), 2, false)
			require.NoError(t, err)
			things += 3
		}
		people = append(people, transit.RefOf(x.roads.World(), handle.New(0, 99, 9))) // nobody
		all = append(all, x)
	}
	want := int64(12*gold + 100*things)

	ctx, cancel := context.WithCancel(t.Context())
	var live sync.WaitGroup
	for i, x := range all {
		live.Go(func() { x.busy(ctx, uint64(i), people) })
		for _, y := range all[:i] {
			live.Go(func() {
				for ctx.Err() == nil { // carriers end again and again
					some, end := context.WithCancel(ctx)
					go func() {
						for range 100 {
							runtime.Gosched()
						}
						end()
					}()
					if err := transit.Carry(some, y.roads, x.roads); err != nil {
						t.Error(err)
					}
				}
			})
			live.Go(func() {
				if err := transit.Carry(ctx, x.roads, y.roads); err != nil {
					t.Error(err)
				}
			})
		}
	}
	scratch := newTown(9, 1, transit.Options{})
	roads := []*transit.Roads{all[2].roads, all[0].roads, all[1].roads}
	var arrived uint64
	for range cuts {
		var sum int64
		var n int
		err := transit.Cut(ctx, func() error {
			for _, x := range all {
				err := <-x.s.Between(func(*world.World) {
					g, k := x.books(scratch, all)
					sum, n = sum+g, n+k
					for _, y := range all {
						arrived += x.roads.Channel(y.roads.World()).Last
					}
				})
				if err != nil {
					return err
				}
			}
			return nil
		}, roads...)
		require.NoError(t, err)
		require.Equal(t, want, sum)
		require.Equal(t, things, n)
	}
	cancel()
	live.Wait()
	require.Greater(t, arrived, uint64(cuts), "nothing travelled")
}

// busy makes ticks of a town whose people pay others, and whose ships leave.
func (x *town) busy(ctx context.Context, seed uint64, people []transit.Ref) {
	dice := rand.New(rand.NewPCG(seed, 1))
	for n := uint64(0); ctx.Err() == nil; n++ {
		for range 3 {
			from := people[dice.IntN(len(people))]
			if from.World() == x.roads.World() {
				_, _ = x.pays.Run(x.World, order{from.Handle(), people[dice.IntN(len(people))], int64(dice.IntN(50)), n})
			}
		}
		things, _ := x.things(false)
		for _, v := range things {
			if v.serial%10 == 1 && dice.IntN(4) == 0 { // a ship
				_, _ = x.sails.Run(x.World, voyage{v.handle, transit.World(1 + dice.IntN(3)), int64(dice.IntN(3)), dice.IntN(4) == 0})
			}
		}
		_ = x.s.Step(context.Background())
		runtime.Gosched() // or others would wait for a whole slice of time
	}
}

// TestCutEnds ends cuts in each way; arrivals go on after each.
func TestCutEnds(t *testing.T) {
	x, y := newTown(1, 1, transit.Options{}), newTown(2, 1, transit.Options{})
	bert := y.born(t, 0)
	require.NoError(t, x.coins.Tell(x.World, handle.None, y.roads.Ref(bert), Coins{5, 1}))
	mistake := errors.New("read")
	require.Equal(t, mistake, transit.Cut(t.Context(), func() error { return mistake }, x.roads, y.roads))
	require.Panics(t, func() { _ = transit.Cut(t.Context(), func() error { panic("read") }, y.roads, x.roads) })
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = transit.Cut(t.Context(), func() error { runtime.Goexit(); return nil }, x.roads, y.roads)
	}()
	<-over
	ended, cancel := context.WithCancel(t.Context())
	require.NoError(t, transit.Cut(ended, func() error {
		cancel()
		require.ErrorIs(t, transit.Cut(ended, func() error { return nil }, y.roads), context.Canceled)
		return nil
	}, x.roads, y.roads))
	require.NoError(t, transit.Cut(t.Context(), func() error { return nil }))

	// A carrier that has ended may have left an arrival behind, which a Cut waits for.
	for y.roads.Late() == 0 {
		sent, stop := context.WithCancel(t.Context())
		carried := make(chan error)
		go func() { carried <- transit.Carry(sent, x.roads, y.roads) }()
		for y.roads.Quiet() {
			runtime.Gosched()
		}
		stop()
		require.NoError(t, <-carried)
	}
	soon, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, transit.Cut(soon, func() error { return nil }, y.roads), context.Canceled)
	began := make(chan error)
	go func() { began <- transit.Cut(t.Context(), func() error { return nil }, y.roads) }()
	select {
	case <-began:
		t.Fatal("a packet was under way")
	default:
	}
	y.step(t)
	require.NoError(t, <-began)
	x.step(t)
	carryAll(t, x, y)
	require.EqualValues(t, 5, y.gold(bert))

	require.Panics(t, func() { _ = transit.Cut(t.Context(), nil, x.roads) })
	require.Panics(t, func() { _ = transit.Cut(t.Context(), func() error { return nil }, x.roads, nil) })
	require.Panics(t, func() { _ = transit.Cut(t.Context(), func() error { return nil }, x.roads, x.roads) })
}
