package reference

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// Owner is a share in an entity. Clone makes another; with the release of the last
// the entity is destroyed at the next refresh. The zero value owns nothing.
//
// An Owner must not be copied, but cloned: each is released once. Releasing one twice panics, as
// far as that can be detected: in the check build (-race, or -tags atollcheck) for copies, too, and
// then it names the first release.
//
// Ownership: a variable is for one goroutine at a time; clones of one entity may be
// with any goroutines.
type Owner struct {
	block    *block
	share    share
	released bool
}

// block counts the shares in one entity.
//
// Invariants: count is the number of shares that are not released. When it comes to
// 0 the entity is handed to the refresh.
//
// Ownership: shared by all Owners.
type block struct {
	count    atomic.Int64
	liveness *extend.Liveness
	handle   handle.Handle
	ledger   ledger
	cleanup  runtime.Cleanup // set before the block is shared
	watched  bool
}

// Own takes ownership of an entity, which must have no other owner. It
// returns an Owner of nothing if the entity is not alive. An entity that a port has
// just created may be owned at once, except by a system, function or hook. A handle that no port has
// given to a caller is owned by nobody. A marked entity counts as alive until the refresh. Own
// allocates once.
//
// forgotten, if not nil, is called with the handle, on a goroutine of the runtime,
// when the collector finds that shares were lost without being released. The entity
// stays alive, because the time of a collection must not affect the world. A panic of forgotten is
// written to standard error.
func Own(by world.Actor, h handle.Handle, forgotten func(handle.Handle)) Owner {
	liveness, ok := find(by, h)
	if !ok {
		return Owner{}
	}
	b := &block{liveness: liveness, handle: h}
	b.count.Store(1)
	if forgotten != nil {
		b.watched = true
		b.cleanup = runtime.AddCleanup(b, func(l lost) { l.notify() }, lost{b.liveness, h, forgotten})
	}
	return Owner{block: b, share: b.ledger.open()}
}

// lost is what is left of a block that was forgotten.
type lost struct {
	liveness  *extend.Liveness
	handle    handle.Handle
	forgotten func(handle.Handle)
}

// notify reports it, unless the world, or the entity, is gone anyway. The goroutine is one on which
// the runtime calls the cleanups of the whole program.
func (l lost) notify() {
	if !l.liveness.Alive(l.handle) {
		return
	}
	err := aside.Do("reference: the function of Own", func() error {
		l.forgotten(l.handle)
		return nil
	})
	if err != nil {
		aside.Report(err)
	}
}

// Handle returns the entity, or handle.None if o owns nothing. The entity may be dead: entities
// with an owner can still be destroyed.
func (o *Owner) Handle() handle.Handle {
	if o.block == nil || o.released {
		return handle.None
	}
	return o.block.handle
}

// Alive reports whether o owns an entity that is alive.
func (o *Owner) Alive() bool {
	return o.block != nil && !o.released && o.block.liveness.Alive(o.block.handle)
}

// Weak returns a reference to the entity without a share in it. The reference is empty if the
// entity is neither alive nor pending.
func (o *Owner) Weak() Weak {
	if o.block == nil || o.released {
		return Weak{}
	}
	r := Weak{liveness: o.block.liveness, handle: o.block.handle}
	r.Get()
	return r
}

// Clone returns another share in the same entity: one locked addition. The clone
// of an Owner of nothing owns nothing. It panics if o was released.
func (o *Owner) Clone() Owner {
	b := o.block
	if b == nil {
		return Owner{}
	}
	o.mustOwn("Clone")
	b.count.Add(1)
	return Owner{block: b, share: b.ledger.open()}
}

// Release gives the share back: one locked subtraction. After the last one the next
// refresh destroys the entity, or if it is still pending the refresh that creates it. That
// is never refused, and any
// goroutine may do it. Releasing an Owner of nothing does nothing. It panics if o was
// released before.
func (o *Owner) Release() {
	b := o.block
	if b == nil {
		return
	}
	o.mustOwn("Release")
	b.ledger.close(o.share, b.handle)
	o.released = true
	switch n := b.count.Add(-1); {
	case n == 0:
		if b.watched {
			b.cleanup.Stop()
		}
		b.liveness.Release(b.handle)
	case n < 0:
		panic(fmt.Sprintf("reference: entity %v is released more often than it was owned; an Owner was copied, clone it instead", b.handle))
	}
}

// Shares returns how many shares the entity has.
func (o *Owner) Shares() int {
	if o.block == nil {
		return 0
	}
	return int(o.block.count.Load())
}

func (o *Owner) mustOwn(call string) {
	if o.released {
		panic(fmt.Sprintf("reference: Owner.%s of entity %v after its Release%s; clone an Owner before it is released", call, o.block.handle, o.block.ledger.where(o.share)))
	}
}
