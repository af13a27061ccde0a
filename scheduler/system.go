package scheduler

import (
	"fmt"

	"github.com/atoll-sim/atoll/world"
)

// System is the constructor of a system. It runs once per shard, declares its
// access by asking the Build for it, and returns what to run each tick. The
// function's local variables are the system's state in that shard. It must
// declare the same on every shard.
type System func(b *world.Build) func(c *world.Context)

// system is a System that was added.
type system struct {
	name    string
	run     []func(*world.Context) // by shard
	access  *world.Access
	fence   int  // the system that all shards must have passed before this; -1 for none
	awaited bool // it is the fence of another
}

// build runs a constructor for every shard.
func build(w *world.World, name string, construct System) (*system, error) {
	s := &system{name: name, run: make([]func(*world.Context), w.Shards()), fence: -1}
	for i := range s.run {
		b := world.NewBuild(w, i, name)
		s.run[i] = construct(b)
		access := b.Finish()
		switch {
		case s.run[i] == nil:
			return nil, fmt.Errorf("scheduler: the constructor of system %q returned nil for shard %d; return a function", name, i)
		case i == 0:
			s.access = access
		case !access.Same(s.access):
			return nil, fmt.Errorf("scheduler: system %q asks for other access on shard %d than on shard 0; ask for the same on every shard", name, i)
		}
	}
	if both := s.access.Foreign.Common(s.access.Writes); both.Len() > 0 {
		return nil, fmt.Errorf("scheduler: system %q writes or creates %s and reads it in other shards; split it into two systems",
			name, w.ComponentNames(both))
	}
	return s, nil
}

// conflicts reports whether shards must not run a and b at the same time: one
// writes what the other reads in foreign shards.
func conflicts(a, b *world.Access) bool {
	return a.Foreign.Meets(&b.Writes) || b.Foreign.Meets(&a.Writes)
}

// plan finds each system's fence. A shard passes systems in order, so the last
// conflicting system before it stands for all earlier ones.
func plan(systems []*system) {
	for i, s := range systems {
		s.fence, s.awaited = -1, false
		for k := i - 1; k >= 0 && s.fence < 0; k-- {
			if conflicts(s.access, systems[k].access) {
				s.fence = k
				systems[k].awaited = true
			}
		}
	}
}
