package text

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
)

// This file reads the lines with the contents of a world.

// entityBytes is about how much memory an entity takes, besides its values.
const entityBytes = 160

// entity keeps the values of an entity, until it is known where its row is. As for all lines, an
// error ends the import.
func (b *builder) entity(l *entityLine) error {
	h := handle.Handle(l.Entity)
	fail := func(err error) error { return fmt.Errorf("entity %v: %w", h, err) }
	e := &entityText{line: b.line, marked: l.Marked}
	if was, ok := b.entities[h]; ok {
		return fail(fmt.Errorf("it has a line already, line %d", was.line))
	}
	for _, f := range l.Flags {
		if f < 0 || f >= slots.FlagsMax {
			return fail(fmt.Errorf("flags: there is no flag %d; there are 0 to %d", f, slots.FlagsMax-1))
		}
		e.flags |= 1 << f
	}
	for name := range l.Components {
		id, ok := b.known[[2]string{"component", name}]
		if !ok {
			return fail(fmt.Errorf("there is no component %q", name))
		}
		e.ids = append(e.ids, id)
	}
	slices.Sort(e.ids)
	for _, id := range e.ids {
		f := b.forms[components][id]
		err := b.keep(f.skip.Least() + 8)
		if err == nil {
			e.values, err = f.parse(e.values, l.Components[f.Name])
		}
		if err != nil {
			return fail(inField(f.Name, err))
		}
	}
	e.values = slices.Clip(e.values)
	b.entities[h] = e
	return b.keep(entityBytes + len(e.values))
}

// resource makes the section of a resource.
func (b *builder) resource(l *resourceLine) error {
	f, at := b.find(resources, l.Resource)
	body := extend.AppendNumber(b.value("resource", nil, f, l.Value), len(l.Parts))
	for _, p := range l.Parts {
		body = b.value("resource", body, f, p)
	}
	return b.once(sectionKey{format.ResourceSection, at}, body)
}

// message adds a message to the mail of a shard.
func (b *builder) message(l *messageLine) error {
	f, at := b.find(messages, l.Message)
	m := b.of(l.Shard)
	for at >= len(m.to) {
		m.to, m.values = append(m.to, nil), append(m.values, nil)
	}
	m.to[at], m.values[at] = append(m.to[at], handle.Handle(l.To)), b.value("message", m.values[at], f, l.Value)
	return b.keep(8)
}

// request adds a request to the mail of the shard that has sent it.
func (b *builder) request(l *requestLine) error {
	m := b.of(l.Shard)
	if l.Kind < 0 || l.Kind >= len(b.forms[requests]) {
		return fmt.Errorf("kind: there is no %d", l.Kind)
	}
	f := b.forms[requests][l.Kind]
	if l.Request != f.Name {
		return fmt.Errorf("kind: %d is %s, and the request is %s", l.Kind, f.Name, l.Request)
	}
	flags, to := queue.Flags(l.Flags), queue.Flags(l.Flags)&queue.Shards
	move, _ := store.Kinds{}.Describe(queue.MoveKind)
	if flags&^(queue.Shards|queue.Direct) != 0 || int(to) >= b.info.Options.Shards || to != 0 && flags&queue.Direct == 0 && f.Name != move.Name {
		return inField("flags", fmt.Errorf("a %s has no flags %d", f.Name, l.Flags))
	}
	m.count++
	m.requests = extend.AppendNumber(extend.AppendNumber(extend.AppendNumber(m.requests, l.Kind), uint64(l.Flags)), uint64(l.Entity))
	if f.Type != "" {
		m.requests = b.value("request", m.requests, f, l.Value)
	}
	return b.keep(16)
}

// bytes reads some bytes of a section. They follow the bytes of the lines before.
func (b *builder) bytes(l *bytesLine) error {
	key := sectionKey{format.SchedulerSection, 0}
	list := []format.Named{{Name: l.Name}} // there is one scheduler
	switch l.Bytes {
	case "extension":
		key.kind, list = format.ExtensionSection, b.names.Extensions
	case "extra":
		key.kind, list = format.ExtraSection, b.names.Extras
	case "scheduler":
		b.names.Scheduler = true
	default:
		return fmt.Errorf("bytes: there is no %q; there are extension, scheduler and extra", l.Bytes)
	}
	if key.number = slices.IndexFunc(list, func(n format.Named) bool { return n.Name == l.Name }); key.number < 0 {
		return fmt.Errorf("name: there is no %s %q", l.Bytes, l.Name)
	}
	if key.kind == format.ExtensionSection && b.named[l.Name] != nil {
		return fmt.Errorf("name: %q has a line of names", l.Name)
	}
	if b.bodies[key] == nil {
		b.bodies[key] = new([]byte)
	}
	body := b.bodies[key]
	if l.From != len(*body) {
		return fmt.Errorf("from: it begins at %d, and %d bytes came before", l.From, len(*body))
	}
	var err error
	if *body, err = textIn(*body, l.Is); err != nil {
		return inField("is", err)
	}
	return b.keep(len(l.Is))
}

// world reads the state of the world as a whole.
func (b *builder) world(l *stateLine) error {
	s := &b.state
	s.Incarnation, s.Shard, s.Run, s.Misrouted, s.Moves, s.Gathered, s.TxRuns, s.Hooks = l.Incarnation, l.Shard, l.Run, l.Misrouted, l.Moves, l.Gathered, l.TxRuns, l.Hooks
	s.Pinned = b.ids(l.Pinned)
	if s.Shard < 0 || s.Run < 0 {
		return fmt.Errorf("it has a number below 0: shard %d, run %d", s.Shard, s.Run)
	}
	return nil
}

// words adds slots or free indexes to a shard, or to ports.
func (b *builder) words(l *wordsLine) error {
	to := map[string]*[]uint32{"slots": &b.state.Ports.Slots, "free": &b.state.Ports.Pool}
	if l.Shard != b.info.Options.Shards {
		s := b.image(l.Shard)
		of := &s.HomeImage
		if l.Home != 0 {
			if l.Home < 0 || l.Home > len(s.More) {
				return inField("home", fmt.Errorf("it is %d, of %d", l.Home, len(s.More)+1))
			}
			of = &s.More[l.Home-1]
		}
		to = map[string]*[]uint32{"slots": &of.Slots, "free": &of.Free}
	}
	return addTo(b, to, l.Words, l.From, l.Are)
}

// handles adds handles to the list that the line names.
func (b *builder) handles(l *handlesLine) error {
	to := map[string]*[]handle.Handle{"recalled": &b.state.Ports.Recalled}
	if l.Handles != "recalled" {
		s := b.image(l.Shard)
		to = map[string]*[]handle.Handle{"created": &s.Created}
		if l.Handles == "rows" {
			t := lastOf(b, s.Tables, "table", l.Table)
			to["rows"] = &lastOf(b, t.Chunks, "chunk", l.Chunk).Handles
		}
	}
	some := make([]handle.Handle, len(l.Are))
	for i, h := range l.Are {
		some[i] = handle.Handle(h)
	}
	return addTo(b, to, l.Handles, l.From, some)
}

// shard begins the image of a shard.
func (b *builder) shard(l *shardLine) error {
	if l.Shard != len(b.images) || l.Shard >= b.info.Options.Shards {
		return inField("shard", fmt.Errorf("it is %d, and %d lines of shards came before, of %d", l.Shard, len(b.images), b.info.Options.Shards))
	}
	if l.Homes < 0 || l.Homes > b.info.Homes {
		return inField("homes", fmt.Errorf("it is %d, of %d", l.Homes, b.info.Homes))
	}
	s := store.Image{More: make([]slots.HomeImage, l.Homes), Drawing: l.Drawing}
	for _, m := range l.Marked {
		s.Marked = append(s.Marked, store.MarkedTable{Table: m.Table, Chunks: m.Chunks})
	}
	for _, n := range l.Changes {
		s.Changes = append(s.Changes, store.ChangeImage{Handle: handle.Handle(n.Entity), Components: b.ids(n.Components), Moves: n.Moves})
	}
	for _, n := range l.Stored {
		s.Stored = append(s.Stored, store.StoredImage{Handle: handle.Handle(n.Entity), Component: b.ids([]string{n.Component})[0]})
	}
	b.images, b.sections, b.at = append(b.images, s), append(b.sections, l.Sections), append(b.at, b.line)
	return nil
}

// table begins a table of the last shard.
func (b *builder) table(l *tableLine) error {
	s, ids := b.image(l.Shard), b.ids(l.Components)
	if l.Table != len(s.Tables) || l.Current < -1 {
		return inField("table", fmt.Errorf("it is %d, and %d came before; or its current chunk is %d", l.Table, len(s.Tables), l.Current))
	}
	if !slices.IsSorted(ids) {
		return inField("components", errors.New("they are not in the order in which they are registered"))
	}
	s.Tables = append(s.Tables, store.TableImage{Components: ids, Listed: l.Listed, Fragmented: l.Fragmented, Left: l.Left, Current: l.Current})
	return b.keep(format.BytesOfTable)
}

// chunk begins a chunk of the last table.
func (b *builder) chunk(l *chunkLine) error {
	t := lastOf(b, b.image(l.Shard).Tables, "table", l.Table)
	if l.Chunk != len(t.Chunks) || l.Rows < 0 || len(l.Written) != len(t.Components) {
		return fmt.Errorf("chunk: it is %d, with %d rows of %d and %d stamps, and %d chunks came before", l.Chunk, l.Rows, l.Room, len(l.Written), len(t.Chunks))
	}
	if l.Room < 1 || l.Room > slots.RowsMax || l.Room&(l.Room-1) != 0 { // rows take memory
		return inField("room", fmt.Errorf("%d is no power of two up to %d", l.Room, slots.RowsMax))
	}
	t.Chunks = append(t.Chunks, store.ChunkImage{Cap: l.Room, Rows: l.Rows, Reserved: l.Reserved, Changed: l.Changed, Written: l.Written})
	return b.keep(format.BytesOfChunk + 9*l.Room)
}

// end reads the last line. If the lines before it are not those that Export wrote, the hash of the
// state is not kept.
func (b *builder) end(l *endLine) error {
	sum, err := strconv.ParseUint(l.End, 16, 64)
	if err != nil {
		return fmt.Errorf("end: %q has no 16 hexadecimal digits", l.End)
	}
	if sum != b.sum.Sum64() {
		b.info.Hash = 0
	}
	b.ended = true
	return nil
}

// What follows converts the state of package names to text, and back.

type (
	// namesLine is the state of package names. The names are in lines of their own.
	namesLine struct {
		Names        string `json:"names"` // the extension
		LengthMax    uint64 `json:"lengthMax"`
		ConflictsMax uint64 `json:"conflictsMax"`
	}
	nameLine struct {
		Name   json.RawMessage `json:"name"`
		Of     string          `json:"of"`
		Entity handleText      `json:"entity"`
	}
	conflictLine struct {
		Conflict json.RawMessage `json:"conflict"`
		Of       string          `json:"of"`
		Entity   handleText      `json:"entity"`
		Holder   handleText      `json:"holder"`
	}
)

// nameBytes is about how much memory a name takes, besides its text.
const nameBytes = 128

// extension writes the state of an extension: by name if it is package names, with names that are
// strings, and otherwise as bytes.
func (e *exporting) extension(name string, body []byte) {
	c := &extend.Cursor{Rest: body, Most: e.p.most}
	lines := []any{namesLine{name, c.Word64(), c.Word64()}}
	named, conflicts := c.Word64(), c.Word64()
	text := func() json.RawMessage { return appendText(nil, c.Take(int(min(c.Word64(), math.MaxInt32)))) }
	for range named {
		h := handleText(c.Word64())
		if lines = append(lines, nameLine{text(), name, h}); !c.Takes(1, nameBytes) {
			break
		}
	}
	for range conflicts {
		entity, holder := handleText(c.Word64()), handleText(c.Word64())
		if lines = append(lines, conflictLine{text(), name, entity, holder}); !c.Takes(1, nameBytes) {
			break
		}
	}
	if c.End() != nil {
		e.bytes("extension", name, body)
		return
	}
	for _, l := range lines {
		e.line(l)
	}
}

// namesOf begins the names of an extension.
func (b *builder) namesOf(l *namesLine) error {
	at := slices.IndexFunc(b.names.Extensions, func(n format.Named) bool { return n.Name == l.Names })
	if at < 0 || b.named[l.Names] != nil {
		return fmt.Errorf("names: there is no extension %q, or two lines of it", l.Names)
	}
	for name, n := range map[string]uint64{"lengthMax": l.LengthMax, "conflictsMax": l.ConflictsMax} {
		if n < 1 || n > math.MaxInt {
			return inField(name, fmt.Errorf("%d is no limit of names", n))
		}
	}
	n := &namesText{head: [2]uint64{l.LengthMax, l.ConflictsMax}, taken: map[string]handleText{}, entities: map[handleText]bool{}}
	b.named[l.Names] = n
	return b.once(sectionKey{format.ExtensionSection, at}, nil)
}

// name adds a name that an entity has.
func (b *builder) name(l *nameLine) error {
	return b.addName(l.Of, 0, l.Name, l.Entity)
}

// conflict adds a name that an entity did not get, because another had it.
func (b *builder) conflict(l *conflictLine) error {
	return b.addName(l.Of, 1, l.Conflict, l.Entity, l.Holder)
}

// addName adds handles and a name to those of an extension. An error ends the import.
func (b *builder) addName(of string, list int, text json.RawMessage, hs ...handleText) error {
	n := b.named[of]
	if n == nil {
		return fmt.Errorf("of: there is no line of names %q before", of)
	}
	name, err := textIn(nil, text)
	if err != nil {
		return inField("name", err)
	}
	if list == 1 && n.counts[1] == n.head[1] {
		return fmt.Errorf("conflict: there are more than %d, which is the limit of names %q", n.head[1], of)
	}
	if list == 0 {
		if err := b.bind(n, string(name), hs[0]); err != nil {
			return err
		}
	}
	dst := &n.lists[list]
	for _, h := range hs {
		*dst = binary.LittleEndian.AppendUint64(*dst, uint64(h))
	}
	*dst = append(binary.LittleEndian.AppendUint64(*dst, uint64(len(name))), name...)
	n.counts[list]++
	return b.keep(nameBytes + len(name))
}

// bind notes that an entity has a name. It refuses a name that a world could not bind, with an
// error that ends the import.
func (b *builder) bind(n *namesText, name string, h handleText) error {
	other, taken := n.taken[name]
	switch {
	case b.entities[handle.Handle(h)] == nil:
		return fmt.Errorf("entity: there is no line of an entity %v before", handle.Handle(h))
	case taken:
		return fmt.Errorf("name: %q is that of entity %v too; give each another name", name, handle.Handle(other))
	case n.entities[h]:
		return fmt.Errorf("entity: %v has two names; leave one out", handle.Handle(h))
	case uint64(len(name)) > n.head[0]:
		return fmt.Errorf("name: it has %d bytes, and names have %d at most", len(name), n.head[0])
	}
	n.taken[name], n.entities[h] = h, true
	return nil
}

// body returns the state as package names would have saved it.
func (n *namesText) body() (dst []byte) {
	for _, v := range []uint64{n.head[0], n.head[1], n.counts[0], n.counts[1]} {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	return append(append(dst, n.lists[0]...), n.lists[1]...)
}
