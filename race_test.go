package atoll_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestRace lets a cast of actors loose on one world, for a while: goroutines
// that act through ports, and systems that tick beneath them. Each asserts the
// one invariant that its comment names; at the end everybody's ledger is
// compared with the world. Slots retire after 7 versions, so that what comes
// after the last version happens all the time.
func TestRace(t *testing.T) {
	s := newStage(t)
	creating, stopCreating := context.WithCancel(t.Context())
	acting, stopActing := context.WithCancel(t.Context())

	var creators, destroyers, others sync.WaitGroup
	for i := range s.creators {
		creators.Go(func() { s.create(creating, &s.creators[i]) })
	}
	for i := range s.destroyers {
		destroyers.Go(func() { s.destroy(acting, &s.destroyers[i]) })
	}
	for i := range s.commanders {
		others.Go(func() { s.command(acting, &s.commanders[i]) })
	}
	others.Go(func() { s.herd(acting) })
	for i := range checkers {
		others.Go(func() { s.check(acting, uint64(i)) })
	}

	// Whatever happens, the world ticks on until nobody waits for it.
	gone := make(chan struct{})
	go func() {
		time.Sleep(runTime())
		for s.w.Tick() < ticksMin || s.doomed.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		stopCreating()
		creators.Wait()
		close(s.condemned[0])
		close(s.condemned[1])
		destroyers.Wait()
		stopActing()
		others.Wait()
		close(gone)
	}()
	ticking := true
	for ticking {
		select {
		case <-gone:
			ticking = false
		default:
			s.tick()
		}
	}
	for range 3 { // the last requests, the last messages
		s.tick()
	}
	s.mustBeConsistent()
}

const (
	creatorsN   = 4
	commandersN = 3
	checkers    = 2
	veteransN   = 24 // entities that nobody destroys
	versionMax  = 7
	shards      = 4
	ticksMin    = 60 // what it takes for slots to retire, however slow the machine
)

func runTime() time.Duration {
	if testing.Short() && !check.Enabled {
		return 500 * time.Millisecond
	}
	return 3 * time.Second
}

// The components, bundles and messages of the stage.
type (
	tag   struct{ Creator, Serial int64 } // which create made the entity
	beat  struct{ N uint64 }              // ticks lived
	sum   struct{ N int64 }               // of all orders heard
	last  struct{ Seq int64 }             // set by the commander
	order struct{ Commander, Seq int64 }

	recruit struct{ tag }
	veteran struct {
		beat
		sum
		last
	}
	mayfly struct{ beat }
)

// stage is the world and the actors on it.
type stage struct {
	t         *testing.T
	w         *world.World
	scheduler *scheduler.Scheduler
	recruits  *world.Bundle[recruit]
	mayflies  *world.Bundle[mayfly]
	last      *world.Component[last]
	orders    *world.Message[order]

	veterans   []handle.Handle
	creators   [creatorsN]creator
	destroyers [2]destroyer
	commanders [commandersN]commander
	condemned  [2]chan handle.Handle // to each destroyer
	doomed     atomic.Int64          // entities that were condemned
	dead       graveyard
	breeders   [shards]breeder
	failed     bool
}

func newStage(t *testing.T) *stage {
	w := world.MustNew(world.Options{Shards: shards, VersionMax: versionMax, QueueRequests: 200, QueueBytes: 1 << 16})
	world.Register[tag](w, "tag")
	world.Register[beat](w, "beat")
	world.Register[sum](w, "sum")
	s := &stage{
		t: t, w: w, last: world.Register[last](w, "last"), orders: world.RegisterMessage[order](w, "order"),
		recruits: world.NewBundle[recruit](w), mayflies: world.NewBundle[mayfly](w),
		scheduler: scheduler.New(w, scheduler.Options{Workers: shards}),
	}
	var err error
	s.veterans, err = world.NewBundle[veteran](w).AppendN(nil, w, veteransN, nil)
	require.NoError(t, err)
	for i := range s.condemned {
		s.condemned[i] = make(chan handle.Handle, 64)
		s.destroyers[i] = destroyer{in: s.condemned[i], outcomes: map[handle.Handle]world.Outcome{}}
	}
	for i := range s.creators {
		s.creators[i].number = int64(i)
	}
	for i := range s.commanders {
		s.commanders[i].number = int64(i)
	}
	s.scheduler.
		MustAdd("beat", beatOnce).
		MustAdd("obey", s.obey).
		MustAdd("watch", s.watch).
		MustAdd("breed", s.breed)
	return s
}

// tick is one step. Systems say what is wrong by panicking; the first to do so
// is heard.
func (s *stage) tick() {
	if err := s.scheduler.Step(context.Background()); err != nil && !s.failed {
		s.failed = true
		s.t.Error(err)
	}
}

// mustBeConsistent compares the world with the ledgers, when all is quiet.
func (s *stage) mustBeConsistent() {
	t, w := s.t, s.w
	var stats world.Stats
	w.Stats(&stats)
	t.Logf("%d ticks, %d created, %d destroyed, %d moved, %d alive, %d slots retired, %d requests applied, %d rejected",
		stats.Tick, stats.Created, stats.Destroyed, stats.Moved, stats.Entities, stats.Retired, stats.Applied, stats.Rejected)
	require.NotZero(t, stats.Retired, "slots retire in this test")
	require.NotZero(t, stats.Gone)
	require.NotZero(t, stats.Moved)

	// Created − destroyed = alive, by scan.
	alive := map[handle.Handle]bool{}
	tags := world.Read[tag](w)
	made := map[tag]handle.Handle{}
	for ch := range w.Query(world.Optional(tags)).Chunks() {
		for i, h := range ch.Handles() {
			require.False(t, alive[h], "%v is there twice", h)
			alive[h] = true
			require.Equal(t, world.Alive, w.Status(h))
			if s := tags.Slice(ch); s != nil {
				made[s[i]] = h
			}
		}
	}
	require.Equal(t, int(stats.Created-stats.Destroyed), len(alive))
	require.Equal(t, stats.Entities, len(alive))

	// Each handle is in the state that the ledgers say.
	mustBe := func(h handle.Handle, want bool) {
		t.Helper()
		require.Equal(t, want, alive[h], "%v", h)
		require.Equal(t, want, w.Alive(h), "%v", h)
	}
	known := map[handle.Handle]bool{}
	for i := range s.creators {
		for _, e := range s.creators[i].ledger {
			require.False(t, known[e.h], "%v was given twice", e.h)
			known[e.h] = true
			mustBe(e.h, !e.condemned)
			if !e.condemned {
				require.Equal(t, e.h, made[e.tag])
			}
		}
	}
	for h, first := range s.destroyers[0].outcomes {
		second := s.destroyers[1].outcomes[h]
		require.ElementsMatch(t, []world.Outcome{world.Applied, world.Gone}, []world.Outcome{first, second},
			"%v was destroyed by exactly one of two", h)
		mustBe(h, false)
	}
	require.Equal(t, len(s.destroyers[0].outcomes), len(s.destroyers[1].outcomes))
	for i := range s.breeders {
		for _, h := range s.breeders[i].living {
			require.False(t, known[h], "%v was given twice", h)
			known[h] = true
			mustBe(h, true)
		}
	}
	for _, h := range s.dead.all() {
		mustBe(h, false)
	}
	require.Equal(t, len(known)-len(s.destroyers[0].outcomes)+veteransN, len(alive), "nobody else is alive")

	// Veterans heard every order, and have what they were last set to.
	total := int64(0)
	for i := range s.commanders {
		total += s.commanders[i].total
	}
	for i, h := range s.veterans {
		mustBe(h, true)
		total -= world.Read[sum](w).Get(h).N
		by := &s.commanders[i%commandersN]
		require.Equal(t, by.set[h], world.Read[last](w).Get(h).Seq)
	}
	require.Zero(t, total, "each order that was accepted was heard once")
}

// creator makes recruits through its port. Its invariant: a handle is pending or
// alive as soon as it is given, alive when the outcome is known, and stays so
// until the creator itself condemns it.
type creator struct {
	number int64
	ledger []entry
}

type entry struct {
	h         handle.Handle
	tag       tag
	condemned bool // handed to both destroyers
}

func (s *stage) create(ctx context.Context, c *creator) {
	p := s.port()
	defer p.Close()
	r := rand.New(rand.NewPCG(1, uint64(c.number)))
	oldest := 0 // not condemned yet
	for n := int64(0); ctx.Err() == nil; n++ {
		var done world.Completion
		waits := r.IntN(8) == 0
		if waits {
			p.Notify(&done)
		}
		e := entry{tag: tag{c.number, n}}
		var err error
		if e.h, err = s.recruits.Create(p, recruit{e.tag}); err != nil {
			s.mustBeFull(err)
			continue
		}
		if st := p.Status(e.h); st != world.Pending && st != world.Alive {
			s.t.Errorf("creator %d was given %v, which is %v", c.number, e.h, st)
		}
		if waits {
			if o, err := done.Wait(context.Background()); err != nil || o != world.Applied || !p.Alive(e.h) {
				s.t.Errorf("creator %d: create of %v is %v, %v; it is %v", c.number, e.h, o, err, p.Status(e.h))
			}
		}
		c.ledger = append(c.ledger, e)
		for range 4 { // mine are alive, or will be
			own := &c.ledger[oldest+r.IntN(len(c.ledger)-oldest)]
			if st := p.Status(own.h); st != world.Alive && st != world.Pending {
				s.t.Errorf("creator %d: %v, which nobody was to destroy, is %v", c.number, own.h, st)
			}
		}
		if len(c.ledger)-oldest > 100 {
			own := &c.ledger[oldest]
			own.condemned = true
			oldest++
			s.doomed.Add(1)
			s.condemned[0] <- own.h
			s.condemned[1] <- own.h
		}
	}
}

// destroyer destroys what it is told to; so does the other, at about the same
// time. Its invariant: it is told Applied or Gone, and from then on the handle
// is stale. That exactly one of the two is told Applied is seen at the end.
type destroyer struct {
	in       <-chan handle.Handle
	outcomes map[handle.Handle]world.Outcome
}

func (s *stage) destroy(_ context.Context, d *destroyer) {
	p := s.port()
	defer p.Close()
	var done [16]world.Completion // one batch: the port is used for all before any is waited for
	var batch []handle.Handle
	for open := true; open; {
		batch = batch[:0]
		for len(batch) < len(done) {
			h, ok := <-d.in
			if open = ok; !ok {
				break
			}
			for err := p.Notify(&done[len(batch)]).Destroy(h); err != nil; err = p.Notify(&done[len(batch)]).Destroy(h) {
				s.mustBeFull(err)
			}
			batch = append(batch, h)
		}
		for i, h := range batch {
			o, err := done[i].Wait(context.Background())
			if err != nil || (o != world.Applied && o != world.Gone) || p.Status(h) != world.Stale {
				s.t.Errorf("destroy of %v is %v, %v; it is %v", h, o, err, p.Status(h))
			}
			d.outcomes[h] = o
			s.dead.bury(h)
		}
	}
}

// commander sends orders to veterans, and sets a component of some. Its
// invariant: what it sends is accepted, or refused because its queue is full;
// veterans are alive. That orders arrive once and in order is the veterans'.
type commander struct {
	number int64
	seq    int64
	total  int64                   // sum of the orders accepted
	set    map[handle.Handle]int64 // what veterans were last set to
}

func (s *stage) command(ctx context.Context, c *commander) {
	p := s.port()
	defer p.Close()
	r := rand.New(rand.NewPCG(2, uint64(c.number)))
	c.set = map[handle.Handle]int64{}
	for ctx.Err() == nil {
		i := r.IntN(len(s.veterans))
		h := s.veterans[i]
		if !p.Alive(h) {
			s.t.Errorf("veteran %v is %v", h, p.Status(h))
		}
		c.seq++
		if err := s.orders.Send(p, h, order{c.number, c.seq}); err != nil {
			s.mustBeFull(err)
		} else {
			c.total += c.seq
		}
		if i%commandersN != int(c.number) { // others' to set
			continue
		}
		if err := s.last.Set(p, h, last{c.seq}); err != nil {
			s.mustBeFull(err)
		} else {
			c.set[h] = c.seq
		}
	}
}

// herd moves veterans from shard to shard. Its invariant: they are alive, and a
// move that was accepted is done. That they hear each order once and in order,
// and are walked once a tick, wherever they are, is the systems'.
func (s *stage) herd(ctx context.Context) {
	p := s.port()
	defer p.Close()
	r := rand.New(rand.NewPCG(4, 4))
	for n := 0; ctx.Err() == nil; n++ {
		var done world.Completion
		waits := r.IntN(8) == 0
		if waits {
			p.Notify(&done)
		}
		h := s.veterans[r.IntN(len(s.veterans))]
		if err := world.Move(p, h, r.IntN(shards)); err != nil {
			s.mustBeFull(err)
			continue
		}
		if !waits {
			continue
		}
		if o, err := done.Wait(context.Background()); err != nil || o != world.Applied || !p.Alive(h) {
			s.t.Errorf("move of veteran %v is %v, %v; it is %v", h, o, err, p.Status(h))
		}
	}
}

// check asks about the dead and about handles that were never given. Its
// invariant: none is ever alive, whatever happens to the slot.
func (s *stage) check(ctx context.Context, seed uint64) {
	p := s.port()
	defer p.Close()
	r := rand.New(rand.NewPCG(3, seed))
	for ctx.Err() == nil {
		if h := s.dead.pick(r); !h.IsNone() && (s.w.Alive(h) || p.Status(h) != world.Stale) {
			s.t.Errorf("%v, which died, is %v", h, p.Status(h))
		}
		forged := handle.New(uint32(r.IntN(shards+1)), uint32(r.IntN(1<<16)), versionMax+1+r.Uint32N(1<<20))
		for _, h := range []handle.Handle{forged, forged &^ handle.VersionMax, handle.Handle(r.Uint64() | 1<<63)} {
			if s.w.Alive(h) || p.Status(h) != world.Forged {
				s.t.Errorf("%#x, which nobody was given, is %v", uint64(h), p.Status(h))
			}
		}
	}
}

func (s *stage) port() *world.Port {
	p, err := s.w.OpenPort()
	if err != nil {
		panic(err)
	}
	return p
}

// mustBeFull is for errors that are no errors here; the refresh makes room.
func (s *stage) mustBeFull(err error) {
	if !errors.Is(err, world.ErrFull) {
		s.t.Error(err)
	}
	runtime.Gosched()
}

// graveyard holds the dead, for who wants to see that they are.
type graveyard struct {
	mu struct {
		sync.Mutex
		dead []handle.Handle
	}
}

func (g *graveyard) bury(h handle.Handle) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.dead = append(g.mu.dead, h)
}

func (g *graveyard) pick(r *rand.Rand) handle.Handle {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.mu.dead) == 0 {
		return handle.None
	}
	return g.mu.dead[r.IntN(len(g.mu.dead))]
}

func (g *graveyard) all() []handle.Handle { return g.mu.dead }

// The actors that are systems. They say what is wrong by panicking, which the
// tick returns as an error: ending the test from a worker would end the worker.

// beatOnce counts the ticks of everybody who has a beat. Its invariant: each
// atom is walked once per tick.
func beatOnce(b *world.Build) func(*world.Context) {
	beats := world.Write[beat](b)
	all := b.Query(beats)
	return func(*world.Context) {
		for ch := range all.Chunks() {
			s := beats.Slice(ch)
			for i := range s {
				s[i].N++
			}
		}
	}
}

// obey adds up the orders that veterans hear. Its invariant: each veteran hears
// the orders of one commander in the order sent, none twice.
func (s *stage) obey(b *world.Build) func(*world.Context) {
	orders, sums := world.Receive[order](b), world.Write[sum](b)
	type pair struct {
		veteran   handle.Handle
		commander int64
	}
	newest := map[pair]int64{}
	return func(c *world.Context) {
		for _, e := range orders.All() {
			if !c.Owns(e.To) {
				panic(fmt.Sprintf("%v hears an order in shard %d", e.To, c.Shard()))
			}
			at := pair{e.To, e.Body.Commander}
			if newest[at] >= e.Body.Seq {
				panic(fmt.Sprintf("%v hears order %d of commander %d after %d", e.To, e.Body.Seq, e.Body.Commander, newest[at]))
			}
			newest[at] = e.Body.Seq
			sums.Get(e.To).N += e.Body.Seq
		}
	}
}

// watch reads the veterans of all shards. Its invariant: it sees what this
// tick's systems before it wrote, in whichever shard.
func (s *stage) watch(b *world.Build) func(*world.Context) {
	beats, sums := world.ReadForeign[beat](b), world.ReadForeign[sum](b)
	heard := make([]int64, len(s.veterans))
	return func(c *world.Context) {
		for i, h := range s.veterans {
			if x, ok := beats.Get(h); !ok || x.N != c.Tick()+1 {
				panic(fmt.Sprintf("veteran %v has %d beats in tick %d, found %t", h, x.N, c.Tick(), ok))
			}
			x, _ := sums.Get(h)
			if x.N < heard[i] {
				panic(fmt.Sprintf("veteran %v heard %d, and then %d", h, heard[i], x.N))
			}
			heard[i] = x.N
		}
	}
}

// breeder is one shard's breed: it makes mayflies and destroys them some ticks
// later. Its invariant: they live for exactly the ticks given to them, and their
// handles tell.
type breeder struct {
	living []handle.Handle // oldest first
}

const (
	brood      = 30 // mayflies made by a shard in a tick
	broodTicks = 4  // ticks that they are seen in
)

func (s *stage) breed(b *world.Build) func(*world.Context) {
	me := &s.breeders[b.Shard()]
	b.Creates(s.mayflies)
	beats := world.Write[beat](b)
	var dying []handle.Handle
	return func(c *world.Context) {
		for _, h := range dying {
			if c.Alive(h) || c.Status(h) != world.Stale || beats.Get(h) != nil {
				panic(fmt.Sprintf("mayfly %v is %v a tick after its end", h, c.Status(h)))
			}
		}
		dying = dying[:0]
		if len(me.living) == brood*broodTicks {
			for _, h := range me.living[:brood] {
				if x := beats.Get(h); x == nil || x.N != broodTicks {
					panic(fmt.Sprintf("mayfly %v is %v and not %d ticks old", h, c.Status(h), broodTicks))
				}
				if err := c.Destroy(h); err != nil || !c.Alive(h) || c.Status(h) != world.Dying {
					panic(fmt.Sprintf("mayfly %v is destroyed: %v; it is %v", h, err, c.Status(h)))
				}
				dying = append(dying, h)
			}
			me.living = append(me.living[:0], me.living[brood:]...)
		}
		for range brood {
			h, err := s.mayflies.Create(c, mayfly{})
			if err != nil {
				panic(err)
			}
			me.living = append(me.living, h)
		}
	}
}
