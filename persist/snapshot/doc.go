// Package snapshot writes an idle world to an io.Writer and reads it into a new one. That continues
// as the first would have: with the same state, including the handles that are given later, after
// each tick, on any number of workers.
//
//	err := snapshot.Write(file, w, snapshot.Options{Scheduler: s})
//	…
//	w, s := newWorld() // registers everything, as before
//	err = snapshot.Load(file, w, snapshot.Options{Scheduler: s})
//
// Capture takes the state in memory. It can be written while the world ticks on, or loaded into
// other worlds, as often as needed.
//
// Extract copies entities out of a world, with all below them, into a Piece: bytes that can be kept and
// sent. Insert puts them into a world that has others, which may be of another program version.
//
// A Chain writes only what has changed since the snapshot before; Merge makes whole snapshots of
// that.
//
// Package snapshot/text writes a snapshot as text and reads it back, and compares two snapshots.
//
// docs/snapshot-format.md says what is saved, and what is not.
package snapshot

// The files, in reading order:
//
//	options.go        Options, Extra; Change and Plan, for worlds that differ from what is saved
//	catalogue.go      what a world has registered, and how that matches what a snapshot names
//	save.go           Write, Capture, Chain, Merge
//	load.go rows.go   Load, PlanLoad, Inspect; what is read of shards and their rows
//	piece.go          Piece, ReadPiece: the bytes
//	piece_types.go    what pieces say of types, and how that matches a world
//	extract.go        Extract, ExtractAll
//	insert.go         Insert
//	dir.go            Dir
//
// internal/format has the sections of a file, internal/shape and internal/schema the types of values.
