package inputlog

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/atoll-sim/atoll/internal/form"

	"github.com/zeebo/xxh3"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/marks"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/state"
)

// What is wrong with a log, or with playing it. Errors of this package wrap one of
// these and name the place.
var (
	// ErrNoLog means that the bytes are not a log.
	ErrNoLog = errors.New("inputlog: this is no log of inputs")
	// ErrVersion means that another version of this package wrote the log.
	ErrVersion = errors.New("inputlog: the log has another version")
	// ErrTruncated means that the log ends without its end mark: the process that wrote it died or
	// has not closed it yet. Everything before the end is valid.
	ErrTruncated = errors.New("inputlog: the log is cut off")
	// ErrAltered means that a checksum is wrong, or that the data makes no sense.
	ErrAltered = errors.New("inputlog: the log was altered")
	// ErrOtherWorld means that the log is of a world that was made in another way.
	ErrOtherWorld = errors.New("inputlog: the log is of another world")
	// ErrDiffers means that a hash is not the one in the log: something was not deterministic, was
	// changed between ticks or behind a Reader, is shared by two entities or requests, or is a time
	// with a monotonic reading; or the program is another one, and the error wraps ErrOtherProgram.
	ErrDiffers = errors.New("inputlog: the world differs from the recorded one")
	// ErrOtherProgram means that the world differs, and that another program wrote the log, or the
	// same one on a machine that computes other floats, or with another Options.Content. A Player
	// returns it with ErrDiffers: another program that does the same may play a log. durable.Open
	// returns it before it plays.
	ErrOtherProgram = errors.New("inputlog: the program differs from the one that wrote the log")
	// ErrChanged means that the recorded world was changed between two ticks by something that is
	// not an input, so the log cannot be played beyond that: see Options.OnChange.
	ErrChanged = errors.New("inputlog: the recorded world was changed outside of its ticks")
	// ErrClosed is returned by a Recorder after Close.
	ErrClosed = errors.New("inputlog: the recorder is closed")
)

// A log is a preamble and records:
//
//	preamble  "atollog", version                        8 bytes
//	record    kind │ length │ body        │ checksum    1, 4, length and 8 bytes, little endian
//
// The checksum is xxh3 over kind, length and body, seeded with that of the record
// before. So a record that is left out, doubled or exchanged is detected. Whoever writes the file
// may put marks of internal/marks between records. They are not part of this chain, and a reader
// passes over them.
const (
	magic        = "atollog"
	version byte = 11

	headSize = 5
	sumSize  = 8
	bodyMax  = 1 << 30
)

// failedFlag is added to the flags of a request that failed, because its value could not be encoded.
// It has no value.
const failedFlag = 1 << 16

// The kinds of records.
const (
	headerRecord = 'H' // the first: which world it is of, and where it begins
	kindsRecord  = 'K' // kinds of requests, before the first tick that has them
	tickRecord   = 'T' // the inputs of one refresh
	hashRecord   = 'S' // hashes of the state between two ticks
	changeRecord = 'C' // the idle world was changed by something that is not an input
	endRecord    = 'E' // the last
)

// sink is an output that is told which records are ticks.
type sink interface {
	io.Writer
	Tick(n uint64, record []byte) (int, error)
}

// plain is the sink of an output that has no Tick.
type plain struct{ io.Writer }

// Tick writes the record of a tick as any other.
func (p plain) Tick(_ uint64, record []byte) (int, error) { return p.Write(record) }

// writer writes records, each with one call of its sink; the preamble goes with the first.
//
// Ownership: the Recorder's.
type writer struct {
	sink
	buf   []byte
	at    int // where the record begins in buf
	chain uint64
}

// open begins a log. It is not written yet.
func (w *writer) open() { w.buf = append(append(w.buf, magic...), version) }

// begin begins a record. The caller appends its body to buf.
func (w *writer) begin(kind byte) {
	w.at = len(w.buf)
	w.buf = append(w.buf, kind, 0, 0, 0, 0)
}

// length returns how many bytes the body has.
func (w *writer) length() int { return len(w.buf) - w.at - headSize }

// end adds the checksum and passes the record to write, a method of the sink, in one call. After an
// error nobody knows how much was written, so the Recorder ends.
func (w *writer) end(write func(record []byte) (int, error)) error {
	if w.length() > bodyMax {
		return fmt.Errorf("inputlog: a record of %d bytes, want %d at most", w.length(), bodyMax)
	}
	record := w.buf[w.at:]
	binary.LittleEndian.PutUint32(record[1:], uint32(w.length()))
	w.chain = xxh3.HashSeed(record, w.chain)
	w.buf = binary.LittleEndian.AppendUint64(w.buf, w.chain)
	n, err := write(w.buf)
	if err == nil && n < len(w.buf) {
		err = io.ErrShortWrite
	}
	w.buf = w.buf[:0]
	return err
}

// reader reads records.
//
// Ownership: the Log's.
type reader struct {
	in     *bufio.Reader
	buf    []byte // of the record
	chain  uint64
	number int   // which record it is, from 0
	start  int64 // where it begins
	end    int64
}

// open reads the preamble. An error says why this is no log to be played.
func (r *reader) open() error {
	var preamble [len(magic) + 1]byte
	n, err := io.ReadFull(r.in, preamble[:])
	r.number, r.end = -1, int64(n)
	switch {
	case string(preamble[:min(n, len(magic))]) != magic[:min(n, len(magic))]:
		return ErrNoLog
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: within its first %d bytes", ErrTruncated, len(preamble))
	case err != nil:
		return err
	case preamble[len(magic)] != version:
		return fmt.Errorf("%w: %d, want %d; play it with the build of the program that wrote it", ErrVersion, preamble[len(magic)], version)
	}
	return nil
}

// next reads the next record that is no mark. The body is valid until the call after. Errors are
// ErrTruncated, ErrAltered, or that of the input; after one, the log cannot be read further.
func (r *reader) next() (kind byte, body []byte, err error) {
	for {
		if kind, body, err = r.record(); err != nil || kind != marks.Kind {
			return kind, body, err
		}
	}
}

// record reads a record, whose checksum is then right, or a mark. Errors are as for next.
func (r *reader) record() (kind byte, body []byte, err error) {
	r.number++
	r.start = r.end
	r.buf = r.buf[:0]
	if err := r.read(headSize); err != nil {
		return 0, nil, err
	}
	length := binary.LittleEndian.Uint32(r.buf[1:])
	if length > bodyMax {
		return 0, nil, r.altered("it has %d bytes, want %d at most", length, bodyMax)
	}
	n := int(length)
	if err := r.read(n + sumSize); err != nil {
		return 0, nil, err
	}
	if r.buf[0] == marks.Kind {
		if !marks.Valid(r.buf) {
			return 0, nil, r.altered("it is a mark whose checksum is wrong")
		}
		return marks.Kind, nil, nil
	}
	sum := xxh3.HashSeed(r.buf[:headSize+n], r.chain)
	if sum != binary.LittleEndian.Uint64(r.buf[headSize+n:]) {
		return 0, nil, r.altered("its checksum is wrong")
	}
	r.chain = sum
	return r.buf[0], r.buf[headSize : headSize+n], nil
}

// readAtOnce bounds how much a wrong length makes the reader allocate.
const readAtOnce = 1 << 20

// read appends n bytes to buf. If the log ends within them, the error is ErrTruncated.
func (r *reader) read(n int) error {
	for n > 0 {
		at, some := len(r.buf), min(n, readAtOnce)
		r.buf = append(r.buf, make([]byte, some)...)
		got, err := io.ReadFull(r.in, r.buf[at:])
		r.end += int64(got)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			if r.end == r.start {
				return fmt.Errorf("%w: it ends at byte %d, after record %d, without its end mark", ErrTruncated, r.end, r.number-1)
			}
			return fmt.Errorf("%w: it ends at byte %d, within record %d, which begins at byte %d", ErrTruncated, r.end, r.number, r.start)
		}
		if err != nil {
			return fmt.Errorf("inputlog: record %d, at byte %d: %w", r.number, r.start, err)
		}
		n -= some
	}
	return nil
}

// altered returns an error about the present record.
func (r *reader) altered(format string, args ...any) error {
	return r.wrong(ErrAltered, format, args...)
}

// wrong returns an error about the present record, which wraps as.
func (r *reader) wrong(as error, format string, args ...any) error {
	return fmt.Errorf("%w: record %d, at byte %d: %s", as, r.number, r.start, fmt.Sprintf(format, args...))
}

// appendTick appends the body of a tick, but not its requests, which follow: numbers of one to ten
// bytes each, except for the sum:
//
//	tick  by | sealed<<2 | rung<<3  drawn  sum of parts of the state before the tick, or 0: 8 bytes
//	n recalled   {handle}
//	n released   {handle}
//	n shifts     {from, to, entities}
//	n switches   {name of a system, on | anew<<1}
func appendTick(dst []byte, in *extend.Inputs) []byte {
	dst = binary.AppendUvarint(dst, in.Tick)
	dst = binary.AppendUvarint(dst, uint64(in.By)|uint64(bit(in.Sealed))<<2|uint64(in.Rung)<<3)
	dst = binary.AppendUvarint(dst, uint64(in.Drawn))
	dst = binary.LittleEndian.AppendUint64(dst, in.Sum)
	dst = appendHandles(dst, in.Recalled)
	dst = appendHandles(dst, in.Released)
	dst = binary.AppendUvarint(dst, uint64(len(in.Shifts)))
	for _, x := range in.Shifts {
		for _, n := range [...]int{x.From, x.To, x.Entities} {
			dst = binary.AppendUvarint(dst, uint64(n))
		}
	}
	dst = binary.AppendUvarint(dst, uint64(len(in.Switches)))
	for _, x := range in.Switches {
		dst = append(appendBytes(dst, x.System), bit(x.On)|bit(x.Anew)<<1)
	}
	return dst
}

func bit(is bool) byte {
	if is {
		return 1
	}
	return 0
}

// appendHandles appends a list of handles to a record, after its length.
func appendHandles(dst []byte, hs []handle.Handle) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(hs)))
	for _, h := range hs {
		dst = appendHandle(dst, h)
	}
	return dst
}

// readTick reads what appendTick wrote into in, whose slices it uses again. It leaves the requests.
// After an error in the body in has a part of it.
func (c *cursor) readTick(in *extend.Inputs) {
	in.Tick = c.number()
	by := c.below(extend.RungsMax << 3)
	in.Sealed = by>>2&1 != 0
	if in.By, in.Rung = extend.Refresh(by&3), uint8(by>>3); in.By > extend.ByClear {
		c.fail(errors.New("a refresh is of no kind that there is"))
	}
	in.Drawn = uint32(c.below(1 << 32))
	in.Sum = c.word()
	in.Recalled = c.handles(in.Recalled[:0])
	in.Released = c.handles(in.Released[:0])
	in.Shifts = in.Shifts[:0]
	for range c.times {
		from, to, n := c.below(handle.HomeMax), c.below(handle.HomeMax), c.below(1<<31)
		in.Shifts = append(in.Shifts, extend.Shift{From: int(from), To: int(to), Entities: int(n)})
	}
	in.Switches = in.Switches[:0]
	for range c.times {
		name, how := string(c.bytes()), c.below(4)
		in.Switches = append(in.Switches, extend.Switch{System: name, On: how&1 != 0, Anew: how&2 != 0})
	}
}

// handles reads a list of handles, and appends them.
func (c *cursor) handles(to []handle.Handle) []handle.Handle {
	for range c.times {
		to = append(to, c.handle())
	}
	return to
}

// drawnFree is how many indexes ports may have drawn in addition to one for each byte of the log.
//
// Ports draw several indexes at a time, and send what they create with them later, or never. So the
// log does not show what they were drawn for. Replaying them takes memory, which a wrong number
// must not decide. If a world has drawn more, the Recorder pads the tick.
const drawnFree = 1 << 18

// unexplained returns how many more bytes the ticks of a log must have for the number of indexes
// that were drawn since it began.
func unexplained(drawn, before uint32, bytes int) int {
	return int(drawn) - int(before) - drawnFree - bytes
}

// kind is how requests of one kind are recorded.
type kind struct {
	store.Description
	form  form.Form                    // of its value; nil: it has none, or is not recorded
	of    *mem.Type                    // of the payload, if all of it is the value; nil otherwise
	whole bool                         // the form is the memory of the payload
	taken func(value mem.Cells) string // says which number in a value of the log means a constant only here; or nil
	shape string                       // compared to find out whether two worlds have the same; a line for each constant follows
}

// learn appends the kinds of the world that all does not have. A Recorder and a Player call it, on
// the world's goroutine. If some cannot be recorded, it returns an error that names them, and the
// list lacks these.
func learn(all []kind, kinds store.Kinds, codecs *state.Codecs) ([]kind, error) {
	var errs []error
	for i := len(all); i < kinds.Len(); i++ {
		d, t := kinds.Describe(i)
		k := kind{Description: d, shape: d.Name}
		if t != nil && !d.Asks {
			form, err := (*form.Codecs)(codecs).Form(t, true)
			if err != nil {
				errs = append(errs, fmt.Errorf("inputlog: %s cannot be recorded: %w", d.Name, err))
				continue
			}
			k.form, k.of = form, kinds.Memory(i)
			k.whole = k.of != nil && form.Whole()
			// The name of a type says nothing more. A generic type's name has import paths, which
			// differ between a program and the tests of its package main.
			k.shape = fmt.Sprintf("%s, as%s", d.Name, form.Shape())
			k.shape = strings.Join(append([]string{k.shape}, form.Constants()...), "\n")
		}
		all = append(all, k)
	}
	return all, errors.Join(errs...)
}

// differs says in what a kind of a log differs from the world's, or returns "". A world may have more
// constants than the log: taken says of values whether they have one of these.
func (k *kind) differs(log string) string {
	was, is := strings.Split(log, "\n"), strings.Split(k.shape, "\n")
	if was[0] != is[0] {
		return fmt.Sprintf("is %s in the log, %s here", was[0], is[0])
	}
	for _, constant := range was[1:] {
		if !slices.Contains(is[1:], constant) {
			return fmt.Sprintf("has a constant in the log that is not the same here: %s", constant)
		}
	}
	if k.form != nil {
		k.taken = k.form.Taken(was[1:])
	}
	return ""
}

var errBody = errors.New("its body ends too soon")

// cursor reads a record's body. After an error all it reads is zero.
//
// Ownership: the Player's or Log's.
type cursor struct {
	rest []byte
	err  error
}

// number reads a number of one to ten bytes.
func (c *cursor) number() uint64 {
	v, n := binary.Uvarint(c.rest)
	if n <= 0 {
		c.fail(errBody)
		return 0
	}
	c.rest = c.rest[n:]
	return v
}

// fail ends the reading. The first error counts.
func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err, c.rest = err, nil
	}
}

// count reads the number of elements that follow. Each takes some bytes, so count refuses numbers
// that exceed the rest of the record, and a wrong number cannot allocate more than the log is long.
func (c *cursor) count() int {
	n := c.number()
	if n > uint64(len(c.rest)) {
		c.fail(errBody)
		return 0
	}
	return int(n)
}

// times yields count times, and stops at an error.
func (c *cursor) times(yield func() bool) {
	for n := c.count(); n > 0 && c.err == nil; n-- {
		if !yield() {
			return
		}
	}
}

// below reads a number that is less than a limit.
func (c *cursor) below(limit uint64) uint64 {
	n := c.number()
	if n >= limit {
		c.fail(errors.New("a number in its body is out of range"))
		return 0
	}
	return n
}

// bytes reads a length and as many bytes, which belong to the record's buffer.
func (c *cursor) bytes() []byte {
	n := c.count()
	b := c.rest[:n:n]
	c.rest = c.rest[n:]
	return b
}

// word reads 8 bytes, little endian.
func (c *cursor) word() uint64 {
	if len(c.rest) < 8 {
		c.fail(errBody)
		return 0
	}
	v := binary.LittleEndian.Uint64(c.rest)
	c.rest = c.rest[8:]
	return v
}

// handle reads a handle: its home, index and version.
func (c *cursor) handle() handle.Handle {
	home := c.below(handle.HomeMax + 1)
	index := c.below(handle.IndexMax + 1)
	return handle.Handle(home<<(handle.IndexBits+handle.VersionBits) | index<<handle.VersionBits | c.below(handle.VersionMax+1))
}

// appendHandle appends a handle, as its home, index and version: these are mostly small.
func appendHandle(dst []byte, h handle.Handle) []byte {
	dst = binary.AppendUvarint(dst, uint64(h.Home()))
	dst = binary.AppendUvarint(dst, uint64(h.Index()))
	return binary.AppendUvarint(dst, uint64(h.Version()))
}

// appendBytes appends a text or bytes, after the length.
func appendBytes[T string | []byte](dst []byte, b T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}
