package text

import (
	"fmt"
	"io"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/shape"
)

// picture is a snapshot in memory, with its rows by entity.
type picture struct {
	head     format.Header
	names    *format.Catalogue
	how      format.Compression // of the sections that may be compressed
	forms    []valueForm        // by component
	images   []store.Image      // by shard; chunks have their handles, and no columns
	sections [][]int            // by shard: how many chunks are in each section of rows
	blocks   []block            // of chunks that have rows
	entities map[handle.Handle]rowAt
	rest     map[sectionKey][]byte // all sections but rows
	most     int64                 // how many bytes it may take, or 0 for no limit
}

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

func (c *valueColumn) value(row int) []byte {
	if c.ends == nil {
		return c.bytes[row*c.size : (row+1)*c.size]
	}
	from := uint32(0)
	if row > 0 {
		from = c.ends[row-1]
	}
	return c.bytes[from:c.ends[row]]
}

// valueForm says how something's values are saved.
type valueForm struct {
	*format.Named
	leaves []shape.Leaf
	skip   *shape.Skipper
}

func formOf(n *format.Named) (x valueForm, err error) {
	x = valueForm{Named: n, skip: shape.Skip(n.Parts)}
	x.leaves, err = shape.LeavesOf(n.Type, n.Parts)
	return x, err
}

// pictureOf reads a whole snapshot. If o is not nil, it fails if that takes more bytes than the
// options allow.
func pictureOf(src io.Reader, o *snapshot.Options) (*picture, error) {
	r := format.SourceOf(src)
	head, names, err := format.ReadHead(r)
	if err != nil {
		return nil, err
	}
	p := &picture{head: head, names: names, entities: map[handle.Handle]rowAt{}, rest: map[sectionKey][]byte{}}
	for i := range names.Components {
		form, err := formOf(&names.Components[i])
		if err != nil {
			return nil, format.Altered("component %q: %w", form.Name, err)
		}
		p.forms = append(p.forms, form)
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

// section reads a section. All but rows are kept as they are, and shards are read, too.
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

// rows reads a section of rows.
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

// chunk reads the rows of a chunk.
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
		column, err := p.column(c, p.forms[id].skip, len(b.handles))
		if err != nil {
			return fmt.Errorf("component %q: %w", p.forms[id].Name, err)
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

// column reads the values of a column.
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

// fieldValue is a field of a value.
type fieldValue struct {
	*shape.Leaf
	bytes []byte
}

// fieldsOf returns the fields of a value that was written.
func fieldsOf(n *valueForm, value []byte) (all []fieldValue) {
	var parts [][]byte
	for i := range n.Parts {
		var body []byte
		body, value, _ = shape.Cut(value, &n.Parts[i]) // it was cut before
		parts = append(parts, body)
	}
	for i := range n.leaves {
		f := fieldValue{&n.leaves[i], parts[n.leaves[i].Part]}
		if f.How == shape.AsMemory {
			f.bytes = f.bytes[f.At : f.At+f.Size]
		}
		all = append(all, f)
	}
	return all
}

// chunkOf returns the chunk that rows are in.
func (p *picture) chunkOf(b *block) *store.ChunkImage {
	return &p.images[b.shard].Tables[b.table].Chunks[b.chunk]
}
