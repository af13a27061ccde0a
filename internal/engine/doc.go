// Package engine is a world without type parameters. Package world is its face: its types are
// defined by types of this package, and what it forwards has its full documentation there.
// Extensions, the scheduler, persistence and the inspector turn a *world.World into a *World, which
// costs nothing, and call what programs must not.
//
// The files, in reading order:
//
//	world.go           World: what it is made of, its phases, refresh, close, failure; Status
//	options.go         Options and their limits
//	actor.go raw.go    Actor and Self: who acts; how a type of package world finds its own here
//	set.go             ComponentSet, Viewable; Part, which components and bundles embed
//	build.go           Build, Binder: how a system, the idle world or a frame asks for accessors
//	term.go query.go   Term; Query, its loops and its changes of all that match
//	context.go         Context: what a running system acts through
//	entity_context.go  EntityContext and Call: functions, which run on one entity
//
//	component.go       Component: Set, Ask and CloneBy of one component
//	bundle.go          Bundle: Create and Set of several components
//	place.go           in which shard the idle world creates
//	create_many.go     CreateN, AppendN and CreateRows of a Bundle
//	change.go          Add and Remove, of a Component and a Bundle
//	group.go           Group: entities that are created together, for package prefab
//	copy.go flag.go move.go  calls by any actor on one entity
//	movable.go         which types cannot be components, because rows move
//
//	sender.go          sender: how requests are accepted
//	port.go            Port, Completion: requests from outside
//	port_batch.go      several requests as one
//	registered.go      Messages, Resource, Refusable: what package world registers
//	hook.go            Hook
//	frame.go frames.go View, Frame, Diff; how frames are captured and kept
//	errors.go          the errors, Panic, Breakdown
//
//	extension.go       for extensions: to take part in refreshes
//	requests.go        Requests: an extension's own kinds of requests
//	schedule.go        for the scheduler: Tick
//	inputs.go          for logs: to record inputs; Replayer
//	survey.go load.go  for hashes and snapshots: Survey shows a world, Loader fills one
//	piece.go           for pieces: an entity, to be copied
//	tests.go           for tests of other packages
//
// Who may call what, when:
//
//   - An idle world is used by one goroutine at a time, for everything. World.phase says that it is
//     idle; a call at another time panics, or returns ErrClosed.
//   - BeginTick takes the world for a tick. The worker that runs a shard uses that shard's Context,
//     and what was built for it. The coordinator runs the refresh, by package refresh.
//   - A Port is used by its goroutine, and a Frame by any, at any time.
//   - What is safe from any goroutine says so.
//
// Messages of panics and errors begin with the package that the program called, mostly world.
package engine
