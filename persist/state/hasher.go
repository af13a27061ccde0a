package state

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/world"
)

// ErrNoCodec is returned for a world with a component, message, resource or request that needs a
// codec and has none: see Codec.
var ErrNoCodec = errors.New("state: no codec")

// Hash is a hash of a world's state. Logs and tools write its String.
type Hash uint64

// String returns 16 hexadecimal digits.
func (h Hash) String() string { return fmt.Sprintf("%016x", uint64(h)) }

// MarshalText returns the String. So it is a string in JSON, whose numbers lose
// digits.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (h *Hash) UnmarshalText(text []byte) error {
	v, err := strconv.ParseUint(string(text), 16, 64)
	if err != nil || len(text) != 16 {
		return fmt.Errorf("state: %q is no hash, which is 16 hexadecimal digits", text)
	}
	*h = Hash(v)
	return nil
}

// Hasher hashes the state of one world again and again. It knows the layout of
// each type after the first time.
//
// Ownership: the world's goroutine, between ticks. Ports may be in use meanwhile.
type Hasher struct {
	w       *world.World
	codecs  *Codecs
	writers map[reflect.Type]*writer
	kinds   []kind         // of requests, by number
	alike   map[string]int // how many of them have the same name
	also    []also
	sum     sum
	total   sum
	add     func([]byte) // sum.bytes, bound once
	scratch []byte
	numbers []uint32
}

// writer hashes the values of one type.
type writer struct {
	codec appender // of the type itself, or nil
	form  *form    // where parts have a codec, or nil
	*layout
}

// also is state beside the world.
type also struct {
	name  string
	write func(dst []byte) []byte
}

// NewHasher makes a hasher of a world. codecs may be nil if the world needs none;
// a component that is registered later needs its codec by the next hash.
func NewHasher(w *world.World, codecs *Codecs) *Hasher {
	if w == nil {
		panic("state: NewHasher of a nil World; make one with world.New")
	}
	h := &Hasher{w: w, codecs: codecs, writers: map[reflect.Type]*writer{}, alike: map[string]int{}}
	h.add = h.sum.bytes
	return h
}

// StateHash hashes a world once. See Hasher.StateHash.
func StateHash(w *world.World, codecs *Codecs) (Hash, error) {
	return NewHasher(w, codecs).stateHash("state.StateHash")
}

// Stateful is an extension of a world that shows its state. All extensions must; a relation of
// package hierarchy does.
type Stateful interface {
	// AppendState appends all that decides what the extension does next to dst.
	// The same state must give the same bytes.
	AppendState(dst []byte) []byte
}

// Also adds state outside the world to the hash: what the game keeps outside of components and
// resources, and what decides what its systems do. write appends it to dst. The same state must
// give the same bytes.
func (h *Hasher) Also(name string, write func(dst []byte) []byte) {
	h.also = append(h.also, also{name, write})
}

// StateHash hashes everything that decides what the world does next, given the
// same systems and inputs: two worlds with the same hash stay the same. It reads
// every component of every entity once, at some gigabytes per second. The world
// must be idle. It returns ErrNoCodec with the name of the type that lacks one.
//
// The hash depends on the machine's byte order and size of int. It also differs for a world to
// which a log was played to its end: see inputlog.Player.
func (h *Hasher) StateHash() (Hash, error) { return h.stateHash("Hasher.StateHash") }

func (h *Hasher) stateHash(call string) (Hash, error) {
	h.total.Reset()
	err := h.sections(call, nil, func(_ int, _, _ string) { h.total.number(h.sum.Sum64()) })
	return Hash(h.total.Sum64()), err
}

// Section is the hash of a part of a world's state.
type Section struct {
	Name string // such as `shard 3: component "health"`
	Hash Hash
}

// Sections returns the hashes of the parts of the state, in a fixed order. If two
// worlds differ, the first sections that differ show where.
func (h *Hasher) Sections() ([]Section, error) {
	var all []Section
	err := h.sections("Hasher.Sections", nil, func(shard int, kind, name string) {
		text := kind
		if name != "" {
			text = fmt.Sprintf("%s %q", kind, name)
		}
		if shard >= 0 {
			text = fmt.Sprintf("shard %d: %s", shard, text)
		}
		all = append(all, Section{text, Hash(h.sum.Sum64())})
	})
	return all, err
}

// nowhere is the shard of sections that belong to none.
const nowhere = -1

// sections hashes one section after the other and calls done after each. If l is not nil, it leaves
// out what l will hash.
func (h *Hasher) sections(call string, l *later, done func(shard int, kind, name string)) (err error) {
	defer asError(&err)
	if err := h.w.Err(); err != nil {
		return err
	}
	d := engine.Of(h.w)
	d.MustIdle(call)
	v := d.Survey()
	components, messages, resources := v.Components(), v.Messages(), v.Resources()
	if err := errors.Join(h.learn("component", components), h.learn("message", messages), h.learn("resource", resources)); err != nil {
		return err
	}
	h.sum.Reset()
	h.world(v)
	done(nowhere, "the world", "")
	for i := range h.w.Shards() {
		h.shard(v, i, components, messages, l, done)
		if err := h.requests(v, i); err != nil {
			return err
		}
		done(i, "requests", "")
	}
	if err := h.requests(v, world.AllShards); err != nil {
		return err
	}
	done(nowhere, "requests of global systems", "")
	h.sum.Reset()
	h.numbers = v.PortSlots().AppendUses(h.numbers[:0])
	h.list(h.numbers)
	done(nowhere, "slots of what ports create", "")
	for i, r := range resources {
		h.sum.Reset()
		h.resource(v, i)
		done(nowhere, "resource", r.Name)
	}
	extensions := v.Extensions()
	stateful, err := h.stateful(extensions)
	if err != nil {
		return err
	}
	for i, x := range stateful {
		h.sum.Reset()
		h.scratch = x.AppendState(h.scratch[:0])
		h.sum.bytes(h.scratch)
		done(nowhere, "extension", extend.NameOf(extensions[i], i))
	}
	for _, x := range h.also {
		h.sum.Reset()
		h.scratch = x.write(h.scratch[:0])
		h.sum.bytes(h.scratch)
		done(nowhere, "also", x.name)
	}
	return nil
}

// world hashes what shapes the world as a whole.
func (h *Hasher) world(v *engine.Survey) {
	o := h.w.Options()
	h.sum.text("atoll state 8")
	for _, n := range []uint64{
		uint64(o.Shards), uint64(o.IndexMax), uint64(o.VersionMax), uint64(o.VersionsEach), uint64(h.w.Incarnation()), uint64(o.TickInterval), o.Seed,
		uint64(o.OutboxRequests), uint64(o.OutboxBytes), h.w.Tick(),
		uint64(o.ChunkRowsFirst), uint64(o.ChunkRowsFactor), uint64(o.ChunkRowsMax),
	} {
		h.sum.number(n)
	}
	h.sum.flag(o.KeepOrder)
	for _, list := range v.Registered() {
		h.sum.number(uint64(len(list.Names)))
		for _, x := range list.Names {
			h.sum.text(x.Name)
		}
	}
	cursor, run := v.Placement()
	h.sum.number(uint64(cursor))
	h.sum.number(uint64(run))
	h.sum.flag(v.Misrouted())
	pinned := v.Pinned()
	h.sum.number(uint64(len(pinned)))
	for _, c := range pinned {
		h.sum.number(uint64(c))
	}
	for _, hook := range v.Hooks() {
		for i := range o.Shards {
			h.sum.flag(hook.Enabled(i))
		}
	}
}

// shard hashes a shard: its slots, the entity of each row, the components and the messages.
func (h *Hasher) shard(v *engine.Survey, i int, components, messages []extend.Named, l *later, done func(int, string, string)) {
	s := v.Shard(i)
	h.sum.Reset()
	if l != nil {
		l.note(s)
	} else {
		h.numbers = s.AppendSlots(h.numbers[:0])
		h.slots(h.numbers, s.FreeList())
	}
	done(i, "slots", "")

	h.sum.Reset()
	if l == nil {
		for _, t := range s.Tables() {
			h.scratch = t.AppendSpare(h.scratch[:0])
			h.table(t.Components(), h.scratch, len(t.Chunks()))
			for _, c := range t.Chunks() {
				changed, _ := c.Stamps()
				h.chunk(c.Cap(), c.Handles(), changed, c.Marks(), c.Flagged)
			}
		}
		h.scratch = s.AppendMarks(h.scratch[:0])
		h.sum.bytes(h.scratch)
		h.scratch = s.AppendChanges(h.scratch[:0])
		h.changes(h.scratch)
	}
	done(i, "entities", "")

	for id, c := range components {
		h.sum.Reset()
		if l == nil || !l.has[id] {
			for _, t := range s.Tables() {
				if at := slices.Index(t.Components(), id); at >= 0 {
					h.column(t, at)
				}
			}
		}
		done(i, "component", c.Name)
	}
	for id, m := range messages {
		h.sum.Reset()
		to, bodies := v.Mailbox(id, i)
		h.sum.bytes(mem.CellsOf(to).Bytes)
		h.cells(bodies)
		done(i, "message", m.Name)
	}
}

// changes hashes the changes that hooks will be notified of, if there are any.
func (h *Hasher) changes(notes []byte) {
	if len(notes) > 0 {
		h.sum.bytes(notes)
	}
}

func (h *Hasher) slots(words, free []uint32) {
	h.list(words)
	h.list(free)
}

// table and chunk hash the entities in a table, how its rows are divided into chunks, which are
// marked, which have flags, when they changed, and when unused capacity was last used.
func (h *Hasher) table(components []int, spare []byte, chunks int) {
	h.sum.number(uint64(len(components)))
	for _, id := range components {
		h.sum.number(uint64(id))
	}
	h.sum.bytes(spare)
	h.sum.number(uint64(chunks))
}

func (h *Hasher) chunk(room int, hs []handle.Handle, changed uint32, marks []uint64, flagged func(flag int) []uint64) {
	h.sum.number(uint64(room))
	h.sum.bytes(mem.BytesOf(hs))
	if len(hs) == 0 {
		return
	}
	h.sum.number(uint64(changed))
	h.bits(marks)
	for flag := range slots.FlagsMax {
		if words := flagged(flag); slices.ContainsFunc(words, func(w uint64) bool { return w != 0 }) {
			h.sum.number(uint64(flag))
			h.bits(words)
		}
	}
}

// column hashes a component of the entities of a table.
func (h *Hasher) column(t *store.Table, at int) {
	for _, c := range t.Chunks() {
		if len(c.Handles()) > 0 {
			_, written := c.Stamps()
			h.rows(written[at], c.Cells(at))
		}
	}
}

// rows hashes a component of the entities of a chunk.
func (h *Hasher) rows(written uint32, cells mem.Cells) {
	h.sum.number(uint64(written))
	h.cells(cells)
}

// bits hashes a set of rows. An empty set is hashed as nil is.
func (h *Hasher) bits(words []uint64) {
	n := 0
	for i, w := range words {
		if w != 0 {
			n = i + 1
		}
	}
	h.sum.number(uint64(n))
	for _, w := range words[:n] {
		h.sum.number(w)
	}
}

func (h *Hasher) list(numbers []uint32) { h.sum.bytes(mem.BytesOf(numbers)) }
