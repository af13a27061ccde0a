// Package durable keeps a world in a directory. The process may die at any moment, and the next one
// continues where it was.
//
//	w, s := newWorld() // with world.Options{VersionsEach: 10_000}; registers everything, as always
//	store, err := durable.Open(ctx, "state", w, s, durable.Options{New: fill})
//	…
//	go s.Run(ctx) // ports are opened, players come
//	…
//	err = store.Wait(ctx) // all that was applied until now is on disk
//	…
//	err = store.Close() // when Run has returned
//
// Register everything before Open: components, bundles, messages, functions, questions, resources,
// hooks, extensions such as timers, names and relations, and prefabs. Also add all systems before,
// and call Message.Wakes. Snapshots and the log name them. The next start reads those in Open and
// makes the ticks of the log there, without calling Options.New. Registering in Options.New, or
// after Open, panics.
//
// The directory has snapshots, and the inputs since. As ticks apply the requests of ports, a
// goroutine writes them to a log, and one sync puts all ticks since the last sync on disk. Open
// loads the newest intact snapshot and plays the log as far as it is intact. So the world must be
// deterministic, as docs/determinism.md says. The log does not have changes of the idle world
// outside of its ticks, as in a function of scheduler.Between. The Store detects such a change, and
// saves a snapshot.
//
// After a crash the world is another incarnation, so no handle from before it names another
// entity; see world.World.Reincarnate. Ticks are the only time that the world has, so timers wait
// while no process runs. The log may end before the process did: what was not synced
// is lost. If a server answers its clients only after Wait has returned, nothing is lost that they
// know of. If something that was synced is missing or damaged, Open returns ErrDamaged.
//
// Follow copies the directory to another place while the world runs, for the day on which this one
// is lost.
package durable
