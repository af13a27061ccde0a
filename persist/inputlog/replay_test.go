package inputlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/reference"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// client asks for everything that a port can, as fast as it goes.
type client struct {
	*sea
	port  *world.Port
	dice  *rand.Rand
	known []handle.Handle
}

func (c *client) someone() handle.Handle {
	if len(c.known) == 0 {
		return handle.None
	}
	return c.known[c.dice.IntN(len(c.known))]
}

func (c *client) learn(h handle.Handle, err error) {
	if err == nil {
		c.known = append(c.known, h)
	}
	if len(c.known) > 200 {
		c.known = c.known[100:]
	}
}

// act does one thing, and does not care whether it is accepted.
func (c *client) act() {
	n, p, h := c.dice.Uint32N(1000), c.port, c.someone()
	switch c.dice.IntN(26) {
	case 0, 1, 2:
		c.learn(c.unit.Create(p, Unit{Body{Small: uint8(n), Target: h, Loud: n%3 == 0}, Label{fmt.Sprint("new ", n)}}))
	case 3, 4:
		c.learn(c.plain.Create(p, Plain{Body{Small: uint8(n), Target: h}}))
	case 5:
		_ = p.Destroy(h)
	case 6:
		_ = c.label.Set(p, h, Label{fmt.Sprint("set ", n)})
	case 7:
		_ = c.extra.Add(p, h, Extra{int32(n)})
	case 8:
		_ = c.extra.Remove(p, h)
	case 9:
		_ = c.body.Set(p, h, Body{Small: uint8(n)})
	case 10:
		_ = world.RemoveFlags(p, h, world.Flags(n))
	case 11:
		_ = world.Move(p, h, int(n)%c.Shards())
	case 12:
		_ = c.hit.Send(p, h, Hit{n})
	case 13:
		_ = c.note.Broadcast(p, Note{fmt.Sprint("all ", n)})
	case 14, 15:
		_ = c.order.Call(p, h, Order{c.someone(), n})
	case 16:
		_ = c.ask.Ask(p, h, Order{c.someone(), n}, new(world.Answer[uint64]))
		_ = c.body.Ask(p, c.someone(), new(world.Answer[Body]))
	case 17:
		_ = c.kin.AddChild(p, h, c.someone())
	case 18:
		_ = c.hit.Send(p, h, Hit{n})
		c.learn(c.plain.Create(p, Plain{Body{Target: h}}))
	case 19:
		c.batch(n)
	case 20:
		c.early(n)
	case 22:
		_ = c.plain.Set(p, h, Plain{Body{Small: uint8(n), Target: c.someone()}})
	case 23:
		_ = world.AddFlags(p, h, world.Flags(n))
	case 24, 25:
		_ = c.deal.Send(p, Order{h, n}, new(world.Answer[uint64]))
		_ = c.deal.Call(p, Order{c.someone(), n})
	case 21:
		if n%2 == 0 { // released in the tick that creates it, or the one before
			h, _ = c.plain.Create(p, Plain{})
		}
		o := reference.Own(p, h, nil)
		o.Release()
	}
}

// batch creates some that know each other, or takes that back.
func (c *client) batch(n uint32) {
	var made []handle.Handle
	err := c.port.Batch(func() error {
		for range n % 20 {
			h, err := c.plain.Create(c.port, Plain{Body{Target: c.someone()}})
			if err != nil {
				return err
			}
			made = append(made, h)
		}
		if n%4 == 0 {
			return errors.New("never mind")
		}
		return nil
	})
	for _, h := range made { // some were taken back
		c.learn(h, err)
		_ = c.order.Call(c.port, c.someone(), Order{h, n})
	}
}

// early tells of handles before there are entities, some of which never come.
func (c *client) early(n uint32) {
	other, err := c.OpenPort()
	if err != nil {
		return
	}
	defer other.Close()
	_ = c.port.Batch(func() error {
		for range n % 9 {
			h, err := c.plain.Create(c.port, Plain{Body{Target: c.someone()}})
			if err != nil {
				return err
			}
			_ = c.order.Call(other, c.someone(), Order{h, n})
			_ = c.body.Set(other, c.someone(), Body{Target: h})
		}
		if n%2 == 0 {
			return errors.New("never mind")
		}
		return nil
	})
}

// record runs a world with clients on goroutines of their own, and returns the log.
func record(t *testing.T, clients, ticks int, s scheduler.Options) []byte {
	x := newSea(t, options(), s)
	var log bytes.Buffer
	recorder, err := inputlog.NewRecorder(x.World, &log, inputlog.Options{Codecs: codecs(), Note: []byte("sea")})
	require.NoError(t, err)
	require.NoError(t, recorder.Hash(x.hasher))

	var wait sync.WaitGroup
	var over atomic.Bool
	seed := seed.Of(t)
	for i := range clients {
		wait.Go(func() {
			dice := rand.New(rand.NewPCG(seed, uint64(i)))
			c := &client{sea: x, dice: dice}
			for !over.Load() {
				p, err := x.OpenPort()
				if err != nil { // closed ones are free again after the next tick
					runtime.Gosched()
					continue
				}
				c.port = p
				for n := dice.IntN(3000); n > 0 && !over.Load(); n-- {
					c.act()
				}
				p.Close()
			}
		})
	}
	var stats world.Stats
	for tick := 0; tick < ticks || stats.Applied <= 1000; tick++ { // clients may be late to begin
		x.step(t)
		require.NoError(t, recorder.Hash(x.hasher))
		x.Stats(&stats)
	}
	over.Store(true)
	wait.Wait()
	for range 3 {
		x.step(t)
		require.NoError(t, recorder.Hash(x.hasher))
	}
	require.NoError(t, recorder.Close())
	t.Logf("%d bytes; %+v", log.Len(), stats)
	return log.Bytes()
}

// play plays a log to a new world, verifies it after each tick, and returns the world.
func play(t *testing.T, log []byte, s scheduler.Options) *sea {
	t.Helper()
	l, err := inputlog.Open(bytes.NewReader(log))
	require.NoError(t, err)
	x := newSea(t, options(), s)
	p, err := l.Play(x.World, codecs())
	require.NoError(t, err)
	verify := func() {
		verified, err := p.Verify(x.hasher)
		require.NoError(t, err)
		require.True(t, verified)
	}
	verify()
	for p.Next() {
		x.step(t)
		verify()
	}
	require.NoError(t, p.Err())
	return x
}

// TestReplay records ports that are used from goroutines of their own while ticks
// run, and plays that with other numbers of workers and with chaos: the hash is the
// same after each tick.
func TestReplay(t *testing.T) {
	clients := 6
	if check.Enabled {
		clients = 3
	}
	log := record(t, clients, iterations(75), scheduler.Options{Workers: 2, Balancer: newWhim(t)})
	for _, s := range []scheduler.Options{{Workers: 1}, {Workers: 2, Chaos: 1}, {Workers: 3}, {Workers: 8, Chaos: 2}, {Workers: 32}} {
		s.Balancer = newWhim(t) // whose decisions do not count
		t.Run(fmt.Sprintf("%d workers, chaos %d", s.Workers, s.Chaos), func(t *testing.T) { play(t, log, s) })
	}
}

// whim is a Balancer that nothing in the world decides.
type whim struct{ dice *rand.Rand }

func newWhim(t testing.TB) whim { return whim{rand.New(rand.NewPCG(seed.Of(t), 1))} }

func (w whim) Balance(_ uint64, loads []scheduler.ShardCost, dst []scheduler.Shift) []scheduler.Shift {
	from := w.dice.IntN(len(loads))
	if w.dice.IntN(3) == 0 {
		dst = append(dst, scheduler.Shift{From: from, To: (from + 1) % len(loads), Entities: 1 + w.dice.IntN(50)})
	}
	return dst
}

// TestAfterReplay checks that a world lives on behind a log: ports find handles that
// nobody has.
func TestAfterReplay(t *testing.T) {
	x := play(t, record(t, 3, iterations(60), scheduler.Options{Workers: 2, Chaos: 3}), scheduler.Options{Workers: 2})
	p := x.port(t)
	seen := map[handle.Handle]bool{}
	for range 20 {
		var made []handle.Handle
		for range 90 {
			h, err := x.plain.Create(p, Plain{})
			require.NoError(t, err)
			require.False(t, seen[h])
			require.False(t, x.Alive(h))
			seen[h] = true
			made = append(made, h)
		}
		x.step(t)
		for _, h := range made {
			require.True(t, x.Alive(h))
			require.NoError(t, p.Destroy(h))
		}
		x.step(t)
	}
}

// iterations returns how many of n iterations to make.
func iterations(n int) int {
	switch {
	case check.Enabled: // each step takes far longer
		return n / 10
	case testing.Short():
		return n / 3
	}
	return n
}

// playerOf makes a player of a log, in a world of its own.
func playerOf(t *testing.T, log *bytes.Buffer) (*sea, *inputlog.Player) {
	t.Helper()
	x := newSea(t, options(), scheduler.Options{Workers: 1})
	l, err := inputlog.Open(log)
	require.NoError(t, err)
	player, err := l.Play(x.World, codecs())
	require.NoError(t, err)
	return x, player
}

// TestPlayerClosedEarly closes a player between Next and the tick, which was to take back
// handles: none is given twice.
func TestPlayerClosedEarly(t *testing.T) {
	first := newSea(t, options(), scheduler.Options{Workers: 1})
	var log bytes.Buffer
	r, err := inputlog.NewRecorder(first.World, &log, inputlog.Options{Codecs: codecs()})
	require.NoError(t, err)
	p := first.port(t)
	require.ErrorIs(t, p.Batch(func() error {
		_, err := first.plain.Create(p, Plain{})
		require.NoError(t, err)
		return errFull
	}), errFull)
	first.Refresh()
	require.NoError(t, r.Close())

	x, player := playerOf(t, &log)
	require.True(t, player.Next())
	player.Close()
	x.Refresh()
	p = x.port(t)
	given := map[handle.Handle]bool{}
	for range 90 {
		h, err := x.plain.Create(p, Plain{})
		require.NoError(t, err)
		require.False(t, given[h], "%v is given twice", h)
		given[h] = true
	}
}

// TestReplayClear replays a world that was cleared between ticks.
func TestReplayClear(t *testing.T) {
	live := func(x *sea, tick func(do func())) {
		for i := range 6 {
			tick(func() {
				if i%3 == 1 {
					x.Clear()
				} else {
					x.Refresh()
				}
			})
		}
	}
	first := newSea(t, options(), scheduler.Options{Workers: 1})
	var log bytes.Buffer
	r, err := inputlog.NewRecorder(first.World, &log, inputlog.Options{Codecs: codecs()})
	require.NoError(t, err)
	p := first.port(t)
	live(first, func(do func()) {
		for range 20 {
			_, err := first.plain.Create(p, Plain{})
			require.NoError(t, err)
		}
		do()
		require.NoError(t, r.Hash(first.hasher))
	})
	require.NoError(t, r.Close())

	x, player := playerOf(t, &log)
	live(x, func(do func()) {
		require.True(t, player.Next(), "%v", player.Err())
		do()
		_, err := player.Verify(x.hasher)
		require.NoError(t, err)
	})
	require.False(t, player.Next())
	require.NoError(t, player.Err())
	require.Equal(t, first.Count(), x.Count())
}
