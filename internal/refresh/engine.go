// Package refresh is the pipeline that ends a tick: requests are applied, the dead are destroyed,
// storage is compacted. It knows entities, requests and extensions, and nothing that a program
// calls: package engine, whose World has an Engine, gives it what a refresh needs of a world as an
// Owner.
//
// Begin with the comment of Engine, which lists the steps, and Engine.Run in refresh.go, which is
// the pipeline. Then:
//
//	gather.go partition.go   which requests a refresh takes, and how workers share them
//	extensions.go mail.go    extensions; messages
//	ports.go endpoint.go     the table of ports; what a world knows of each
//	recording.go             what a Recorder hears
//	shift.go                 entities that a Balancer moves
//	step.go times.go         how a step runs in parallel, and how long it took
//	aside.go panic.go        users' functions, on a goroutine of their own; what becomes of panics
package refresh

import (
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/clock"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// Owner is the world, as far as its refresh calls it.
type Owner interface {
	// GatherEvents moves the recorded changes of each entity to the shard that has it, for the
	// hooks. It returns how many changes and deaths there are. The coordinator calls it before the
	// step observe, in which the worker of each shard calls CallHooks, which calls the hooks there.
	// Both are called only if Engine.Hooked is set.
	GatherEvents() int
	CallHooks(shard int)
	// FramesDue reports whether Capture has something to do, which copies rows for frames. The
	// coordinator calls both, in the step capture.
	FramesDue() bool
	Capture(parallel extend.Parallel)
	// MoveTaken moves the entities that transactions have moved.
	MoveTaken()
	// RecorderPanicked returns the error for a Recorder that has panicked, in the method that the
	// Panic names.
	RecorderPanicked(p *Panic) error
}

// Engine does the refreshes of a world:
//
//	gather            find the queues that something was sent on         coordinator
//	read              take it, up to the cut; find the owners            by partition
//	create            store the rows of pending handles                  by owner
//	route             find the owners of what concerns those             by partition
//	apply             set, deliver, mark                                 by owner
//	commit            make alive what was created and is not marked      by owner
//	extend            what extensions were asked; deaths that follow     coordinator
//	observe           call hooks                                         by owner
//	collect outgoing  find what migrates to another shard                by owner
//	copy incoming     copy what comes from other shards                  by owner
//	compact           fill the holes of the marked and the outgoing      by owner
//	recycle           free the slots of the dead that are at home elsewhere   by home
//	release           give the queues' room back                         by partition
//	end tick          swap mailboxes, coalesce, publish flags            by owner
//	deliver           what is due of timers                              by home, by owner
//	derive            compute again what is derived from rows            coordinator, in parallel
//	capture           copy rows for a frame, if somebody waits for one   by shard, by column
//	notify            report outcomes                                    by partition
//
// A step with nothing to do is skipped.
//
// Ownership: the coordinator, which is the goroutine that called Run, and on an idle world the
// world's. Any goroutine may read the atomic fields and use Ports and PortSlots. A queue of
// Outboxes and the boxes of Mail belong to the shard's worker while a tick runs. Steps that run in
// parallel touch one partition, shard or home each.
type Engine struct {
	Space     *store.Space
	Shards    []*store.Shard
	PortSlots *slots.PortAllocator
	Tick      TickCount
	Epoch     atomic.Uint32
	Closed    atomic.Bool // no request is accepted any more
	Ports     Ports
	// Outboxes are the queues of systems, by shard, and then that of global systems. A queue is nil
	// until something is sent.
	Outboxes   []**queue.Queue
	Mail       Mail
	Extensions Extensions
	Liveness   atomic.Pointer[extend.Liveness] // made when first asked for
	Hooked     bool                            // there are hooks
	Pinned     store.Set                       // entities with any of these are not moved by Shift
	Rung       uint8                           // of the scheduler's ladder, in this tick
	Switches   []extend.Switch                 // of systems, before this tick
	Replay     *Replay                         // nil: no log is replayed
	Times      Times

	// Meanwhile is for tests: what other goroutines do in the middle of a refresh.
	Meanwhile struct {
		Cut  func()      // when the epoch is over, before the refresh looks which ports have sent
		Read func(i int) // when the i-th queue of a partition was read
	}

	owner      Owner
	recording  *recording // nil: there is no Recorder
	seal       seal
	senders    []*Endpoint // ports that have sent something
	producers  []producer
	partitions []*partition // made when first needed
	active     []*partition // those of partitions that are in use
	cut        uint32
	staged     bool            // created entities become alive only when it is known that they stay
	calls      bool            // functions will run
	joint      int             // requests to extensions, and transactions
	clear      bool            // all entities will die
	appliers   []applier       // by shard
	releases   extend.Releases // by references
	incoming   store.Incoming
	remoteDead store.RemoteDead
	shifts     []extend.Shift // decided for this tick; its refresh carries them out
	shifted    int            // how many are to migrate by them
	moving     bool           // entities migrate in this refresh

	part      func(int)             // the step that runs in parallel
	parallel  extend.Parallel       // of the step derive
	derive    extend.Step           // bound once
	guarded   func(int)             // guard, bound once
	recovered atomic.Pointer[Panic] // by guarded

	// The steps, bound once: a closure made at each refresh would be garbage.
	read, create, route, apply, applyAside, commit, collectOutgoing, copyIncoming, compact, recycle, release, endTick, notify, observe func(int)
}

// Replay takes the place of ports while a log is replayed.
//
// Ownership: the world's goroutine, while the world is idle; a refresh takes from Queue, Begins
// and Shifts, and a tick from Switches.
type Replay struct {
	Queue    *queue.Queue
	Begins   []uint32        // the counters of Queue at which the requests of each port begin
	Settled  func()          // called in each refresh when a Recorder's Settled would be, or nil
	Shifts   []extend.Shift  // of the next refresh
	Rung     uint8           // of the next tick
	Switches []extend.Switch // before the next tick
	Sealed   bool            // the next tick is
}

// Init makes the Engine of a new world, and binds the steps. Space, Shards, PortSlots and Outboxes
// are set.
func (e *Engine) Init(owner Owner) {
	e.owner = owner
	e.Times.scale = clock.Measure()
	e.Mail.shards = make([]mailboxes, len(e.Shards))
	e.Extensions.of = e
	e.Ports.slots, e.Ports.epoch, e.Ports.shards = e.PortSlots, &e.Epoch, len(e.Shards)
	e.guarded = e.guard
	e.seal.init(e)
	e.derive = func(n, work int, f func(int)) { e.step(extend.StepDerive, e.parallel, n, work, f) }
	e.read = func(i int) { e.active[i].read() }
	e.create = e.in("create", func(i int) {
		for _, x := range e.active {
			x.create(e.Shards[i], e.staged)
		}
	})
	e.route = func(i int) { e.active[i].route(true) }
	e.apply = e.in("apply", func(i int) {
		for _, x := range e.active {
			x.apply(e.Shards[i])
		}
	})
	e.appliers = make([]applier, len(e.Shards))
	for i := range e.appliers {
		e.appliers[i].init(e, i)
	}
	e.applyAside = e.in("apply", func(i int) { e.appliers[i].apply() })
	e.commit = e.in("commit", func(i int) {
		for _, x := range e.active {
			e.Shards[i].Commit(x.Creates[i])
		}
		e.Shards[i].CommitStaged()
	})
	e.observe = owner.CallHooks // without in: the Context of a hook enters the shard
	e.collectOutgoing = e.in("collect outgoing", func(i int) {
		if s := e.Shards[i]; s.Migrating() > 0 {
			s.CollectOutgoing()
			e.Mail.collectOutgoing(s)
		}
	})
	e.copyIncoming = e.in("copy incoming", func(i int) {
		e.Shards[i].CopyIncoming(&e.incoming, e.Shards)
		e.Mail.copyIncoming(i)
	})
	e.compact = e.in("compact", func(i int) {
		if s := e.Shards[i]; s.Dirty() > 0 || e.moving { // where few entities die, most shards have nothing to do
			s.Compact()
		}
	})
	e.recycle = func(i int) {
		if i < len(e.Shards) {
			e.Shards[i].Recycle(e.remoteDead.Of(i))
			return
		}
		for _, s := range e.Shards {
			e.PortSlots.Recycle(s.PortDead())
		}
	}
	e.release = func(i int) { e.active[i].release() }
	e.endTick = e.in("end tick", func(i int) {
		s := e.Shards[i]
		e.Mail.swap(s)
		if s.Unfinished() > 0 {
			s.EndTick()
		}
	})
	e.notify = func(i int) { e.active[i].notify() }
}

// in makes a step enter the shard that it works on, so that a second goroutine there panics. Check
// build only.
func (e *Engine) in(step string, f func(int)) func(int) {
	if !check.Enabled {
		return f
	}
	user := &store.Occupant{What: "step " + step + " of the refresh"}
	return func(i int) {
		e.Shards[i].Enter(user)
		defer e.Shards[i].Leave()
		f(i)
	}
}
