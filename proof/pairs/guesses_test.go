package pairs_test

import (
	"errors"

	"github.com/atoll-sim/atoll/ext/reference"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// hostile is a client of a scene that draws while systems run. A replay has none.
type hostile struct {
	of   *objects
	port *world.Port
	wave int // how many draws there were
}

var errGuess = errors.New("taken back")

// guesses has systems look at handles before anybody has them: handles of ports that are given
// later, while a port draws beside the systems, and handles that shards give in this tick.
func guesses() *feature {
	return &feature{
		name: "guesses",
		prepare: func(o *objects) {
			look := func(c *world.Context, what string) {
				for i := range uint32(60) {
					home := uint32(c.Shards())
					n := (i*i*i*7 + uint32(c.Tick())*13) % 12_000
					if i%4 == 0 {
						n = uint32(c.Tick())*97 + i // about where the next ones come from
					}
					if i >= 40 { // what the systems of another shard give about now
						home, n = i%home, uint32(c.Tick())*3+i/2
					}
					h := handle.New(home, n, 1+i%3)
					owner, weak := reference.Own(c, h, nil), reference.To(c, h)
					o.note(c, what, h, int64(bit(c.Alive(h) && !c.Owns(h)))<<16|int64(c.Status(h))<<8|int64(owner.Shares())<<1|int64(bit(weak.Alive())))
				}
			}
			o.ticks.MustAdd("guess", func(*world.Build) func(*world.Context) {
				return func(c *world.Context) {
					x, _ := o.made["guesses"].(*hostile)
					if c.Shard() == 0 && x != nil && c.Tick()%2 == 0 {
						x.draw()
					}
					look(c, "guess")
					if c.Shard() == 0 && x != nil && c.Tick()%2 == 1 {
						x.draw()
					}
				}
			})
		},
		between: func(s *scene) {
			x, _ := s.made["guesses"].(*hostile)
			if x == nil || x.of != s.objects {
				p, err := s.OpenPort()
				s.must(err == nil, "OpenPort: %v", err)
				x = &hostile{of: s.objects, port: p}
				s.made["guesses"] = x
			}
		},
		end: func(s *scene) { s.made["guesses"].(*hostile).port.Close() },
	}
}

// aside runs code on a goroutine outside of the tick, and waits for it.
func aside(f func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	<-done
}

// draw draws handles, which makes pages of slots, and takes them back.
func (x *hostile) draw() {
	aside(func() {
		x.wave++
		_ = x.port.Batch(func() error {
			_, _ = x.of.bundles[0].appendN(nil, x.port, 200*(1+x.wave%4), 1)
			return errGuess
		})
	})
}

func bit(x bool) int {
	if x {
		return 1
	}
	return 0
}
