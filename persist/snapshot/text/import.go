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

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/persist/state"
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
	x := &importing{o: o, names: &format.Catalogue{}, entities: map[handle.Handle]*entityText{}, bodies: map[bytesKey]*[]byte{}, named: map[string]*namesText{}}
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
	if x.images == nil && kind != "tick" && kind != "options" {
		return errors.New("the lines of tick and options come before all others")
	}
	if err := read(x, line); err != nil || x.ended {
		return err
	}
	_, _ = x.sum.Write(append(bytes.TrimRight(line, "\r\n"), '\n'))
	return nil
}

// textLines are the functions that read lines, by the first name in the line.
var textLines map[string]func(x *importing, line []byte) error

func init() { // in init, because the functions use textLines
	textLines = map[string]func(x *importing, line []byte) error{
		"tick": lineOf((*importing).tick), "options": lineOf((*importing).options), "registered": lineOf((*importing).registered),
		"entity": lineOf((*importing).entity), "resource": lineOf((*importing).resource), "message": lineOf((*importing).message), "request": lineOf((*importing).request),
		"bytes": lineOf((*importing).bytes), "names": lineOf((*importing).namesOf), "name": lineOf((*importing).name), "refused": lineOf((*importing).refusedName),
		"state": lineOf((*importing).world), "words": lineOf((*importing).words), "handles": lineOf((*importing).handles),
		"shard": lineOf((*importing).shard), "table": lineOf((*importing).table), "chunk": lineOf((*importing).chunk), "end": lineOf((*importing).end),
	}
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
	if x.lines.tick != 0 {
		return fmt.Errorf("it is there twice, first in line %d", x.lines.tick)
	}
	x.lines.tick = x.line
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
	if x.images != nil {
		return errors.New("there is a second line of options")
	}
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
	x.lines.options = x.line
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
	n := format.Named{Name: l.Name, Type: l.Type}
	if l.Form != "" {
		if n.Hash, err = strconv.ParseUint(l.Form, 16, 64); err != nil {
			return fmt.Errorf("form: %q has no 16 hexadecimal digits", l.Form)
		}
	}
	for _, p := range l.Parts {
		if p.At < 0 || p.Size < 0 {
			return fmt.Errorf("parts: one is at %d, with %d bytes", p.At, p.Size)
		}
		part := extend.Part{ByCodec: p.ByCodec, Offset: p.At, Size: p.Size, Fields: make([]extend.Field, 0, len(p.Fields))}
		for _, f := range p.Fields {
			part.Fields = append(part.Fields, extend.Field{Path: f.Path, Type: f.Type, Offset: f.At})
		}
		n.Parts = append(n.Parts, part)
	}
	t, err := textOf(&n)
	if err != nil {
		return err
	}
	if l.Registered != "request" && slices.ContainsFunc(*list, func(other format.Named) bool { return other.Name == n.Name }) {
		return fmt.Errorf("there are two of %s %q", l.Registered, n.Name)
	}
	*list = append(*list, n)
	switch at := slices.Index(format.Listed[:], l.Registered); {
	case at < len(x.lists):
		known := &x.lists[at]
		if known.byName == nil {
			known.byName = map[string]int{}
		}
		known.byName[n.Name], known.all = len(known.all), append(known.all, t)
	case l.Registered == "request":
		x.kinds = append(x.kinds, t)
	}
	return x.keep(namedBytes)
}

// namedBytes is about how much memory something registered takes, besides its line.
const namedBytes = 1024
