// Package snapshot writes an idle world to an io.Writer and reads it into a new one, which then
// goes on as the first would have: the same state, handles that are given later included, after
// each tick, on any number of workers.
//
//	err := snapshot.Save(file, w, snapshot.Options{Scheduler: s})
//	…
//	w, s := newWorld() // registers everything, as before
//	err = snapshot.Load(file, w, snapshot.Options{Scheduler: s})
//
// Capture takes the state in memory: to write it while the world ticks on, or to load it into other
// worlds, as often as it takes.
//
// Insert puts the entities of a loaded world into one that has others.
//
// A Chain writes what has changed since the snapshot before, and Merge makes whole ones of that.
//
// What is saved, and what is not, is in docs/snapshot-format.md.
package snapshot
