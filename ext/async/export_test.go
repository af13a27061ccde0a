package async

import (
	"github.com/atoll-sim/atoll/internal/wheel"
	"github.com/atoll-sim/atoll/world"
)

// Answer applies an answer in a shard, as a log has it.
func (c *Call[A, R]) Answer(shard int, id ID, s Status, value R) world.Outcome {
	return world.Outcome(c.answer(shard, &answer[R]{wheel.ID(id), s, value}))
}

// Home returns the home in which an ask was made.
func (id ID) Home() int { return wheel.ID(id).Home() }

// Waits returns how many tasks of a Pool wait.
func (p *Pool) Waits() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for t := p.mu.first; t != nil; t = t.next {
		n++
	}
	return n
}

// Repeat makes an ask one that comes again, as no Call does.
func (c *Call[A, R]) Repeat(id ID) { c.homes[id.Home()].At(wheel.ID(id).Index()).Period = 1 }

// Args returns what is kept as the arguments of an ask.
func (c *Call[A, R]) Args(id ID) A { return *c.homes[id.Home()].Body(wheel.ID(id).Index()) }
