// Package atoll is the root of Atoll, a concurrent, sharded entity service that
// MMO and simulation servers embed to hold their entities. It has no code of its
// own; this is the index.
//
// A world is partitioned into shards. A scheduler runs systems over them on all
// cores and ends each tick with a refresh: requests are applied, the dead are
// destroyed, storage is compacted, handles stay right. Any goroutine may create,
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
//	refer to an entity for long, or share it  package reference
//	write a system                            world.Build, world.Context
//	read entities of other shards in it       world.ReadForeign
//	run systems tick by tick, on all cores    scheduler.New, Scheduler.Step, Run
//	order them, skip them, print the plan     scheduler.Before, When, Every, Scheduler.Plan
//	use the idle world while ticks run        Scheduler.Between, Options.OnTick
//	run code on an entity at the refresh      world.RegisterFunc, RegisterQuestion
//	be told what was created or changed       World.Observe
//	see the world as of one tick, from anywhere  World.NewView, View.Capture, Frame
//	read relations and names as of one tick   Relation.Read, Names.Read
//	tell what changed between two ticks       Frame.Diff
//	mark entities by bits read from anywhere  world.Flag, world.FlagsOf
//	keep them in trees, or lists with places  package hierarchy
//	make trees of them from templates, copy them  package prefab
//	find them by a name                       package names
//	find what is near                         package near
//	tell clients what they see                package interest
//	divide a world by space                   package region
//	compare worlds, tick by tick              package state
//	record what a world is given, replay it   package inputlog
//	save a world, go on from it               snapshot.Save, snapshot.Load
//	save what has changed since               snapshot.Chain, snapshot.Merge, Dir.Increments
//	survive the death of the process          package durable
//	try what would come of it, go back        snapshot.Capture, Captured.Load
//	load a zone into a world                  snapshot.Insert
//	load what an older version has saved      snapshot.PlanLoad, Options.Changes
//	tell what differs between two files       snapshot.Compare
//	see a saved world as text, change it      snapshot.Export, snapshot.Import
//	see what a world holds and does           World.Stats, World.Describe
//	let Prometheus read all that              module metrics
//	see what takes long, and who waits        Scheduler.Stats, Scheduler.Trace, package stats
//	see and control it in a browser           package inspect
//	end it                                    World.Close
//	share a value between systems             world.RegisterResource, RegisterAccumulator
//	test one system                           package worldtest
//	act from a goroutine outside of the tick  World.OpenPort, world.Port
//	do that to many by one call               Bundle.AppendN, Component.SetN, Port.DestroyN
//	learn what became of that                 Port.Notify, world.Completion
//	send something to an entity               world.RegisterMessage, Message.Send
//	send it later, or every so many ticks     package timer
//	ask a database or service outside         package async
//	name an entity in a database or packet    package handle
//	write a tool that looks into the storage  package shard
//	watch a world live                        go run ./cmd/atoll demo -inspect 127.0.0.1:8080, atoll top
//	see what a saved world is                 go run ./cmd/atoll snapshot info
//	put a world under stress                  go run ./cmd/atoll soak
//	compare it with other libraries           go run ./bench/compare
//
// docs/guide.md is the way in, from the first entity on. How it works and why is in
// docs/design.md; what it grew from, and the tests that prove it, in docs/sources.md.
package atoll
