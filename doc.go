// Package atoll is the root of Atoll, a concurrent, sharded entity service that
// MMO and simulation servers embed to hold their entities. It has no code of its
// own; this is the index.
//
// A world is partitioned into shards. A scheduler runs systems over them on all
// cores and ends each tick with a refresh: requests are applied, marked entities are
// removed, storage is compacted, and handles stay valid. Any goroutine may create,
// destroy, check and command entities while the tick runs.
//
// I want to …
//
//	make a world                              world.New, world.Options
//	say what entities are made of             world.Register, world.NewBundle
//	create entities, one or a million         Bundle.Create, Bundle.CreateN
//	look at one entity                        world.Read, Reader.Get, Reader.At
//	go over all that have something           World.Query, Build.Query, Query.Chunks
//	destroy, and know when it is gone         Destroy, Refresh, Status
//	add or remove components                  Component.Add, Bundle.Add, Bundle.AddTo, Query.Remove
//	move an entity to another shard           world.Move
//	refer to an entity for long, or share it  package ext/reference
//	write a system                            world.Build, world.Context
//	look up one entity, or one at random      Reader.Get, Context.Locate, Query.At
//	read entities of other shards in it       world.ReadForeign
//	run systems tick by tick, on all cores    scheduler.New, Scheduler.Step, Run
//	order them, skip them, print the schedule scheduler.Before, When, Every, Scheduler.Schedule
//	use the World between two ticks           Scheduler.Between, Options.OnTick
//	run code on an entity at the refresh      world.RegisterFunc, RegisterQuestion
//	change several entities, or none of them  world.RegisterTransaction, world.Tx
//	tell the outside what has happened        world.RegisterOutput, Output.Put, Output.Handle
//	be called when entities change            World.Observe
//	see the world as of one tick, from anywhere  World.NewView, View.Capture, Frame
//	read relations and names as of one tick   Relation.Read, Names.Read
//	find what changed between two ticks       Frame.Diff
//	mark entities by bits, readable anywhere  world.AddFlags, world.FlagsOf
//	keep entities in trees, or in places      package ext/hierarchy
//	make entities from templates, copy trees  package ext/prefab
//	find entities by a name                   package ext/names
//	find what is near                         package ext/near
//	send clients what they see                package ext/interest
//	divide a world by space                   package ext/region
//	compare worlds, tick by tick              package persist/state
//	record a world's inputs, replay them      package persist/inputlog
//	save a world, go on from it               snapshot.Write, Load, of package persist/snapshot
//	save only what has changed                snapshot.Chain, snapshot.Merge, Dir.Increments
//	survive the death of the process          package persist/durable
//	survive the death of the machine          durable.Follow
//	try something out, or go back in time     snapshot.Capture, Captured.Load
//	change a world's number of shards         world.Options, snapshot.Load, durable.ShardsError
//	load a zone into a world                  snapshot.ExtractAll, snapshot.Insert
//	take entities from a world to another     snapshot.Extract, snapshot.ReadPiece
//	load what an older version has saved      snapshot.PlanLoad, Options.Changes
//	move the constants of an enum             state.RegisterEnum
//	compare two snapshots                     text.Compare, of package persist/snapshot/text
//	see a snapshot as text, change it         text.Export, text.Import
//	see what a world holds and does           World.Stats, World.Describe
//	serve metrics to Prometheus               package inspect/metrics
//	see what takes long, and what waits       Scheduler.Stats, Scheduler.Trace, package world/stats
//	see and control a world in a browser      package inspect
//	close a world                             World.Close
//	share a value between systems             world.RegisterResource, RegisterAccumulator
//	test one system                           worldtest.Run
//	test that a world is deterministic        worldtest.Same
//	act from a goroutine outside of the tick  World.OpenPort, world.Port
//	request changes of many in one call       Bundle.AppendN, Component.SetN, Port.DestroyN
//	learn the outcome of a request            Port.Notify, world.Completion
//	send something to an entity               world.RegisterMessage, Message.Send
//	send a message later, or every n ticks    package ext/timer
//	send something to an entity of another world  package ext/transit
//	reach the worlds of another process       package ext/transit/link
//	send an entity to another world           transit.RegisterGate
//	add up what there is in several worlds    transit.Cut, Message.Waiting
//	ask a database or service outside         package ext/async
//	name an entity in a database or packet    package handle
//	write a tool that looks into the storage  package shard
//	watch a world live                        go run ./cmd/atoll demo -inspect 127.0.0.1:8080, atoll top
//	see what a snapshot file is               go run ./cmd/atoll snapshot info
//	put a world under stress                  go run ./cmd/atoll soak
//	compare Atoll with other libraries        go run ./bench/compare
//
// Begin with docs/guide.md. docs/architecture.md and docs/design.md say how Atoll works and why;
// docs/sources.md says what it grew from, and which tests prove it.
package atoll
