package queue

import (
	"unsafe"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
)

// This file holds the layout of requests in memory.

// record returns the request that begins at a unit of a segment of records.
//
// Safety: a unit has the size and alignment of a Request, which holds no
// pointers that the collector would have to see. Callers mask i by the segment's size.
func (r *segment) record(i uint32) *Request {
	return (*Request)(unsafe.Add(r.buf, uintptr(i)*unitBytes))
}

// behind returns the address after the head of a request.
//
// Safety: callers know that the record has a unit there. Units are aligned to 8
// bytes, which is enough for any type.
func (r *Request) behind() mem.Address { return unsafe.Add(unsafe.Pointer(r), unitBytes) }

// payload returns the address of a payload without pointers. For a payload of size 0 that is
// the address of the request.
//
// Safety: as for behind; a payload of size 0 is neither read nor written.
func (r *Request) payload(units uint32) mem.Pointer {
	if units > 1 {
		return mem.Pointer{Address: r.behind()}
	}
	return mem.Pointer{Address: unsafe.Pointer(r)}
}

// The sizes of what is in columns behind a manyHead.
const (
	handleBytes = uint64(unsafe.Sizeof(handle.None))
	runBytes    = uint64(unsafe.Sizeof(run{}))
)

var _ = [1]struct{}{}[unsafe.Sizeof(manyHead{})-unitBytes]

// many returns the second head of a record of many requests.
//
// Safety: as for behind.
func (r *Request) many() *manyHead { return (*manyHead)(r.behind()) }

// handles returns the handles of a record of many requests.
//
// Safety: as for behind. They take as many bytes as units have in steps of 8, and hold no pointers.
func (r *Request) handles() []handle.Handle {
	return unsafe.Slice((*handle.Handle)(unsafe.Add(r.behind(), unitBytes)), r.many().n)
}

// values returns the address of the payloads in a record of many requests, for the producer and the
// consumer.
//
// Safety: as for handles, which they follow. If they take no bytes, the record may end there, and
// the ring with it: then it is an address within the record, which nobody reads.
func (r *Request) values(bytes uint64) mem.Address {
	if bytes == 0 {
		return r.behind()
	}
	return unsafe.Add(r.behind(), unitBytes+uintptr(r.many().n)*uintptr(handleBytes))
}

// runs returns n runs of a record of many requests whose payloads take so many bytes.
//
// Safety: as for values; the runs begin at a multiple of 8 bytes.
func (r *Request) runs(values uint64, n int) []run {
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*run)(unsafe.Add(r.behind(), unitBytes+uintptr(runsAt(uint64(r.many().n), values)))), n)
}
