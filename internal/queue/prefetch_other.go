//go:build !amd64 || race

package queue

// prefetchWrite is a hint that is given only on amd64.
func prefetchWrite(*Request) {}
