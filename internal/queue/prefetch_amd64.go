//go:build amd64 && !race

package queue

// prefetchWrite asks for the cache line of r, to be written soon. Without it a
// sender waits for each line of its queue that the refresh has read meanwhile, on
// another core, since publishing a request waits for its stores.
//
//go:noescape
func prefetchWrite(r *Request)
