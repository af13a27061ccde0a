// Package hash hashes the state of a world, at once, in turns, or later from an image. It is what
// package state shows of hashes.
package hash

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/form"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/world"
)

// Hasher hashes the state of one world again and again. It knows the layout of
// each type after the first time.
//
// Ownership: the world's goroutine, between ticks. Ports may be in use meanwhile.
type Hasher struct {
	w       *world.World
	codecs  *form.Codecs
	writers map[reflect.Type]*writer
	kinds   []kind         // of requests, by number
	alike   map[string]int // how many of them have the same name
	extras  []extra
	sum     sum
	total   sum
	scratch []byte
	numbers []uint32

	moves, gathered uint32 // as for store.Space.MovesOf
}

// writer hashes the values of one type.
//
// Ownership: the Hasher's.
type writer struct {
	codec form.Codec    // of the type itself, or nil
	form  *form.Encoder // where parts have a codec, or nil
	*form.Layout
}

// extra is state beside the world.
type extra struct {
	name  string
	write func(dst []byte) []byte
}

// New makes a hasher of a world.
func New(w *world.World, codecs *form.Codecs) *Hasher {
	return &Hasher{w: w, codecs: codecs, writers: map[reflect.Type]*writer{}, alike: map[string]int{}}
}

// Stateful is state.Stateful.
type Stateful interface{ AppendState(dst []byte) []byte }

// Add is state.Hasher.Add.
func (h *Hasher) Add(name string, write func(dst []byte) []byte) {
	h.extras = append(h.extras, extra{name, write})
}

// StateHash hashes everything, for a call that errors name. After an error the hash means nothing.
func (h *Hasher) StateHash(call string) (uint64, error) {
	h.total.Reset()
	err := h.sections(call, everything, func(_ int, _, _ string) { h.total.number(h.sum.Sum64()) })
	return h.total.Sum64(), err
}

// Section is the hash of a part of a world's state.
type Section struct {
	Name string
	Hash uint64
}

// Sections returns the hashes of the parts of the state, in a fixed order. If two worlds differ,
// the first sections that differ show where. After an error the list may be short.
func (h *Hasher) Sections() ([]Section, error) {
	var all []Section
	err := h.sections("Hasher.Sections", everything, func(shard int, kind, name string) {
		text := kind
		if name != "" {
			text = fmt.Sprintf("%s %q", kind, name)
		}
		if shard >= 0 {
			text = fmt.Sprintf("shard %d: %s", shard, text)
		}
		all = append(all, Section{text, h.sum.Sum64()})
	})
	return all, err
}

// nowhere is the shard of sections that belong to none.
const nowhere = -1

// sections hashes one section after the other and calls done after each. which is for Hasher.image.
// The world must be idle. It returns an error, of a world that is closed or of a codec, after some
// sections or none.
func (h *Hasher) sections(call string, which func(section int) bool, done func(shard int, kind, name string)) (err error) {
	defer form.AsError(&err)
	if err := h.w.Err(); err != nil {
		return err
	}
	d := engine.Of(h.w)
	d.MustIdle(call)
	defer d.Hold("a codec")()
	v := d.Survey()
	h.moves, h.gathered = d.Space().MovesOf()
	components, messages, resources := v.Components(), v.Messages(), v.Resources()
	if err := errors.Join(h.learn("component", components), h.learn("message", messages), h.learn("resource", resources)); err != nil {
		return err
	}
	h.sum.Reset()
	h.world(v)
	done(nowhere, "the world", "")
	for i := range h.w.Shards() {
		x := v.Image(i)
		h.image(&x, len(components), which, func(section int) {
			switch section {
			case ofSlots:
				done(i, "slots", "")
			case ofEntities:
				done(i, "entities", "")
			default:
				done(i, "component", components[section].Name)
			}
		})
		for id, m := range messages {
			h.sum.Reset()
			to, bodies := v.Mailbox(id, i)
			h.sum.bytes(mem.CellsOf(to).Bytes)
			h.cells(bodies)
			done(i, "message", m.Name)
		}
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
	for _, e := range v.Extensions() {
		x, err := h.statefulOf(e)
		if err != nil {
			return err
		}
		h.sum.Reset()
		h.scratch = x.AppendState(h.scratch[:0])
		h.sum.bytes(h.scratch)
		done(nowhere, "extension", e.Name())
	}
	for _, x := range h.extras {
		h.sum.Reset()
		h.scratch = x.write(h.scratch[:0])
		h.sum.bytes(h.scratch)
		done(nowhere, "extra", x.name)
	}
	return nil
}

// world hashes what shapes the world as a whole.
func (h *Hasher) world(v *engine.Survey) {
	o := h.w.Options()
	h.sum.text("atoll state 9")
	h.sum.numbers(uint64(o.Shards), uint64(o.IndexMax), uint64(o.VersionMax), uint64(o.VersionsEach), uint64(h.w.Incarnation()), uint64(o.TickInterval),
		o.Seed, uint64(o.OutboxRequests), uint64(o.OutboxBytes), h.w.Tick(), uint64(o.ChunkRowsFirst), uint64(o.ChunkRowsFactor), uint64(o.ChunkRowsMax))
	h.sum.flag(o.KeepOrder)
	if x := engine.Of(h.w).Space().Layout(); x.Homes != o.Shards+1 || x.Ports != o.Shards { // it was loaded from a world with other shards
		h.sum.numbers(uint64(x.Homes), uint64(x.Ports))
	}
	for _, list := range v.Registered() {
		h.sum.number(uint64(len(list.Names)))
		for _, x := range list.Names {
			h.sum.text(x.Name)
		}
	}
	cursor, run := v.Placement()
	h.sum.numbers(uint64(cursor), uint64(run))
	h.sum.flag(v.Misrouted())
	h.sum.number(v.TxRuns())
	h.ids(v.Pinned())
	for _, hook := range v.Hooks() {
		for i := range o.Shards {
			h.sum.flag(hook.Enabled(i))
		}
	}
}

// The sections of an image that are no components: these have their numbers.
const (
	ofSlots    = -2
	ofEntities = -1
)

// everything chooses all sections, for sections.
func everything(int) bool { return true }

// image hashes the sections of a shard: its slots, the entity of each row, and each component. It
// leaves those empty for which which returns false, and calls done after each.
func (h *Hasher) image(x *store.Image, components int, which func(section int) bool, done func(section int)) {
	for section := ofSlots; section < components; section++ {
		h.sum.Reset()
		switch {
		case !which(section):
		case section == ofSlots:
			h.slots(x.Slots, x.Free)
			for _, x := range x.More {
				h.slots(x.Slots, x.Free)
			}
			h.drawing(len(x.More), x.Drawing)
		case section == ofEntities:
			h.entities(x)
		default:
			h.component(x, section)
		}
		done(section)
	}
}

// entities hashes which entity is in which row, and in what order marks came. It hashes the changes
// that hooks will be notified of, if there are any.
func (h *Hasher) entities(x *store.Image) {
	for i := range x.Tables {
		t := &x.Tables[i]
		h.table(t)
		for k := range t.Chunks {
			c := &t.Chunks[k]
			h.chunk(c.Cap, c.Handles, c.Changed, c.Marks, func(flag int) []uint64 { return c.Flags[flag] })
		}
	}
	h.scratch = h.scratch[:0]
	for _, m := range x.Marked {
		h.words(m.Table, len(m.Chunks))
		h.words(m.Chunks...)
	}
	h.sum.bytes(h.scratch)
	if len(x.Created)+len(x.Changes)+len(x.Stored) == 0 {
		return
	}
	h.scratch = h.scratch[:0]
	number := func(n uint64) { h.scratch = binary.LittleEndian.AppendUint64(h.scratch, n) }
	if h.moves != h.gathered {
		number(1)
	}
	number(uint64(len(x.Created)))
	h.scratch = append(h.scratch, mem.BytesOf(x.Created)...)
	number(uint64(len(x.Changes)))
	for _, n := range x.Changes {
		number(uint64(n.Handle))
		number(uint64(h.moves - n.Moves))
		var set store.Set
		for _, id := range n.Components {
			set.Add(id)
		}
		for _, word := range set {
			number(word)
		}
	}
	for _, n := range x.Stored {
		number(uint64(n.Handle))
		number(uint64(n.Component))
	}
	h.sum.bytes(h.scratch)
}

// words appends numbers to the scratch.
func (h *Hasher) words(all ...int) {
	for _, n := range all {
		h.scratch = binary.LittleEndian.AppendUint32(h.scratch, uint32(n))
	}
}

// component hashes a component of the entities of a shard.
func (h *Hasher) component(x *store.Image, id int) {
	for i := range x.Tables {
		t := &x.Tables[i]
		at := slices.Index(t.Components, id)
		if at < 0 {
			continue
		}
		for k := range t.Chunks {
			if c := &t.Chunks[k]; c.Rows > 0 {
				h.rows(c.Written[at], c.Columns[at])
			}
		}
	}
}

// slots hashes the slots of a home and its free list.
func (h *Hasher) slots(words, free []uint32) {
	h.list(words)
	h.list(free)
}

// drawing hashes which of several homes a shard draws from.
func (h *Hasher) drawing(more, at int) {
	if more > 0 {
		h.sum.number(uint64(at))
	}
}

// table hashes a table without its chunks, and of what is behind its rows when it was last used.
func (h *Hasher) table(t *store.TableImage) {
	h.ids(t.Components)
	h.scratch = h.scratch[:0]
	h.words(extend.FlagsOf(t.Listed), extend.FlagsOf(t.Fragmented), t.Current+1)
	used := max(t.Current, 0) // chunks
	if t.Current >= 0 && t.Chunks[used].Rows > 0 {
		used++
	}
	if len(t.Chunks) == 0 {
		h.words(int(t.Left))
	}
	for _, c := range t.Chunks[used:] {
		h.words(int(c.Changed), extend.FlagsOf(c.Reserved))
	}
	h.sum.bytes(h.scratch)
	h.sum.number(uint64(len(t.Chunks)))
}

// chunk hashes the entities of a chunk: how much room there is, which are marked, which have flags,
// and when they changed.
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
	h.sum.numbers(words[:n]...)
}

// ids hashes numbers of components.
func (h *Hasher) ids(all []int) {
	h.sum.number(uint64(len(all)))
	for _, id := range all {
		h.sum.number(uint64(id))
	}
}

// list hashes numbers, with their length.
func (h *Hasher) list(numbers []uint32) { h.sum.bytes(mem.BytesOf(numbers)) }

// cells hashes values of a type that learn has seen. A codec may run code of the user.
func (h *Hasher) cells(c mem.Cells) {
	h.sum.number(uint64(c.Len))
	x := h.writers[c.Type]
	switch {
	case x.codec != nil:
		for i := range c.Len {
			h.scratch = x.codec.Append(h.scratch[:0], c.At(i).Part(0))
			h.sum.bytes(h.scratch)
		}
	case x.form != nil:
		h.scratch = x.form.AppendAll(h.scratch[:0], c)
		h.sum.bytes(h.scratch)
	default:
		h.plain(x.Layout, c.Bytes)
	}
}

// resource hashes a resource: its value and its parts.
func (h *Hasher) resource(v *engine.Survey, i int) {
	value, parts := v.Resource(i)
	h.cells(value)
	h.sum.number(uint64(parts))
	for k := range parts {
		h.cells(v.ResourcePart(i, k))
	}
}

// plain hashes values without pointers.
func (h *Hasher) plain(l *form.Layout, rows []byte) {
	if l.Whole {
		h.sum.bytes(rows)
	} else {
		h.masked(l, rows)
	}
}

// maskedAtOnce is about how many bytes are masked before they are hashed, so that they
// stay in the processor's first cache.
const maskedAtOnce = 8 << 10

// masked hashes values without the bytes that are no part of them, some rows at a time.
func (h *Hasher) masked(l *form.Layout, rows []byte) {
	if l.Size == 0 {
		return
	}
	step := max(1, maskedAtOnce/(8*len(l.Mask))) * 8 * len(l.Mask)
	h.scratch = slices.Grow(h.scratch[:0], step)[:step]
	for len(rows) > 0 {
		n := min(step, len(rows))
		l.Masked(h.scratch[:n], rows[:n])
		h.sum.bytes(h.scratch[:n])
		rows = rows[n:]
	}
}

// kind is how a kind of requests is hashed. Its number may be different in another world, where
// something else is registered before it, such as a prefab.
type kind struct {
	name  string
	alike int       // how many earlier kinds have that name
	form  form.Form // of its value; nil: it has none, or none was seen
}

// learnKinds names the kinds that are new. Kinds are never forgotten.
func (h *Hasher) learnKinds(kinds store.Kinds) {
	for i := len(h.kinds); i < kinds.Len(); i++ {
		d, _ := kinds.Describe(i)
		h.kinds = append(h.kinds, kind{name: d.Name, alike: h.alike[d.Name]})
		h.alike[d.Name]++
	}
}

// requests hashes what systems and functions have sent and no refresh has applied yet: from a
// shard, or with world.AllShards from global systems. It returns ErrNoCodec for a value without a
// codec.
func (h *Hasher) requests(v *engine.Survey, from int) (err error) {
	h.sum.Reset()
	kinds := v.Kinds()
	v.Requests(from, func(r queue.PendingRequest) {
		h.learnKinds(kinds)
		k := &h.kinds[r.Kind()]
		h.sum.text(k.name)
		h.sum.numbers(uint64(k.alike), uint64(r.Flags()), uint64(r.Handle))
		value := kinds.Payload(r)
		if value.Type == nil || err != nil {
			return
		}
		if k.form == nil {
			if k.form, err = h.codecs.Form(value.Type, false); err != nil {
				err = fmt.Errorf("%w (%s)", err, k.name)
				return
			}
		}
		h.scratch = k.form.Append(h.scratch[:0], value)
		h.sum.bytes(h.scratch)
	})
	return err
}

// learn makes writers for types that are new. The error names those without a codec; the others
// have writers.
func (h *Hasher) learn(what string, all []extend.Named) error {
	var errs []error
	for _, x := range all {
		if h.writers[x.Type] != nil {
			continue
		}
		w := &writer{codec: h.codecs.Of(x.Type)}
		if w.codec == nil {
			var err error
			if w.Layout, err = form.LayoutOf(x.Type, x.Type.String()); err != nil {
				w.form, err = h.codecs.Encoder(x.Type, false)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%w for %s %q: %v", form.ErrNoCodec, what, x.Name, err))
				continue
			}
		}
		h.writers[x.Type] = w
	}
	return errors.Join(errs...)
}

// statefulOf returns an extension as Stateful.
func (h *Hasher) statefulOf(e extend.Base) (Stateful, error) {
	x, err := form.StateOf(e, h.codecs, false)
	if err != nil {
		return nil, fmt.Errorf("extension %q: %w", e.Name(), err)
	}
	s, ok := x.(Stateful)
	if !ok {
		return nil, fmt.Errorf("%w: extension %q, a %T, has no AppendState", form.ErrNoCodec, e.Name(), e)
	}
	return s, nil
}

// sum hashes what it is given. The length comes before everything without a fixed length, so
// that different contents cannot have the same bytes.
//
// Ownership: the Hasher's.
type sum struct {
	xxh3.Hasher
	word [8]byte
	size int // of all that went through bytes
}

// number hashes a number as 8 bytes.
func (s *sum) number(v uint64) {
	binary.LittleEndian.PutUint64(s.word[:], v)
	_, _ = s.Write(s.word[:])
}

// numbers hashes numbers one by one, without their length.
func (s *sum) numbers(all ...uint64) {
	for _, v := range all {
		s.number(v)
	}
}

// flag hashes a bool as a number.
func (s *sum) flag(v bool) { s.number(uint64(extend.FlagsOf(v))) }

// text hashes a string, with its length.
func (s *sum) text(v string) {
	s.number(uint64(len(v)))
	_, _ = s.WriteString(v)
}

// runMin is the length from which on bytes are hashed by themselves, in place,
// and their hash is added: a Hasher would copy them.
const runMin = 512

// bytes hashes bytes, with their length.
func (s *sum) bytes(v []byte) {
	s.number(uint64(len(v)))
	s.size += len(v)
	if len(v) >= runMin {
		s.number(xxh3.Hash(v))
	} else {
		_, _ = s.Write(v)
	}
}

// Later is the hash of a state whose shards are hashed after the world has gone on, from an
// image of them: their slots, the entity of each row, and the components that the image has.
//
// Ownership: any goroutine, one at a time.
type Later struct {
	h    *Hasher
	has  []bool   // by component: it is hashed later
	sums []uint64 // of all sections in order
	at   []int    // by shard: its first section
}

// NewLater hashes the state of an idle world, except for what is hashed later: the slots of shards,
// which entity is in which row, and the components for which has returns true. The error is that of
// state.StateHash.
func NewLater(w *world.World, codecs *form.Codecs, has func(component int) bool) (*Later, error) {
	l := &Later{h: New(w, codecs)}
	for id := range engine.Of(w).Survey().Components() {
		l.has = append(l.has, has(id))
	}
	err := l.h.sections("snapshot.Capture", func(section int) bool { return !l.left(section) }, func(_ int, kind, _ string) {
		if kind == "slots" {
			l.at = append(l.at, len(l.sums))
		}
		l.sums = append(l.sums, l.h.sum.Sum64())
	})
	return l, err
}

// left reports whether a section of a shard is hashed later.
func (l *Later) left(section int) bool { return section < 0 || l.has[section] }

// Hash hashes the shards, by images with the handles and the components that were left out. It is
// called once, by the goroutine that writes the snapshot, while the world ticks on.
func (l *Later) Hash(image func(shard int) *store.Image) uint64 {
	for i, at := range l.at {
		l.h.image(image(i), len(l.has), l.left, func(section int) {
			if l.left(section) {
				l.sums[at+section-ofSlots] = l.h.sum.Sum64()
			}
		})
	}
	l.h.total.Reset()
	for _, sum := range l.sums {
		l.h.total.number(sum)
	}
	return l.h.total.Sum64()
}
