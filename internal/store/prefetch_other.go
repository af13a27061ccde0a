//go:build !amd64 || race

package store

// prefetchWrite is a hint, which is given on amd64 alone.
func prefetchWrite(*Request) {}
