// Package pairs runs the features of a world together: each pair of them, and every three
// in sets of more, in worlds that are large enough for the steps of a refresh to go
// parallel.
//
//	go test ./proof/pairs                               every pair once
//	go test ./proof/pairs -timeout 0 -runs 10000        so many runs
//	go test ./proof/pairs -run TestPairs -pair flags,move -seed 7
//	go test ./proof/pairs -sealed                       inputs are recorded in every run, and ticks are sealed
//
// A feature is a way to touch a row or a slot: flags, moves, names, a hook. It says how
// it prepares a world, what it does to entities, and what can be seen of it. A run gives
// the same inputs to worlds with 1, 2 and 5 workers, the last two with chaos, and
// compares after each tick
//
//   - everything that can be observed with what the world of one worker showed, down to
//     handles, published flags, outcomes and the order of messages;
//   - the entities with a model: maps, changed in the documented order of requests.
//
// TestConcurrent is the second mode: ports are used while ticks run, so nothing can be
// predicted, and invariants and the outcomes of all requests are checked.
//
// To add a feature, write a file with one value of type feature and add it to the table
// in feature_test.go.
package pairs
