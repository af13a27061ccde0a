package store

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
)

// Describer is a Handler that says what its requests are, for tools that hash,
// record and replay them. All Handlers outside of tests are Describers.
type Describer interface{ Describe() Description }

// Description says what the requests of a kind are.
type Description struct {
	Name   string // such as `message "hit"`
	Direct bool   // may be for a shard itself
	Asks   bool   // changes nothing, and only returns something to its sender
}

// Parted is a Handler with payloads of which only a part says what is asked for; the rest is
// for the sender.
type Parted interface {
	// PartType is the type of that part.
	PartType() reflect.Type
	// Part returns the part of a payload, in place.
	Part(p mem.Pointer) mem.Cells
	// Complete makes the rest of a payload for a request without a sender. The rest is zero
	// or what an older payload left.
	Complete(p mem.Pointer)
}

// anyKind is a Kind of any type.
type anyKind interface {
	typ() reflect.Type
	cells(p mem.Pointer) mem.Cells
	push(l *Queue, h handle.Handle, epoch uint32, how RequestFlags) mem.Pointer
}

func (k Kind[T]) typ() reflect.Type { return reflect.TypeFor[T]() }

func (k Kind[T]) cells(p mem.Pointer) mem.Cells { return mem.CellOf(mem.As[T](p)) }

func (k Kind[T]) push(l *Queue, h handle.Handle, epoch uint32, how RequestFlags) mem.Pointer {
	_, v := k.Push(l, h, epoch, how, nil)
	return mem.PointerTo(v)
}

// Kinds are the kinds of requests of a space, by number, for tools. Kinds are
// numbered in the order in which they were made.
//
// Ownership: anyone, while no kind is made.
type Kinds struct{ space *Space }

// Kinds returns the kinds of requests.
func (s *Space) Kinds() Kinds { return Kinds{s} }

// Len returns the number of kinds.
func (k Kinds) Len() int { return len(k.space.kinds) }

// Describe returns what requests of a kind are, and the type of what comes with
// them, or nil if nothing does.
func (k Kinds) Describe(kind int) (Description, reflect.Type) {
	switch kind {
	case destroyKind:
		return Description{Name: "destroy"}, nil
	case moveKind:
		return Description{Name: "move"}, nil
	}
	info := &k.space.kinds[kind]
	d := Description{Name: fmt.Sprintf("kind %d", kind)}
	if x, ok := info.handler.(Describer); ok {
		d = x.Describe()
	}
	if x, ok := info.handler.(Parted); ok {
		return d, x.PartType()
	}
	return d, info.any.typ()
}

// Payload returns what came with a request, in place, or nothing. Of a Parted kind that is
// only the part that says what is asked for.
func (k Kinds) Payload(r PendingRequest) mem.Cells {
	info := &k.space.kinds[r.kind]
	switch x, ok := info.handler.(Parted); {
	case info.any == nil:
		return mem.Cells{}
	case ok:
		return x.Part(r.payload)
	}
	return info.any.cells(r.payload)
}

// Kind returns the number of the request's kind.
func (r PendingRequest) Kind() int { return int(r.kind) }

// Flags returns what the request is in addition to its kind, without the flags that concern
// only its sender.
func (r PendingRequest) Flags() RequestFlags { return r.flags &^ (notify | joined) }

// IsCreate reports whether the request is to store the atom of a pending handle.
func (r PendingRequest) IsCreate() bool { return r.flags&Create != 0 }

// Reasons why a request cannot be sent again.
var (
	errNoKind    = errors.New("there is no such kind of request")
	errFlags     = errors.New("there are no such requests of that kind")
	errShard     = errors.New("there is no such shard")
	errForNobody = errors.New("it changes nothing")
)

// Resend pushes a request as a Look saw it. It returns what comes with the request, for the
// caller to fill in before Publish. If this space has no such request, it returns an error
// and pushes nothing. Producer only, while the world is idle.
func (k Kinds) Resend(l *Queue, kind int, flags RequestFlags, h handle.Handle, epoch uint32) (mem.Cells, error) {
	if err := k.check(kind, flags); err != nil {
		return mem.Cells{}, err
	}
	info := &k.space.kinds[kind]
	if info.any == nil {
		l.PushBare(Bare{uint16(kind), flags}, h, epoch, nil)
		return mem.Cells{}, nil
	}
	p := info.any.push(l, h, epoch, flags)
	if x, ok := info.handler.(Parted); ok {
		x.Complete(p)
		return x.Part(p), nil
	}
	return info.any.cells(p), nil
}

// check returns an error for requests that no sender can have sent, or that change nothing.
func (k Kinds) check(kind int, flags RequestFlags) error {
	if kind < 0 || kind >= k.Len() {
		return errNoKind
	}
	d, _ := k.Describe(kind)
	_, creates := k.space.kinds[kind].handler.(Creator)
	var may RequestFlags
	switch {
	case d.Asks:
		return errForNobody
	case creates:
		may = Create
	case flags&direct != 0 && d.Direct:
		may = direct
	}
	to := flags & shards
	switch {
	case flags&^shards != may, to != 0 && may == 0 && kind != moveKind:
		return errFlags
	case int(to) >= k.space.Homes()-1:
		return errShard
	}
	return nil
}
