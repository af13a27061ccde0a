// Package state tells whether two worlds are the same: a hash of everything that
// decides what a world does next.
//
//	hasher := state.NewHasher(w, nil)
//	sum, err := hasher.StateHash()
//
// The same inputs give the same hash after each tick, on any number of workers.
// If two runs part, their hashes differ from that tick on, which is where
// to look. docs/determinism.md says what is hashed, what is not, and why.
//
// Components, messages and resources need nothing if they are made of numbers, strings, slices,
// arrays, maps, structs and pointers. Types that hold an interface, channel or function need a
// Codec, and so do types of which something would be lost: see Codec.
package state
