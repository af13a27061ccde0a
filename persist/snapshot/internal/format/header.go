package format

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"time"

	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// Info is what package snapshot tells of the head of a snapshot, with the fields of its Info.
type Info struct {
	Options   world.Options
	Layout    world.Layout
	Tick      uint64
	Hash      state.Hash
	Entities  int
	Increment bool
	BaseTick  uint64
	BaseHash  state.Hash
}

// InfoOf returns the Info of a world, as in its own snapshot, without hash and entities.
func InfoOf(w *world.World) *Info {
	return &Info{Options: w.Options(), Layout: w.Layout(), Tick: w.Tick()}
}

// Header is the head of a snapshot.
type Header struct {
	Info
	Settings []Setting
	Base     Base // of an increment
}

// Setting is a number of the header.
type Setting struct {
	Name  string
	Value uint64
	Kind  SettingKind
	set   func(v uint64) // in the Info; nil for those of the machine
}

// SettingKind says whether a world that loads a snapshot must have the same value.
type SettingKind uint8

// The kinds of settings.
const (
	Told   SettingKind = iota // it need not be the same
	Shapes                    // handles or memory depend on it
	Counts                    // what happens next depends on it
)

// Set gives the setting a value, also in the Info that it is of.
func (s *Setting) Set(v uint64) {
	if s.Value = v; s.set != nil {
		s.set(v)
	}
}

// String returns the value as text for people.
func (s Setting) String() string {
	switch s.Name {
	case "TickInterval":
		return time.Duration(s.Value).String()
	case "hash":
		return state.Hash(s.Value).String()
	}
	return fmt.Sprint(s.Value)
}

// OfMachine is how many settings, the first ones, are those of the machine and of handles. OfTick
// is how many, the last ones, change with each tick.
const (
	OfMachine = 5
	OfTick    = 3
)

// Settings lists the settings of the world of an Info.
func Settings(x *Info) []Setting {
	o := &x.Options
	is := func(v bool) uint64 {
		if v {
			return 1
		}
		return 0
	}
	number := func(name string, v *int, kind SettingKind) Setting {
		return Setting{name, uint64(*v), kind, func(n uint64) { *v = int(n) }}
	}
	return []Setting{
		{"byte order of numbers (1: little endian)", uint64(binary.NativeEndian.Uint16([]byte{1, 0})), Shapes, nil},
		{"bits of an int", bits.UintSize, Shapes, nil},
		number("bits of a handle's shard", &x.Layout.HomeBits, Shapes),
		number("bits of a handle's index", &x.Layout.IndexBits, Shapes),
		number("bits of a handle's version", &x.Layout.VersionBits, Shapes),
		{"Shards", uint64(o.Shards), Shapes, func(n uint64) { o.Shards, x.Layout.Shards = int(n), int(n) }},
		{"IndexMax", uint64(o.IndexMax), Shapes, func(n uint64) { o.IndexMax = uint32(n) }},
		{"VersionMax", uint64(o.VersionMax), Shapes, func(n uint64) { o.VersionMax = uint32(n) }},
		{"VersionsEach", uint64(o.VersionsEach), Shapes, func(n uint64) { o.VersionsEach = uint32(n) }},
		number("ChunkRowsFirst", &o.ChunkRowsFirst, Counts),
		number("ChunkRowsFactor", &o.ChunkRowsFactor, Counts),
		number("ChunkRowsMax", &o.ChunkRowsMax, Counts),
		{"HugePages", is(o.HugePages), Told, func(n uint64) { o.HugePages = n != 0 }},
		{"KeepOrder", is(o.KeepOrder), Counts, func(n uint64) { o.KeepOrder = n != 0 }},
		{"TickInterval", uint64(o.TickInterval), Counts, func(n uint64) { o.TickInterval = time.Duration(n) }},
		{"Seed", o.Seed, Counts, func(n uint64) { o.Seed = n }},
		number("PortsMax", &o.PortsMax, Told),
		number("QueueRequests", &o.QueueRequests, Told),
		number("QueueBytes", &o.QueueBytes, Told),
		number("FramesMax", &o.FramesMax, Told),
		number("FramesBytes", &o.FramesBytes, Told),
		number("OutboxRequests", &o.OutboxRequests, Counts),
		number("OutboxBytes", &o.OutboxBytes, Counts),
		{"tick", x.Tick, Told, func(n uint64) { x.Tick = n }},
		{"hash", uint64(x.Hash), Told, func(n uint64) { x.Hash = state.Hash(n) }},
		number("entities", &x.Entities, Told),
	}
}

// AppendHeader appends the section of the header.
func AppendHeader(dst []byte, x *Info) []byte {
	all := Settings(x)
	dst = extend.AppendNumber(dst, len(all))
	for _, s := range all {
		dst = extend.AppendNumber(extend.AppendText(dst, s.Name), s.Value)
	}
	return dst
}

// ReadHeader reads the section of the header. An increment is an error.
func ReadHeader(r Source, s *Section) (x Header, err error) {
	if x, err = ReadAnyHeader(r, s); err == nil && x.Increment {
		err = fmt.Errorf("%w: it is an increment on %v; pass both to Merge", ErrBase, x.Base)
	}
	return x, err
}

// ReadAnyHeader reads the sections of the base, of an increment, and of the header.
func ReadAnyHeader(r Source, s *Section) (x Header, err error) {
	checked := func() error {
		if err := r.Next(s); err != nil {
			return err
		}
		return s.Check()
	}
	if err = checked(); err == nil && s.Kind == BaseSection {
		if x.Base, err = readBase(s); err == nil {
			x.Increment, x.BaseTick, x.BaseHash = true, x.Base.tick, x.Base.hash
			err = checked()
		}
	}
	if err != nil {
		return x, err
	}
	if s.Kind != HeaderSection || s.How != None || s.Number != 0 {
		return x, Altered("%v: a header is wanted", s)
	}
	c := extend.Cursor{Rest: s.Body}
	n := c.Count(2)
	for range n {
		x.Settings = append(x.Settings, Setting{Name: c.Text(), Value: c.Number()})
	}
	if err := c.End(); err != nil {
		return x, Altered("%v: %v", s, err)
	}
	known := Settings(&x.Info)
	if len(x.Settings) != len(known) {
		return x, Altered("%v: it has %d settings, want %d", s, len(x.Settings), len(known))
	}
	for i := range known {
		if x.Settings[i].Name != known[i].Name {
			return x, Altered("%v: setting %d is %q, want %q", s, i, x.Settings[i].Name, known[i].Name)
		}
		known[i].Set(x.Settings[i].Value)
	}
	return x, nil
}

// ReadHead reads what a whole snapshot begins with: the header, and what is registered.
func ReadHead(r Source) (x Header, names *Catalogue, err error) {
	if err = r.Begin(); err != nil {
		return x, nil, err
	}
	var s Section
	if x, err = ReadHeader(r, &s); err != nil {
		return x, nil, err
	}
	var body []byte
	if err = r.Next(&s); err == nil {
		body, err = s.Unpack(new([]byte))
	}
	switch {
	case err != nil:
		return x, nil, err
	case s.Kind != NamesSection || s.Number != 0:
		return x, nil, Altered("%v: what is registered is wanted", &s)
	}
	if names, err = ReadCatalogue(body); err != nil {
		return x, nil, Altered("%v: %v", &s, err)
	}
	return x, names, nil
}
