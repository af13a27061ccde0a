package store

import (
	"errors"
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
)

// Description describes the requests of a kind.
type Description struct {
	Name   string // such as `message "hit"`
	Direct bool   // they may be for a shard itself
	Asks   bool   // they change nothing, and only return something to their sender
}

// Parted is a Handler whose payloads have a part that defines the request; the rest is for the
// sender.
type Parted interface {
	// PartType is the type of that part.
	PartType() reflect.Type
	// Part returns the part of a payload, in place.
	Part(p mem.Pointer) mem.Cells
	// Complete fills in the rest of a payload for a request without a sender. The rest is zero or
	// holds old contents.
	Complete(p mem.Pointer)
}

// Numbered is a Handler whose payloads have numbers of components in them.
type Numbered interface {
	// Renumber replaces each number in a payload by the result of now, and leaves out the number if
	// that is -1.
	Renumber(p mem.Pointer, now func(component int) int)
}

// Kinds are the kinds of requests of a space, by number, for tools. Kinds are
// numbered in the order in which they were made.
//
// Ownership: anyone, while no kind is made.
type Kinds struct{ space *Space }

// Kinds returns the kinds of requests.
func (s *Space) Kinds() Kinds { return Kinds{s} }

// Len returns the number of kinds.
func (k Kinds) Len() int { return k.space.Registry.Len() }

// Describe returns the description of a kind, and the type of its payloads, or nil if they have
// none.
func (k Kinds) Describe(kind int) (Description, reflect.Type) {
	switch kind {
	case queue.DestroyKind:
		return Description{Name: "destroy"}, nil
	case queue.MoveKind:
		return Description{Name: "move"}, nil
	}
	handler := k.space.handlers[kind]
	d := handler.Describe()
	if x, ok := handler.(Parted); ok {
		return d, x.PartType()
	}
	return d, k.space.Registry.TypeOf(kind).Of
}

// Memory returns the type of the payloads of a kind, if Payload returns all of them.
func (k Kinds) Memory(kind int) *mem.Type {
	if _, ok := k.space.handlers[kind].(Parted); ok {
		return nil
	}
	return k.space.Registry.TypeOf(kind)
}

// Each calls f with each request of a record of many; see queue.Registry.Each.
func (k Kinds) Each(many queue.PendingRequest, f func(queue.PendingRequest)) {
	k.space.Registry.Each(many, f)
}

// Payload returns the payload of a request, in place, or nothing. For a Parted kind that is only
// the part that defines the request.
func (k Kinds) Payload(r queue.PendingRequest) mem.Cells { return k.cells(r.Kind(), r.Payload()) }

// cells returns the payload at p of a kind, in place, or the part of it that defines the request.
func (k Kinds) cells(kind int, p mem.Pointer) mem.Cells {
	of := k.space.Registry.TypeOf(kind)
	switch x, ok := k.space.handlers[kind].(Parted); {
	case of == nil:
		return mem.Cells{}
	case ok:
		return x.Part(p)
	}
	return of.Run(p.Address, 1)
}

// Reasons why a request cannot be sent again.
var (
	errNoKind    = errors.New("there is no such kind of request")
	errFlags     = errors.New("there are no such requests of that kind")
	errShard     = errors.New("there is no such shard")
	errForNobody = errors.New("it changes nothing")
)

// Resend pushes a request as a Look showed it. It returns the payload, for the caller to fill in
// before Publish. If this space cannot have such a request, it returns an error and pushes nothing.
// Producer only, while the world is idle.
func (k Kinds) Resend(q *queue.Queue, kind int, flags queue.Flags, h handle.Handle, epoch uint32) (mem.Cells, error) {
	if err := k.check(kind, flags); err != nil {
		return mem.Cells{}, err
	}
	p := k.space.Registry.Push(q, kind, flags, h, epoch)
	if x, ok := k.space.handlers[kind].(Parted); ok {
		x.Complete(p)
	}
	return k.cells(kind, p), nil
}

// Renumber replaces the numbers of components in a payload; see Numbered. A loader calls it for
// each request that it sends again.
func (k Kinds) Renumber(kind int, payload mem.Cells, now func(component int) int) {
	if x, ok := k.space.handlers[kind].(Numbered); ok {
		x.Renumber(payload.Part(0), now)
	}
}

// Size returns the units that a request of a kind counts for in a queue; see queue.Queue.Room.
func (k Kinds) Size(kind int) uint32 { return k.space.Registry.Size(kind) }

// check returns an error for requests that no sender can have sent, or that change nothing. It
// changes nothing.
func (k Kinds) check(kind int, flags queue.Flags) error {
	if kind < 0 || kind >= k.Len() {
		return errNoKind
	}
	d, _ := k.Describe(kind)
	_, creates := k.space.handlers[kind].(Creator)
	var may queue.Flags
	switch {
	case d.Asks:
		return errForNobody
	case creates:
		may = queue.Create
	case flags&queue.Direct != 0 && d.Direct:
		may = queue.Direct
	}
	to := flags & queue.Shards
	switch {
	case flags&^queue.Shards != may, to != 0 && may == 0 && kind != queue.MoveKind:
		return errFlags
	case int(to) >= k.space.Shards():
		return errShard
	}
	return nil
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
// applies them one by one, with a nil shard. The refresh does so in the step extend.
func NewJoint(s *Space, of *mem.Type, a Handler) queue.Kind {
	k := NewKind(s, of, a)
	s.Registry.SetJoint(k.Number())
	return k
}

// NewTransaction is NewJoint for requests that run a function of the user.
func NewTransaction(s *Space, of *mem.Type, a Handler) queue.Kind {
	k := NewJoint(s, of, a)
	s.Registry.SetCall(k.Number())
	return k
}
