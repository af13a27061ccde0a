package text

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/zeebo/xxh3"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/driver"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
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
// 64th of it. It returns the head of the snapshot. Errors are those of src and dst, and of package
// snapshot: ErrNoSnapshot, ErrVersion, ErrTruncated, ErrAltered and ErrTooLarge, with line and
// field, and ErrOtherWorld for another kind of machine or another layout of handles.
func Import(src io.Reader, dst io.Writer, o snapshot.Options) (snapshot.Info, error) {
	check("Import", o)
	x := &importing{
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

// read reads all lines.
func (x *importing) read(src *bufio.Reader) error {
	var line []byte
	for {
		some, err := src.ReadSlice('\n')
		x.consumed += int64(len(some))
		line = append(line, some...)
		if most := format.BytesMax(x.o.BytesMax, x.consumed); int64(len(line)) > most/format.BytesPerByte && len(line) > 1 {
			return fmt.Errorf("%w: line %d has more than %d bytes, with BytesMax = %d", snapshot.ErrTooLarge, x.line+1, most/format.BytesPerByte, most)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return fmt.Errorf("snapshot: at line %d: %w", x.line+1, err)
		}
		if x.line++; len(bytes.TrimSpace(line)) > 0 {
			if e := x.one(line); e != nil {
				return x.in(e)
			}
		}
		line = line[:0]
		if x.ended || err != nil {
			break
		}
	}
	if !x.ended {
		return fmt.Errorf("%w: the text ends at line %d, and the line that ends it is missing", snapshot.ErrTruncated, x.line)
	}
	return nil
}

// in adds the line to an error.
func (x *importing) in(err error) error {
	for _, own := range []error{snapshot.ErrNoSnapshot, snapshot.ErrVersion, snapshot.ErrAltered, snapshot.ErrOtherWorld, snapshot.ErrTooLarge} {
		if errors.Is(err, own) {
			return fmt.Errorf("%w (line %d)", err, x.line)
		}
	}
	return format.Altered("line %d: %w", x.line, err)
}

// one reads a line.
func (x *importing) one(line []byte) error {
	d := json.NewDecoder(bytes.NewReader(line))
	brace, _ := d.Token()
	token, _ := d.Token()
	kind, _ := token.(string)
	if !x.began {
		x.began = true
		return x.head(line, brace == json.Delim('{') && kind == "text")
	}
	read, ok := textLines[kind]
	if brace != json.Delim('{') || !ok {
		return fmt.Errorf("it begins with %.40q; the first name in a line says what it is, such as entity", line)
	}
	switch first := x.first[kind]; {
	case x.images == nil && kind != "tick" && kind != "options":
		return errors.New("the lines of tick and options come before all others")
	case first == 0:
		x.first[kind] = x.line
	case kind == "tick" || kind == "options" || kind == "state":
		return fmt.Errorf("it is there twice, first in line %d", first)
	}
	if err := read(x, line); err != nil || x.ended {
		return err
	}
	_, _ = x.sum.Write(append(bytes.TrimRight(line, "\r\n"), '\n'))
	return nil
}

// textLines are the functions that read lines, by the first name in the line.
var textLines = map[string]func(x *importing, line []byte) error{
	"tick": lineOf((*importing).tick), "options": lineOf((*importing).options), "registered": lineOf((*importing).registered),
	"entity": lineOf((*importing).entity), "resource": lineOf((*importing).resource), "message": lineOf((*importing).message), "request": lineOf((*importing).request),
	"bytes": lineOf((*importing).bytes), "names": lineOf((*importing).namesOf), "name": lineOf((*importing).name), "refused": lineOf((*importing).refusedName),
	"state": lineOf((*importing).world), "words": lineOf((*importing).words), "handles": lineOf((*importing).handles),
	"shard": lineOf((*importing).shard), "table": lineOf((*importing).table), "chunk": lineOf((*importing).chunk), "end": lineOf((*importing).end),
}

// lineOf returns a function that reads lines of a type.
func lineOf[L any](then func(x *importing, l *L) error) func(x *importing, line []byte) error {
	return func(x *importing, line []byte) error {
		l := new(L)
		if err := decodeLine(line, l); err != nil {
			return err
		}
		return then(x, l)
	}
}

// decodeLine reads a line. Unknown names are an error.
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

// head reads the first line.
func (x *importing) head(line []byte, is bool) error {
	var l headLine
	if !is || decodeLine(line, &l) != nil {
		return fmt.Errorf("%w: it does not begin as the text that Export writes", snapshot.ErrNoSnapshot)
	}
	if l.Text != textVersion || l.Snapshot != format.Version {
		return fmt.Errorf("%w: text %d of snapshot %d, want %d and %d", snapshot.ErrVersion, l.Text, l.Snapshot, textVersion, format.Version)
	}
	for how := format.Zstd; how <= format.None; how++ {
		if how.String() == l.Compression {
			x.how = how
			return nil
		}
	}
	return fmt.Errorf("compression: there is no %q; there are %v, %v and %v", l.Compression, format.Zstd, format.S2, format.None)
}

// tick reads the settings that change with each tick.
func (x *importing) tick(l *tickLine) (err error) {
	x.info.Tick, x.info.Entities = l.Tick, l.Entities
	if l.Hash != "" {
		n, e := strconv.ParseUint(l.Hash, 16, 64)
		if x.info.Hash = state.Hash(n); e != nil {
			err = fmt.Errorf("hash: %q has no 16 hexadecimal digits", l.Hash)
		}
	}
	return err
}

// options reads the settings of the header, except those in the line of the tick.
func (x *importing) options(l *optionsLine) error {
	v, err := decodeText(l.Options)
	if err != nil {
		return err
	}
	x.settings = format.Settings(&x.info)
	err = eachField(v, len(x.settings)-format.OfTick, func(i int) string { return x.settings[i].Name }, func(i int, v any) error {
		n, err := parseWhole(v, handleShape)
		x.settings[i].Set(n)
		return err
	})
	if err != nil {
		return err
	}
	if err := ofThisMachine(x.settings); err != nil {
		return err
	}
	if n := x.info.Options.Shards; n < 1 || n > handle.HomeMax+1 {
		return inField("Shards", fmt.Errorf("%d is no number of shards", n))
	}
	x.images, x.sections = []store.Image{}, [][]int{}
	x.mail = make([]mailText, x.info.Options.Shards+1)
	return nil
}

// registered adds something to what is registered, with the format of its values.
func (x *importing) registered(l *registeredLine) (err error) {
	list := x.names.List(l.Registered)
	if list == nil {
		return fmt.Errorf("registered: there is no %q; there are %q", l.Registered, format.Listed)
	}
	n := format.Named{Name: l.Name, Type: l.Type, Parts: l.Parts}
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
	if _, ok := x.known[key]; ok && l.Registered != "request" && l.Registered != "hook" {
		return fmt.Errorf("there are two of %s %q", l.Registered, n.Name)
	}
	x.known[key], *list = len(*list), append(*list, n)
	if at := slices.Index(format.Listed[:], l.Registered); at < valued {
		x.forms[at] = append(x.forms[at], f)
	}
	return x.keep(namedBytes)
}

// namedBytes is about how much memory something registered takes, besides its line.
const namedBytes = 1024

// importing is the text of a snapshot that is being read.
type importing struct {
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
	began    bool
	ended    bool

	settings []format.Setting
	entities map[handle.Handle]*entityText
	state    drive.State
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
	lists    [2][]byte // of names, and of those that were refused
	counts   [2]uint64
	taken    map[string]handleText // by name
	entities map[handleText]bool   // those that have a name
}

// keep counts bytes that are kept. It returns an error if they are too many.
func (x *importing) keep(n int) error {
	x.took += int64(n)
	if most := format.BytesMax(x.o.BytesMax, x.consumed); x.took > most {
		return fmt.Errorf("%w: it takes %d bytes, with BytesMax = %d", snapshot.ErrTooLarge, x.took, most)
	}
	return nil
}

// find finds something that is registered, and has values, by its name.
func (x *importing) find(list int, name string) (*form, int, error) {
	at, ok := x.known[[2]string{format.Listed[list], name}]
	if !ok {
		return nil, 0, fmt.Errorf("there is no %s %q", format.Listed[list], name)
	}
	return x.forms[list][at], at, nil
}

// value appends a value to dst.
func (x *importing) value(dst []byte, f *form, text json.RawMessage) ([]byte, error) {
	if err := x.keep(f.skip.Least() + len(text)); err != nil {
		return nil, err
	}
	v, err := decodeText(text)
	if err != nil {
		return nil, inField("value", errMissing)
	}
	dst, err = f.parse(dst, v)
	if err != nil {
		return nil, inField("value", err)
	}
	return dst, nil
}

// once keeps a section.
func (x *importing) once(key sectionKey, body []byte) error {
	if x.bodies[key] != nil {
		return errors.New("it is there twice")
	}
	x.bodies[key] = &body
	return x.keep(len(body))
}

// of returns the mail of a shard.
func (x *importing) of(shard int) (*mailText, error) {
	if shard < 0 || shard >= len(x.mail) {
		return nil, fmt.Errorf("shard: there is no %d", shard)
	}
	return &x.mail[shard], nil
}

// ids returns the numbers of components.
func (x *importing) ids(names []string) (all []int, err error) {
	for _, name := range names {
		_, id, err := x.find(components, name)
		if err != nil {
			return nil, inField("components", err)
		}
		all = append(all, id)
	}
	return all, x.keep(16 * len(names))
}

// image returns the image of the last shard, which must be this one.
func (x *importing) image(shard int) (*store.Image, error) {
	if shard != len(x.images)-1 || shard < 0 {
		return nil, inField("shard", fmt.Errorf("it is %d, and %d lines of shards came before", shard, len(x.images)))
	}
	return &x.images[shard], nil
}

// addTo adds some to the list of a name.
func addTo[T any](x *importing, lists map[string]*[]T, name string, from int, some []T) error {
	to := lists[name]
	if to == nil {
		return fmt.Errorf("there is no list %q here", name)
	}
	if from != len(*to) {
		return inField("from", fmt.Errorf("it is %d, and %d came before", from, len(*to)))
	}
	*to = append(*to, some...)
	return x.keep(8 * len(some))
}

// lastOf returns the last element, which must have this number.
func lastOf[T any](all []T, what string, number int) (*T, error) {
	if number != len(all)-1 || number < 0 {
		return nil, inField(what, fmt.Errorf("it is %d, and %d lines of them came before", number, len(all)))
	}
	return &all[number], nil
}

// This file makes the sections of a snapshot from the lines of a text, and checks that a world can
// have them.

// parts lists the sections, once all lines were read.
func (x *importing) parts() (parts []format.Part, err error) {
	if n := x.info.Options.Shards; x.images == nil || len(x.images) != n {
		return nil, format.Altered("it has lines of %d shards, want %d", len(x.images), n)
	}
	add := func(kind byte, number int, body func(dst []byte) []byte) {
		parts = append(parts, format.PartOf(kind, number, body))
	}
	add(format.HeaderSection, 0, func(dst []byte) []byte { return format.AppendHeader(dst, &x.info) })
	add(format.NamesSection, 0, x.names.Append)
	x.state.Tick = x.info.Tick
	add(format.WorldSection, 0, func(dst []byte) []byte { return format.AppendState(dst, &x.state) })
	for i := range x.images {
		if err := x.place(i); err != nil {
			return nil, err
		}
		add(format.ShardSection, i, func(dst []byte) []byte { return format.AppendShard(dst, &x.images[i]) })
	}
	for h, e := range x.entities {
		if !e.placed {
			return nil, format.Altered("entity %v (line %d): it has no row: entities cannot be added to a text; load the snapshot, and create them there", h, e.line)
		}
	}
	if err := x.check(); err != nil {
		return nil, err
	}
	for i := range x.images {
		if err := x.addRows(i, add); err != nil {
			return nil, err
		}
	}
	for i := range x.mail {
		add(format.MailSection, i, func(dst []byte) []byte { return x.appendMail(dst, i) })
	}
	for i, n := range x.names.Extensions {
		if names := x.named[n.Name]; names != nil {
			*x.bodies[sectionKey{format.ExtensionSection, i}] = names.body()
		}
	}
	all := func(kind byte, what string, names []format.Named) {
		for i, n := range names {
			if key := (sectionKey{kind, i}); x.bodies[key] != nil {
				add(kind, i, x.body(key))
			} else if err == nil {
				err = format.Altered("%s %q has no line", what, n.Name)
			}
		}
	}
	all(format.ResourceSection, "resource", x.names.Resources)
	all(format.ExtensionSection, "extension", x.names.Extensions)
	if x.names.Scheduler {
		add(format.SchedulerSection, 0, x.body(sectionKey{format.SchedulerSection, 0}))
	}
	all(format.AlsoSection, "also", x.names.Also)
	return parts, err
}

// body returns a function that appends a section which the text has as bytes.
func (x *importing) body(key sectionKey) func(dst []byte) []byte {
	return func(dst []byte) []byte { return append(dst, *x.bodies[key]...) }
}

// place puts the entities of a shard into its rows, with flags and marks.
func (x *importing) place(shard int) error {
	for i := range x.images[shard].Tables {
		t := &x.images[shard].Tables[i]
		for k := range t.Chunks {
			c := &t.Chunks[k]
			if len(c.Handles) != c.Rows {
				return format.Altered("chunk %d of table %d of shard %d has %d entities, want %d rows", k, i, shard, len(c.Handles), c.Rows)
			}
			for row, h := range c.Handles {
				e := x.entities[h]
				switch {
				case e == nil:
					return format.Altered("entity %v has a row in table %d of shard %d, and no line: entities cannot be removed from a text; load the snapshot, and destroy them there", h, i, shard)
				case e.placed:
					return format.Altered("entity %v (line %d) has two rows", h, e.line)
				case !slices.Equal(e.ids, t.Components):
					return format.Altered("entity %v (line %d) has the components %q, and its row is among those with %q: components cannot be added or removed in a text; load the snapshot, and do it there", h, e.line, x.componentNames(e.ids), x.componentNames(t.Components))
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

func (x *importing) componentNames(ids []int) (all []string) {
	for _, id := range ids {
		all = append(all, x.names.Components[id].Name)
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

// addRows adds the sections of a shard's rows: as many as there were, each with as many chunks.
func (x *importing) addRows(shard int, add func(kind byte, number int, body func(dst []byte) []byte)) error {
	var chunks []format.Place
	for p := range format.ChunksOf(&x.images[shard]) {
		chunks = append(chunks, p)
	}
	for _, n := range x.sections[shard] {
		if n < 0 || n > len(chunks) {
			return format.Altered("shard %d: sections: they have more chunks than there are", shard)
		}
		some := chunks[:n]
		chunks = chunks[n:]
		add(format.RowsSection, shard, func(dst []byte) []byte { return x.appendRows(dst, shard, some) })
	}
	if len(chunks) > 0 {
		return format.Altered("shard %d: sections: %d chunks are in none", shard, len(chunks))
	}
	return nil
}

// appendRows appends the rows of some chunks.
func (x *importing) appendRows(dst []byte, shard int, chunks []format.Place) []byte {
	var cells [][]byte // of a chunk, row by row
	for _, p := range chunks {
		t := &x.images[shard].Tables[p.Table]
		c := &t.Chunks[p.Chunk]
		dst = drive.AppendNumber(drive.AppendNumber(dst, p.Table), p.Chunk)
		dst = drive.AppendWords(dst, c.Handles)
		cells = cells[:0]
		for _, h := range c.Handles {
			cells = x.appendCells(cells, t, h)
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
func (x *importing) appendCells(cells [][]byte, t *store.TableImage, h handle.Handle) [][]byte {
	rest := x.entities[h].values
	for _, id := range t.Components {
		behind, err := x.forms[components][id].skip.Read(rest, mem.Cells{})
		if err != nil {
			panic(fmt.Sprintf("text: what was made of the line of %v is no value: %v", h, err))
		}
		cells = append(cells, rest[:len(rest)-len(behind)])
		rest = behind
	}
	return cells
}

// appendMail appends the messages for a shard, and the requests that it has sent.
func (x *importing) appendMail(dst []byte, from int) []byte {
	m := &x.mail[from]
	for i := range x.names.Messages {
		if from == len(x.images) {
			break // global systems get no messages
		}
		if i >= len(m.to) {
			dst = drive.AppendNumber(dst, 0)
			continue
		}
		dst = append(drive.AppendWords(dst, m.to[i]), m.values[i]...)
	}
	return append(drive.AppendNumber(dst, m.count), m.requests...)
}

// check loads everything except values into a world of its own, as Load would.
func (x *importing) check() error {
	tick, options, state := x.first["tick"], x.first["options"], x.first["state"]
	switch {
	case tick == 0:
		return format.Altered("the line of the tick is missing")
	case state == 0:
		return format.Altered("the line of the state of the world is missing")
	case x.info.Entities != len(x.entities):
		return format.Altered("line %d: entities: it is %d, and %d have a line", tick, x.info.Entities, len(x.entities))
	}
	w, err := x.empty()
	if err != nil {
		return format.Altered("line %d: options: %w", options, err)
	}
	if n := len(x.names.Hooks); len(x.state.Hooks) != n {
		return format.Altered("line %d: hooks: there are %d, and %d are registered", state, len(x.state.Hooks), n)
	}
	for i, on := range x.state.Hooks {
		if len(on) != w.Shards() {
			return format.Altered("line %d: hooks: hook %d is on %d shards, want %d", state, i, len(on), w.Shards())
		}
	}
	l, err := driver.Of(w).Load("text.Import")
	if err != nil {
		return err
	}
	s := x.state
	s.Hooks, s.Pinned = nil, nil // this world has none
	if err := l.World(s); err != nil {
		return format.Altered("the lines of the world, from line %d on: %w", state, err)
	}
	for i := range x.images {
		if err := l.Shard(i, x.images[i], nil); err != nil {
			return x.inShard(i, err)
		}
	}
	for i := range x.images { // an entity may be in another shard than its slot
		for p, c := range format.ChunksOf(&x.images[i]) {
			if err := l.Fill(l.Chunk(i, p.Table, p.Chunk), c.Handles); err != nil {
				return x.inShard(i, err)
			}
		}
	}
	if err := l.Finish(); err != nil {
		return format.Altered("%w", err)
	}
	return nil
}

func (x *importing) inShard(i int, err error) error {
	return format.Altered("the lines of shard %d, from line %d on: %w", i, x.at[i], err)
}

// empty makes a world with the options of the text and as many components, without values.
func (x *importing) empty() (*world.World, error) {
	o := x.info.Options
	o.HugePages = false
	w, err := world.New(o)
	switch {
	case err != nil:
		return nil, err
	case w.Options() != o:
		return nil, fmt.Errorf("one is 0, where a world has another number: %+v", w.Options())
	case len(x.names.Components) > store.ComponentsMax:
		return nil, fmt.Errorf("%d components are registered, of %d at most", len(x.names.Components), store.ComponentsMax)
	}
	of := mem.TypeOf[struct{}]()
	for range x.names.Components {
		store.NewColumn(driver.Of(w).Space(), of)
	}
	return w, nil
}
