package store

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
)

// Handler applies the requests of a kind. It may also be Parted, Numbered or a Runner. That of
// creates is a Creator.
type Handler interface {
	// Apply applies a request to the living atom h, which is at l. For a request to a shard itself
	// l is 0; for one of a joint kind s is nil.
	Apply(s *Shard, h handle.Handle, l slots.Loc, p mem.Pointer) queue.Outcome
	// Describe describes the requests, for tools that hash, record and replay them.
	Describe() Description
}

// Creator is the Handler of creates, whose Apply is not called.
type Creator interface {
	// CreateAll stores the atoms of creates of its kind, and decides their
	// outcomes.
	CreateAll(s *Shard, creates []queue.PendingRequest)
	// CreateMany is CreateAll for many creates in one record.
	CreateMany(s *Shard, creates queue.PendingRequest)
}

// NewKind makes a kind of request with payloads of a type in a space. The world must be idle.
func NewKind(s *Space, of *mem.Type, a Handler) queue.Kind {
	k := queue.NewKind(s.Registry, of)
	s.handlers = append(s.handlers, a)
	by, _ := a.(Runner)
	s.runners = append(s.runners, by)
	return k
}

// NewCall is NewKind for requests that run a function of the user, which may end its goroutine.
func NewCall(s *Space, of *mem.Type, a Handler) queue.Kind {
	k := NewKind(s, of, a)
	s.Registry.SetCall(k.Number())
	return k
}

// NewJoint is NewKind for requests that may concern any entities, of any shards. Space.Apply
// applies them one by one, with a nil shard. The refresh does so in the step extend, which a world
// without an Extension skips: so only the requests of an Extension may be joint.
func NewJoint(s *Space, of *mem.Type, a Handler) queue.Kind {
	k := NewKind(s, of, a)
	s.Registry.SetJoint(k.Number())
	return k
}
