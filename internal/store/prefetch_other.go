//go:build !amd64 || race

package store

// prefetchWrite is a hint that is given only on amd64.
func prefetchWrite(*Request) {}
