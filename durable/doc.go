// Package durable keeps a world in a directory: the process may die at any moment, and the next one
// goes on where it was.
//
//	w, s := newWorld() // registers everything, as always
//	store, err := durable.Open(ctx, "state", w, s, durable.Options{New: fill})
//	…
//	go s.Run(ctx) // ports are opened, players come
//	…
//	err = store.Wait(ctx) // all that was applied until now is on disk
//	…
//	err = store.Close() // when Run has returned
//
// Register everything before Open: components, bundles, messages, functions, questions, resources,
// hooks, extensions such as timers, names and relations, and prefabs. Add all systems before, and call
// Message.Wakes. Snapshots and the log name them, and the next start reads those in Open, and makes the
// ticks of the log, where it does not call Options.New. To register in Options.New, or after Open,
// panics.
//
// In the directory are snapshots, and the inputs since: as ticks apply the requests of ports, a
// goroutine writes them to a log, and syncs it for all ticks since the last sync at once. Open
// loads the newest snapshot that is whole and plays the log as far as it is whole. So the world
// must be deterministic, as docs/determinism.md says. What changes the idle world outside of its
// ticks, as in a function of scheduler.Between, no log has: the Store finds that out, and saves a
// snapshot.
//
// After a crash the world is another incarnation, so no handle that was given before names another
// entity; see world.World.Reincarnate. The log may end before the process did: what was not synced
// is lost. A server that answers its clients only when Wait has returned loses nothing that they
// know of.
package durable
