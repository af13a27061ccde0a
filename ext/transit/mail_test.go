package transit_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// pair is two towns that a test carries between by hand: each step is one of Carry.
type pair struct {
	t    testing.TB
	a, b *town
}

func newPair(t testing.TB, o transit.Options) *pair {
	return &pair{t, newTown(1, 1, o), newTown(2, 1, o)}
}

// ask has a transaction run by a port, in one tick.
func ask[A, R any](t testing.TB, x *town, f *world.Transaction[A, R], arg A) (R, error) {
	t.Helper()
	if x.port == nil {
		port, err := x.OpenPort()
		require.NoError(t, err)
		x.port = port
	}
	var answer world.Answer[R]
	require.NoError(t, f.Send(x.port, arg, &answer))
	x.step(t)
	return answer.Get(context.Background())
}

// round carries from one town to another, once.
func round(t testing.TB, from, to *town) {
	t.Helper()
	a, err := ask(t, to, to.roads.Arriving(), transit.Packet{From: from.roads.World(), To: to.roads.World()})
	require.NoError(t, err)
	p, err := ask(t, from, from.roads.Turning(), a)
	require.NoError(t, err)
	a, err = ask(t, to, to.roads.Arriving(), p)
	require.NoError(t, err)
	p, err = ask(t, from, from.roads.Turning(), a)
	require.NoError(t, err)
	_, err = ask(t, to, to.roads.Arriving(), p)
	require.NoError(t, err)
	from.step(t)
	to.step(t)
}

// ways are the ways in which a payment is sent.
var ways = map[string]func(t testing.TB, x *town, d order){
	"a transaction": func(t testing.TB, x *town, d order) { _, _ = ask(t, x, x.pays, d) },
	"the idle world": func(t testing.TB, x *town, d order) {
		x.purse.Set(x.World, d.From, Purse{Gold: x.gold(d.From) - d.Gold})
		require.NoError(t, x.coins.Tell(x.World, d.From, d.To, Coins{d.Gold, d.N}))
	},
	"a function": func(t testing.TB, x *town, d order) { require.NoError(t, x.calls.Call(x.World, d.From, d)); x.step(t) },
	"a system":   func(t testing.TB, x *town, d order) { require.NoError(t, x.asks.Send(x.World, d.From, d)); x.step(t) },
	"a hook": func(t testing.TB, x *town, d order) {
		port, err := x.OpenPort()
		require.NoError(t, err)
		x.step(t) // the hook is not for those that are new
		require.NoError(t, x.wishes.Add(port, d.From, wish{d}))
		x.step(t)
		x.step(t)
		require.NoError(t, x.wishes.Remove(port, d.From))
		port.Close()
		x.step(t)
	},
	"a port": func(t testing.TB, x *town, d order) {
		x.purse.Set(x.World, d.From, Purse{Gold: x.gold(d.From) - d.Gold})
		port, err := x.OpenPort()
		require.NoError(t, err)
		require.NoError(t, x.coins.Tell(port, d.From, d.To, Coins{d.Gold, d.N}))
		port.Close()
		x.step(t)
	},
}

// TestTell sends a message in each way. It arrives once, and one to a dead entity comes back.
func TestTell(t *testing.T) {
	for way, pay := range ways {
		t.Run(way, func(t *testing.T) {
			p := newPair(t, transit.Options{})
			anna, bert := p.a.born(t, 100), p.b.born(t, 0)
			dead := p.b.born(t, 0)
			p.b.Destroy(dead)
			p.b.step(t)
			pay(t, p.a, order{anna, p.b.roads.Ref(bert), 30, 1})
			require.EqualValues(t, 70, p.a.gold(anna))
			require.Equal(t, 1, p.a.roads.Channel(2).Items)
			round(t, p.a, p.b)
			require.EqualValues(t, 30, p.b.gold(bert))
			require.Equal(t, transit.Channel{Peer: 2, Next: 2, Acked: 1}, p.a.roads.Channel(2))
			require.Equal(t, transit.Channel{Peer: 1, Next: 1, Last: 1, Known: 1}, p.b.roads.Channel(1))

			pay(t, p.a, order{anna, p.b.roads.Ref(dead), 20, 2})
			pay(t, p.a, order{anna, p.b.roads.Ref(bert), 5, 3})
			require.EqualValues(t, 45, p.a.gold(anna))
			round(t, p.a, p.b)
			require.EqualValues(t, 65, p.a.gold(anna), "what was for the dead")
			require.EqualValues(t, 35, p.b.gold(bert))
			require.Equal(t, transit.Channel{Peer: 2, Next: 4, Acked: 3}, p.a.roads.Channel(2))
			require.Equal(t, transit.Channel{Peer: 1, Next: 1, Last: 3, Known: 3}, p.b.roads.Channel(1))
		})
	}
}

// TestTellHere sends messages to entities of the same world.
func TestTellHere(t *testing.T) {
	x := newTown(1, 1, transit.Options{})
	anna, bert, dead := x.born(t, 100), x.born(t, 0), x.born(t, 0)
	x.Destroy(dead)
	x.step(t)
	for _, to := range []handle.Handle{bert, dead} {
		_, err := ask(t, x, x.pays, order{anna, x.roads.Ref(to), 30, 1})
		require.NoError(t, err)
	}
	x.step(t)
	require.EqualValues(t, 70, x.gold(anna))
	require.EqualValues(t, 30, x.gold(bert))
	require.Empty(t, x.roads.Peers())
}

// TestSenderDies gives what comes back to shard 0.
func TestSenderDies(t *testing.T) {
	p := newPair(t, transit.Options{})
	anna, dead := p.a.born(t, 100), p.b.born(t, 0)
	p.b.Destroy(dead)
	p.b.step(t)
	ways["a system"](t, p.a, order{anna, p.b.roads.Ref(dead), 30, 1})
	p.a.Destroy(anna)
	p.a.step(t)
	round(t, p.a, p.b)
	p.a.step(t)
	require.EqualValues(t, 30, p.a.chest.Get())
}

// TestFull fills outboxes. What a system has sent when they are full comes back.
func TestFull(t *testing.T) {
	p := newPair(t, transit.Options{Max: 3})
	anna, bert := p.a.born(t, 100), p.b.born(t, 0)
	d := order{anna, p.b.roads.Ref(bert), 1, 1}
	for range 5 {
		require.NoError(t, p.a.asks.Send(p.a.World, anna, d))
	}
	p.a.step(t)
	require.EqualValues(t, 95, p.a.gold(anna))
	require.Equal(t, 3, p.a.roads.Channel(2).Items)
	p.a.step(t)
	require.EqualValues(t, 97, p.a.gold(anna))
	for way, pay := range ways {
		if way != "the idle world" && way != "a port" {
			pay(t, p.a, d)
			require.EqualValues(t, 97, p.a.gold(anna), way)
		}
	}
	require.ErrorIs(t, p.a.coins.Tell(p.a.World, anna, d.To, Coins{}), transit.ErrFull)
	_, err := ask(t, p.a, p.a.pays, d)
	require.ErrorIs(t, err, transit.ErrFull)
	require.ErrorIs(t, p.a.coins.Tell(p.a.World, anna, transit.Ref{}, Coins{}), transit.ErrNowhere)
	round(t, p.a, p.b)
	require.EqualValues(t, 3, p.b.gold(bert))
	_, err = ask(t, p.a, p.a.pays, d)
	require.NoError(t, err)

	p = newPair(t, transit.Options{MaxBytes: 100})
	anna = p.a.born(t, 100)
	for err = nil; err == nil; {
		_, err = ask(t, p.a, p.a.pays, order{anna, p.b.roads.Ref(bert), 1, 1})
	}
	require.ErrorIs(t, err, transit.ErrFull)
	require.LessOrEqual(t, p.a.roads.Channel(2).Bytes, 100)
}

// TestPeersMax sends to as many worlds as there may be, and to one more.
func TestPeersMax(t *testing.T) {
	x := newTown(1, 1, transit.Options{})
	anna := x.born(t, 0)
	many := world.RegisterTransaction(x.World, "many", func(tx *world.Tx, from transit.World) (n int, err error) {
		for i := range transit.World(1000) {
			if err := x.coins.Tell(tx, anna, transit.RefOf(from+i, anna), Coins{}); err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	})
	for i := range transit.World(4) {
		_, err := many.Run(x.World, 2+1000*i)
		require.NoError(t, err)
	}
	_, err := many.Run(x.World, 4002)
	require.ErrorIs(t, err, transit.ErrPeers)
	require.Len(t, x.roads.Peers(), 4000)
	for i := range transit.World(96) {
		require.NoError(t, x.coins.Tell(x.World, anna, transit.RefOf(4002+i, anna), Coins{}))
	}
	require.ErrorIs(t, x.coins.Tell(x.World, anna, transit.RefOf(5000, anna), Coins{}), transit.ErrPeers)
	require.NoError(t, x.coins.Tell(x.World, anna, transit.RefOf(4002, anna), Coins{}))
	_, err = ask(t, x, x.roads.Arriving(), transit.Packet{From: 5000, To: 1})
	require.ErrorIs(t, err, transit.ErrPeers)
}

// TestEmptyBody sends what has a body of no bytes.
func TestEmptyBody(t *testing.T) {
	type nod struct{}
	w := world.MustNew(world.Options{Shards: 1})
	roads := transit.New(w, "roads", transit.Options{World: 1})
	nods := transit.RegisterMail(roads, world.RegisterMessage[nod](w, "nod"))
	transit.RegisterGate[struct{}](roads, "gate")
	require.NoError(t, nods.Tell(w, handle.None, transit.RefOf(2, 1), nod{}))
	_, err := roads.Resolve(t.Context(), w, 2, transit.Return)
	require.NoError(t, err)
	n := 0
	for m := range nods.Returned.Waiting() {
		require.Equal(t, transit.Resolved, m.Body.Why)
		n++
	}
	require.Equal(t, 1, n)
}

// TestForget forgets worlds, more than there may be at a time, and loads what is kept of them.
func TestForget(t *testing.T) {
	x := newTown(1, 1, transit.Options{})
	anna := x.born(t, 0)
	for i := range transit.World(transit.PeersMax + 10) {
		n := 2 + i
		require.NoError(t, x.coins.Tell(x.World, anna, transit.RefOf(n, anna), Coins{Gold: 1}))
		if n != 9 {
			items, err := x.roads.Resolve(t.Context(), x.World, n, transit.Forget)
			require.NoError(t, err)
			require.Equal(t, 1, items)
		}
	}
	require.Equal(t, []transit.World{9}, x.roads.Peers())
	x.step(t)
	require.EqualValues(t, transit.PeersMax+9, x.gold(anna), "all came back")

	image := x.roads.Save()
	require.Less(t, len(image), 100)
	y := newTown(1, 1, transit.Options{})
	require.NoError(t, y.roads.Load(image))
	require.Equal(t, image, y.roads.Save())
	for _, n := range []transit.World{8, 10, 9} {
		err := y.coins.Tell(y.World, handle.None, transit.RefOf(n, anna), Coins{Gold: 1})
		_, late := ask(t, y, y.roads.Arriving(), transit.Packet{From: n, To: 1})
		_, answers := ask(t, y, y.roads.Turning(), transit.Answers{From: 1, To: n})
		_, again := y.roads.Resolve(t.Context(), y.World, n, transit.Return)
		if n == 9 {
			require.NoError(t, errors.Join(err, late, again))
			continue
		}
		require.ErrorIs(t, err, transit.ErrNowhere)
		require.ErrorIs(t, late, transit.ErrCarrier)
		require.ErrorIs(t, answers, transit.ErrCarrier)
		require.ErrorIs(t, again, transit.ErrNowhere)
	}
	x.openPort(t)
	require.NoError(t, x.coins.Tell(x.port, anna, transit.RefOf(8, anna), Coins{Gold: 1}))
	x.step(t)
	x.step(t)
	require.EqualValues(t, transit.PeersMax+10, x.gold(anna), "Gone")
	require.NoError(t, x.gate.Send(x.World, x.ship(t, 1, 0, 0), 9, Pass{}))
	_, err := x.roads.Resolve(t.Context(), x.World, 9, transit.Forget)
	require.NoError(t, err)
	x.has(t, 1)
	require.Empty(t, x.roads.Peers())
}

// TestForgetMany forgets a world to which more is under way than one transaction gives back. Until the
// last is back nothing is sent to it, also after a save and a load.
func TestForgetMany(t *testing.T) {
	const n = 2500
	x := newTown(1, 1, transit.Options{})
	anna := x.born(t, 0)
	many(t, x, anna, n)
	x.openPort(t)
	ctx, stop := context.WithCancel(t.Context())
	over := resolving(ctx, x, transit.Forget)
	for x.roads.Channel(2).Items == n {
		x.step(t)
	}
	stop() // the operator dies
	require.ErrorIs(t, <-over, context.Canceled)
	for range 2 {
		x.step(t)
	}
	left := x.roads.Channel(2).Items
	require.NotZero(t, left)
	require.EqualValues(t, n-left, x.gold(anna))

	var image bytes.Buffer
	require.NoError(t, snapshot.Write(&image, x.World, snapshot.Options{Scheduler: x.s}))
	y := newTown(1, 1, transit.Options{})
	require.NoError(t, snapshot.Load(&image, y.World, snapshot.Options{Scheduler: y.s}))
	ship := y.ship(t, 1, 0, 0)
	for _, x := range []*town{x, y} {
		require.ErrorIs(t, x.coins.Tell(x.World, anna, transit.RefOf(2, anna), Coins{Gold: 1}), transit.ErrNowhere)
		p, err := ask(t, x, x.roads.Turning(), transit.Answers{From: 1, To: 2})
		require.NoError(t, err)
		require.Empty(t, p.Items, "nothing is sent any more")
		require.Equal(t, left, x.roads.Channel(2).Items)
	}
	require.ErrorIs(t, y.gate.Send(y.World, ship, 2, Pass{}), transit.ErrNowhere)
	items, err := y.roads.Resolve(t.Context(), y.World, 2, transit.Forget)
	require.NoError(t, err)
	require.Equal(t, left, items)
	require.Empty(t, y.roads.Peers())
	y.step(t)
	require.EqualValues(t, n, y.gold(anna), "all is back")
}

// TestForgetBeside forgets a world while another operator returns what is under way to it: who comes
// later goes on with the forgetting. Nothing is sent meanwhile, and all comes back.
func TestForgetBeside(t *testing.T) {
	for _, n := range []int{2500, 5000} {
		x := newTown(1, 1, transit.Options{})
		anna := x.born(t, 0)
		many(t, x, anna, n)
		back, forget := transit.Resolve{Peer: 2, How: transit.Return}, transit.Resolve{Peer: 2, How: transit.Forget}
		for i := 0; !x.roads.HasForgotten(2); i++ {
			v := &back
			if i%2 == 1 {
				v = &forget
			}
			did, err := ask(t, x, x.roads.Resolving(), *v)
			require.NoError(t, err)
			v.Last, v.Of = did.Last, did.Of
			if i > 0 {
				require.ErrorIs(t, x.coins.Tell(x.World, anna, transit.RefOf(2, anna), Coins{Gold: 1}), transit.ErrNowhere)
			}
		}
		x.step(t)
		require.EqualValues(t, n, x.gold(anna), "all is back")
	}
}

// many tells a world 2 so often that it gets gold.
func many(t *testing.T, x *town, from handle.Handle, n int) {
	_, err := world.RegisterTransaction(x.World, "many", func(tx *world.Tx, n int) (_ struct{}, err error) {
		for range n {
			err = errors.Join(err, x.coins.Tell(tx, from, transit.RefOf(2, from), Coins{Gold: 1}))
		}
		return struct{}{}, err
	}).Run(x.World, n)
	require.NoError(t, err)
}

// resolving resolves the channel to world 2 by a port, which takes ticks.
func resolving(ctx context.Context, x *town, how transit.Resolution) (over chan error) {
	over = make(chan error, 1)
	go func() {
		_, err := x.roads.Resolve(ctx, x.port, 2, how)
		over <- err
	}()
	return over
}

// TestClose closes the roads of a world.
func TestClose(t *testing.T) {
	p := newPair(t, transit.Options{})
	anna, bert := p.a.born(t, 100), p.b.born(t, 100)
	pay := func(x *town, from handle.Handle, to transit.Ref) {
		_, err := ask(t, x, x.pays, order{from, to, 10, 1})
		require.NoError(t, err)
	}
	pay(p.a, anna, p.b.roads.Ref(bert))
	pay(p.b, bert, p.a.roads.Ref(anna))
	require.False(t, p.b.roads.Done())
	require.NoError(t, p.b.roads.Close(p.b.World))
	_, err := ask(t, p.b, p.b.pays, order{bert, p.a.roads.Ref(anna), 10, 1})
	require.ErrorIs(t, err, transit.ErrClosed)
	require.EqualValues(t, 90, p.b.gold(bert))
	round(t, p.a, p.b)
	require.EqualValues(t, 100, p.a.gold(anna), "it has come back")
	require.False(t, p.b.roads.Done())
	round(t, p.b, p.a)
	require.EqualValues(t, 110, p.a.gold(anna))
	require.True(t, p.b.roads.Done())
	pay(p.a, anna, p.b.roads.Ref(bert))
	require.True(t, p.b.roads.Done())
	n, err := p.a.roads.Resolve(context.Background(), p.a.World, 2, transit.Return)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	p.a.step(t)
	require.EqualValues(t, 110, p.a.gold(anna))
}

// TestOlder restores one of two worlds to an older day.
func TestOlder(t *testing.T) {
	save := func(x *town) *bytes.Buffer {
		var image bytes.Buffer
		require.NoError(t, snapshot.Write(&image, x.World, snapshot.Options{Scheduler: x.s}))
		return &image
	}
	restore := func(image *bytes.Buffer, n transit.World) *town {
		x := newTown(n, 1, transit.Options{})
		require.NoError(t, snapshot.Load(image, x.World, snapshot.Options{Scheduler: x.s}))
		return x
	}
	stopped := func(from, to *town) error {
		a, err := ask(t, to, to.roads.Arriving(), transit.Packet{From: from.roads.World(), To: to.roads.World()})
		require.NoError(t, err)
		before := from.roads.Channel(to.roads.World())
		p, err := ask(t, from, from.roads.Turning(), a)
		if err == nil {
			_, err = ask(t, to, to.roads.Arriving(), p)
		}
		require.Equal(t, before, from.roads.Channel(to.roads.World()))
		return err
	}
	var anna, bert handle.Handle
	begin := func() *pair {
		p := newPair(t, transit.Options{})
		anna, bert = p.a.born(t, 100), p.b.born(t, 100)
		return p
	}
	pay := func(x *town) {
		_, err := ask(t, x, x.pays, order{anna, transit.RefOf(2, bert), 10, 1})
		require.NoError(t, err)
	}
	t.Run("the receiver", func(t *testing.T) {
		p := begin()
		image := save(p.b)
		pay(p.a)
		round(t, p.a, p.b)
		p.b = restore(image, 2)
		pay(p.a)
		err := stopped(p.a, p.b)
		require.ErrorIs(t, err, transit.ErrOlder)
		require.EqualError(t, err, "transit: a world was restored to an older day: world 2 is older than world 1 knows it: world 1 was told of items up to 1, and the last here is 0; see Roads.Resolve")
		n, err := p.a.roads.Resolve(context.Background(), p.a.World, 2, transit.Return)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		p.a.step(t)
		require.EqualValues(t, 90, p.a.gold(anna))
		pay(p.a)
		round(t, p.a, p.b)
		require.EqualValues(t, 110, p.b.gold(bert))
	})
	t.Run("the sender", func(t *testing.T) {
		p := begin()
		image := save(p.a)
		pay(p.a)
		round(t, p.a, p.b)
		p.a = restore(image, 1)
		err := stopped(p.a, p.b)
		require.ErrorIs(t, err, transit.ErrOlder)
		require.ErrorContains(t, err, "world 1 is older than world 2 knows it: world 2 has item 1, and the next here is 1")
		pay(p.a)
		pay(p.a)
		pay(p.a)
		require.ErrorIs(t, stopped(p.a, p.b), transit.ErrOlder)
		n, err := p.a.roads.Resolve(context.Background(), p.a.World, 2, transit.Drop)
		require.NoError(t, err)
		require.Equal(t, 3, n)
		pay(p.a)
		round(t, p.a, p.b)
		require.EqualValues(t, 120, p.b.gold(bert))
	})
	t.Run("the sender, with other items since", func(t *testing.T) {
		p := begin()
		image := save(p.a)
		pay(p.a)
		known, err := ask(t, p.b, p.b.roads.Arriving(), transit.Packet{From: 1, To: 2})
		require.NoError(t, err)
		sent, err := ask(t, p.a, p.a.roads.Turning(), known)
		require.NoError(t, err)
		_, err = ask(t, p.b, p.b.roads.Arriving(), sent)
		require.NoError(t, err)
		p.a = restore(image, 1)
		_, err = ask(t, p.a, p.a.pays, order{anna, transit.RefOf(2, bert), 11, 1})
		require.NoError(t, err)
		require.ErrorContains(t, stopped(p.a, p.b), "different items up to 1 on the way to world 2")
	})
	t.Run("the sender, before it knew the other", func(t *testing.T) {
		p := begin()
		image := save(p.a)
		pay(p.a)
		round(t, p.a, p.b)
		p.a = restore(image, 1)
		_, err := p.a.roads.Resolve(context.Background(), p.a.World, 2, transit.Drop)
		require.NoError(t, err)
		pay(p.a)
		round(t, p.a, p.b)
		require.EqualValues(t, 120, p.b.gold(bert))
	})
	t.Run("the sender, before it settled", func(t *testing.T) {
		p := begin()
		pay(p.a)
		image := save(p.a)
		round(t, p.a, p.b)
		p.a = restore(image, 1)
		require.ErrorContains(t, stopped(p.a, p.b), "world 2 was told that all up to item 1 was settled, and here it is 0")
	})
	t.Run("the sender, before a Resolve", func(t *testing.T) {
		p := begin()
		image := save(p.a)
		pay(p.a)
		_, err := p.a.roads.Resolve(context.Background(), p.a.World, 2, transit.Return)
		require.NoError(t, err)
		pay(p.a)
		round(t, p.a, p.b)
		p.a = restore(image, 1)
		require.ErrorContains(t, stopped(p.a, p.b), "world 2 has a channel that was resolved later")
	})
}

// TestSaved saves a world with items and answers, loads it into other numbers of shards, and replays
// its log.
func TestSaved(t *testing.T) {
	var want string
	for _, workers := range []int{1, 2, 5} {
		a, b := newTown(1, workers, transit.Options{}), newTown(2, workers, transit.Options{})
		p := &pair{t, a, b}
		anna, bert, dead := p.a.born(t, 100), p.b.born(t, 0), p.b.born(t, 0)
		require.True(t, p.b.Destroy(dead))
		p.b.step(t)
		var begin, log bytes.Buffer
		require.NoError(t, snapshot.Write(&begin, p.b.World, snapshot.Options{Scheduler: p.b.s}))
		rec, err := inputlog.NewRecorder(p.b.World, &log, inputlog.Options{})
		require.NoError(t, err)
		for i, to := range []handle.Handle{bert, dead, bert, dead} {
			ways["a system"](t, p.a, order{anna, transit.RefOf(2, to), 10, uint64(i)})
			ways["a transaction"](t, p.b, order{bert, transit.RefOf(1, anna), 1, uint64(i)})
		}
		ans, err := ask(t, p.b, p.b.roads.Arriving(), transit.Packet{From: 1, To: 2})
		require.NoError(t, err)
		packet, err := ask(t, p.a, p.a.roads.Turning(), ans)
		require.NoError(t, err)
		ans, err = ask(t, p.b, p.b.roads.Arriving(), packet)
		require.NoError(t, err)
		p.b.step(t)
		again, err := ask(t, p.b, p.b.roads.Arriving(), packet)
		require.NoError(t, err)
		require.Equal(t, ans, again)
		require.Equal(t, transit.Channel{Peer: 1, Next: 1, Last: 4, Refuse: 2}, p.b.roads.Channel(1))
		require.NoError(t, rec.Close())
		got := p.a.hash(t) + p.b.hash(t)
		if want == "" {
			want = got
		}
		require.Equal(t, want, got)

		replayed := newTown(2, workers, transit.Options{})
		require.NoError(t, snapshot.Load(&begin, replayed.World, snapshot.Options{Scheduler: replayed.s}))
		l, err := inputlog.Open(&log)
		require.NoError(t, err)
		player, err := l.Play(replayed.World, nil)
		require.NoError(t, err)
		for player.Next() {
			replayed.step(t)
		}
		require.NoError(t, player.Err())
		player.Close()
		require.Equal(t, p.b.hash(t), replayed.hash(t))

		for _, shards := range []int{1, 2, 3} {
			var image, other bytes.Buffer
			require.NoError(t, snapshot.Write(&image, p.b.World, snapshot.Options{Scheduler: p.b.s}))
			require.NoError(t, snapshot.Write(&other, p.a.World, snapshot.Options{Scheduler: p.a.s}))
			b, a := newTownOf(2, shards, workers, transit.Options{}), newTownOf(1, shards, workers, transit.Options{})
			require.NoError(t, snapshot.Load(&image, b.World, snapshot.Options{Scheduler: b.s}))
			require.NoError(t, snapshot.Load(&other, a.World, snapshot.Options{Scheduler: a.s}))
			require.Equal(t, p.b.roads.Channel(1), b.roads.Channel(1))
			require.Equal(t, p.a.roads.Channel(2), a.roads.Channel(2))
			round(t, a, b)
			require.EqualValues(t, 80, a.gold(anna))
			require.EqualValues(t, 20, b.gold(bert))
			require.Equal(t, transit.Channel{Peer: 2, Next: 5, Acked: 4}, a.roads.Channel(2))
		}
	}
}

// TestCarry carries between worlds that tick on their own: plain ones, and durable ones with and
// without Sync.
func TestCarry(t *testing.T) {
	for name, open := range map[string]func(t *testing.T, x *town, born func(*world.World) error){
		"plain":   func(t *testing.T, x *town, born func(*world.World) error) { require.NoError(t, born(x.World)) },
		"durable": func(t *testing.T, x *town, born func(*world.World) error) { keep(t, x, false, born) },
		"sync":    func(t *testing.T, x *town, born func(*world.World) error) { keep(t, x, true, born) },
	} {
		t.Run(name, func(t *testing.T) { testCarry(t, open) })
	}
}

// keep keeps a world in a directory.
func keep(t *testing.T, x *town, sync bool, born func(*world.World) error) {
	store, err := durable.Open(context.Background(), t.TempDir(), x.World, x.s, durable.Options{Interval: -1, Sync: sync, New: born})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
}

func testCarry(t *testing.T, open func(t *testing.T, x *town, born func(*world.World) error)) {
	a, b := newTown(1, 1, transit.Options{}), newTown(2, 2, transit.Options{})
	var anna, bert handle.Handle
	const payments = 200
	open(t, a, func(*world.World) error { anna = a.born(t, 1000); return nil })
	open(t, b, func(*world.World) error { bert = b.born(t, 1000); return nil })
	begin := func(x *town, d order) {
		port, err := x.OpenPort()
		require.NoError(t, err)
		for n := range payments {
			d.N = uint64(n)
			require.NoError(t, x.asks.Send(port, d.From, d))
		}
		port.Close()
	}
	begin(a, order{anna, transit.RefOf(2, bert), 2, 0})
	begin(b, order{bert, transit.RefOf(1, anna), 1, 0})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	ticks, stop := context.WithCancel(ctx)
	done := make(chan error, 2)
	for _, x := range []*town{a, b} {
		go func() {
			for ticks.Err() == nil {
				if err := x.s.Step(context.Background()); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	carried, end := context.WithCancel(ctx)
	over := make(chan error, 1)
	go func() { over <- transit.Carry(carried, a.roads, b.roads) }()
	port, err := a.OpenPort()
	require.NoError(t, err)
	for { // by a transaction, because the world is not idle
		var got world.Answer[Purse]
		require.NoError(t, a.purse.Ask(port, anna, &got))
		p, err := got.Get(ctx)
		require.NoError(t, err)
		if p.N == payments {
			break
		}
	}
	end()
	require.NoError(t, <-over)
	stop()
	require.NoError(t, <-done)
	require.NoError(t, <-done)
	round(t, a, b)
	round(t, b, a)
	require.EqualValues(t, 800, a.gold(anna))
	require.EqualValues(t, 1200, b.gold(bert))
	var got uint64
	for n := range uint64(payments) {
		got = got*1099511628211 + n
	}
	require.Equal(t, got, world.Read[Purse](a.World).Get(anna).Got, "in order")
	require.Equal(t, got, world.Read[Purse](b.World).Get(bert).Got)
}
