package snapshot

import (
	"fmt"
	"io"
	"sync"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// Save writes the state of an idle world: everything that decides what it does next, and which
// handles it gives. Two saves of one state are the same bytes. Ports may be in use meanwhile;
// what they have sent since the last refresh is not saved.
//
// It panics within the init of a CreateN or CreateRows. It returns the
// error of dst, world.ErrClosed, or state.ErrNoCodec with the name of what cannot be
// written. After an error, the bytes in dst are no snapshot.
func Save(dst io.Writer, w *world.World, o Options) error { return save(dst, w, o, nil) }

func save(dst io.Writer, w *world.World, o Options, x *format.Chain) error {
	s, info, err := newSaving(w, "Save", o)
	if err != nil {
		return err
	}
	if info.Hash, err = state.StateHash(w, o.Codecs); err != nil {
		return err
	}
	return s.write(dst, s.parts(info), info, x)
}

// newSaving prepares to save an idle world. call is the name of the call for messages.
func newSaving(w *world.World, call string, o Options) (s *saving, info *format.Info, err error) {
	if w == nil {
		panic("snapshot: " + call + " of a nil World; pass one of world.New")
	}
	o = o.validate(call).of(w, call)
	if err := w.Err(); err != nil {
		return nil, nil, err
	}
	d := engine.Of(w)
	d.MustIdle("snapshot." + call)
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

// write writes parts as a snapshot, which has this Info.
func (s *saving) write(dst io.Writer, parts []format.Part, info *format.Info, x *format.Chain) error {
	o := format.Output{Workers: s.o.Workers, Compression: format.Compression(s.o.Compression), Tick: info.Tick, Hash: info.Hash, Chain: x}
	return o.Write(dst, parts)
}

// rowsAtOnce is about how many bytes of rows a section has.
const rowsAtOnce = 256 << 10

// parts lists what is to be written.
func (s *saving) parts(info *format.Info) (parts []format.Part) {
	add := func(kind byte, number int, body func(dst []byte) []byte) {
		parts = append(parts, format.Part{Kind: kind, Number: number, Body: body})
	}
	add(format.HeaderSection, 0, func(dst []byte) []byte { return format.AppendHeader(dst, info) })
	parts[0].Plain = true
	add(format.NamesSection, 0, s.names.saved().Append)
	world := s.v.State()
	add(format.WorldSection, 0, func(dst []byte) []byte { return format.AppendState(dst, &world) })
	s.images = make([]store.Image, s.shards)
	for i := range s.images {
		s.images[i] = s.v.Image(i)
		add(format.ShardSection, i, func(dst []byte) []byte { return format.AppendShard(dst, &s.images[i]) })
	}
	for i := range s.images {
		parts = s.addRows(parts, i)
	}
	for i := range s.shards + 1 {
		add(format.MailSection, i, func(dst []byte) []byte { return s.appendMail(dst, i) })
	}
	for i := range s.names.resources {
		add(format.ResourceSection, i, func(dst []byte) []byte {
			value, parts := s.v.Resource(i)
			form := s.names.resources[i].form
			dst = extend.AppendNumber(s.appendCells(dst, form, value), parts)
			for k := range parts {
				dst = s.appendCells(dst, form, s.v.ResourcePart(i, k))
			}
			return dst
		})
	}
	for i := range s.names.extensions {
		add(format.ExtensionSection, i, s.names.extensions[i].saved.AppendSaved)
	}
	now := func(kind byte, number int, save func(dst []byte) []byte) { // encoded at once, on this goroutine
		body := save(nil)
		add(kind, number, func(dst []byte) []byte { return append(dst, body...) })
	}
	if s.o.Scheduler != nil {
		now(format.SchedulerSection, 0, s.o.Scheduler.AppendState)
	}
	for i, x := range s.o.Also {
		now(format.AlsoSection, i, x.Save)
	}
	return parts
}

// addRows adds the rows of a shard, some chunks at a time.
func (s *saving) addRows(parts []format.Part, shard int) []format.Part {
	var chunks []format.Place
	bytes := 0
	flush := func() {
		if len(chunks) > 0 {
			rows := chunks
			parts = append(parts, format.Part{Kind: format.RowsSection, Number: shard, Blocks: func(dst []byte, cuts *[]format.Cut) []byte {
				return s.appendRows(dst, shard, rows, cuts)
			}})
		}
		chunks, bytes = nil, 0
	}
	for i := range s.images[shard].Tables {
		t := &s.images[shard].Tables[i]
		row := 8
		for _, c := range t.Components {
			row += int(s.names.components[c].rows.Size())
		}
		for k := range t.Chunks {
			if t.Chunks[k].Rows == 0 {
				continue
			}
			chunks = append(chunks, format.Place{Table: i, Chunk: k})
			if bytes += row * t.Chunks[k].Rows; bytes >= rowsAtOnce {
				flush()
			}
		}
	}
	flush()
	return parts
}

// appendRows appends the rows of some chunks, and if cuts is not nil where its columns begin.
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
			dst = s.appendCells(dst, s.names.components[id].form, c.Columns[k])
		}
	}
	return dst
}

// appendCells appends values.
func (s *saving) appendCells(dst []byte, form extend.Form, values mem.Cells) []byte {
	if form.ByCodec() {
		s.codecs.Lock()
		defer s.codecs.Unlock()
	}
	return form.AppendAll(dst, values)
}

// appendMail appends the messages for a shard, and the requests that it has sent.
func (s *saving) appendMail(dst []byte, from int) []byte {
	if from < s.shards {
		for i, m := range s.names.messages {
			to, bodies := s.v.Mailbox(i, from)
			dst = s.appendCells(extend.AppendWords(dst, to), m.form, bodies)
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
	for i, k := range s.names.kinds {
		if k.at != r.Kind() {
			continue
		}
		dst = extend.AppendNumber(extend.AppendNumber(extend.AppendNumber(dst, i), uint64(r.Flags())), uint64(r.Handle))
		if k.form == nil {
			return dst
		}
		if k.form.ByCodec() {
			s.codecs.Lock()
			defer s.codecs.Unlock()
		}
		return k.form.Append(dst, s.v.Kinds().Payload(r))
	}
	panic(fmt.Sprintf("snapshot: a request is of kind %d, which is not listed", r.Kind()))
}
