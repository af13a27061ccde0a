package pairs_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/ext/reference"
	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/world"
)

// TestConcurrent is the second mode: goroutines use their ports while ticks run. What
// comes of that is different each time, but the invariants hold, each request has an
// outcome, and who was owned and released is dead.
func TestConcurrent(t *testing.T) {
	table := features()
	for i, set := range pairsInSets(len(table)) {
		p := planOf(table, set)
		p.seed, p.ticks = *firstSeed+uint64(i), ticks()
		if *pair != "" && i > 0 {
			continue
		}
		if *pair != "" {
			p.features = plans()[0].features
		}
		t.Run(fmt.Sprintf("%v,seed=%d", p, p.seed), func(t *testing.T) {
			if testing.Short() && !check.Enabled && i%8 != 0 {
				t.Skip("every eighth under -short, but all for the race detector")
			}
			p.concurrent(t)
		})
	}
}

// crowd is a world with goroutines that use it.
type crowd struct {
	*objects
	plan
	numbers atomic.Int64
	players []*player
	pieces  []handle.Handle // inserted
}

// player is one goroutine and its book.
//
// Ownership: the goroutine, until it is over.
type player struct {
	*crowd
	drawer
	turns    chan int // so many acts for each tick; closed: it is over
	port     *world.Port
	made     []handle.Handle // accepted
	back     []handle.Handle // of batches that were taken back
	released []handle.Handle // owned and released
	done     []*world.Completion
	err      error
}

// concurrent runs a plan with goroutines.
func (p plan) concurrent(t *testing.T) {
	x := &crowd{objects: newObjects(p, 2, p.seed), plan: p}
	for range 10 {
		require.NoError(t, x.bundles[1].rows(population/10, nil))
	}
	var known []handle.Handle
	for ch := range x.Query().Chunks() {
		known = append(known, ch.Handles()...)
	}
	var wait sync.WaitGroup
	for i := range 3 {
		y := &player{crowd: x, turns: make(chan int, p.busyTicks())}
		y.drawer = drawer{
			dice: rand.New(rand.NewPCG(p.seed, 100+uint64(i))), shards: x.Shards(), known: slices.Clone(known),
			next: func() int64 { return x.numbers.Add(1) }, crowd: population,
		}
		x.players = append(x.players, y)
		wait.Go(y.play)
	}
	ashore, over := p.carried(t, x)
	for tick := range p.busyTicks() {
		x.scriptAll(rand.New(rand.NewPCG(p.seed+uint64(tick), 5)), known)
		for _, y := range x.players {
			y.turns <- 400
		}
		if p.has("insert") {
			x.insert(t, rand.New(rand.NewPCG(p.seed+uint64(tick), 6)))
		}
		x.mustStep(t)
		ashore()
	}
	over()
	for _, y := range x.players {
		close(y.turns)
	}
	wait.Wait()
	for i := range x.scripts {
		x.scripts[i] = nil
	}
	for range 3 {
		x.mustStep(t)
	}
	x.audit(t)
}

// carried has travellers carried to another world and back, if there are any. The functions make a tick
// there, and end it.
func (p plan) carried(t *testing.T, x *crowd) (ashore, over func()) {
	if !p.has("travel") {
		return func() {}, func() {}
	}
	y := newAbroad(&scene{objects: x.objects, plan: p, workers: 2, chaos: p.seed, model: newModel()})
	y.ticks.MustAdd("home again", func(b *world.Build) func(*world.Context) {
		in := world.Receive[transit.Arrived[Fare]](b)
		return func(c *world.Context) {
			for _, e := range in.All() {
				_ = y.here.send[0](c, e.To, home, e.Body.Body.N)
			}
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	carrying := make(chan error)
	go func() { carrying <- transit.Carry(ctx, harbourOf(x.objects).roads, y.here.roads) }()
	return y.step, func() {
		cancel()
		require.NoError(t, <-carrying)
		y.World.Close()
	}
}

// busyTicks is how many ticks are made while goroutines use the world.
func (p plan) busyTicks() int {
	switch {
	case check.Enabled && testing.Short():
		return p.ticks * 2
	case check.Enabled:
		return p.ticks * 3
	}
	return p.ticks * 6
}

func (x *crowd) mustStep(t *testing.T) {
	x.step()
	for _, err := range x.failing {
		require.True(t, expected(err), "in a tick: %v", err)
	}
}

// scriptAll draws what systems do.
func (x *crowd) scriptAll(dice *rand.Rand, known []handle.Handle) {
	d := drawer{dice: dice, shards: x.Shards(), known: known, next: func() int64 { return x.numbers.Add(1) }, crowd: population}
	for i := range x.scripts {
		x.scripts[i] = x.scripts[i][:0]
	}
	for _, f := range x.plan.features {
		if f.draw == nil || f.by&bySystem == 0 {
			continue
		}
		for range f.rate / 2 {
			if a := f.draw(&d); a != nil {
				i := d.n(x.Shards())
				x.scripts[i] = append(x.scripts[i], a)
			}
		}
	}
}

// play uses ports while ticks run, so much for each tick.
func (y *player) play() {
	for acts := range y.turns {
		if y.port == nil {
			if y.port, y.err = y.OpenPort(); y.err != nil {
				return
			}
		}
		for range acts {
			y.act()
		}
		if y.plan.has("reopen") {
			y.port.Close()
			y.port = nil
		}
	}
}

func (y *player) act() {
	f := y.plan.features[y.n(len(y.plan.features))]
	switch {
	case f.name == "references":
		y.own()
	case f.name == "batches":
		y.batch()
	case f.name == "questions":
		a := new(world.Answer[int64])
		q := y.objects.made["question"].(*world.Question[int64, int64])
		y.sent(&a.Completion, q.Ask(y.port, y.someone(), 1, a))
	case f.draw == nil || f.by&byPort == 0 || f.name == "clones": // a CloneBy is not told who makes an instance
		y.ask(spawn(&y.drawer, 1))
		y.ask(kill(y.someone()))
	default:
		if a := f.draw(&y.drawer); a != nil {
			y.ask(a)
		}
	}
}

// ask sends an act, and waits for its outcome every other time.
func (y *player) ask(a *act) []handle.Handle {
	p, done := y.port, (*world.Completion)(nil)
	if y.coin() {
		done = new(world.Completion)
		p = p.Notify(done)
	}
	hs, err := a.do(y.objects, p)
	y.sent(done, err)
	if err == nil {
		y.made = append(y.made, hs...)
		for _, h := range hs {
			y.known[y.n(len(y.known))] = h
		}
	}
	return hs
}

// sent takes note of a request; a full queue is no fault.
func (y *player) sent(done *world.Completion, err error) {
	switch {
	case err == nil && done != nil:
		y.done = append(y.done, done)
	case err != nil && !errors.Is(err, world.ErrFull):
		y.err = err
	}
}

// own owns who was just created, and releases it at once: the refresh that creates it, or
// the next, destroys it.
func (y *player) own() {
	h, err := y.bundles[0].create(y.port, y.next())
	if err != nil {
		y.sent(nil, err)
		return
	}
	o := reference.Own(y.port, h, nil)
	if o.Handle() != h {
		y.err = fmt.Errorf("%v, which was just created, cannot be owned", h)
		return
	}
	y.made, y.released = append(y.made, h), append(y.released, h)
	o.Release()
}

func (y *player) batch() {
	from, back := len(y.made), y.coin()
	err := y.port.Batch(func() error {
		for range 20 {
			h, err := y.bundles[0].create(y.port, y.next())
			if err != nil {
				return err
			}
			y.made = append(y.made, h)
		}
		if back {
			return errBack
		}
		return nil
	})
	if err != nil {
		y.back = append(y.back, y.made[from:]...)
		y.made = y.made[:from]
	}
	if !errors.Is(err, errBack) {
		y.sent(nil, err)
	}
}

// audit checks what holds whatever happened.
func (x *crowd) audit(t *testing.T) {
	given := map[handle.Handle]bool{}
	for _, h := range x.pieces {
		require.False(t, given[h], "%v was given twice", h)
		given[h] = true
	}
	for _, y := range x.players {
		require.NoError(t, y.err)
		for _, h := range slices.Concat(y.made, y.back) {
			require.False(t, given[h], "%v was given twice", h)
			given[h] = true
		}
		for _, h := range y.made {
			require.Contains(t, []world.Status{world.Alive, world.Stale}, x.Status(h), "%v, which was created", h)
		}
		for _, h := range y.back {
			require.False(t, x.Alive(h), "%v was taken back", h)
		}
		for i, c := range y.done {
			require.NotEqual(t, world.Undecided, c.Outcome(), "request %d of %d", i, len(y.done))
		}
		x.auditReleased(t, y.released)
	}
	var found []handle.Handle
	for ch := range x.Query().Chunks() {
		found = append(found, ch.Handles()...)
	}
	require.Len(t, found, x.Count())
	seen := map[handle.Handle]bool{}
	port, err := x.OpenPort()
	require.NoError(t, err)
	for _, h := range found {
		require.False(t, seen[h], "%v is in two rows", h)
		seen[h] = true
		require.True(t, x.Alive(h))
		require.Equal(t, world.FlagsOf(x.World, h), world.FlagsOf(port, h))
	}
	var stats world.Stats
	x.Stats(&stats)
	require.Equal(t, uint64(x.Count()), stats.Created-stats.Destroyed)
	x.auditExtensions(t, seen)
	x.Close()
}

// auditReleased checks that who was owned and released is dead, or was spared for its
// children.
func (x *crowd) auditReleased(t *testing.T, released []handle.Handle) {
	p, _ := x.objects.made["policy"].(policy)
	if p.Relation != nil && p.OnParentDeath == hierarchy.SpareParent {
		return
	}
	alive := 0
	for _, h := range released {
		if x.Alive(h) {
			alive++
		}
	}
	require.Zero(t, alive, "so many of %d that were owned and released are alive", len(released))
}

func (x *crowd) auditExtensions(t *testing.T, alive map[handle.Handle]bool) {
	if all, ok := x.objects.made["names"].(*names.Names[int64]); ok {
		n := 0
		for h, name := range all.All() {
			n++
			back, found := all.Lookup(name)
			require.True(t, found && back == h && alive[h], "%v is called %d, which is the name of %v", h, name, back)
		}
		require.Equal(t, all.Len(), n)
	}
	if p, ok := x.objects.made["policy"].(policy); ok {
		require.NoError(t, p.Load(p.Save(nil)))
		read := p.Read(x.World)
		for h := range alive {
			up := read.Parent(h)
			require.True(t, up.IsNone() || alive[up], "the parent of %v, %v, is dead", h, up)
		}
	}
}
