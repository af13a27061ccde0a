package atoll_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

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
