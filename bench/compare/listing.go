package main

import "unsafe"

// listed adds up a list of 8-byte handles, the cost of iterating over children. All contenders run
// the same machine code, so that the place of a loop in memory does not matter.
//
// Safety: callers only pass lists of values of 8 bytes without pointers, which may
// be read as numbers.
func listed[T any](list []T) uint64 {
	var one T
	if unsafe.Sizeof(one) != 8 {
		panic("listed: not a handle of 8 bytes")
	}
	return added(unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(list))), len(list)))
}

//go:noinline
func added(list []uint64) (sum uint64) {
	for _, x := range list {
		sum += x
	}
	return sum
}
