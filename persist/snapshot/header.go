package snapshot

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"time"

	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// Info is the head of a snapshot.
type Info struct {
	// Options are those of the saved world: a world that is made with them can load it.
	Options world.Options
	Layout  world.Layout
	Tick    uint64
	// Hash is the hash of the saved world's state, by package state.
	Hash state.Hash
	// Entities is the number of entities, including marked ones.
	Entities int
	// Increment says that the snapshot has only what has changed since another, with BaseTick
	// and BaseHash. It cannot be loaded without that; Merge makes a whole snapshot of both.
	Increment bool
	BaseTick  uint64
	BaseHash  state.Hash

	base base
}

// Inspect reads the head of a snapshot, which may be an increment. It returns ErrNoSnapshot,
// ErrVersion, ErrTruncated or ErrAltered, or the error of src.
func Inspect(src io.Reader) (Info, error) {
	r := sourceOf(src)
	if err := r.begin(); err != nil {
		return Info{}, err
	}
	x, _, err := readAnyHeader(r, new(section))
	return x, err
}

// setting is a number of the header.
type setting struct {
	name  string
	value uint64
	to    func(x *Info, v uint64)
	// kind says whether the new world must have the same value.
	kind settingKind
}

// String returns the value as text for people.
func (s setting) String() string {
	switch s.name {
	case "TickInterval":
		return time.Duration(s.value).String()
	case "hash":
		return state.Hash(s.value).String()
	}
	return fmt.Sprint(s.value)
}

type settingKind uint8

const (
	told   settingKind = iota // it need not be the same
	shapes                    // handles or memory depend on it
	counts                    // what happens next depends on it
)

// settings lists the settings of the world of an Info.
func settings(x *Info) []setting {
	o := &x.Options
	is := func(v bool) uint64 {
		if v {
			return 1
		}
		return 0
	}
	number := func(name string, v *int, kind settingKind) setting {
		return setting{name, uint64(*v), func(_ *Info, n uint64) { *v = int(n) }, kind}
	}
	return []setting{
		{"byte order of numbers (1: little endian)", uint64(binary.NativeEndian.Uint16([]byte{1, 0})), nil, shapes},
		{"bits of an int", bits.UintSize, nil, shapes},
		number("bits of a handle's shard", &x.Layout.ShardBits, shapes),
		number("bits of a handle's index", &x.Layout.IndexBits, shapes),
		number("bits of a handle's version", &x.Layout.VersionBits, shapes),
		{"Shards", uint64(o.Shards), func(_ *Info, n uint64) { o.Shards, x.Layout.Shards = int(n), int(n) }, shapes},
		{"IndexMax", uint64(o.IndexMax), func(_ *Info, n uint64) { o.IndexMax = uint32(n) }, shapes},
		{"VersionMax", uint64(o.VersionMax), func(_ *Info, n uint64) { o.VersionMax = uint32(n) }, shapes},
		{"VersionsEach", uint64(o.VersionsEach), func(_ *Info, n uint64) { o.VersionsEach = uint32(n) }, shapes},
		number("ChunkRowsFirst", &o.ChunkRowsFirst, counts),
		number("ChunkRowsFactor", &o.ChunkRowsFactor, counts),
		number("ChunkRowsMax", &o.ChunkRowsMax, counts),
		{"HugePages", is(o.HugePages), func(_ *Info, n uint64) { o.HugePages = n != 0 }, told},
		{"KeepOrder", is(o.KeepOrder), func(_ *Info, n uint64) { o.KeepOrder = n != 0 }, counts},
		{"TickInterval", uint64(o.TickInterval), func(_ *Info, n uint64) { o.TickInterval = time.Duration(n) }, counts},
		{"Seed", o.Seed, func(_ *Info, n uint64) { o.Seed = n }, counts},
		number("PortsMax", &o.PortsMax, told),
		number("QueueRequests", &o.QueueRequests, told),
		number("QueueBytes", &o.QueueBytes, told),
		number("FramesMax", &o.FramesMax, told),
		number("FramesBytes", &o.FramesBytes, told),
		number("OutboxRequests", &o.OutboxRequests, counts),
		number("OutboxBytes", &o.OutboxBytes, counts),
		{"tick", x.Tick, func(_ *Info, n uint64) { x.Tick = n }, told},
		{"hash", uint64(x.Hash), func(_ *Info, n uint64) { x.Hash = state.Hash(n) }, told},
		number("entities", &x.Entities, told),
	}
}

// infoOf returns the Info of a world, as in its own snapshot, without hash and entities.
func infoOf(w *world.World) *Info {
	return &Info{Options: w.Options(), Layout: w.Layout(), Tick: w.Tick()}
}

func appendHeader(dst []byte, x *Info) []byte {
	all := settings(x)
	dst = drive.AppendNumber(dst, len(all))
	for _, s := range all {
		dst = drive.AppendNumber(drive.AppendText(dst, s.name), s.value)
	}
	return dst
}

// readHeader reads the section of the header, and returns its settings. An
// increment is an error.
func readHeader(r source, s *section) (x Info, all []setting, err error) {
	if x, all, err = readAnyHeader(r, s); err == nil && x.Increment {
		err = fmt.Errorf("%w: it is an increment on %v; pass both to Merge", ErrBase, x.base)
	}
	return x, all, err
}

func readAnyHeader(r source, s *section) (x Info, all []setting, err error) {
	checked := func() error {
		if err := r.next(s); err != nil {
			return err
		}
		return s.check()
	}
	if err = checked(); err == nil && s.kind == baseSection {
		if x.base, err = readBase(s); err == nil {
			x.Increment, x.BaseTick, x.BaseHash = true, x.base.tick, x.base.hash
			err = checked()
		}
	}
	if err != nil {
		return x, nil, err
	}
	if s.kind != headerSection || s.how != None || s.number != 0 {
		return x, nil, altered("%v: a header is wanted", s)
	}
	c := drive.Cursor{Rest: s.body}
	n := c.Count(2)
	for range n {
		all = append(all, setting{name: c.Text(), value: c.Number()})
	}
	if err := c.End(); err != nil {
		return x, nil, altered("%v: %v", s, err)
	}
	known := settings(&x)
	if len(all) != len(known) {
		return x, nil, altered("%v: it has %d settings, want %d", s, len(all), len(known))
	}
	for i, k := range known {
		if all[i].name != k.name {
			return x, nil, altered("%v: setting %d is %q, want %q", s, i, all[i].name, k.name)
		}
		if k.to != nil {
			k.to(&x, all[i].value)
		}
	}
	return x, all, nil
}

// compare compares the settings of a snapshot with those of the world that loads it. It
// reports whether the settings that decide what happens next are the same.
func compare(own, saved []setting, other bool) (same bool, list []Difference) {
	same = true
	for i, own := range own {
		if saved[i].value == own.value || own.kind == told {
			continue
		}
		d := Difference{Kind: "option", Name: own.name, Was: saved[i].String(), Is: own.String(), Refused: own.kind == shapes || !other}
		switch {
		case own.kind == shapes:
			d.Text = "shapes handles: make the world with Info.Options"
		case other:
			d.Text = "is another"
		default:
			d.Text = "decides what happens next: make the world with Info.Options, or set OtherOptions"
		}
		same, list = false, append(list, d)
	}
	return same, list
}
