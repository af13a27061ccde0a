package text

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/zeebo/xxh3"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
)

// Export writes a snapshot as text, a JSON object in each line. Import makes the same bytes of it
// again. Entities are in the order of their handles, and the layout of memory is in lines of its
// own. So the lines that differ between two texts show what happened in the game. Export needs
// neither a world nor the types. docs/snapshot-format.md describes the lines.
//
// Export takes the memory of the uncompressed snapshot, bounded by BytesMax, the only option that
// it uses. Errors are as for snapshot.Verify, snapshot.ErrTooLarge, snapshot.ErrOtherWorld for a
// snapshot of another kind of machine or another layout of handles, and the error of dst.
func Export(src io.Reader, dst io.Writer, o snapshot.Options) (snapshot.Info, error) {
	check("Export", o)
	p, err := pictureOf(src, &o)
	if err != nil {
		return snapshot.Info{}, err
	}
	if err := ofThisMachine(p.head.Settings); err != nil {
		return snapshot.Info{}, err
	}
	x := &exporting{p: p, out: bufio.NewWriterSize(dst, 1<<16)}
	x.encoder = json.NewEncoder(&x.buf)
	x.encoder.SetEscapeHTML(false)
	if err := x.all(); err != nil {
		return snapshot.Info{}, err
	}
	return snapshot.Info(p.head.Info), x.out.Flush()
}

// check panics about invalid options.
func check(call string, o snapshot.Options) {
	if o.Workers < 0 || o.BytesMax < 0 {
		panic(fmt.Sprintf("text: %s with options that have a negative number: %d workers, %d bytes", call, o.Workers, o.BytesMax))
	}
}

// exporting is a snapshot that is written as text.
//
// Ownership: the goroutine of Export.
type exporting struct {
	p       *picture
	out     *bufio.Writer
	buf     bytes.Buffer
	encoder *json.Encoder
	sum     xxh3.Hasher
	err     error // the first deviation from what snapshot.Write writes
}

// all writes all lines, in their order. It returns the first error: then the text is not to be
// used.
func (e *exporting) all() error {
	e.line(headLine{textVersion, format.Version, e.p.how.String()})
	e.sum.Reset() // so that the compression can be edited
	e.heads()
	e.entities()
	e.resources()
	for i := range e.p.images {
		e.mail(i)
	}
	e.mail(len(e.p.images))
	for i, n := range e.p.names.Extensions {
		e.extension(n.Name, e.body(format.ExtensionSection, i))
	}
	e.state()
	for i := range e.p.images {
		e.shard(i)
	}
	if e.p.names.Scheduler {
		e.bytes("scheduler", "", e.body(format.SchedulerSection, 0))
	}
	for i, n := range e.p.names.Extras {
		e.bytes("extra", n.Name, e.body(format.ExtraSection, i))
	}
	e.line(endLine{fmt.Sprintf("%016x", e.sum.Sum64())})
	return e.err
}

// fail keeps the first error.
func (e *exporting) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// line writes a line. An error is kept, here and below: the export goes on, and all returns it.
func (e *exporting) line(v any) {
	e.buf.Reset()
	if err := e.encoder.Encode(v); err != nil {
		e.fail(err)
	}
	e.write(e.buf.Bytes())
}

// write writes the end of a line. The end of the text returns an error of dst.
func (e *exporting) write(line []byte) {
	_, _ = e.sum.Write(line)
	_, _ = e.out.Write(line)
}

// body returns a section.
func (e *exporting) body(kind byte, number int) []byte {
	body, ok := e.p.rest[sectionKey{kind, number}]
	if !ok {
		e.fail(format.Altered("it has no section of kind %q, number %d", kind, number))
	}
	return body
}

// ended checks that a section was read to its end.
func (e *exporting) ended(c *extend.Cursor, kind byte, number int) {
	if err := c.End(); err != nil {
		e.fail(format.Altered("section of kind %q, number %d: %w", kind, number, err))
	}
}

// heads writes the header, and what is registered.
func (e *exporting) heads() {
	options := []byte{'{'}
	last := len(e.p.head.Settings) - format.OfTick // the others are in the line of the tick
	for i, s := range e.p.head.Settings[:last] {
		options = appendWhole(appendName(options, s.Name, i), s.Value, false)
	}
	tick := tickLine{Tick: e.p.head.Tick, Entities: e.p.head.Entities}
	if e.p.head.Hash != 0 {
		tick.Hash = e.p.head.Hash.String()
	}
	e.line(tick)
	e.line(optionsLine{append(options, '}')})
	for i, what := range format.Listed {
		known := map[string]bool{}
		for _, n := range *e.p.names.Lists()[i] {
			if known[n.Name] && what != "request" && what != "hook" {
				e.fail(format.Altered("there are two of %s %q", what, n.Name))
			}
			known[n.Name] = true
			line := registeredLine{Registered: what, Name: n.Name, Type: n.Type, Count: n.Count, Parts: slices.Clone(n.Parts)}
			if n.Hash != 0 {
				line.Form = fmt.Sprintf("%016x", n.Hash)
			}
			for k := range line.Parts {
				if p := &line.Parts[k]; len(p.Fields) == 0 {
					p.Fields = nil
				}
			}
			e.line(line)
		}
	}
}

// entities writes the entities with rows, in the order of their handles.
func (e *exporting) entities() {
	var dst []byte
	for _, h := range slices.Sorted(maps.Keys(e.p.entities)) {
		at := e.p.entities[h]
		b := &e.p.blocks[at.block]
		chunk := e.p.chunkOf(b)
		dst = appendHandle(append(dst[:0], `{"entity":`...), h)
		var flags []byte
		for f := range chunk.Flags {
			if bitOf(chunk.Flags[f], at.row) {
				flags = strconv.AppendInt(append(flags, ','), int64(f), 10)
			}
		}
		if flags != nil {
			dst = append(append(append(dst, `,"flags":[`...), flags[1:]...), ']')
		}
		if bitOf(chunk.Marks, at.row) {
			dst = append(dst, `,"marked":true`...)
		}
		dst = append(dst, `,"components":{`...)
		for i, id := range e.p.components(b) {
			f := e.p.forms[components][id]
			dst = f.append(appendName(dst, f.Name, i), b.columns[i].value(at.row))
		}
		e.write(append(dst, "}}\n"...))
	}
}

// bitOf reports whether a row is in a set.
func bitOf(set []uint64, row int) bool { return row/64 < len(set) && set[row/64]>>(row%64)&1 != 0 }

// value writes the first value of a section.
func (e *exporting) value(c *extend.Cursor, f *form) []byte {
	if c.Err != nil {
		return nil
	}
	rest, err := f.skip.Read(c.Rest, mem.Cells{})
	if err != nil {
		c.Rest, c.Err = nil, err
		return nil
	}
	value := c.Rest[:len(c.Rest)-len(rest)]
	c.Rest = rest
	return f.append(nil, value)
}

// resources writes the resources, each with what shards have added to it.
func (e *exporting) resources() {
	for i, f := range e.p.forms[resources] {
		c := &extend.Cursor{Rest: e.body(format.ResourceSection, i), Most: e.p.most}
		line := resourceLine{Resource: f.Name, Value: e.value(c, f)}
		for count := c.Int(); count > 0 && c.Takes(1, 32); count-- {
			line.Parts = append(line.Parts, e.value(c, f))
		}
		e.ended(c, format.ResourceSection, i)
		e.line(line)
	}
}

// mail writes the messages for a shard, and the requests that it has sent.
func (e *exporting) mail(from int) {
	c := &extend.Cursor{Rest: e.body(format.MailSection, from), Most: e.p.most}
	if from < len(e.p.images) {
		for _, f := range e.p.forms[messages] {
			for _, h := range extend.WordsOf[handle.Handle](c) {
				if value := e.value(c, f); c.Err == nil {
					e.line(messageLine{f.Name, from, handleText(h), value})
				}
			}
		}
	}
	for range c.Count(3) {
		kind, flags, h := c.Int(), c.Below(1<<16), c.Handle()
		if c.Err != nil || kind >= len(e.p.forms[requests]) {
			e.fail(format.Altered("a request of kind %d: %w", kind, extend.ErrBody))
			return
		}
		f := e.p.forms[requests][kind]
		line := requestLine{Request: f.Name, Kind: kind, Shard: from, Flags: uint16(flags), Entity: handleText(h)}
		if f.Type != "" {
			line.Value = e.value(c, f)
		}
		if c.Err == nil {
			e.line(line)
		}
	}
	e.ended(c, format.MailSection, from)
}

// What follows is not for people: slots, tables, chunks and bytes.

// bytes writes a section that only its writer can read.
func (e *exporting) bytes(what, name string, body []byte) {
	for from := 0; from == 0 || from < len(body); from += bytesInLine {
		e.line(bytesLine{what, name, from, appendBytes(nil, body[from:min(from+bytesInLine, len(body))])})
	}
}

// state writes the state of the world as a whole.
func (e *exporting) state() {
	c := &extend.Cursor{Rest: e.body(format.WorldSection, 0), Most: e.p.most}
	s := format.ReadState(c)
	e.ended(c, format.WorldSection, 0)
	if s.Tick != e.p.head.Tick {
		e.fail(format.Altered("the world has tick %d, and the header %d", s.Tick, e.p.head.Tick))
	}
	e.line(stateLine{"world", s.Incarnation, s.Shard, s.Run, s.Misrouted, s.Moves, s.Gathered, s.TxRuns, e.named(s.Pinned), s.Hooks})
	ports := len(e.p.images)
	e.words("slots", ports, 0, s.Ports.Slots)
	e.words("free", ports, 0, s.Ports.Pool)
	e.handles(handlesLine{Handles: "recalled", Shard: ports}, s.Ports.Recalled)
}

// named returns the names of components.
func (e *exporting) named(ids []int) []string {
	all := make([]string, len(ids))
	for i, id := range ids {
		if id >= len(e.p.names.Components) {
			e.fail(format.Altered("there is no component %d", id))
			return nil
		}
		all[i] = e.p.names.Components[id].Name
	}
	return all
}

// words writes a list of numbers, some in each line.
func (e *exporting) words(what string, shard, home int, all []uint32) {
	for from := 0; from < len(all); from += wordsInLine {
		e.line(wordsLine{what, shard, home, from, all[from:min(from+wordsInLine, len(all))]})
	}
}

// handles writes a list of handles, some in each line.
func (e *exporting) handles(line handlesLine, all []handle.Handle) {
	for line.From = 0; line.From < len(all); line.From += handlesInLine {
		line.Are = line.Are[:0]
		for _, h := range all[line.From:min(line.From+handlesInLine, len(all))] {
			line.Are = append(line.Are, handleText(h))
		}
		e.line(line)
	}
}

// shard writes the slots, tables and chunks of a shard.
func (e *exporting) shard(i int) {
	s := &e.p.images[i]
	line := shardLine{Shard: i, Homes: len(s.More), Drawing: s.Drawing, Sections: e.p.sections[i], Marked: []markedText{}, Changes: []changeText{}, Stored: []storedText{}}
	for _, m := range s.Marked {
		line.Marked = append(line.Marked, markedText{m.Table, m.Chunks})
	}
	for _, n := range s.Changes {
		line.Changes = append(line.Changes, changeText{handleText(n.Handle), n.Moves, e.named(n.Components)})
	}
	for _, n := range s.Stored {
		if name := e.named([]int{n.Component}); name != nil {
			line.Stored = append(line.Stored, storedText{handleText(n.Handle), name[0]})
		}
	}
	e.line(line)
	for k, home := range append([]slots.HomeImage{s.HomeImage}, s.More...) {
		e.words("slots", i, k, home.Slots)
		e.words("free", i, k, home.Free)
	}
	e.handles(handlesLine{Handles: "created", Shard: i}, s.Created)
	for k := range s.Tables {
		t := &s.Tables[k]
		e.line(tableLine{k, i, e.named(t.Components), t.Listed, t.Fragmented, t.Left, t.Current})
		for n := range t.Chunks {
			c := &t.Chunks[n]
			e.line(chunkLine{n, k, i, c.Cap, c.Rows, c.Reserved, c.Changed, c.Written})
			if len(c.Handles) != c.Rows {
				e.fail(format.Altered("chunk %d of table %d of shard %d has no rows", n, k, i))
			}
			e.handles(handlesLine{Handles: "rows", Shard: i, Table: k, Chunk: n}, c.Handles)
		}
	}
}
