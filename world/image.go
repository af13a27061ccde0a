package world

import (
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// image is the common part of the frames of one refresh.
//
// Invariants: while an image is in held or is indexed, nothing of it is written but its index.
//
// Ownership: refs as for frames.mu.
type image struct {
	of     *frames
	w      *World // has only the fields that queries and accessors read
	frame  *store.Frame
	copies []*extensionCopy // by number of the extension; nil for those that were not asked for
	refs   int
	lost   bool                        // a frame of it was not released, so somebody may still read it
	index  atomic.Pointer[slots.Index] // nil until the first look-up
}

// lookup finds where entities were, by an index that is made on the first call.
func (x *image) lookup() *slots.Lookup {
	if index := x.index.Load(); index != nil {
		return &index.Lookup
	}
	f := x.of
	f.indexing.Lock()
	defer f.indexing.Unlock()
	if index := x.index.Load(); index != nil {
		return &index.Lookup
	}
	f.mu.Lock()
	from := f.mu.indexed
	f.mu.Unlock()
	var was *store.Frame
	var index *slots.Index
	if from != nil {
		was, index = from.frame, from.index.Load()
	}
	index = x.frame.Index(len(x.w.shards)+1, was, index)
	x.w.space.Lookup = index.Lookup
	x.index.Store(index)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.over == nil && x.refs > 0 {
		f.unindex()
		f.mu.indexed = x
	}
	return &index.Lookup
}
