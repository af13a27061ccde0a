package inputlog

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// setting is something that shapes a world, or the log of it.
type setting struct {
	name  string
	value uint64
}

// settings lists what must be the same in the world that a log is played to.
func settings(w *world.World) []setting {
	o := w.Options()
	flag := func(v bool) uint64 {
		if v {
			return 1
		}
		return 0
	}
	order := binary.NativeEndian.Uint16([]byte{1, 0})
	return []setting{
		{"bits of a handle's shard", 64 - handle.IndexBits - handle.VersionBits},
		{"bits of a handle's index", handle.IndexBits},
		{"bits of a handle's version", handle.VersionBits},
		{"byte order of numbers (1: little endian)", uint64(order)},
		{"bits of an int", bits.UintSize},
		{"Shards", uint64(o.Shards)},
		{"IndexMax", uint64(o.IndexMax)},
		{"VersionMax", uint64(o.VersionMax)},
		{"VersionsEach", uint64(o.VersionsEach)},
		{"KeepOrder", flag(o.KeepOrder)},
		{"TickInterval", uint64(o.TickInterval)},
		{"Seed", o.Seed},
		{"ChunkRowsFirst", uint64(o.ChunkRowsFirst)},
		{"ChunkRowsFactor", uint64(o.ChunkRowsFactor)},
		{"ChunkRowsMax", uint64(o.ChunkRowsMax)},
		{"OutboxRequests", uint64(o.OutboxRequests)},
		{"OutboxBytes", uint64(o.OutboxBytes)},
		{"the tick", w.Tick()},
	}
}

func appendHeader(dst []byte, w *world.World, note []byte) []byte {
	dst = appendBytes(dst, note)
	all := settings(w)
	dst = binary.AppendUvarint(dst, uint64(len(all)))
	for _, s := range all {
		dst = appendBytes(dst, s.name)
		dst = binary.AppendUvarint(dst, s.value)
	}
	return dst
}

// readHeader returns what appendHeader wrote.
func readHeader(body []byte) (note []byte, all []setting, err error) {
	c := cursor{rest: body}
	note = append([]byte(nil), c.bytes()...)
	for range c.times {
		all = append(all, setting{string(c.bytes()), c.number()})
	}
	return note, all, c.err
}

// mustMatch refuses a world that is not as the recorded one was.
func mustMatch(w *world.World, recorded []setting) error {
	own := settings(w)
	if len(own) != len(recorded) {
		return fmt.Errorf("%w: it has %d settings, want %d", ErrOtherWorld, len(recorded), len(own))
	}
	for i, s := range own {
		if r := recorded[i]; r != s {
			return fmt.Errorf("%w: %s is %d in the log, %s is %d here", ErrOtherWorld, r.name, r.value, s.name, s.value)
		}
	}
	return nil
}
