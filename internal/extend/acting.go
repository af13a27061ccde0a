package extend

import "github.com/atoll-sim/atoll/internal/check"

// Acting is the part of a world.Context that says which system it acts for. The methods are
// small enough to be inlined: a tick calls each of them once for each system and shard.
//
// Ownership: as for the Context. A global system that is Exclusive may be started only while no
// shard is running.
type Acting struct {
	Access *Access // of the running system; nil outside of one
	System string
	Delta  float64
	Seeded bool   // its random stream has begun
	Hook   bool   // it is a hook
	Reveal func() // of global systems: shows all shards what was created until now

	// For the check build: the rest of Start and Stop, and what Returned calls.
	Enter, Leave, Unwritten func()
}

// Start makes the Context act for a system, on the worker that runs the shard. In the check build
// it hashes what the system may read but not write, for Returned to compare.
func (a *Acting) Start(system string, access *Access) {
	a.System, a.Access, a.Delta, a.Seeded = system, access, access.Delta, false
	if check.Enabled {
		a.Enter()
	}
}

// Returned notes that the system has returned normally, as part of the system: in the check build
// it panics if rows changed that the system asked to read and not to write.
func (a *Acting) Returned() {
	if check.Enabled {
		a.Unwritten()
	}
}

// Stop undoes Start, on the same worker, also after a panic. After a system that had all shards to
// itself, all of them see what was created before.
func (a *Acting) Stop() {
	if a.Access != nil && a.Access.Exclusive {
		a.Reveal()
	}
	if check.Enabled {
		a.Leave()
	}
	a.Access, a.Hook = nil, false
}
