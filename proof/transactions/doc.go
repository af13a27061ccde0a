// Package transactions has the proof that a transaction is done as a whole or not at all: random ones,
// with errors and panics in them, against a model and against a world in which those that fail are
// never asked for.
package transactions
