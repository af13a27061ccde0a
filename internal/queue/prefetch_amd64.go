//go:build amd64 && !race

package queue

// prefetchWrite asks for the cache line of r, which is written soon. The refresh has read the lines
// of a queue on another core. Without the prefetch a sender waits for each of them, because
// publishing a request waits for its stores.
//
//go:noescape
func prefetchWrite(r *Request)
