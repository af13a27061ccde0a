package inputlog

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/form"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// setting is something that shapes a world, or the log of it.
type setting struct {
	name  string
	value uint64
}

// settings lists what must be the same in the world that a log is played to. NewRecorder writes it,
// and Play compares it.
func settings(w *world.World) []setting {
	o := w.Options()
	flag := func(v bool) uint64 { return uint64(bit(v)) }
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
	}
}

// String returns the name and the value as text for people.
func (s setting) String() string {
	if s.name == "TickInterval" {
		return fmt.Sprintf("%s is %v", s.name, time.Duration(s.value))
	}
	return fmt.Sprintf("%s is %d", s.name, s.value)
}

// header says which world a log is of, and where it begins.
//
// Ownership: immutable once it is read or made.
type header struct {
	note     []byte
	program  Program
	settings []setting
	lists    []list
	tick     uint64
	hashes   []state.Hash // of the sections of the state, in order; nil if not known
}

// append appends the header.
func (h *header) append(dst []byte) []byte {
	dst = h.program.append(appendBytes(dst, h.note))
	dst = binary.AppendUvarint(dst, uint64(len(h.settings)))
	for _, s := range h.settings {
		dst = appendBytes(dst, s.name)
		dst = binary.AppendUvarint(dst, s.value)
	}
	dst = binary.AppendUvarint(dst, uint64(len(h.lists)))
	for _, l := range h.lists {
		dst = appendBytes(dst, l.what)
		dst = binary.AppendUvarint(dst, uint64(len(l.names)))
		for _, name := range l.names {
			dst = appendBytes(dst, name)
		}
	}
	dst = binary.AppendUvarint(dst, h.tick)
	dst = binary.AppendUvarint(dst, uint64(len(h.hashes)))
	for _, x := range h.hashes {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(x))
	}
	return dst
}

// namesMax is how many settings, lists, names and hashes a header has at most. Each takes much more
// memory than bytes of the log, and a wrong number must not decide how much.
const namesMax = 1 << 20

// read reads a header that append wrote. After an error the header is of no use.
func (h *header) read(body []byte) error {
	c, left := cursor{rest: body}, uint64(namesMax)
	times := func(yield func() bool) {
		n, _ := binary.Uvarint(c.rest)
		if n > left {
			c.fail(fmt.Errorf("it has more than %d names", namesMax))
		}
		left -= min(n, left)
		c.times(yield)
	}
	h.note = append([]byte(nil), c.bytes()...)
	h.program.read(&c)
	for range times {
		h.settings = append(h.settings, setting{string(c.bytes()), c.number()})
	}
	for range times {
		l := list{what: string(c.bytes())}
		for range times {
			l.names = append(l.names, string(c.bytes()))
		}
		h.lists = append(h.lists, l)
	}
	h.tick = c.number()
	for range times {
		h.hashes = append(h.hashes, state.Hash(c.word()))
	}
	return c.err
}

// mustMatch refuses a world that differs from the recorded one in how it was made, or is at another
// tick. The error is ErrOtherWorld, and names the first difference. It changes nothing.
func (h *header) mustMatch(w *world.World, codecs *state.Codecs) error {
	if err := h.mustFit(w, codecs); err != nil {
		return err
	}
	if h.tick != w.Tick() {
		return fmt.Errorf("%w: the log begins at tick %d, the world is at %d; play it to a world that was loaded from a snapshot of that tick, or is new for tick 0", ErrOtherWorld, h.tick, w.Tick())
	}
	return nil
}

// mustFit is mustMatch for a world at any tick.
func (h *header) mustFit(w *world.World, codecs *state.Codecs) error {
	own := settings(w)
	if len(own) != len(h.settings) {
		return fmt.Errorf("%w: it has %d settings, want %d", ErrOtherWorld, len(h.settings), len(own))
	}
	for i, s := range own {
		if r := h.settings[i]; r != s {
			return fmt.Errorf("%w: %v in the log, %v here", ErrOtherWorld, r, s)
		}
	}
	return h.mustRegister(w, codecs)
}

// mustBeThere refuses a world whose state differs from the state at the beginning of the log, with
// ErrDiffers. The world is idle. It changes nothing.
func (h *header) mustBeThere(w *world.World, codecs *state.Codecs) error {
	if len(h.hashes) == 0 {
		return nil
	}
	mine, err := state.NewHasher(w, codecs).Sections()
	if err != nil {
		return err
	}
	if len(mine) != len(h.hashes) {
		return fmt.Errorf("%w: its state has %d sections, the world has %d", ErrOtherWorld, len(h.hashes), len(mine))
	}
	for i, s := range mine {
		if s.Hash != h.hashes[i] {
			return fmt.Errorf("%w: where the log begins, before tick %d, first in %s: %v, was %v", ErrDiffers, h.tick, s.Name, s.Hash, h.hashes[i])
		}
	}
	return nil
}

// list is the names of what is registered, of one kind, in order.
type list struct {
	what  string // such as "component"
	names []string
}

// forms lists in which forms values are, by the name of what they are values of: each name is followed
// by the form. What has no codec is left out. The world is idle.
func forms(w *world.World, codecs *state.Codecs) (all []list) {
	v := engine.Of(w).Survey()
	for _, of := range []extend.Registered{{What: "component", Names: v.Components()}, {What: "message", Names: v.Messages()}, {What: "resource", Names: v.Resources()}} {
		l := list{what: formOf + of.What}
		for _, n := range of.Names {
			if f, err := (*form.Codecs)(codecs).Form(n.Type, false); err == nil {
				l.names = append(l.names, n.Name, f.Shape())
			}
		}
		all = append(all, l)
	}
	return all
}

// formOf begins the name of a list of forms.
const formOf = "form of "

// otherForms says which values have another form than in a list of a log.
func (l list) otherForms(log []list) (all []string) {
	at := slices.IndexFunc(log, func(was list) bool { return was.what == l.what })
	if at < 0 {
		return nil // an earlier version of this package wrote the log
	}
	was := map[string]string{}
	for pair := range slices.Chunk(log[at].names, 2) {
		was[pair[0]] = pair[len(pair)-1]
	}
	for pair := range slices.Chunk(l.names, 2) {
		if shape, there := was[pair[0]]; there && shape != pair[1] {
			all = append(all, fmt.Sprintf("%s %q is%s in the log,%s here", strings.TrimPrefix(l.what, formOf), pair[0], shape, pair[1]))
		}
	}
	return all
}

// lists returns everything registered that decides what the state is. The world is idle.
func lists(w *world.World) (all []list) {
	for _, r := range engine.Of(w).Survey().Registered() {
		l := list{what: r.What}
		for _, n := range r.Names {
			l.names = append(l.names, n.Name)
		}
		all = append(all, l)
	}
	return all
}

// mustRegister refuses a world in which something else is registered, or in another form, and names
// that. It changes nothing.
func (h *header) mustRegister(w *world.World, codecs *state.Codecs) error {
	var there, here, order []string
	for _, own := range lists(w) {
		saved := list{what: own.what}
		for _, l := range h.lists {
			if l.what == own.what {
				saved = l
			}
		}
		more, less := saved.without(own), own.without(saved)
		there, here = append(there, more...), append(here, less...)
		if len(more)+len(less) == 0 && !slices.Equal(saved.names, own.names) {
			order = append(order, fmt.Sprintf("%ss are registered in the order %q there, %q here", own.what, saved.names, own.names))
		}
	}
	var all []string
	if len(there) > 0 {
		all = append(all, strings.Join(there, ", ")+" registered there alone")
	}
	if len(here) > 0 {
		all = append(all, strings.Join(here, ", ")+" registered here alone")
	}
	all = append(all, order...)
	for _, own := range forms(w, codecs) {
		all = append(all, own.otherForms(h.lists)...)
	}
	if len(all) > 0 {
		return fmt.Errorf("%w: %s", ErrOtherWorld, strings.Join(all, "; "))
	}
	return nil
}

// without returns what another list lacks. A name may be in a list more than once.
func (l list) without(other list) (rest []string) {
	left := slices.Clone(other.names)
	for _, name := range l.names {
		if at := slices.Index(left, name); at >= 0 {
			left = slices.Delete(left, at, at+1)
			continue
		}
		rest = append(rest, fmt.Sprintf("%s %q", l.what, name))
	}
	return rest
}
