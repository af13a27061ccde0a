// Package state tells whether two worlds are the same: a hash of everything that
// decides what a world does next.
//
//	hasher := state.NewHasher(w, nil)
//	sum, err := hasher.StateHash()
//
// The same inputs give the same hash after each tick, on any number of workers;
// two runs that differ, differ from the tick on in which they part, which is where
// to look. What is hashed, and what is not and why, is in docs/determinism.md.
//
// Components, messages and resources need nothing if they are made of numbers, strings, slices,
// arrays, maps, structs and pointers. Whatever holds an interface, channel or function needs a
// Codec, as do types of which something would be lost: see Codec.
package state
