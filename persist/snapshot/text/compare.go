package text

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/shape"
)

// picture is a snapshot in memory, with its rows by entity.
//
// Ownership: the goroutine of Export or Compare.
type picture struct {
	head     format.Header
	names    *format.Catalogue
	how      format.Compression // of the sections that may be compressed
	forms    [valued][]*form    // of what is registered and has values
	images   []store.Image      // by shard; chunks have their handles, and no columns
	sections [][]int            // by shard: how many chunks are in each section of rows
	blocks   []block            // of chunks that have rows
	entities map[handle.Handle]rowAt
	rest     map[sectionKey][]byte // all sections but rows
	most     int64                 // how many bytes it may take, or 0 for no limit
}

// The lists of what has values, as in format.Listed.
const (
	components = iota
	messages
	resources
	requests
	valued // how many
)

type sectionKey struct {
	kind   byte
	number int
}

type rowAt struct{ block, row int }

// block is the rows of a chunk.
type block struct {
	shard, table, chunk int
	handles             []handle.Handle
	columns             []valueColumn
}

// valueColumn is the values of a component in the rows of a chunk.
type valueColumn struct {
	bytes []byte
	size  int      // of each value, if ends is nil
	ends  []uint32 // offsets of the ends of values
}

// value returns the bytes of the value in a row, in place.
func (v *valueColumn) value(row int) []byte {
	if v.ends == nil {
		return v.bytes[row*v.size : (row+1)*v.size]
	}
	from := uint32(0)
	if row > 0 {
		from = v.ends[row-1]
	}
	return v.bytes[from:v.ends[row]]
}

// pictureOf reads a whole snapshot into memory, without a world. If o is not nil, it fails if that
// takes more bytes than the options allow. An error says which section it is about.
func pictureOf(src io.Reader, o *snapshot.Options) (*picture, error) {
	r := format.SourceOf(src)
	head, names, err := format.ReadHead(r)
	if err != nil {
		return nil, err
	}
	p := &picture{head: head, names: names, entities: map[handle.Handle]rowAt{}, rest: map[sectionKey][]byte{}}
	for i := range p.forms {
		list := *names.Lists()[i]
		for k := range list {
			f, err := formOf(&list[k])
			if err != nil {
				return nil, format.Altered("%s %q: %w", format.Listed[i], f.Name, err)
			}
			p.forms[i] = append(p.forms[i], f)
		}
	}
	var s format.Section
	var read, took int64
	err = r.Next(&s)
	for p.how = s.How; err == nil && s.Kind != format.EndSection; err = r.Next(&s) {
		read += int64(len(s.Body))
		if o != nil {
			p.most = format.BytesMax(o.BytesMax, read)
		}
		if took += int64(s.Length); p.most > 0 && took > p.most {
			return nil, fmt.Errorf("%w: %v and all before it have %d bytes, with BytesMax = %d", snapshot.ErrTooLarge, &s, took, p.most)
		}
		var buf, body []byte
		if body, err = s.Unpack(&buf); err != nil {
			return nil, err
		}
		if err = p.section(&s, slices.Clone(body)); err != nil {
			return nil, format.Altered("%v: %w", &s, err)
		}
	}
	if err == nil {
		err = r.Finish(&s)
	}
	return p, err
}

// section reads a section. All but rows are kept as they are, and shards are read, too. An error
// says that the section makes no sense.
func (p *picture) section(s *format.Section, body []byte) error {
	c := &extend.Cursor{Rest: body}
	if s.Kind == format.RowsSection {
		return p.rows(c, s.Number)
	}
	p.rest[sectionKey{s.Kind, s.Number}] = body
	if s.Kind != format.ShardSection {
		return nil
	}
	c.Most = p.most
	x := format.ReadShard(c)
	for i := range x.Tables {
		for k, id := range x.Tables[i].Components {
			if id >= len(p.names.Components) || k > 0 && id <= x.Tables[i].Components[k-1] {
				return extend.ErrBody
			}
		}
	}
	p.images, p.sections = append(p.images, x), append(p.sections, nil)
	return c.End()
}

// components returns the numbers of the components of rows.
func (p *picture) components(b *block) []int { return p.images[b.shard].Tables[b.table].Components }

// rows reads a section of rows. An error says that it makes no sense.
func (p *picture) rows(c *extend.Cursor, shard int) error {
	if shard >= len(p.images) {
		return extend.ErrBody
	}
	from := len(p.blocks)
	for len(c.Rest) > 0 && c.Err == nil {
		if err := p.chunk(c, shard); err != nil {
			return err
		}
	}
	p.sections[shard] = append(p.sections[shard], len(p.blocks)-from)
	return c.Err
}

// chunk reads the rows of a chunk. An error says that it makes no sense.
func (p *picture) chunk(c *extend.Cursor, shard int) error {
	b := block{shard: shard, table: c.Int(), chunk: c.Int()}
	b.handles = extend.WordsOf[handle.Handle](c)
	if c.Err != nil || b.table >= len(p.images[shard].Tables) || b.chunk >= len(p.images[shard].Tables[b.table].Chunks) {
		return extend.ErrBody
	}
	x := &p.images[shard].Tables[b.table].Chunks[b.chunk]
	if len(x.Handles) > 0 || len(b.handles) != x.Rows || x.Rows == 0 {
		return fmt.Errorf("chunk %d of table %d has %d rows, and comes with %d, or twice", b.chunk, b.table, x.Rows, len(b.handles))
	}
	x.Handles = b.handles
	for _, id := range p.components(&b) {
		column, err := p.column(c, p.forms[components][id].skip, len(b.handles))
		if err != nil {
			return fmt.Errorf("component %q: %w", p.forms[components][id].Name, err)
		}
		b.columns = append(b.columns, column)
	}
	for row, h := range b.handles {
		if _, ok := p.entities[h]; ok {
			return fmt.Errorf("entity %v is there twice", h)
		}
		p.entities[h] = rowAt{len(p.blocks), row}
	}
	p.blocks = append(p.blocks, b)
	return nil
}

// column reads the values of a column: it finds where they begin, and copies nothing. An error says
// that they end too soon.
func (p *picture) column(c *extend.Cursor, form *shape.Skipper, rows int) (x valueColumn, err error) {
	x.bytes = c.Rest
	if form.Fixed() {
		if x.size = form.Least(); x.size > 0 && rows > len(c.Rest)/x.size {
			return x, shape.ErrShort
		}
		c.Rest = c.Rest[rows*x.size:]
		return x, nil
	}
	x.ends = make([]uint32, rows)
	for row := range x.ends {
		if c.Rest, err = form.Read(c.Rest, mem.Cells{}); err != nil {
			return x, err
		}
		x.ends[row] = uint32(len(x.bytes) - len(c.Rest))
	}
	return x, nil
}

// chunkOf returns the chunk that rows are in.
func (p *picture) chunkOf(b *block) *store.ChunkImage {
	return &p.images[b.shard].Tables[b.table].Chunks[b.chunk]
}

// Comparison is what differs between two snapshots.
type Comparison struct {
	Old, Now                           snapshot.Info
	Created, Destroyed, Moved, Changed int // entities; those that moved have other components, or are in another shard
	// Differences are those of options and of what is registered, then of entities, then of the
	// rest. Their Was and Is are values.
	Differences []snapshot.Difference
	Omitted     int // how many more there are than the limit
}

// Compare reads two whole snapshots and returns how they differ, up to limit differences; 0 means
// all. It needs neither a world nor the types: the snapshots describe their values.
// It takes the memory of both, uncompressed. Errors are as for snapshot.Verify.
func Compare(old, now io.Reader, limit int) (x Comparison, err error) {
	var both [2]*picture
	for i, src := range []io.Reader{old, now} {
		var err error
		if both[i], err = pictureOf(src, nil); err != nil {
			return x, fmt.Errorf("%w (of %s)", err, []string{"the old one", "the new one"}[i])
		}
	}
	c := comparing{Comparison: &x, old: both[0], now: both[1], limit: limit}
	x.Old, x.Now = snapshot.Info(c.old.head.Info), snapshot.Info(c.now.head.Info)
	c.heads()
	c.rows()
	c.others()
	return x, nil
}

// Equal reports whether nothing differs.
func (c Comparison) Equal() bool { return len(c.Differences)+c.Omitted == 0 }

// String returns the differences line by line, and how many entities differ.
func (c Comparison) String() string {
	var b strings.Builder
	for _, d := range c.Differences {
		_, _ = fmt.Fprintln(&b, d)
	}
	if c.Omitted > 0 {
		_, _ = fmt.Fprintf(&b, "… and %d more\n", c.Omitted)
	}
	_, _ = fmt.Fprintf(&b, "%d created, %d destroyed, %d moved, %d changed\n", c.Created, c.Destroyed, c.Moved, c.Changed)
	return b.String()
}

// comparing compares two pictures.
//
// Ownership: the goroutine of Compare.
type comparing struct {
	*Comparison
	old, now *picture
	limit    int
}

// note adds a difference, or only counts it beyond the limit.
func (c *comparing) note(kind, name, field, was, is, text string) {
	if c.limit > 0 && len(c.Differences) >= c.limit {
		c.Omitted++
		return
	}
	c.Differences = append(c.Differences, snapshot.Difference{Kind: kind, Name: name, Field: field, Was: was, Is: is, Text: text})
}

// heads compares options and registrations.
func (c *comparing) heads() {
	for i, s := range c.old.head.Settings {
		if now := c.now.head.Settings[i]; s.Value != now.Value {
			c.note("option", s.Name, "", s.String(), now.String(), "differs")
		}
	}
	for i, what := range format.Listed {
		old, now := *c.old.names.Lists()[i], *c.now.names.Lists()[i]
		for _, n := range old {
			at := slices.IndexFunc(now, func(m format.Named) bool { return m.Name == n.Name })
			switch {
			case at < 0:
				c.note(what, n.Name, "", n.Type, "", "is in the old one alone")
			case now[at].Hash != n.Hash:
				c.note(what, n.Name, "", n.Type, now[at].Type, "has another form")
			}
		}
		for _, n := range now {
			if !slices.ContainsFunc(old, func(m format.Named) bool { return m.Name == n.Name }) {
				c.note(what, n.Name, "", "", n.Type, "is in the new one alone")
			}
		}
	}
}

// rows compares entities by their handles: which came, went, moved and changed.
func (c *comparing) rows() {
	for i := range c.old.blocks {
		was := &c.old.blocks[i]
		for row, h := range was.handles {
			at, ok := c.now.entities[h]
			if !ok {
				c.Destroyed++
				c.note("entity", h.String(), "", c.old.home(was), "", "was destroyed")
				continue
			}
			is := &c.now.blocks[at.block]
			if from, to := c.old.home(was), c.now.home(is); from != to {
				c.Moved++
				c.note("entity", h.String(), "", from, to, "moved")
			}
			c.entity(h, was, row, is, at.row)
		}
	}
	for i := range c.now.blocks {
		is := &c.now.blocks[i]
		for _, h := range is.handles {
			if _, ok := c.old.entities[h]; !ok {
				c.Created++
				c.note("entity", h.String(), "", "", c.now.home(is), "was created")
			}
		}
	}
}

// home describes where rows are.
func (p *picture) home(b *block) string {
	var all []string
	for _, id := range p.components(b) {
		all = append(all, p.forms[components][id].Name)
	}
	slices.Sort(all)
	return fmt.Sprintf("shard %d %q", b.shard, all)
}

// entity compares the components that an entity has in both.
func (c *comparing) entity(h handle.Handle, was *block, row int, is *block, at int) {
	changed := false
	for k, id := range c.old.components(was) {
		n := c.old.forms[components][id]
		for j, to := range c.now.components(is) {
			m := c.now.forms[components][to]
			if m.Name != n.Name {
				continue
			}
			a, b := was.columns[k].value(row), is.columns[j].value(at)
			if n.Hash == m.Hash && bytes.Equal(a, b) {
				continue
			}
			c.fields("entity", h.String(), n.Name, n.fields(a), m.fields(b), &changed)
		}
	}
	if changed {
		c.Changed++
	}
}

// fields compares the fields of a value in the old and in the new snapshot, notes what differs, and
// then sets changed. of is what the fields are part of, for the notes.
func (c *comparing) fields(kind, name, of string, old, now []fieldValue, changed *bool) {
	for _, f := range old {
		at := slices.IndexFunc(now, func(g fieldValue) bool { return g.Path == f.Path })
		switch {
		case at < 0:
			*changed = true
			c.note(kind, name, pathOf(of, f.Path), f.text(), "", "is in the old one alone")
		case f.Shape.Text != now[at].Shape.Text && f.text() != now[at].text(), f.Shape.Text == now[at].Shape.Text && !bytes.Equal(f.bytes, now[at].bytes):
			*changed = true
			c.note(kind, name, pathOf(of, f.Path), f.text(), now[at].text(), "changed")
		}
	}
	for _, g := range now {
		if !slices.ContainsFunc(old, func(f fieldValue) bool { return g.Path == f.Path }) {
			*changed = true
			c.note(kind, name, pathOf(of, g.Path), "", g.text(), "is in the new one alone")
		}
	}
}

// text shows the value of a field as the lines of a text do.
func (f *fieldValue) text() string { return string(f.appendJSON(nil)) }

// pathOf returns the path of a field with the name of its component.
func pathOf(of, path string) string {
	if path == "" {
		return of
	}
	return of + "." + path
}

// others compares everything but rows.
func (c *comparing) others() {
	about := map[byte]string{
		format.WorldSection: "the world as a whole", format.ShardSection: "slots, tables, flags and marks of shard", format.MailSection: "messages and requests of shard",
		format.ResourceSection: "resource", format.ExtensionSection: "extension", format.SchedulerSection: "scheduler", format.ExtraSection: "extra",
	}
	name := func(p *picture, k sectionKey) string {
		list := map[byte][]format.Named{format.ResourceSection: p.names.Resources, format.ExtensionSection: p.names.Extensions, format.ExtraSection: p.names.Extras}[k.kind]
		if k.number < len(list) {
			return list[k.number].Name
		}
		return fmt.Sprint(k.number)
	}
	byName := map[[2]string][]byte{}
	for k, body := range c.now.rest {
		byName[[2]string{about[k.kind], name(c.now, k)}] = body
	}
	var keys []sectionKey
	for k := range c.old.rest {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b sectionKey) int {
		if a.kind != b.kind {
			return format.Rank(a.kind) - format.Rank(b.kind)
		}
		return a.number - b.number
	})
	for _, k := range keys {
		what, name := about[k.kind], name(c.old, k)
		if now, ok := byName[[2]string{what, name}]; ok && !bytes.Equal(c.old.rest[k], now) {
			c.note(what, name, "", "", "", "differs")
		}
	}
}
