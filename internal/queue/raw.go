package queue

import (
	"unsafe"

	"github.com/atoll-sim/atoll/internal/mem"
)

// This file holds the layout of requests in memory.

// head returns the request that begins at a unit.
//
// Safety: a unit has the size and alignment of a Request, which holds no
// pointers that the collector would have to see.
func (u *unit) head() *Request { return (*Request)(unsafe.Pointer(u)) }

// behind returns the place behind the head of a request.
//
// Safety: callers know that the record has a unit there. Units are aligned to 8
// bytes, which is enough for any type.
func (r *Request) behind() mem.Address { return unsafe.Add(unsafe.Pointer(r), unitBytes) }

// payload returns the address of a payload without pointers. For a payload of size 0 that is
// the address of the request.
//
// Safety: as of behind; a payload of no size is neither read nor written.
func (r *Request) payload(units uint32) mem.Pointer {
	if units > 1 {
		return mem.Pointer{Address: r.behind()}
	}
	return mem.Pointer{Address: unsafe.Pointer(r)}
}

// next takes the next payload.
//
// Safety: the address is used as that of a T alone, by As.
func (q *Ring[T]) next() mem.Pointer { return mem.Pointer{Address: unsafe.Pointer(q.Pop())} }
