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
// In the directory are snapshots, and the inputs since: what ports have sent is written to a log as
// the ticks apply it, behind the ticks, by a goroutine that syncs as many ticks at a time as came
// meanwhile. Open loads the newest snapshot that is whole and plays the log as far as it is whole. So
// the world must be deterministic, as docs/determinism.md says. What changes the idle world outside of
// its ticks, as in a function of scheduler.Between, no log has: the Store finds that out, and saves a
// snapshot.
//
// After a crash the world is another incarnation, so no handle that anybody was given names another
// entity than it did; see world.World.Reincarnate. Where the log ends is not where the process
// ended: what was not synced is lost. A server that tells its clients nothing before Wait returns
// loses nothing that anybody knows of.
package durable
