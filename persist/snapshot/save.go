package snapshot

import (
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/atoll-sim/atoll/internal/form"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/internal/hash"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// Write writes the state of an idle world: everything that decides what it does next, and which
// handles it gives. Two saves of one state are the same bytes. Ports may be in use meanwhile;
// what they have sent since the last refresh is not saved.
//
// It panics within the init of a CreateN or CreateRows. It returns the
// error of dst, world.ErrClosed, or state.ErrNoCodec with the name of what cannot be
// written. After an error, the bytes in dst are no snapshot.
func Write(dst io.Writer, w *world.World, o Options) error { return save(dst, w, o, nil) }

// save is Write, with a Chain as an increment. Codecs run on goroutines that end with it.
func save(dst io.Writer, w *world.World, o Options, x *format.Chain) error {
	s, info, err := newSaving(w, "Write", o)
	if err != nil {
		return err
	}
	defer s.hold("Write")()
	if info.Hash, err = state.StateHash(w, o.Codecs); err != nil {
		return err
	}
	err = s.write(dst, s.parts(info), info, x)
	if n := w.Count(); err == nil && n != info.Entities {
		err = fmt.Errorf("snapshot: Write: there were %d entities, and are %d now: a codec has created some; it must not change the world", info.Entities, n)
	}
	return err
}

// hold keeps codecs from moving rows of the idle world, until the result is called.
func (s *saving) hold(call string) (release func()) {
	return (*engine.World)(s.v).Hold("a codec of snapshot." + call)
}

// newSaving prepares to save an idle world, which it leaves as it is. call is the name of the call
// for messages. The error names what cannot be written.
func newSaving(w *world.World, call string, o Options) (s *saving, info *format.Info, err error) {
	d, err := enter(w, "snapshot."+call, &o)
	if err != nil {
		return nil, nil, err
	}
	d.MustBeWhole("snapshot." + call)
	s = &saving{shards: w.Shards(), o: &o, v: d.Survey()}
	if s.names, err = catalogueOf(w, s.v, &o); err != nil {
		return nil, nil, err
	}
	if err = s.names.keep(w, s.v, o.Codecs); err != nil {
		return nil, nil, err
	}
	info = format.InfoOf(w)
	info.Entities = w.Count()
	return s, info, nil
}

// saving is a world that is being saved.
//
// Ownership: nothing writes what the parts read.
type saving struct {
	shards int
	o      *Options
	v      *engine.Survey
	names  *catalogue
	images []store.Image // by shard
	codecs sync.Mutex    // held while the user's functions are called
	kept   map[column][]byte
}

// column says where a column of a chunk is, if kept has its bytes.
type column struct {
	format.Place
	shard, at int
}

// write writes parts as a snapshot, which has this Info. The world must be idle, unless the parts
// are of a Captured. After an error the bytes in dst are no snapshot.
func (s *saving) write(dst io.Writer, parts []format.Part, info *format.Info, x *format.Chain) error {
	o := format.Output{Workers: s.o.Workers, Compression: format.Compression(s.o.Compression), Tick: info.Tick, Hash: info.Hash, Chain: x}
	return o.Write(dst, parts)
}

// rowsAtOnce is about how many bytes of rows a section has.
const rowsAtOnce = 256 << 10

// parts lists what is to be written. Output.Write then calls the parts on several goroutines; until
// they have ended the world must stay idle.
func (s *saving) parts(info *format.Info) (parts []format.Part) {
	add := func(kind byte, number int, body func(dst []byte) []byte) {
		parts = append(parts, format.PartOf(kind, number, body))
	}
	add(format.HeaderSection, 0, func(dst []byte) []byte { return format.AppendHeader(dst, info) })
	add(format.NamesSection, 0, s.names.Append)
	world := s.v.State()
	add(format.WorldSection, 0, func(dst []byte) []byte { return format.AppendState(dst, &world) })
	s.images = make([]store.Image, s.shards)
	for i := range s.images {
		s.images[i] = s.v.Image(i)
		add(format.ShardSection, i, func(dst []byte) []byte { return format.AppendShard(dst, &s.images[i]) })
	}
	s.count()
	for i := range s.images {
		parts = s.addRows(parts, i)
	}
	for i := range s.shards + 1 {
		add(format.MailSection, i, func(dst []byte) []byte { return s.appendMail(dst, i) })
	}
	for i := range s.names.Resources {
		add(format.ResourceSection, i, func(dst []byte) []byte {
			value, parts := s.v.Resource(i)
			form := s.names.Resources[i].Form
			dst = extend.AppendNumber(s.appendCells(dst, form, value), parts)
			for k := range parts {
				dst = s.appendCells(dst, form, s.v.ResourcePart(i, k))
			}
			return dst
		})
	}
	for i := range s.names.Extensions {
		add(format.ExtensionSection, i, s.names.Extensions[i].Saved.AppendSaved)
	}
	now := func(kind byte, number int, save func(dst []byte) []byte) { // encoded at once, on this goroutine
		body := save(nil)
		add(kind, number, func(dst []byte) []byte { return append(dst, body...) })
	}
	if s.o.Scheduler != nil {
		now(format.SchedulerSection, 0, s.o.Scheduler.AppendState)
	}
	for i, x := range s.o.Extras {
		now(format.ExtraSection, i, x.Append)
	}
	return parts
}

// count counts the entities with each component and the messages under way, for those who plan a
// load.
func (s *saving) count() {
	for _, x := range s.images {
		for _, t := range x.Tables {
			rows := 0
			for _, c := range t.Chunks {
				rows += c.Rows
			}
			for _, id := range t.Components {
				s.names.Components[id].Count += rows
			}
		}
	}
	for i := range s.names.Messages {
		for shard := range s.shards {
			to, _ := s.v.Mailbox(i, shard)
			s.names.Messages[i].Count += len(to)
		}
	}
}

// addRows adds the rows of a shard, some chunks at a time. It copies none.
func (s *saving) addRows(parts []format.Part, shard int) []format.Part {
	var chunks []format.Place
	bytes := 0
	flush := func() {
		if len(chunks) > 0 {
			rows := chunks
			parts = append(parts, format.Part{Kind: format.RowsSection, Number: shard, Body: func(dst []byte, cuts *[]format.Cut) []byte {
				return s.appendRows(dst, shard, rows, cuts)
			}})
		}
		chunks, bytes = nil, 0
	}
	for p, c := range format.ChunksOf(&s.images[shard]) {
		row := 8
		for _, id := range s.images[shard].Tables[p.Table].Components {
			row += int(s.names.Components[id].Of.Size())
		}
		chunks = append(chunks, p)
		if bytes += row * c.Rows; bytes >= rowsAtOnce {
			flush()
		}
	}
	flush()
	return parts
}

// appendRows appends the rows of some chunks, and if cuts is not nil where its columns begin. It
// runs on the goroutine of its part.
func (s *saving) appendRows(dst []byte, shard int, chunks []format.Place, cuts *[]format.Cut) []byte {
	for _, p := range chunks {
		begin := func(column int) {
			if cuts != nil {
				*cuts = append(*cuts, format.Cut{At: len(dst), Block: format.Block{Kind: format.RowsSection, Number: shard, Place: p, Column: column}})
			}
		}
		begin(format.OfHandles)
		t := &s.images[shard].Tables[p.Table]
		c := &t.Chunks[p.Chunk]
		dst = extend.AppendNumber(extend.AppendNumber(dst, p.Table), p.Chunk)
		dst = extend.AppendWords(dst, c.Handles)
		for k, id := range t.Components {
			begin(k)
			if bytes, ok := s.kept[column{p, shard, k}]; ok {
				dst = append(dst, bytes...)
				continue
			}
			dst = s.appendCells(dst, s.names.Components[id].Form, c.Columns[k])
		}
	}
	return dst
}

// appendCells appends values. It runs on the goroutine of a part; one at a time runs codecs.
func (s *saving) appendCells(dst []byte, form form.Form, values mem.Cells) []byte {
	if form.ByCodec() {
		s.codecs.Lock()
		defer s.codecs.Unlock()
	}
	return form.AppendAll(dst, values)
}

// appendMail appends the messages for a shard, and the requests that it has sent. It runs on the
// goroutine of its part.
func (s *saving) appendMail(dst []byte, from int) []byte {
	if from < s.shards {
		for i, m := range s.names.Messages {
			to, bodies := s.v.Mailbox(i, from)
			dst = s.appendCells(extend.AppendWords(dst, to), m.Form, bodies)
		}
	}
	var requests []byte
	n := 0
	s.v.Requests(sender(from, s.shards), func(r queue.PendingRequest) {
		n++
		requests = s.appendRequest(requests, r)
	})
	return append(extend.AppendNumber(dst, n), requests...)
}

// appendRequest appends a request that is under way, with its kind by its place in the catalogue.
func (s *saving) appendRequest(dst []byte, r queue.PendingRequest) []byte {
	for i, k := range s.names.Kinds {
		if k.At != r.Kind() {
			continue
		}
		dst = extend.AppendNumber(extend.AppendNumber(extend.AppendNumber(dst, i), uint64(r.Flags())), uint64(r.Handle))
		if k.Form == nil {
			return dst
		}
		if k.Form.ByCodec() {
			s.codecs.Lock()
			defer s.codecs.Unlock()
		}
		return k.Form.Append(dst, s.v.Kinds().Payload(r))
	}
	panic(fmt.Sprintf("snapshot: a request is of kind %d, which is not listed", r.Kind()))
}

// Captured is the state of a world at one moment. It can be written, or loaded into other worlds,
// while the world ticks on.
//
// Ownership: any goroutines, at once, as far as the functions of Options.Codecs allow that; Release
// comes after all other uses.
type Captured struct {
	s       *saving
	info    *format.Info
	parts   []format.Part
	bytes   [][]byte // by part: what it appends; nil for rows
	frozen  *engine.Frozen
	hashing *hash.Later

	mu   sync.Mutex // guards the rest, which is computed once
	sure bool       // the hash is known
	hash state.Hash
}

// Capture takes the state of an idle world for Captured.Write and Captured.Load. It copies in
// memory, in parallel, the components that were handed out for writing since the frame or capture
// before. For the rest it costs what Write does, which is little, except for components of which a
// plain copy would share something with the world, such as slices, and that have no
// world.Component.CloneBy. So a server calls it in a function of Scheduler.Between, and saves on
// another goroutine.
//
// A Captured holds a frame of the world, one of world.Options.FramesMax. Capture returns
// world.ErrFrames if too many are held, and otherwise the errors of Write.
func Capture(w *world.World, o Options) (c *Captured, err error) {
	s, info, err := newSaving(w, "Capture", o)
	if err != nil {
		return nil, err
	}
	c = &Captured{s: s, info: info}
	if c.frozen, err = engine.Of(w).Freeze(nil); err != nil {
		return nil, err
	}
	defer s.hold("Capture")()
	taken, frozen := false, c.frozen
	defer func() {
		if taken {
			return
		}
		frozen.Release()
		if e := format.CodecError(recover()); e != nil {
			c, err = nil, e
		}
	}()
	c.take()
	c.hashing, err = hash.NewLater(w, (*form.Codecs)(s.o.Codecs), c.frozen.Has)
	if err != nil {
		return nil, err
	}
	taken = true
	return c, nil
}

// take makes what the parts will write independent of the world, which is still idle. It runs
// codecs of the user; Capture contains their panics.
func (c *Captured) take() {
	s := c.s
	c.parts = s.parts(c.info)
	c.bytes = make([][]byte, len(c.parts))
	for i := range c.parts {
		if p := &c.parts[i]; p.Kind != format.RowsSection {
			c.bytes[i] = p.Body(nil, nil)
			*p = format.PartOf(p.Kind, p.Number, func(dst []byte) []byte { return append(dst, c.bytes[i]...) })
		}
	}
	s.kept = map[column][]byte{}
	for i := range s.images {
		for p, x := range format.ChunksOf(&s.images[i]) {
			from := c.frozen.Chunk(i, p.Table, p.Chunk)
			x.Handles = from.Handles()
			for at, id := range s.images[i].Tables[p.Table].Components {
				if c.frozen.Has(id) {
					x.Columns[at] = from.Cells(at)
				} else {
					s.kept[column{p, i, at}] = s.appendCells(nil, s.names.Components[id].Form, x.Columns[at])
				}
			}
		}
	}
}

// image returns the image of a shard at the capture. It needs no world.
func (c *Captured) image(shard int) *store.Image {
	s := c.shard(shard)
	x := format.ReadShard(&extend.Cursor{Rest: s.Body})
	for i := range x.Tables {
		for k := range x.Tables[i].Chunks {
			to, from := &x.Tables[i].Chunks[k], &c.s.images[shard].Tables[i].Chunks[k]
			to.Handles, to.Columns = from.Handles, from.Columns
		}
	}
	return &x
}

// section returns a part that was captured as a section.
func (c *Captured) section(i int) format.Section {
	p := &c.parts[i]
	return format.Section{Kind: p.Kind, How: format.None, Number: p.Number, Length: len(c.bytes[i]), Body: c.bytes[i], Sure: true}
}

// shard returns the section of a shard.
func (c *Captured) shard(i int) format.Section {
	return c.section(slices.IndexFunc(c.parts, func(p format.Part) bool { return p.Kind == format.ShardSection }) + i)
}

// Hash returns the hash of the captured state: that of state.StateHash at that moment. The first
// call computes it, which takes as long as that, but no tick waits for it. It returns
// world.ErrClosed after Release.
func (c *Captured) Hash() (state.Hash, error) {
	if c.parts == nil {
		return 0, world.ErrClosed
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.sure { // a codec may panic, or end its goroutine: then the next call tries again
		c.hash, c.sure = state.Hash(c.hashing.Hash(c.image)), true
	}
	return c.hash, nil
}

// Write writes the captured state: the same bytes as the function Write would have written then. It
// may be called again. It returns the error of dst, or world.ErrClosed after Release.
func (c *Captured) Write(dst io.Writer) error { return c.write(dst, nil) }

// write writes the captured state, with a Chain as an increment.
func (c *Captured) write(dst io.Writer, x *format.Chain) error {
	info := *c.info
	var err error
	if info.Hash, err = c.Hash(); err != nil {
		return err
	}
	parts := slices.Clone(c.parts)
	parts[0] = format.PartOf(format.HeaderSection, 0, func(dst []byte) []byte { return format.AppendHeader(dst, &info) })
	return c.s.write(dst, parts, &info, x)
}

// Release gives the memory back. Releasing twice is no error. The collector releases a Captured
// that is forgotten.
func (c *Captured) Release() {
	if c.parts != nil {
		c.parts, c.bytes, c.s, c.hashing = nil, nil, nil, nil
		c.frozen.Release()
	}
}

// Chain writes a sequence of snapshots. The first is whole. Each later one is an increment, which
// has only what has changed since the one before. Merge makes whole snapshots of them. The zero
// value is ready.
//
// A Chain remembers a digest of 16 bytes for each piece of 256 bytes that it wrote last.
//
// Ownership: one goroutine at a time saves. Another may save a Captured without the Chain
// meanwhile.
type Chain struct {
	x format.Chain
}

// Write writes what was captured. The errors are as for Captured.Write; after one, the
// Chain is unchanged. If what was written is lost later, use a new Chain: increments cannot
// be read without their base.
func (c *Chain) Write(dst io.Writer, captured *Captured) error { return captured.write(dst, &c.x) }

// Merge returns a reader of the whole snapshot that a base and increments on it make: the same
// bytes that Write would have written at the time of the last increment. Pass the increments in
// their order, each based on the one before; the base is whole. To make one file of a chain, copy
// to it:
//
//	_, err := io.Copy(file, snapshot.Merge(base, first, second))
//
// Load, Verify and everything else that reads a snapshot accepts the reader, too; then nothing is
// compressed again. All files are read at the same time, from beginning to end, a section of each
// at a time. Errors are as for Verify, with the number of the file, and ErrBase for files that do
// not belong together.
func Merge(base io.Reader, increments ...io.Reader) io.Reader {
	return format.Merge(base, increments...)
}
