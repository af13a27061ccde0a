package extend

import (
	"bytes"
	"fmt"
)

// The state of a scheduler is a record of each system, and then the state of its Balancer, which
// begins with 0 or 1. A record is the name, which begins with another byte, 0, whether it is
// enabled, and which of its shards a panic has disabled: OffNowhere; OffSystem and a byte for a
// global system; or OffShards and a byte for each shard.
const (
	OffNowhere = iota
	OffShards
	OffSystem
)

// SystemState is a record of a system.
type SystemState struct {
	Name string
	On   bool
	Off  []byte // nil: a panic has disabled it nowhere

	sharded bool // Off has a byte for each shard
}

// NextSystem reads the next record of the state of a scheduler, and returns the rest. ok is false
// if there is none. After an error, rest is src.
func NextSystem(src []byte, shards int) (x SystemState, rest []byte, ok bool, err error) {
	if len(src) == 0 || src[0] <= 1 {
		return x, src, false, nil
	}
	name, rest, found := bytes.Cut(src, []byte{0})
	wrong := fmt.Errorf("scheduler: the state of system %q is none", name)
	if !found || len(rest) < 2 {
		return x, src, false, wrong
	}
	x = SystemState{Name: string(name), On: rest[0] == 1}
	n, off := 0, rest[1]
	switch off {
	case OffNowhere:
	case OffShards:
		n, x.sharded = shards, true
	case OffSystem:
		n = 1
	default:
		return x, src, false, wrong
	}
	if rest = rest[2:]; len(rest) < n {
		return x, src, false, wrong
	}
	if n > 0 {
		x.Off = rest[:n]
	}
	return x, rest[n:], true, nil
}

// RenameSystems gives the systems in the state of a scheduler the names that now returns, and
// leaves out those for which it returns false. shards is how many the scheduler's world has, and own
// how many this one has: a shard disables what any of those disables whose numbers are the same modulo
// the lower count, and what a Balancer keeps is left out if the counts differ. It does not write to
// src.
func RenameSystems(src []byte, shards, own int, now func(name string) (string, bool)) (dst []byte, err error) {
	for {
		x, rest, ok, err := NextSystem(src, shards)
		if err != nil {
			return nil, err
		}
		if !ok {
			if shards != own {
				src = src[:min(len(src), 1)]
			}
			return append(dst, src...), nil
		}
		if name, keep := now(x.Name); keep {
			dst = append(append(append(dst, name...), src[len(x.Name):len(src)-len(rest)-len(x.Off)]...), x.spread(own)...)
		}
		src = rest
	}
}

// spread returns Off for so many shards.
func (x *SystemState) spread(shards int) []byte {
	if !x.sharded {
		return x.Off
	}
	all := make([]byte, shards)
	Spread(len(x.Off), shards, func(from, to int) { all[to] |= x.Off[from] })
	return all
}

// Spread calls f with each shard of a world and each shard of another that take each other's place
// when the state of one is loaded into the other: those whose numbers are the same modulo the lower
// count.
func Spread(shards, own int, f func(from, to int)) {
	for i := range max(shards, own) {
		f(i%shards, i%own)
	}
}
