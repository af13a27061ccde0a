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
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
)

// Export writes a snapshot as text, a JSON object in each line. Import makes the same bytes of it
// again. Entities are in the order of their handles, and the layout of memory is in lines of its
// own. So the lines that differ between two texts show what happened in the game. Export needs
// neither a world nor the types. docs/snapshot-format.md describes the lines.
//
// Export takes the memory of the uncompressed snapshot, bounded by BytesMax, the only option that
// it uses. Errors are those of snapshot.Verify, snapshot.ErrTooLarge, snapshot.ErrOtherWorld for a
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
type exporting struct {
	p       *picture
	out     *bufio.Writer
	buf     bytes.Buffer
	encoder *json.Encoder
	sum     xxh3.Hasher
	err     error // the first deviation from what Save writes
}

// all writes all lines, in their order.
func (x *exporting) all() error {
	x.line(headLine{textVersion, format.Version, x.p.how.String()})
	x.sum.Reset() // so that the compression can be edited
	x.heads()
	x.entities()
	x.resources()
	for i := range x.p.images {
		x.mail(i)
	}
	x.mail(len(x.p.images))
	for i, n := range x.p.names.Extensions {
		x.extension(n.Name, x.body(format.ExtensionSection, i))
	}
	x.state()
	for i := range x.p.images {
		x.shard(i)
	}
	if x.p.names.Scheduler {
		x.bytes("scheduler", "", x.body(format.SchedulerSection, 0))
	}
	for i, n := range x.p.names.Also {
		x.bytes("also", n.Name, x.body(format.AlsoSection, i))
	}
	x.line(endLine{fmt.Sprintf("%016x", x.sum.Sum64())})
	return x.err
}

// fail keeps the first error.
func (x *exporting) fail(err error) {
	if x.err == nil {
		x.err = err
	}
}

// line writes a line.
func (x *exporting) line(v any) {
	x.buf.Reset()
	if err := x.encoder.Encode(v); err != nil {
		x.fail(err)
	}
	x.write(x.buf.Bytes())
}

// write writes the end of a line. The end of the text returns an error of dst.
func (x *exporting) write(line []byte) {
	_, _ = x.sum.Write(line)
	_, _ = x.out.Write(line)
}

// body returns a section.
func (x *exporting) body(kind byte, number int) []byte {
	body, ok := x.p.rest[sectionKey{kind, number}]
	if !ok {
		x.fail(format.Altered("it has no section of kind %q, number %d", kind, number))
	}
	return body
}

// ended checks that a section was read to its end.
func (x *exporting) ended(c *drive.Cursor, kind byte, number int) {
	if err := c.End(); err != nil {
		x.fail(format.Altered("section of kind %q, number %d: %w", kind, number, err))
	}
}

// heads writes the header, and what is registered.
func (x *exporting) heads() {
	options := []byte{'{'}
	last := len(x.p.head.Settings) - format.OfTick // the others are in the line of the tick
	for i, s := range x.p.head.Settings[:last] {
		options = appendWhole(appendName(options, s.Name, i), s.Value, false)
	}
	tick := tickLine{Tick: x.p.head.Tick, Entities: x.p.head.Entities}
	if x.p.head.Hash != 0 {
		tick.Hash = x.p.head.Hash.String()
	}
	x.line(tick)
	x.line(optionsLine{append(options, '}')})
	for i, what := range format.Listed {
		known := map[string]bool{}
		for _, n := range *x.p.names.Lists()[i] {
			if known[n.Name] && what != "request" && what != "hook" {
				x.fail(format.Altered("there are two of %s %q", what, n.Name))
			}
			known[n.Name] = true
			line := registeredLine{Registered: what, Name: n.Name, Type: n.Type, Parts: slices.Clone(n.Parts)}
			if n.Hash != 0 {
				line.Form = fmt.Sprintf("%016x", n.Hash)
			}
			for k := range line.Parts {
				if p := &line.Parts[k]; len(p.Fields) == 0 {
					p.Fields = nil
				}
			}
			x.line(line)
		}
	}
}

// entities writes the entities with rows, in the order of their handles.
func (x *exporting) entities() {
	var dst []byte
	for _, h := range slices.Sorted(maps.Keys(x.p.entities)) {
		at := x.p.entities[h]
		b := &x.p.blocks[at.block]
		chunk := x.p.chunkOf(b)
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
		for i, id := range x.p.components(b) {
			f := x.p.forms[components][id]
			dst = f.append(appendName(dst, f.Name, i), b.columns[i].value(at.row))
		}
		x.write(append(dst, "}}\n"...))
	}
}

// bitOf reports whether a row is in a set.
func bitOf(set []uint64, row int) bool { return row/64 < len(set) && set[row/64]>>(row%64)&1 != 0 }

// value writes the first value of a section.
func (x *exporting) value(c *drive.Cursor, f *form) []byte {
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
func (x *exporting) resources() {
	for i, f := range x.p.forms[resources] {
		c := &drive.Cursor{Rest: x.body(format.ResourceSection, i), Most: x.p.most}
		line := resourceLine{Resource: f.Name, Value: x.value(c, f)}
		for count := c.Int(); count > 0 && c.Takes(1, 32); count-- {
			line.Parts = append(line.Parts, x.value(c, f))
		}
		x.ended(c, format.ResourceSection, i)
		x.line(line)
	}
}

// mail writes the messages for a shard, and the requests that it has sent.
func (x *exporting) mail(from int) {
	c := &drive.Cursor{Rest: x.body(format.MailSection, from), Most: x.p.most}
	if from < len(x.p.images) {
		for _, f := range x.p.forms[messages] {
			for _, h := range drive.WordsOf[handle.Handle](c) {
				if value := x.value(c, f); c.Err == nil {
					x.line(messageLine{f.Name, from, handleText(h), value})
				}
			}
		}
	}
	for range c.Count(3) {
		kind, flags, h := c.Int(), c.Below(1<<16), c.Handle()
		if c.Err != nil || kind >= len(x.p.forms[requests]) {
			x.fail(format.Altered("a request of kind %d: %w", kind, drive.ErrBody))
			return
		}
		f := x.p.forms[requests][kind]
		line := requestLine{Request: f.Name, Kind: kind, Shard: from, Flags: uint16(flags), Entity: handleText(h)}
		if f.Type != "" {
			line.Value = x.value(c, f)
		}
		if c.Err == nil {
			x.line(line)
		}
	}
	x.ended(c, format.MailSection, from)
}

// What follows is not for people: slots, tables, chunks and bytes.

// bytes writes a section that only its writer can read.
func (x *exporting) bytes(what, name string, body []byte) {
	for from := 0; from == 0 || from < len(body); from += bytesInLine {
		x.line(bytesLine{what, name, from, appendBytes(nil, body[from:min(from+bytesInLine, len(body))])})
	}
}

// state writes the state of the world as a whole.
func (x *exporting) state() {
	c := &drive.Cursor{Rest: x.body(format.WorldSection, 0), Most: x.p.most}
	s := format.ReadState(c)
	x.ended(c, format.WorldSection, 0)
	if s.Tick != x.p.head.Tick {
		x.fail(format.Altered("the world has tick %d, and the header %d", s.Tick, x.p.head.Tick))
	}
	x.line(stateLine{"world", s.Incarnation, s.Shard, s.Run, s.Misrouted, s.Moves, s.Gathered, x.named(s.Pinned), s.Hooks})
	ports := len(x.p.images)
	x.words("slots", ports, s.Ports.Slots)
	x.words("free", ports, s.Ports.Pool)
	x.handles(handlesLine{Handles: "recalled", Shard: ports}, s.Ports.Recalled)
}

// named returns the names of components.
func (x *exporting) named(ids []int) []string {
	all := make([]string, len(ids))
	for i, id := range ids {
		if id >= len(x.p.names.Components) {
			x.fail(format.Altered("there is no component %d", id))
			return nil
		}
		all[i] = x.p.names.Components[id].Name
	}
	return all
}

func (x *exporting) words(what string, shard int, all []uint32) {
	for from := 0; from < len(all); from += wordsInLine {
		x.line(wordsLine{what, shard, from, all[from:min(from+wordsInLine, len(all))]})
	}
}

func (x *exporting) handles(line handlesLine, all []handle.Handle) {
	for line.From = 0; line.From < len(all); line.From += handlesInLine {
		line.Are = line.Are[:0]
		for _, h := range all[line.From:min(line.From+handlesInLine, len(all))] {
			line.Are = append(line.Are, handleText(h))
		}
		x.line(line)
	}
}

// shard writes the slots, tables and chunks of a shard.
func (x *exporting) shard(i int) {
	s := &x.p.images[i]
	line := shardLine{Shard: i, Sections: x.p.sections[i], Marked: []markedText{}, Changes: []changeText{}, Stored: []storedText{}}
	for _, m := range s.Marked {
		line.Marked = append(line.Marked, markedText{m.Table, m.Chunks})
	}
	for _, n := range s.Changes {
		line.Changes = append(line.Changes, changeText{handleText(n.Handle), n.Moves, x.named(n.Components)})
	}
	for _, n := range s.Stored {
		if name := x.named([]int{n.Component}); name != nil {
			line.Stored = append(line.Stored, storedText{handleText(n.Handle), name[0]})
		}
	}
	x.line(line)
	x.words("slots", i, s.Slots)
	x.words("free", i, s.Free)
	x.handles(handlesLine{Handles: "created", Shard: i}, s.Created)
	for k := range s.Tables {
		t := &s.Tables[k]
		x.line(tableLine{k, i, x.named(t.Components), t.Listed, t.Fragmented, t.Left, t.Current})
		for n := range t.Chunks {
			c := &t.Chunks[n]
			x.line(chunkLine{n, k, i, c.Cap, c.Rows, c.Reserved, c.Changed, c.Written})
			if len(c.Handles) != c.Rows {
				x.fail(format.Altered("chunk %d of table %d of shard %d has no rows", n, k, i))
			}
			x.handles(handlesLine{Handles: "rows", Shard: i, Table: k, Chunk: n}, c.Handles)
		}
	}
}
