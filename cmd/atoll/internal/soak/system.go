package soak

import (
	"errors"
	"time"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

const (
	stumbleOdds = 4000 // a system panics at one of so many chances
	pauseOdds   = 100  // a system of one shard pauses in one of so many ticks
	pauseMax    = 20 * time.Millisecond
	inspectEach = 4   // an animal is looked at each so many ticks
	calls       = 16  // messages that the systems of a shard send in a tick
	watchedN    = 8   // veterans looked at in a tick, by each shard
	floodOdds   = 400 // a shard fills its outbox in one of so many ticks
)

// errStumble is what systems panic with on purpose.
var errStumble = errors.New("stumbled")

func (s *stage) addSystems() error {
	for _, x := range []struct {
		name   string
		system scheduler.System
	}{
		{"drift", s.drift}, {"inspect", s.inspect}, {"obey", s.obey}, {"breed", s.breed}, {"call", s.call}, {"watch", s.watch}, {"pause", s.pause},
	} {
		if err := s.scheduler.Add(x.name, x.system); err != nil {
			return err
		}
	}
	if hook := s.config.hooks.system; hook != nil {
		return s.scheduler.Add("hook", hook)
	}
	return nil
}

// stumble panics by chance.
func (d *herd) stumble() {
	if d.rand.IntN(stumbleOdds) == 0 {
		d.s.thrown.Add(1)
		panic(errStumble)
	}
}

// drift moves the herd, and sometimes panics in the middle.
func (s *stage) drift(b *world.Build) func(*world.Context) {
	pos, vel := world.Write[position](b), world.Read[velocity](b)
	moving := b.Query(pos, vel)
	herd := s.herds[b.Shard()]
	return func(c *world.Context) {
		delta := float32(c.Delta())
		for ch := range moving.Chunks() {
			p, v := pos.Slice(ch), vel.Slice(ch)
			for i := range p {
				p[i].X += v[i].X * delta
				p[i].Y += v[i].Y * delta
			}
			herd.stumble()
		}
	}
}

// inspect checks that the components of a row belong together.
func (s *stage) inspect(b *world.Build) func(*world.Context) {
	tags, twins := world.Read[tag](b), world.Read[twin](b)
	badges, labels := world.Read[badge](b), world.Read[label](b)
	all := b.Query(tags, twins, world.Optional(badges), world.Optional(labels), world.WithoutFlags(b, hidden))
	return func(c *world.Context) {
		n := c.Tick()
		for ch := range all.Chunks() {
			if n++; n%inspectEach != 0 {
				continue
			}
			t, w, g, l := tags.Slice(ch), twins.Slice(ch), badges.Slice(ch), labels.Slice(ch)
			for i := range t {
				if t[i].Serial != w[i].Serial || g != nil && g[i].Serial != t[i].Serial || l != nil && l[i] != labelOf(t[i].Serial) {
					s.violate("row %d of a chunk in shard %d is mixed up: tag %v, twin %v, badge %v, label %v",
						i, c.Shard(), t[i], w[i], at(g, i), at(l, i))
				}
			}
		}
	}
}

// at returns the i-th of a column, or nil if there is none.
func at[T any](column []T, i int) any {
	if column == nil {
		return nil
	}
	return column[i]
}

// call sends messages to veterans, now and then until the outbox is full.
func (s *stage) call(b *world.Build) func(*world.Context) {
	herd := s.herds[b.Shard()]
	return func(c *world.Context) {
		if s.quiet {
			return
		}
		n := calls
		if herd.rand.IntN(floodOdds) == 0 {
			n = 2 * outboxRequests
		}
		for range n {
			v := herd.rand.IntN(veteransN)
			switch err := s.shouts.Send(c, s.veterans[v], shout{herd.maker, herd.shouted[v] + 1}); {
			case err == nil:
				herd.shouted[v]++
			case errors.Is(err, world.ErrFull):
				herd.rejected++
			default:
				s.violate("shard %d cannot send to veteran %v: %v", c.Shard(), s.veterans[v], err)
			}
		}
		herd.stumble()
	}
}

// watch reads veterans in any shard, as the systems before it left them.
func (s *stage) watch(b *world.Build) func(*world.Context) {
	tags, ears := world.ReadForeign[tag](b), world.ReadForeign[ear](b)
	herd := s.herds[b.Shard()]
	return func(c *world.Context) {
		for range watchedN {
			v := herd.rand.IntN(veteransN)
			t, ok := tags.Get(s.veterans[v])
			e, hears := ears.Get(s.veterans[v])
			if !ok || !hears || t != (tag{veteranMaker, uint32(v), uint32(v) + 1}) || e.Heard < herd.seen[v] {
				s.violate("veteran %v as seen from shard %d: tag %v, ear %v after %d", s.veterans[v], c.Shard(), t, e, herd.seen[v])
			}
			herd.seen[v] = e.Heard
		}
	}
}

// pause pauses at times.
func (s *stage) pause(b *world.Build) func(*world.Context) {
	herd := s.herds[b.Shard()]
	return func(*world.Context) {
		if herd.rand.IntN(pauseOdds) == 0 {
			time.Sleep(time.Duration(herd.rand.Int64N(int64(pauseMax))))
		}
	}
}
