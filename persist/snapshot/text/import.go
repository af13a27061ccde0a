package text

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/zeebo/xxh3"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/shape"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// Import makes a snapshot of the text that Export wrote: the same bytes. Values in the text may
// have been changed: fields of entities and resources, flags, messages. Then the snapshot has no
// hash of the state for snapshot.Load to compare. Entities and components cannot be added or
// removed in the text: load the snapshot for that.
//
// Import writes nothing before it has read all of the text and found it complete, and possible for
// a world. It leaves to snapshot.Load only what the loading world knows, such as registrations, and
// what codecs and other packages have written. It takes the memory of the uncompressed snapshot,
// and of a world with as many slots and chunks. It uses the options Workers and BytesMax, which
// bounds the memory; the default is 1 GB and 64 bytes for each byte of the text. A line may have a
// 64th of it. It returns the head of the snapshot. Errors are as for src and dst, and of package
// snapshot: ErrNoSnapshot, ErrVersion, ErrTruncated, ErrAltered and ErrTooLarge, with line and
// field, and ErrOtherWorld for another kind of machine or another layout of handles.
func Import(src io.Reader, dst io.Writer, o snapshot.Options) (snapshot.Info, error) {
	check("Import", o)
	x := &builder{
		o: o, names: &format.Catalogue{}, known: map[[2]string]int{}, first: map[string]int{}, entities: map[handle.Handle]*entityText{}, bodies: map[sectionKey]*[]byte{},
		named: map[string]*namesText{},
	}
	if err := x.read(bufio.NewReaderSize(src, 1<<16)); err != nil {
		return snapshot.Info{}, err
	}
	parts, err := x.parts()
	if err != nil {
		return snapshot.Info{}, err
	}
	out := format.Output{Workers: o.Workers, Compression: x.how}
	return snapshot.Info(x.info), out.Write(dst, parts)
}

// read reads all lines, up to the end line. An error has the number of the line, and ends the
// import before anything is written.
func (b *builder) read(src *bufio.Reader) error {
	var line []byte
	for {
		some, err := src.ReadSlice('\n')
		b.consumed += int64(len(some))
		line = append(line, some...)
		if most := format.BytesMax(b.o.BytesMax, b.consumed); int64(len(line)) > most/format.BytesPerByte && len(line) > 1 {
			return fmt.Errorf("%w: line %d has more than %d bytes, with BytesMax = %d", snapshot.ErrTooLarge, b.line+1, most/format.BytesPerByte, most)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return fmt.Errorf("snapshot: at line %d: %w", b.line+1, err)
		}
		if b.line++; len(bytes.TrimSpace(line)) > 0 {
			if e := b.one(line); e != nil {
				return format.Within(lineNumber(b.line), e)
			}
		}
		line = line[:0]
		if b.ended || err != nil {
			break
		}
	}
	if !b.ended {
		return fmt.Errorf("%w: the text ends at line %d, and the line that ends it is missing", snapshot.ErrTruncated, b.line)
	}
	return nil
}

// lineNumber is a line, for errors.
type lineNumber int

// String names the line, for errors.
func (l lineNumber) String() string { return fmt.Sprintf("line %d", int(l)) }

// one reads a line: it finds what kind of line it is, and calls the function for it. An error ends
// the import.
func (b *builder) one(line []byte) error {
	d := json.NewDecoder(bytes.NewReader(line))
	brace, _ := d.Token()
	token, _ := d.Token()
	kind, _ := token.(string)
	if !b.began {
		b.began = true
		return b.head(line, brace == json.Delim('{') && kind == "text")
	}
	read, ok := textLines[kind]
	if brace != json.Delim('{') || !ok {
		return fmt.Errorf("it begins with %.40q; the first name in a line says what it is, such as entity", line)
	}
	switch first := b.first[kind]; {
	case b.images == nil && kind != "tick" && kind != "options":
		return errors.New("the lines of tick and options come before all others")
	case first == 0:
		b.first[kind] = b.line
	case kind == "tick" || kind == "options" || kind == "state":
		return fmt.Errorf("it is there twice, first in line %d", first)
	}
	if err := read(b, line); b.err != nil || err != nil || b.ended {
		return cmp.Or(b.err, err)
	}
	_, _ = b.sum.Write(append(bytes.TrimRight(line, "\r\n"), '\n'))
	return nil
}

// textLines are the functions that read lines, by the first name in the line.
var textLines = map[string]func(x *builder, line []byte) error{
	"tick": lineOf((*builder).tick), "options": lineOf((*builder).options), "registered": lineOf((*builder).registered),
	"entity": lineOf((*builder).entity), "resource": lineOf((*builder).resource), "message": lineOf((*builder).message), "request": lineOf((*builder).request),
	"bytes": lineOf((*builder).bytes), "names": lineOf((*builder).namesOf), "name": lineOf((*builder).name), "conflict": lineOf((*builder).conflict),
	"state": lineOf((*builder).world), "words": lineOf((*builder).words), "handles": lineOf((*builder).handles),
	"shard": lineOf((*builder).shard), "table": lineOf((*builder).table), "chunk": lineOf((*builder).chunk), "end": lineOf((*builder).end),
}

// lineOf returns a function that reads a line of a type, and has then take it in. An error ends the
// import.
func lineOf[L any](then func(x *builder, l *L) error) func(x *builder, line []byte) error {
	return func(x *builder, line []byte) error {
		l := new(L)
		if err := decodeLine(line, l); err != nil {
			return err
		}
		return then(x, l)
	}
}

// decodeLine reads a line into to. Unknown names are an error.
func decodeLine(line []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more text after the object")
	}
	return nil
}

// head reads the first line. The error says that this is not such a text, or of another version.
func (b *builder) head(line []byte, is bool) error {
	var l headLine
	if !is || decodeLine(line, &l) != nil {
		return fmt.Errorf("%w: it does not begin as the text that Export writes", snapshot.ErrNoSnapshot)
	}
	if l.Text != textVersion || l.Snapshot != format.Version {
		return fmt.Errorf("%w: text %d of snapshot %d, want %d and %d", snapshot.ErrVersion, l.Text, l.Snapshot, textVersion, format.Version)
	}
	for how := format.Zstd; how <= format.None; how++ {
		if how.String() == l.Compression {
			b.how = how
			return nil
		}
	}
	return fmt.Errorf("compression: there is no %q; there are %v, %v and %v", l.Compression, format.Zstd, format.S2, format.None)
}

// tick reads the settings that change with each tick. As for all lines, an error ends the import.
func (b *builder) tick(l *tickLine) (err error) {
	b.info.Tick, b.info.Entities = l.Tick, l.Entities
	if l.Hash != "" {
		n, e := strconv.ParseUint(l.Hash, 16, 64)
		if b.info.Hash = state.Hash(n); e != nil {
			err = fmt.Errorf("hash: %q has no 16 hexadecimal digits", l.Hash)
		}
	}
	return err
}

// options reads the settings of the header, except those in the line of the tick, and makes room
// for the shards. An error names the field.
func (b *builder) options(l *optionsLine) error {
	v, err := decodeText(l.Options)
	if err != nil {
		return err
	}
	b.settings = format.Settings(&b.info)
	err = eachField(v, len(b.settings)-format.OfTick, func(i int) string { return b.settings[i].Name }, func(i int, v any) error {
		n, err := parseWhole(v, handleShape)
		b.settings[i].Set(n)
		return err
	})
	if err != nil {
		return err
	}
	if err := ofThisMachine(b.settings); err != nil {
		return err
	}
	if n := b.info.Options.Shards; n < 1 || n > handle.HomeMax+1 {
		return inField("Shards", fmt.Errorf("%d is no number of shards", n))
	}
	b.images, b.sections = []store.Image{}, [][]int{}
	b.mail = make([]mailText, b.info.Options.Shards+1)
	return nil
}

// registered adds something to what is registered, with the form of its values. An error ends the
// import.
func (b *builder) registered(l *registeredLine) (err error) {
	list := b.names.List(l.Registered)
	if list == nil {
		return fmt.Errorf("registered: there is no %q; there are %q", l.Registered, format.Listed)
	}
	n := format.Named{Name: l.Name, Type: l.Type, Count: l.Count, Parts: l.Parts}
	if l.Count < 0 || l.Count >= math.MaxInt32 {
		return fmt.Errorf("count: %d", l.Count)
	}
	if l.Form != "" {
		if n.Hash, err = strconv.ParseUint(l.Form, 16, 64); err != nil {
			return fmt.Errorf("form: %q has no 16 hexadecimal digits", l.Form)
		}
	}
	for _, p := range l.Parts {
		if p.Offset < 0 || p.Size < 0 {
			return fmt.Errorf("parts: one is at %d, with %d bytes", p.Offset, p.Size)
		}
	}
	f, err := formOf(&n)
	if err != nil {
		return err
	}
	key := [2]string{l.Registered, n.Name}
	if _, ok := b.known[key]; ok && l.Registered != "request" && l.Registered != "hook" {
		return fmt.Errorf("there are two of %s %q", l.Registered, n.Name)
	}
	b.known[key], *list = len(*list), append(*list, n)
	if at := slices.Index(format.Listed[:], l.Registered); at < valued {
		b.forms[at] = append(b.forms[at], f)
	}
	return b.keep(namedBytes)
}

// namedBytes is about how much memory something registered takes, besides its line.
const namedBytes = 1024

// builder makes a snapshot of the text that it reads. An error of a method ends the import, which
// has written nothing by then.
//
// Ownership: the goroutine of Import. While sections are written, several others read it.
type builder struct {
	o        snapshot.Options
	how      format.Compression
	info     format.Info
	names    *format.Catalogue
	forms    [valued][]*form
	known    map[[2]string]int // what is registered, by list and name: its number in the list
	line     int
	first    map[string]int // the first line of each kind
	at       []int          // the lines of shards
	consumed int64          // bytes of the text
	took     int64          // bytes of memory kept for it
	sum      xxh3.Hasher
	err      error // why something that a line names was not found
	began    bool
	ended    bool

	settings []format.Setting
	entities map[handle.Handle]*entityText
	state    extend.State
	images   []store.Image
	sections [][]int
	mail     []mailText
	bodies   map[sectionKey]*[]byte
	named    map[string]*namesText // by extension
}

// entityText is an entity as in its line.
type entityText struct {
	line   int
	ids    []int // of its components, ascending
	values []byte
	flags  uint8
	marked bool
	placed bool // it has a row
}

// mailText has a shard's messages and requests.
type mailText struct {
	to       [][]handle.Handle // by message
	values   [][]byte
	requests []byte
	count    int
}

// namesText has the lines of one extension's names.
type namesText struct {
	head     [2]uint64 // the limits
	lists    [2][]byte // of names, and of conflicts
	counts   [2]uint64
	taken    map[string]handleText // by name
	entities map[handleText]bool   // those that have a name
}

// keep counts bytes that are kept. It returns an error if they are too many.
func (b *builder) keep(n int) error {
	b.took += int64(n)
	if most := format.BytesMax(b.o.BytesMax, b.consumed); b.took > most {
		return fmt.Errorf("%w: it takes %d bytes, with BytesMax = %d", snapshot.ErrTooLarge, b.took, most)
	}
	return nil
}

// fail keeps the first error of the methods that find what a line names. They return something empty
// then, so that the line can be read to its end.
func (b *builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// find finds something that is registered, and has values, by its name.
func (b *builder) find(list int, name string) (*form, int) {
	at, ok := b.known[[2]string{format.Listed[list], name}]
	if !ok {
		b.fail(fmt.Errorf("there is no %s %q", format.Listed[list], name))
		return &form{Named: new(format.Named), skip: shape.Skip(nil), tree: []branch{}}, 0
	}
	return b.forms[list][at], at
}

// value appends a value to dst, made of its JSON. what has it, for errors, which fail keeps.
func (b *builder) value(what string, dst []byte, f *form, text json.RawMessage) []byte {
	err := b.keep(f.skip.Least() + len(text))
	if err == nil {
		v, wrong := decodeText(text)
		if err = errMissing; wrong == nil {
			dst, err = f.parse(dst, v)
		}
		err = inField("value", err)
	}
	if err != nil {
		b.fail(fmt.Errorf("%s %q: %w", what, f.Name, err))
	}
	return dst
}

// once keeps a section that may come only once. An error ends the import.
func (b *builder) once(key sectionKey, body []byte) error {
	if b.bodies[key] != nil {
		return errors.New("it is there twice")
	}
	b.bodies[key] = &body
	return b.keep(len(body))
}

// of returns the mail of a shard.
func (b *builder) of(shard int) *mailText {
	if shard < 0 || shard >= len(b.mail) {
		b.fail(fmt.Errorf("shard: there is no %d", shard))
		return new(mailText)
	}
	return &b.mail[shard]
}

// ids returns the numbers of components.
func (b *builder) ids(names []string) (all []int) {
	for _, name := range names {
		id, ok := b.known[[2]string{"component", name}]
		if !ok {
			b.fail(inField("components", fmt.Errorf("there is no component %q", name)))
		}
		all = append(all, id)
	}
	b.fail(b.keep(16 * len(names)))
	return all
}

// image returns the image of the last shard, which must be this one.
func (b *builder) image(shard int) *store.Image { return lastOf(b, b.images, "shard", shard) }

// addTo adds some to the list of a name. An error says that lines are missing or in another order.
func addTo[T any](b *builder, lists map[string]*[]T, name string, from int, some []T) error {
	to := lists[name]
	if to == nil {
		return fmt.Errorf("there is no list %q here", name)
	}
	if from != len(*to) {
		return inField("from", fmt.Errorf("it is %d, and %d came before", from, len(*to)))
	}
	*to = append(*to, some...)
	return b.keep(8 * len(some))
}

// lastOf returns the last element of a list, which must have this number: lines come in order. If
// not, it fails, and returns an empty element so that the line can be read to its end.
func lastOf[T any](b *builder, all []T, what string, number int) *T {
	if number != len(all)-1 || number < 0 {
		b.fail(inField(what, fmt.Errorf("it is %d, and %d lines of them came before", number, len(all))))
		return new(T)
	}
	return &all[number]
}

// What follows makes the sections of a snapshot from the lines of a text, and checks that a world can
// have them.

// parts lists the sections, once all lines were read, and checks that a world can have them. An
// error ends the import before anything is written.
func (b *builder) parts() (parts []format.Part, err error) {
	if n := b.info.Options.Shards; b.images == nil || len(b.images) != n {
		return nil, format.Altered("it has lines of %d shards, want %d", len(b.images), n)
	}
	add := func(kind byte, number int, body func(dst []byte) []byte) {
		parts = append(parts, format.PartOf(kind, number, body))
	}
	add(format.HeaderSection, 0, func(dst []byte) []byte { return format.AppendHeader(dst, &b.info) })
	add(format.NamesSection, 0, b.names.Append)
	b.state.Tick = b.info.Tick
	add(format.WorldSection, 0, func(dst []byte) []byte { return format.AppendState(dst, &b.state) })
	for i := range b.images {
		if err := b.place(i); err != nil {
			return nil, err
		}
		add(format.ShardSection, i, func(dst []byte) []byte { return format.AppendShard(dst, &b.images[i]) })
	}
	for h, e := range b.entities {
		if !e.placed {
			return nil, format.Altered("entity %v (line %d): it has no row: entities cannot be added to a text; load the snapshot, and create them there", h, e.line)
		}
	}
	if err := b.check(); err != nil {
		return nil, err
	}
	for i := range b.images {
		if err := b.addRows(i, add); err != nil {
			return nil, err
		}
	}
	for i := range b.mail {
		add(format.MailSection, i, func(dst []byte) []byte { return b.appendMail(dst, i) })
	}
	for i, n := range b.names.Extensions {
		if names := b.named[n.Name]; names != nil {
			*b.bodies[sectionKey{format.ExtensionSection, i}] = names.body()
		}
	}
	all := func(kind byte, what string, names []format.Named) {
		for i, n := range names {
			if key := (sectionKey{kind, i}); b.bodies[key] != nil {
				add(kind, i, b.body(key))
			} else if err == nil {
				err = format.Altered("%s %q has no line", what, n.Name)
			}
		}
	}
	all(format.ResourceSection, "resource", b.names.Resources)
	all(format.ExtensionSection, "extension", b.names.Extensions)
	if b.names.Scheduler {
		add(format.SchedulerSection, 0, b.body(sectionKey{format.SchedulerSection, 0}))
	}
	all(format.ExtraSection, "extra", b.names.Extras)
	return parts, err
}

// body returns a function that appends a section which the text has as bytes.
func (b *builder) body(key sectionKey) func(dst []byte) []byte {
	return func(dst []byte) []byte { return append(dst, *b.bodies[key]...) }
}

// place puts the entities of a shard into its rows, with flags and marks. An error names the entity
// that has no row, or no line.
func (b *builder) place(shard int) error {
	for i := range b.images[shard].Tables {
		t := &b.images[shard].Tables[i]
		for k := range t.Chunks {
			c := &t.Chunks[k]
			if len(c.Handles) != c.Rows {
				return format.Altered("chunk %d of table %d of shard %d has %d entities, want %d rows", k, i, shard, len(c.Handles), c.Rows)
			}
			for row, h := range c.Handles {
				e := b.entities[h]
				switch {
				case e == nil:
					return format.Altered("entity %v has a row in table %d of shard %d, and no line: entities cannot be removed from a text; load the snapshot, and destroy them there", h, i, shard)
				case e.placed:
					return format.Altered("entity %v (line %d) has two rows", h, e.line)
				case !slices.Equal(e.ids, t.Components):
					return format.Altered("entity %v (line %d) has the components %q, and its row is among those with %q: components cannot be added or removed in a text; load the snapshot, and do it there", h, e.line, b.componentNames(e.ids), b.componentNames(t.Components))
				}
				e.placed = true
				for f := range c.Flags {
					if e.flags>>f&1 != 0 {
						setBit(&c.Flags[f], row)
					}
				}
				if e.marked {
					setBit(&c.Marks, row)
				}
			}
		}
	}
	return nil
}

// componentNames returns the names of components.
func (b *builder) componentNames(ids []int) (all []string) {
	for _, id := range ids {
		all = append(all, b.names.Components[id].Name)
	}
	return all
}

// setBit adds a row to a set.
func setBit(set *[]uint64, row int) {
	for row/64 >= len(*set) {
		*set = append(*set, 0)
	}
	(*set)[row/64] |= 1 << (row % 64)
}

// addRows adds the sections of a shard's rows: as many as there were, each with as many chunks. An
// error ends the import.
func (b *builder) addRows(shard int, add func(kind byte, number int, body func(dst []byte) []byte)) error {
	var chunks []format.Place
	for p := range format.ChunksOf(&b.images[shard]) {
		chunks = append(chunks, p)
	}
	for _, n := range b.sections[shard] {
		if n < 0 || n > len(chunks) {
			return format.Altered("shard %d: sections: they have more chunks than there are", shard)
		}
		some := chunks[:n]
		chunks = chunks[n:]
		add(format.RowsSection, shard, func(dst []byte) []byte { return b.appendRows(dst, shard, some) })
	}
	if len(chunks) > 0 {
		return format.Altered("shard %d: sections: %d chunks are in none", shard, len(chunks))
	}
	return nil
}

// appendRows appends the rows of some chunks, on the goroutine of their part.
func (b *builder) appendRows(dst []byte, shard int, chunks []format.Place) []byte {
	var cells [][]byte // of a chunk, row by row
	for _, p := range chunks {
		t := &b.images[shard].Tables[p.Table]
		c := &t.Chunks[p.Chunk]
		dst = extend.AppendNumber(extend.AppendNumber(dst, p.Table), p.Chunk)
		dst = extend.AppendWords(dst, c.Handles)
		cells = cells[:0]
		for _, h := range c.Handles {
			cells = b.appendCells(cells, t, h)
		}
		for k := range t.Components {
			for row := range c.Handles {
				dst = append(dst, cells[row*len(t.Components)+k]...)
			}
		}
	}
	return dst
}

// appendCells appends the values of an entity, one by one.
func (b *builder) appendCells(cells [][]byte, t *store.TableImage, h handle.Handle) [][]byte {
	rest := b.entities[h].values
	for _, id := range t.Components {
		behind, err := b.forms[components][id].skip.Read(rest, mem.Cells{})
		if err != nil {
			panic(fmt.Sprintf("text: what was made of the line of %v is no value: %v", h, err))
		}
		cells = append(cells, rest[:len(rest)-len(behind)])
		rest = behind
	}
	return cells
}

// appendMail appends the messages for a shard, and the requests that it has sent.
func (b *builder) appendMail(dst []byte, from int) []byte {
	m := &b.mail[from]
	for i := range b.names.Messages {
		if from == len(b.images) {
			break // global systems get no messages
		}
		if i >= len(m.to) {
			dst = extend.AppendNumber(dst, 0)
			continue
		}
		dst = append(extend.AppendWords(dst, m.to[i]), m.values[i]...)
	}
	return append(extend.AppendNumber(dst, m.count), m.requests...)
}

// check loads everything except values into a world of its own, as Load would. An error has the
// line, and ends the import.
func (b *builder) check() error {
	tick, options, state := b.first["tick"], b.first["options"], b.first["state"]
	switch {
	case tick == 0:
		return format.Altered("the line of the tick is missing")
	case state == 0:
		return format.Altered("the line of the state of the world is missing")
	case b.info.Entities != len(b.entities):
		return format.Altered("line %d: entities: it is %d, and %d have a line", tick, b.info.Entities, len(b.entities))
	}
	w, err := b.empty()
	if err != nil {
		return format.Altered("line %d: options: %w", options, err)
	}
	if n := len(b.names.Hooks); len(b.state.Hooks) != n {
		return format.Altered("line %d: hooks: there are %d, and %d are registered", state, len(b.state.Hooks), n)
	}
	for i, on := range b.state.Hooks {
		if len(on) != w.Shards() {
			return format.Altered("line %d: hooks: hook %d is on %d shards, want %d", state, i, len(on), w.Shards())
		}
	}
	l, err := engine.Of(w).Load("text.Import")
	if err != nil {
		return err
	}
	s := b.state
	s.Hooks, s.Pinned = nil, nil // this world has none
	if err := l.Homes(slots.Layout{Homes: b.info.Homes, Ports: b.info.PortsHome}); err != nil {
		return format.Altered("line %d: options: %w", options, err)
	}
	if err := l.World(s); err != nil {
		return format.Altered("the lines of the world, from line %d on: %w", state, err)
	}
	for i := range b.images {
		if err := errors.Join(l.Slots(i, w.Shards(), &b.images[i]), l.Shard(i, b.images[i], nil)); err != nil {
			return b.inShard(i, err)
		}
	}
	for i := range b.images { // an entity may be in another shard than its slot
		for p, c := range format.ChunksOf(&b.images[i]) {
			if err := l.Fill(l.Chunk(i, p.Table, p.Chunk), c.Handles); err != nil {
				return b.inShard(i, err)
			}
		}
	}
	if err := l.Finish(); err != nil {
		return format.Altered("%w", err)
	}
	return nil
}

// inShard makes an error one of the lines of a shard.
func (b *builder) inShard(i int, err error) error {
	return format.Altered("the lines of shard %d, from line %d on: %w", i, b.at[i], err)
}

// empty makes a world with the options of the text and as many components, without values. An error
// says that no world has such options.
func (b *builder) empty() (*world.World, error) {
	o := b.info.Options
	o.HugePages = false
	w, err := world.New(o)
	switch {
	case err != nil:
		return nil, err
	case w.Options() != o:
		return nil, fmt.Errorf("one is 0, where a world has another number: %+v", w.Options())
	case len(b.names.Components) > store.ComponentsMax:
		return nil, fmt.Errorf("%d components are registered, of %d at most", len(b.names.Components), store.ComponentsMax)
	}
	of := mem.TypeOf[struct{}]()
	for range b.names.Components {
		store.NewColumn(engine.Of(w).Space(), of)
	}
	return w, nil
}
