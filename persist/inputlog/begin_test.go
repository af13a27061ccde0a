package inputlog_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// begun is a log of a world that had ticked, and a snapshot of where it begins, which was also
// captured.
type begun struct {
	log, image []byte
	captured   *snapshot.Captured
	tick       uint64
}

// save saves a world with its scheduler.
func (x *sea) save(t testing.TB) []byte {
	var b bytes.Buffer
	require.NoError(t, snapshot.Write(&b, x.World, snapshot.Options{Codecs: codecs(), Scheduler: x.scheduler, Compression: snapshot.S2}))
	return b.Bytes()
}

// loaded makes a world of a snapshot.
func loaded(t testing.TB, image []byte, workers int) *sea {
	x := emptySea(t, options(), scheduler.Options{Workers: workers, Balancer: newWhim(t)})
	require.NoError(t, snapshot.Load(bytes.NewReader(image), x.World, snapshot.Options{Codecs: codecs(), Scheduler: x.scheduler}))
	return x
}

// forked makes a world of what was captured.
func forked(t testing.TB, c *snapshot.Captured, workers int) *sea {
	x := emptySea(t, options(), scheduler.Options{Workers: workers, Balancer: newWhim(t)})
	require.NoError(t, c.Load(x.World, snapshot.Options{Codecs: codecs(), Scheduler: x.scheduler}))
	return x
}

// runOn gives a world by ports what the dice say, for five ticks, and records it.
func (x *sea) runOn(t testing.TB, dice *rand.Rand, r *inputlog.Recorder, c []*client) {
	for range 5 {
		for range 60 {
			c[dice.IntN(len(c))].act()
		}
		x.step(t)
		if r != nil {
			require.NoError(t, r.Hash(x.hasher))
		}
	}
}

// begin runs a world, begins to record and saves it, while ports have handles in hand, requests
// under way and handles taken back, and goes on.
func begin(t testing.TB, x *sea, seed uint64) (b begun) {
	dice := rand.New(rand.NewPCG(seed, 0))
	var clients []*client
	for i := range 3 {
		clients = append(clients, &client{sea: x, port: x.port(t), dice: rand.New(rand.NewPCG(seed, uint64(i+1)))})
	}
	x.runOn(t, dice, nil, clients)
	for range 100 {
		clients[dice.IntN(len(clients))].act()
	}
	for _, c := range clients {
		require.ErrorIs(t, c.port.Batch(func() error {
			h, err := x.plain.Create(c.port, Plain{})
			c.learn(h, err)
			return errFull
		}), errFull)
	}
	var log bytes.Buffer
	r, err := inputlog.NewRecorder(x.World, &log, inputlog.Options{Codecs: codecs()})
	require.NoError(t, err)
	b.image, b.tick = x.save(t), x.Tick()
	b.captured, err = snapshot.Capture(x.World, snapshot.Options{Codecs: codecs(), Scheduler: x.scheduler})
	require.NoError(t, err)
	require.NoError(t, r.Hash(x.hasher))
	x.runOn(t, dice, r, clients)
	for _, c := range clients {
		c.port.Close()
	}
	x.step(t)
	require.NoError(t, r.Hash(x.hasher))
	require.NoError(t, r.Close())
	b.log = log.Bytes()
	return b
}

// playOn plays a log to a world that was loaded where the log begins.
func playOn(t testing.TB, x *sea, b begun) {
	l, err := inputlog.Open(bytes.NewReader(b.log))
	require.NoError(t, err)
	require.Equal(t, b.tick, l.Tick())
	p, err := l.Play(x.World, codecs())
	require.NoError(t, err)
	for ok := true; ok; ok = p.Next() {
		if p.Ticks() > 0 {
			x.step(t)
		}
		verified, err := p.Verify(x.hasher)
		require.NoError(t, err)
		require.True(t, verified)
	}
	require.NoError(t, p.Err())
	require.EqualValues(t, 6, p.Ticks())
}

// TestBegins plays logs that begin at a snapshot to a world that is loaded from it, and to a fork,
// on other numbers of workers. The fork then goes on, by ports of its own, and is recorded and
// saved in turn.
func TestBegins(t *testing.T) {
	seed := seed.Of(t)
	x := newSea(t, options(), scheduler.Options{Workers: 2, Balancer: newWhim(t)})
	for n := range uint64(2) { // as a server that dies twice
		b := begin(t, x, seed+n)
		playOn(t, loaded(t, b.image, 1), b)
		x = forked(t, b.captured, 5)
		playOn(t, x, b)
		b.captured.Release()
	}
}

// TestBeginsRecalled plays a log to a world of a snapshot that has the same recalled handle: it is
// taken back once.
func TestBeginsRecalled(t *testing.T) {
	o := options()
	o.VersionMax = 1
	x := emptySea(t, o, scheduler.Options{})
	port := x.port(t)
	require.ErrorIs(t, port.Batch(func() error {
		_, _ = x.plain.Create(port, Plain{})
		return errFull
	}), errFull)
	var log bytes.Buffer
	r, err := inputlog.NewRecorder(x.World, &log, inputlog.Options{Codecs: codecs()})
	require.NoError(t, err)
	image := x.save(t)
	x.step(t)
	require.NoError(t, r.Close())
	y := emptySea(t, o, scheduler.Options{})
	require.NoError(t, snapshot.Load(bytes.NewReader(image), y.World, snapshot.Options{Codecs: codecs(), Scheduler: y.scheduler}))
	l, err := inputlog.Open(&log)
	require.NoError(t, err)
	p, err := l.Play(y.World, codecs())
	require.NoError(t, err)
	require.True(t, p.Next())
	y.step(t)
	var stats world.Stats
	y.Stats(&stats)
	require.Equal(t, 1, stats.Retired)
}

// TestBeginsElsewhere refuses to play to a world that is not where the log begins, and says why.
func TestBeginsElsewhere(t *testing.T) {
	b := begin(t, newSea(t, options(), scheduler.Options{Balancer: newWhim(t)}), 7)
	play := func(x *sea, c *state.Codecs) error {
		l, err := inputlog.Open(bytes.NewReader(b.log))
		require.NoError(t, err)
		_, err = l.Play(x.World, c)
		return err
	}
	err := play(newSea(t, options(), scheduler.Options{Balancer: newWhim(t)}), codecs())
	require.ErrorIs(t, err, inputlog.ErrOtherWorld)
	require.EqualError(t, err, "inputlog: the log is of another world: the log begins at tick 5, the world is at 0; play it to a world that was loaded from a snapshot of that tick, or is new for tick 0")
	x := loaded(t, b.image, 1)
	world.Write[Body](x.World).Get(anyone(x)).Sum++
	err = play(x, codecs())
	require.ErrorIs(t, err, inputlog.ErrDiffers)
	require.ErrorContains(t, err, `where the log begins, before tick 5, first in shard 0: component "body": `)
	x = loaded(t, b.image, 1)
	x.scheduler.MustAdd("more", x.read)
	world.RegisterResource(x.World, "more", Extra{})
	require.EqualError(t, play(x, codecs()), `inputlog: the log is of another world: resource "more" registered here alone`)

	port := x.port(t) // nothing was begun
	port.Close()
	for _, o := range []inputlog.Options{{NoHash: true, Codecs: codecs()}, {Codecs: codecs()}} {
		x := loaded(t, b.image, 1)
		if !o.NoHash {
			world.RegisterResource(x.World, "unhashed", make(chan int))
		}
		var log bytes.Buffer
		r, err := inputlog.NewRecorder(x.World, &log, o)
		require.NoError(t, err)
		x.step(t)
		require.NoError(t, r.Close())
		y := loaded(t, b.image, 1)
		if !o.NoHash {
			world.RegisterResource(y.World, "unhashed", make(chan int))
		}
		world.Write[Body](y.World).Get(anyone(y)).Sum++ // which nobody sees
		playing, err := inputlog.Open(&log)
		require.NoError(t, err)
		p, err := playing.Play(y.World, codecs())
		require.NoError(t, err)
		require.True(t, p.Next())
		p.Close()
	}
}

// TestOthersRegistered names what one of a log and a world has registered alone, or in another order,
// also if the log has no hashes.
func TestOthersRegistered(t *testing.T) {
	type (
		One   struct{ N int }
		Two   struct{ N int }
		Three struct{ N int }
	)
	wide := func(w *world.World) { world.Register[struct{ N [2]int }](w, "one") }
	one := func(w *world.World) { world.Register[One](w, "one") }
	two := func(w *world.World) { world.Register[Two](w, "two") }
	three := func(w *world.World) { world.RegisterMessage[Three](w, "three") }
	made := func(all ...func(*world.World)) *world.World {
		w := world.MustNew(world.Options{Shards: 2})
		for _, f := range all {
			f(w)
		}
		return w
	}
	for _, noHash := range []bool{false, true} {
		var log bytes.Buffer
		recorded := made(one, two, three)
		r, err := inputlog.NewRecorder(recorded, &log, inputlog.Options{NoHash: noHash})
		require.NoError(t, err)
		recorded.Refresh() // a log without ticks needs no kinds of requests
		require.NoError(t, r.Close())
		for says, w := range map[string]*world.World{
			`component "one" is {N int@0;8}@0 in the log, {N [2]int`: made(wide, two, three),
			"": made(one, two, three),
			`component "two", message "three" registered there alone`: made(one),
			`component "two" registered there alone; resource "four", hook "five" registered here alone`: made(one, three, func(w *world.World) {
				world.RegisterResource(w, "four", 4)
				w.Observe("five", world.OnCreate, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
					return func(*world.Context, world.Event, []handle.Handle) {}
				})
			}),
			`components are registered in the order ["one" "two"] there, ["two" "one"] here`: made(two, one, three),
		} {
			l, err := inputlog.Open(bytes.NewReader(log.Bytes()))
			require.NoError(t, err)
			if _, err = l.Play(w, nil); says == "" {
				require.NoError(t, err)
				continue
			}
			require.ErrorIs(t, err, inputlog.ErrOtherWorld)
			require.ErrorContains(t, err, says)
		}
	}
}

// TestThen plays logs that follow one another as one: ports keep what they have in hand where one
// ends and the next begins.
func TestThen(t *testing.T) {
	seed := seed.Of(t)
	x := newSea(t, options(), scheduler.Options{Workers: 2, Balancer: newWhim(t)})
	var clients []*client
	for i := range 3 {
		clients = append(clients, &client{sea: x, port: x.port(t), dice: rand.New(rand.NewPCG(seed, uint64(i+1)))})
	}
	dice := rand.New(rand.NewPCG(seed, 0))
	x.runOn(t, dice, nil, clients)
	image := x.save(t)
	logs := make([]bytes.Buffer, 3)
	for i := range logs {
		r, err := inputlog.NewRecorder(x.World, &logs[i], inputlog.Options{Codecs: codecs(), NoHash: i == 1})
		require.NoError(t, err)
		x.runOn(t, dice, r, clients)
		require.NoError(t, r.Close())
	}
	want, err := x.hasher.StateHash()
	require.NoError(t, err)
	play := func(order ...int) (*sea, *inputlog.Player, error) {
		y := loaded(t, image, 5)
		var p *inputlog.Player
		for _, i := range order {
			l, err := inputlog.Open(bytes.NewReader(logs[i].Bytes()))
			require.NoError(t, err)
			if p == nil {
				p, err = l.Play(y.World, codecs())
				require.NoError(t, err)
			} else {
				p.Then(l)
			}
		}
		for p.Next() {
			y.step(t)
			if p.Ticks() < 15 {
				continue
			}
			got, err := y.hasher.StateHash()
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
		return y, p, p.Err()
	}
	y, p, err := play(0, 1, 2)
	require.NoError(t, err)
	require.EqualValues(t, 15, p.Ticks())
	_ = y.port(t)
	_, p, err = play(0, 2)
	require.ErrorIs(t, err, inputlog.ErrOtherWorld)
	require.ErrorContains(t, err, "the log begins at tick 15, the world is at 10")
	require.EqualValues(t, 5, p.Ticks())
	require.Panics(t, func() { p.Then(nil) })
}

// TestOtherKinds refuses a log of a world with other requests, unless no tick of it is to be
// played.
func TestOtherKinds(t *testing.T) {
	for _, ticks := range []int{0, 1} {
		for _, closed := range []bool{false, true} {
			x := newSea(t, options(), scheduler.Options{})
			world.RegisterFunc(x.World, "more", func(*world.EntityContext, int) {})
			var log bytes.Buffer
			r, err := inputlog.NewRecorder(x.World, &log, inputlog.Options{Codecs: codecs(), NoHash: true})
			require.NoError(t, err)
			for range ticks {
				x.step(t)
			}
			if closed {
				require.NoError(t, r.Close())
			}
			l, err := inputlog.Open(&log)
			require.NoError(t, err)
			p, err := l.Play(newSea(t, options(), scheduler.Options{}).World, codecs())
			if ticks > 0 {
				require.ErrorIs(t, err, inputlog.ErrOtherWorld)
				continue
			}
			require.NoError(t, err)
			require.False(t, p.Next())
			require.Equal(t, closed, p.Err() == nil)
		}
	}
}
