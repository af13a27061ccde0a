// Package proof checks what Atoll promises by other means than tests of single
// functions. It is a module of its own, so that the checkers it uses never reach
// the go.mod of the library. docs/reliability.md lists the promises, the commands
// and the figures.
//
//	inspector the inspector's page shows a live world, in a browser
//	kill      a server with every feature that is killed at any moment loses nothing that it told
//	linear    histories of handle operations by many goroutines are linearizable
//	misuse    every call at every wrong time, and every callback that panics
//	mutants   deliberate bugs, which the tests must notice
//	pairs     every pair of features does together what a model says, on any number of workers
//	stateful  the whole API does what a map of entities does, operation by operation
//	same      one log of requests gives the same entities whatever the world's shape
//	spin      a protocol model of slots and refresh, checked exhaustively
package proof
