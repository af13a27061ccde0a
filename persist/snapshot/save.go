package snapshot

import (
	"fmt"
	"io"
	"sync"

	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/driver"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/store"
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

func save(dst io.Writer, w *world.World, o Options, x *Chain) error {
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
func newSaving(w *world.World, call string, o Options) (s *saving, info *Info, err error) {
	if w == nil {
		panic("snapshot: " + call + " of a nil World; pass one of world.New")
	}
	o = o.validate(call).of(w, call)
	if err := w.Err(); err != nil {
		return nil, nil, err
	}
	d := driver.Of(w)
	d.MustIdle("snapshot." + call)
	d.MustBeWhole("snapshot." + call)
	s = &saving{shards: w.Shards(), o: &o, v: d.Survey()}
	if s.names, err = catalogueOf(w, s.v, &o); err != nil {
		return nil, nil, err
	}
	if err = s.names.keep(w, s.v, o.Codecs); err != nil {
		return nil, nil, err
	}
	info = infoOf(w)
	info.Entities = w.Count()
	return s, info, nil
}

// saving is a world that is being saved.
//
// Ownership: nothing writes what the parts read.
type saving struct {
	shards int
	o      *Options
	v      drive.Survey
	names  *catalogue
	images []store.Image // by shard
	codecs sync.Mutex    // held while the user's functions are called
	kept   map[column][]byte
}

// column says where a column of a chunk is, if kept has its bytes.
type column struct {
	place
	shard, at int
}

// part is a section that is to be written.
type part struct {
	kind   byte
	number int
	plain  bool // it is not compressed
	body   func(dst []byte) []byte
	rows   []place // instead of body: the chunks whose rows it has
	bytes  []byte  // of a Captured: the bytes that body would append
}

// rowsAtOnce is about how many bytes of rows a section has.
const rowsAtOnce = 256 << 10

// parts lists what is to be written.
func (s *saving) parts(info *Info) (parts []part) {
	add := func(kind byte, number int, body func(dst []byte) []byte) {
		parts = append(parts, part{kind: kind, number: number, body: body})
	}
	add(headerSection, 0, func(dst []byte) []byte { return appendHeader(dst, info) })
	parts[0].plain = true
	add(namesSection, 0, s.names.append)
	world := s.v.State()
	add(worldSection, 0, func(dst []byte) []byte { return appendState(dst, &world) })
	s.images = make([]store.Image, s.shards)
	for i := range s.images {
		s.images[i] = s.v.Image(i)
		add(shardSection, i, func(dst []byte) []byte { return appendShard(dst, &s.images[i]) })
	}
	for i := range s.images {
		parts = s.addRows(parts, i)
	}
	for i := range s.shards + 1 {
		add(mailSection, i, func(dst []byte) []byte { return s.appendMail(dst, i) })
	}
	for i := range s.names.resources {
		add(resourceSection, i, func(dst []byte) []byte {
			value, parts := s.v.Resource(i)
			form := s.names.resources[i].form
			dst = drive.AppendNumber(s.appendCells(dst, form, value), parts)
			for k := range parts {
				dst = s.appendCells(dst, form, s.v.ResourcePart(i, k))
			}
			return dst
		})
	}
	for i := range s.names.extensions {
		add(extensionSection, i, s.names.extensions[i].saved.AppendSaved)
	}
	now := func(kind byte, number int, save func(dst []byte) []byte) { // encoded at once, on this goroutine
		body := save(nil)
		add(kind, number, func(dst []byte) []byte { return append(dst, body...) })
	}
	if s.o.Scheduler != nil {
		now(schedulerSection, 0, s.o.Scheduler.AppendState)
	}
	for i, x := range s.o.Also {
		now(alsoSection, i, x.Save)
	}
	return parts
}

// addRows adds the rows of a shard, some chunks at a time.
func (s *saving) addRows(parts []part, shard int) []part {
	var chunks []place
	bytes := 0
	flush := func() {
		if len(chunks) > 0 {
			parts = append(parts, part{kind: rowsSection, number: shard, rows: chunks})
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
			chunks = append(chunks, place{i, k})
			if bytes += row * t.Chunks[k].Rows; bytes >= rowsAtOnce {
				flush()
			}
		}
	}
	flush()
	return parts
}

// place says where a chunk is in a shard.
type place struct{ table, chunk int }

// append appends a part, and if cuts is not nil where its blocks begin.
func (s *saving) append(dst []byte, p *part, cuts *[]cut) []byte {
	if p.rows != nil {
		return s.appendRows(dst, p.number, p.rows, cuts)
	}
	if cuts != nil {
		*cuts = append(*cuts, cut{blockKey: blockKey{kind: p.kind, number: p.number}})
	}
	return p.body(dst)
}

// appendRows appends the rows of some chunks.
func (s *saving) appendRows(dst []byte, shard int, chunks []place, cuts *[]cut) []byte {
	for _, p := range chunks {
		begin := func(column int) {
			if cuts != nil {
				*cuts = append(*cuts, cut{len(dst), blockKey{rowsSection, shard, p, column}})
			}
		}
		begin(ofHandles)
		t := &s.images[shard].Tables[p.table]
		c := &t.Chunks[p.chunk]
		dst = drive.AppendNumber(drive.AppendNumber(dst, p.table), p.chunk)
		dst = drive.AppendWords(dst, c.Handles)
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
func (s *saving) appendCells(dst []byte, form drive.Form, values mem.Cells) []byte {
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
			dst = s.appendCells(drive.AppendWords(dst, to), m.form, bodies)
		}
	}
	var requests []byte
	n := 0
	s.v.Requests(sender(from, s.shards), func(r queue.PendingRequest) {
		n++
		requests = s.appendRequest(requests, r)
	})
	return append(drive.AppendNumber(dst, n), requests...)
}

func (s *saving) appendRequest(dst []byte, r queue.PendingRequest) []byte {
	for i, k := range s.names.kinds {
		if k.at != r.Kind() {
			continue
		}
		dst = drive.AppendNumber(drive.AppendNumber(drive.AppendNumber(dst, i), uint64(r.Flags())), uint64(r.Handle))
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
