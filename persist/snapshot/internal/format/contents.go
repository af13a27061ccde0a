package format

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"reflect"
	"slices"
	"time"

	"github.com/atoll-sim/atoll/internal/form"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
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
	Homes     int
	PortsHome int
}

// Homes returns which homes the world of an Info has.
func (h *Header) Homes() slots.Layout {
	return slots.Layout{Homes: h.Info.Homes, Ports: h.PortsHome}
}

// InfoOf returns the Info of a world, as in its own snapshot, without hash and entities.
func InfoOf(w *world.World) *Info {
	homes := engine.Of(w).Space().Layout()
	return &Info{Options: w.Options(), Layout: w.Layout(), Tick: w.Tick(), Homes: homes.Homes, PortsHome: homes.Ports}
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
	Told    SettingKind = iota // it need not be the same
	Shapes                     // handles or memory depend on it
	Counts                     // what happens next depends on it
	Spreads                    // what is in which shard depends on it; a load makes it another
	FromNow                    // only what is new depends on it
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

// Settings lists the settings of the world of an Info. Set of one of them writes the Info.
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
		{"Shards", uint64(o.Shards), Spreads, func(n uint64) { o.Shards, x.Layout.Shards = int(n), int(n) }},
		{"IndexMax", uint64(o.IndexMax), Shapes, func(n uint64) { o.IndexMax = uint32(n) }},
		{"VersionMax", uint64(o.VersionMax), Shapes, func(n uint64) { o.VersionMax = uint32(n) }},
		{"VersionsEach", uint64(o.VersionsEach), Shapes, func(n uint64) { o.VersionsEach = uint32(n) }},
		number("ChunkRowsFirst", &o.ChunkRowsFirst, FromNow),
		number("ChunkRowsFactor", &o.ChunkRowsFactor, FromNow),
		number("ChunkRowsMax", &o.ChunkRowsMax, FromNow),
		{"HugePages", is(o.HugePages), Told, func(n uint64) { o.HugePages = n != 0 }},
		{"KeepOrder", is(o.KeepOrder), Counts, func(n uint64) { o.KeepOrder = n != 0 }},
		{"TickInterval", uint64(o.TickInterval), Counts, func(n uint64) { o.TickInterval = time.Duration(n) }},
		{"Seed", o.Seed, Counts, func(n uint64) { o.Seed = n }},
		number("PortsMax", &o.PortsMax, Told),
		number("QueueRequests", &o.QueueRequests, Told),
		number("QueueBytes", &o.QueueBytes, Told),
		number("FramesMax", &o.FramesMax, Told),
		number("FramesBytes", &o.FramesBytes, Told),
		number("OutboxRequests", &o.OutboxRequests, FromNow),
		number("OutboxBytes", &o.OutboxBytes, FromNow),
		number("homes", &x.Homes, Told),
		number("home of ports", &x.PortsHome, Told),
		{"tick", x.Tick, Told, func(n uint64) { x.Tick = n }},
		{"hash", uint64(x.Hash), Told, func(n uint64) { x.Hash = state.Hash(n) }},
		number("entities", &x.Entities, Told),
	}
}

// AppendHeader appends the section of the header. A save calls it, or an import.
func AppendHeader(dst []byte, x *Info) []byte {
	all := Settings(x)
	dst = extend.AppendNumber(dst, len(all))
	for _, s := range all {
		dst = extend.AppendNumber(extend.AppendText(dst, s.Name), s.Value)
	}
	return dst
}

// ReadHeader reads the section of the header, which comes first in a whole snapshot. The error for
// an increment is ErrBase; after an error the source cannot be read further.
func ReadHeader(r Source, s *Section) (x Header, err error) {
	if x, err = ReadAnyHeader(r, s); err == nil && x.Increment {
		err = fmt.Errorf("%w: it is an increment on %v; pass both to Merge", ErrBase, x.Base)
	}
	return x, err
}

// ReadAnyHeader reads the sections of the base, of an increment, and of the header. After an error
// the source cannot be read further.
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

// ReadHead reads what a whole snapshot begins with: the header, and what is registered. A load, a
// plan and an export call it first. After an error the source cannot be read further.
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

// Named is something that is registered, by name, with a description of its values.
type Named struct {
	Name  string
	Type  string // empty if there are no values; of an extension its options
	Hash  uint64 // of the form, or of the options that must be the same
	Count int    // how many there are, for people: entities with a component, messages, timers
	Parts []form.Part

	// What is not in the file, for package snapshot, which finds it in a world.
	Of    reflect.Type // of the values, or nil
	Form  form.Form    // reads or writes the values
	At    int          // the number in the world that loads, or -1 if dropped
	Saved extend.Saved // of an extension
}

const (
	// Accumulates is in the hash of the form of a resource that has parts.
	Accumulates = 1 << 63
	// Optional is the hash of an Extra that a world may lack; others have 0.
	Optional = 1
)

// Catalogue lists everything that a snapshot has. Payloads are the values that extensions hold, by
// the names of the extensions.
//
// Ownership: the goroutine that saves, loads or reads; while parts are written, nobody writes it.
type Catalogue struct {
	Components, Messages, Resources, Kinds, Hooks, Extensions, Payloads, Extras, Systems, Balancers []Named
	Scheduler                                                                                       bool
}

// Listed is the order of the lists in a snapshot, by the names that errors use.
var Listed = [...]string{"component", "message", "resource", "request", "hook", "extension", "payload", "extra", "system", "balancer"}

// Lists returns the lists in the order of Listed.
func (c *Catalogue) Lists() [len(Listed)]*[]Named {
	return [...]*[]Named{&c.Components, &c.Messages, &c.Resources, &c.Kinds, &c.Hooks, &c.Extensions, &c.Payloads, &c.Extras, &c.Systems, &c.Balancers}
}

// List returns a list by its name in Listed, or nil.
func (c *Catalogue) List(what string) *[]Named {
	if at := slices.Index(Listed[:], what); at >= 0 {
		return c.Lists()[at]
	}
	return nil
}

// Append appends the section of what is registered.
func (c *Catalogue) Append(dst []byte) []byte {
	for _, list := range c.Lists() {
		dst = extend.AppendNumber(dst, len(*list))
		for _, n := range *list {
			dst = extend.AppendText(extend.AppendText(dst, n.Name), n.Type)
			dst = extend.AppendNumber(extend.AppendNumber(extend.AppendNumber(dst, n.Hash), min(n.Count, math.MaxInt32-1)), len(n.Parts))
			for _, p := range n.Parts {
				dst = extend.AppendNumber(extend.AppendNumber(extend.AppendNumber(dst, extend.FlagsOf(p.ByCodec)), p.Offset), p.Size)
				dst = extend.AppendNumber(dst, len(p.Fields))
				for _, f := range p.Fields {
					dst = extend.AppendNumber(extend.AppendText(extend.AppendText(dst, f.Path), f.Type), f.Offset)
				}
			}
		}
	}
	return extend.AppendNumber(dst, extend.FlagsOf(c.Scheduler))
}

// namesMost bounds the memory of the names and fields of a snapshot.
const namesMost = 64 << 20

// ReadCatalogue reads the section of what is registered. It trusts no number in it. An error says
// that the section makes no sense, or would take too much memory.
func ReadCatalogue(body []byte) (x *Catalogue, err error) {
	x = new(Catalogue)
	c := extend.Cursor{Rest: body, Most: namesMost}
	field := func() form.Field { return form.Field{Path: c.Text(), Type: c.Text(), Offset: c.Int()} }
	part := func() form.Part {
		return form.Part{ByCodec: c.Flags(1) != 0, Offset: c.Int(), Size: c.Int(), Fields: listOf(&c, 3, field)}
	}
	for _, to := range x.Lists() {
		*to = listOf(&c, 5, func() Named {
			return Named{Name: c.Text(), Type: c.Text(), Hash: c.Number(), Count: c.Int(), Parts: listOf(&c, 4, part)}
		})
	}
	x.Scheduler = c.Flags(1) != 0
	for _, list := range x.Lists() {
		for i := range *list {
			(*list)[i].At = i
		}
	}
	first := map[string]int{}
	for i := len(x.Extensions) - 1; i >= 0; i-- {
		first[x.Extensions[i].Name] = i
	}
	for i := range x.Payloads {
		n := &x.Payloads[i]
		n.At = -1
		if at, ok := first[n.Name]; ok {
			n.At = at
		}
	}
	return x, c.End()
}

// listOf reads a list, each element of which has least bytes or more. An error is in the cursor.
func listOf[T any](c *extend.Cursor, least int, read func() T) []T {
	all := extend.ListOf[T](c, least)
	for i := range all {
		all[i] = read()
	}
	return all
}

// What follows writes and reads the images of a world and its shards.

// AppendState appends the section of the world as a whole. A save calls it, or an import.
func AppendState(dst []byte, x *extend.State) []byte {
	for _, n := range []uint64{x.Tick, uint64(x.Incarnation), uint64(x.Shard), uint64(x.Run), uint64(extend.FlagsOf(x.Misrouted)), uint64(x.Moves), uint64(x.Gathered), x.TxRuns} {
		dst = extend.AppendNumber(dst, n)
	}
	dst = extend.AppendNumbers(dst, x.Pinned)
	dst = extend.AppendNumber(dst, len(x.Hooks))
	for _, on := range x.Hooks {
		dst = extend.AppendNumber(dst, len(on))
		for _, is := range on {
			dst = append(dst, byte(extend.FlagsOf(is)))
		}
	}
	dst = extend.AppendWords(extend.AppendWords(dst, x.Ports.Slots), x.Ports.Pool)
	return extend.AppendWords(dst, x.Ports.Recalled)
}

// ReadState reads the section of the world as a whole. An error is in the cursor; the state is then
// of no use.
func ReadState(c *extend.Cursor) (x extend.State) {
	x.Tick, x.Incarnation, x.Shard, x.Run, x.Misrouted = c.Number(), c.Word(), c.Int(), c.Int(), c.Flags(1) != 0
	x.Moves, x.Gathered, x.TxRuns, x.Pinned = c.Word(), c.Word(), c.Number(), c.Numbers()
	x.Hooks = listOf(c, 1, func() []bool { return listOf(c, 1, func() bool { return c.Flags(1) != 0 }) })
	x.Ports = slots.PortImage{Slots: extend.WordsOf[uint32](c), Pool: extend.WordsOf[uint32](c), Recalled: extend.WordsOf[handle.Handle](c)}
	return x
}

// Place says where a chunk is in a shard.
type Place struct{ Table, Chunk int }

// ChunksOf yields the chunks of an image that have rows, with their places. The caller may fill
// them in.
func ChunksOf(x *store.Image) iter.Seq2[Place, *store.ChunkImage] {
	return func(yield func(Place, *store.ChunkImage) bool) {
		for i := range x.Tables {
			for k := range x.Tables[i].Chunks {
				if c := &x.Tables[i].Chunks[k]; c.Rows > 0 && !yield(Place{i, k}, c) {
					return
				}
			}
		}
	}
}

// AppendShard appends the section of a shard, without its rows. A save calls it, or an import, on
// the goroutine of the section.
func AppendShard(dst []byte, x *store.Image) []byte {
	dst = extend.AppendWords(extend.AppendWords(dst, x.Slots), x.Free)
	dst = extend.AppendNumber(dst, len(x.More))
	for _, home := range x.More {
		dst = extend.AppendWords(extend.AppendWords(dst, home.Slots), home.Free)
	}
	dst = extend.AppendNumber(extend.AppendNumber(dst, x.Drawing), len(x.Tables))
	for i := range x.Tables {
		dst = appendTable(dst, &x.Tables[i])
	}
	dst = extend.AppendNumber(dst, len(x.Marked))
	for _, m := range x.Marked {
		dst = extend.AppendNumbers(extend.AppendNumber(dst, m.Table), m.Chunks)
	}
	dst = extend.AppendNumber(extend.AppendWords(dst, x.Created), len(x.Changes))
	for _, n := range x.Changes {
		dst = extend.AppendNumbers(extend.AppendNumber(extend.AppendNumber(dst, uint64(n.Handle)), n.Moves), n.Components)
	}
	dst = extend.AppendNumber(dst, len(x.Stored))
	for _, n := range x.Stored {
		dst = extend.AppendNumber(extend.AppendNumber(dst, uint64(n.Handle)), n.Component)
	}
	return dst
}

// ReadShard reads the section of a shard. An error is in the cursor; the image is then of no use.
func ReadShard(c *extend.Cursor) (x store.Image) {
	home := func() slots.HomeImage {
		return slots.HomeImage{Slots: extend.WordsOf[uint32](c), Free: extend.WordsOf[uint32](c)}
	}
	x.HomeImage, x.More, x.Drawing = home(), listOf(c, 2, home), c.Int()
	x.Tables = listOf(c, 5, func() store.TableImage { return readTable(c) })
	x.Marked = listOf(c, 2, func() store.MarkedTable { return store.MarkedTable{Table: c.Int(), Chunks: c.Numbers()} })
	x.Created = extend.WordsOf[handle.Handle](c)
	x.Changes = listOf(c, 3, func() store.ChangeImage {
		return store.ChangeImage{Handle: c.Handle(), Moves: c.Word(), Components: c.Numbers()}
	})
	x.Stored = listOf(c, 2, func() store.StoredImage { return store.StoredImage{Handle: c.Handle(), Component: c.Int()} })
	return x
}

// appendTable appends a table and what its chunks have besides rows, for AppendShard. Sets of flags
// without any are left out.
func appendTable(dst []byte, t *store.TableImage) []byte {
	dst = extend.AppendNumber(extend.AppendNumbers(dst, t.Components), extend.FlagsOf(t.Listed, t.Fragmented))
	dst = extend.AppendNumber(extend.AppendNumber(extend.AppendNumber(dst, t.Left), t.Current+1), len(t.Chunks))
	for i := range t.Chunks {
		c := &t.Chunks[i]
		dst = extend.AppendNumber(extend.AppendNumber(extend.AppendNumber(dst, c.Cap), c.Rows), extend.FlagsOf(c.Reserved))
		dst = extend.AppendNumber(dst, c.Changed)
		for _, w := range c.Written {
			dst = extend.AppendNumber(dst, w)
		}
		dst = extend.AppendSet(dst, c.Marks)
		set := 0
		for k, words := range c.Flags {
			if slices.ContainsFunc(words, func(w uint64) bool { return w != 0 }) {
				set |= 1 << k
			}
		}
		dst = extend.AppendNumber(dst, set)
		for k, words := range c.Flags {
			if set>>k&1 != 0 {
				dst = extend.AppendSet(dst, words)
			}
		}
	}
	return dst
}

// readTable reads what appendTable has appended. An error is in the cursor.
func readTable(c *extend.Cursor) (t store.TableImage) {
	t.Components = c.Numbers()
	is := c.Flags(2)
	t.Listed, t.Fragmented = is&1 != 0, is&2 != 0
	t.Left, t.Current = c.Word(), c.Int()-1
	t.Chunks = extend.ListOf[store.ChunkImage](c, 6+len(t.Components))
	for i := range t.Chunks {
		x := &t.Chunks[i]
		x.Cap, x.Rows, x.Reserved, x.Changed = c.Int(), c.Int(), c.Flags(1) != 0, c.Word()
		if c.Takes(len(t.Components), 4) {
			x.Written = make([]uint32, len(t.Components))
		}
		for k := range x.Written {
			x.Written[k] = c.Word()
		}
		x.Marks = extend.WordsOf[uint64](c)
		set := c.Flags(slots.FlagsMax)
		for k := range x.Flags {
			if set>>k&1 != 0 {
				x.Flags[k] = extend.WordsOf[uint64](c)
			}
		}
	}
	return t
}
