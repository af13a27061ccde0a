package inputlog

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// Options say how to record. The zero value means the defaults.
type Options struct {
	// Codecs are those of values that hold more than numbers. They need a Read.
	Codecs *state.Codecs
	// Note is kept at the beginning of the log: for example, what a program needs to make the same
	// world again.
	Note []byte
	// NoHash leaves out the hash of the state where the log begins, which Log.Play compares. It
	// takes as long as state.StateHash. If something lacks a codec, so that the state cannot be
	// hashed, there is no hash either.
	NoHash bool
	// OnEnd, if not nil, is called once if recording ends before Close, with the error that Err
	// returns from then on: nothing is written any more, while the world goes on. A goroutine of
	// the tick calls it, so it must not block.
	OnEnd func(error)
	// OnChange, if not nil, is called when the idle world was changed after its last tick and the
	// scheduler's OnTick: for example, a function between ticks has created an entity. A log does
	// not have such a change, so it can be played up to there, where Player.Err is ErrChanged. Save
	// the world, and begin another log. OnChange is called on the goroutine that uses the idle
	// world, after the functions of Scheduler.Between or before the next tick, and may close the
	// Recorder. Every call that changes the world counts, also one that registers something. So does a
	// row that is handed out for writing, whether it is written or not: for the function of Between
	// or OnTick, or the time until the next tick, in which it was handed out. Later writes to it are
	// not detected, nor are writes through a world.Reader. Without OnChange no change is detected: a
	// program that plays the log must make the same changes, which the hashes check.
	OnChange func()
}

// Recorder writes a log of a world's inputs.
//
// Each tick is written by one Write, after its refresh but before senders are notified of outcomes.
// So the log of a process that dies has all ticks that its senders can know of. With each tick goes
// a hash of another part of the state, which a Player compares. In 64 ticks everything is hashed
// once, and the components of up to 512 entities in each. But what is encoded because it has
// pointers, relations, names and other extensions are hashed 8 KB a tick, and once in 1,024 at the
// least: all of a world with few entities in a few ticks. Nothing is buffered here: pass a file, or
// a bufio.Writer if losing some ticks is acceptable. In steady state it allocates nothing, except
// for values with maps, and what codecs and methods of types allocate.
//
// Invariants: what is written is a valid log up to its end. After an error nothing is
// written any more.
//
// Ownership: the world's goroutine. In a refresh each reader of a partition appends to its
// own part.
type Recorder struct {
	w          *world.World
	codecs     *state.Codecs
	known      store.Kinds
	kinds      []kind
	to         writer
	partitions [extend.PartitionsMax]partitionRecord
	turns      extend.Turns
	sum        uint64 // of the parts of the state before the next tick
	ticks      uint64
	length     int // bytes of the ticks
	onEnd      func(error)
	onChange   func()
	err        error
	closed     bool
	dropped    bool // the world sends no more inputs
}

// partitionRecord is what one reader in a refresh recorded.
type partitionRecord struct {
	buf  []byte
	port int // of the last request
	any  bool
	_    [64]byte // other workers write its neighbours
}

// NewRecorder begins to record w to out, with the next tick. To play the log of a world that has
// ticked, or that was loaded, save that world at the same moment. NewRecorder returns an error
// wrapping state.ErrNoCodec, with the name, if something that ports can send cannot be recorded; an
// error if the world has a Recorder; or the error of out. The world must be idle.
func NewRecorder(w *world.World, out io.Writer, o Options) (_ *Recorder, err error) {
	if w == nil {
		panic("inputlog: NewRecorder of a nil World; make one with world.New")
	}
	if err := w.Err(); err != nil {
		return nil, err
	}
	d := engine.Of(w)
	d.MustIdle("inputlog.NewRecorder")
	r := &Recorder{w: w, codecs: o.Codecs, known: d.Survey().Kinds(), to: writer{out: out}}
	r.turns = extend.NewTurns(w, o.Codecs)
	r.sum = extend.NewTurns(w, o.Codecs).Sum() // by others, so that a Player which cannot know this sum hashes the same parts later
	kinds, err := learn(nil, r.known, r.codecs)
	if err != nil {
		return nil, err
	}
	head, err := headerOf(w, &o)
	if err != nil {
		return nil, err
	}
	r.onChange = o.OnChange
	var changed func()
	if o.OnChange != nil {
		changed = r.changed
	}
	if err := d.RecordInputs((*recorder)(r), changed); err != nil {
		return nil, fmt.Errorf("inputlog: %w", err)
	}
	began := false
	defer func() {
		if !began { // also if out panics
			_ = d.RecordInputs(nil, nil)
		}
	}()
	preamble := append([]byte(magic), version)
	if _, err := out.Write(preamble); err != nil {
		return nil, err
	}
	r.to.begin(headerRecord)
	r.to.buf = head.append(r.to.buf)
	if err := r.to.end(); err != nil {
		return nil, err
	}
	if r.writeKinds(kinds); r.err != nil {
		return nil, r.err
	}
	r.onEnd, began = o.OnEnd, true
	return r, nil
}

// writeKinds writes the kinds that are new.
func (r *Recorder) writeKinds(all []kind) {
	r.to.begin(kindsRecord)
	r.to.buf = binary.AppendUvarint(r.to.buf, uint64(len(r.kinds)))
	r.to.buf = binary.AppendUvarint(r.to.buf, uint64(len(all)-len(r.kinds)))
	for _, k := range all[len(r.kinds):] {
		r.to.buf = appendBytes(r.to.buf, k.shape)
	}
	r.kinds = all
	r.write()
}

// write writes a record. Recording ends if there is an error, or if out panics.
func (r *Recorder) write() {
	err, returned := error(nil), false
	defer func() {
		if !returned {
			err = aside.Recovered("inputlog: the Write of a Recorder's output", recover())
		}
		r.stop(err)
	}()
	err = r.to.end()
	returned = true
}

// stop ends recording if there is an error.
func (r *Recorder) stop(err error) {
	if r.err = err; err != nil && r.onEnd != nil {
		r.onEnd(err)
	}
}

// Err returns why recording ended early, or nil. Between ticks.
func (r *Recorder) Err() error { return r.err }

// Hash writes the hashes of the state by a hasher of the recorded world. A replay
// can then find out where it differs. The world must be idle. It returns the hasher's
// error, or that of Err.
func (r *Recorder) Hash(h *state.Hasher) error {
	switch {
	case r.closed:
		return ErrClosed
	case r.err != nil:
		return r.err
	}
	sections, err := h.Sections()
	if err != nil {
		return err
	}
	r.to.begin(hashRecord)
	r.to.buf = binary.AppendUvarint(r.to.buf, r.w.Tick())
	r.to.buf = binary.AppendUvarint(r.to.buf, uint64(len(sections)))
	for _, s := range sections {
		r.to.buf = appendBytes(r.to.buf, s.Name)
		r.to.buf = binary.LittleEndian.AppendUint64(r.to.buf, uint64(s.Hash))
	}
	r.write()
	return r.err
}

// Close writes the end mark and ends recording. It returns why recording ended
// early, if it did. The world must be idle. Closing twice is no error. It does not close
// out.
func (r *Recorder) Close() error {
	if r.closed {
		return r.err
	}
	if !r.dropped && r.w.Err() == nil {
		engine.Of(r.w).LookForChanges()
	}
	if r.closed { // by OnChange
		return r.err
	}
	if !r.dropped && r.w.Err() == nil {
		_ = engine.Of(r.w).RecordInputs(nil, nil)
	}
	r.closed = true
	if r.err == nil {
		r.to.begin(endRecord)
		r.to.buf = binary.AppendUvarint(r.to.buf, r.ticks)
		r.onEnd = nil // it ends here anyway
		r.write()
	}
	return r.err
}

// recorder is the Recorder for the world.
type recorder Recorder

// Begin learns the kinds of requests that were registered since the last tick.
func (l *recorder) Begin() {
	r := (*Recorder)(l)
	if r.err != nil || r.known.Len() == len(r.kinds) {
		return
	}
	kinds, err := learn(r.kinds, r.known, r.codecs)
	if err != nil {
		r.stop(fmt.Errorf("inputlog: recording ends at tick %d: %w", r.w.Tick(), err))
		return
	}
	r.writeKinds(kinds)
}

// Request appends a request to the record of its partition.
//
//	[0 port]  kind+1 flags handle value   kind+1 flags handle value  [0 port] …
func (l *recorder) Request(share, port int, q queue.PendingRequest) {
	if l.err != nil {
		return
	}
	s, k := &l.partitions[share], &l.kinds[q.Kind()]
	if k.Asks {
		return
	}
	b := s.buf
	if !s.any || s.port != port {
		s.any, s.port = true, port
		b = binary.AppendUvarint(append(b, 0), uint64(port))
	}
	b = binary.AppendUvarint(b, uint64(q.Kind()+1))
	b = binary.AppendUvarint(b, uint64(q.Flags()))
	b = appendHandle(b, q.Handle)
	switch {
	case k.whole != nil: // as the form does, which costs several times as much
		b = append(b, k.whole.Bytes(q.Payload().Address, 1)...)
	case k.form != nil:
		b = k.form.Append(b, l.known.Payload(q))
	}
	s.buf = b
}

// changed writes that the log cannot be played further.
func (r *Recorder) changed() {
	if r.err != nil {
		return
	}
	r.to.begin(changeRecord)
	r.to.buf = binary.AppendUvarint(r.to.buf, r.w.Tick())
	r.write()
	r.onChange()
}

// Settled hashes parts of the state. The next tick is written with the hash.
func (l *recorder) Settled() {
	if l.err == nil {
		l.sum = l.turns.Sum()
	}
}

// Failed ends recording: the world has sent the last tick only in part, or not at all.
func (l *recorder) Failed(err error) {
	l.dropped = true
	if l.err == nil {
		(*Recorder)(l).stop(fmt.Errorf("inputlog: recording ends: %w", err))
	}
}

// End writes the tick.
func (l *recorder) End(in *extend.Inputs) {
	r := (*Recorder)(l)
	if r.err == nil {
		r.to.begin(tickRecord)
		in.Sum = r.sum
		r.to.buf = appendTick(r.to.buf, in)
		for i := range r.partitions {
			r.to.buf = append(r.to.buf, r.partitions[i].buf...)
		}
		r.length += len(r.to.buf) - headSize
		for n := unexplained(in.Drawn, in.Settled, r.length); n > 0; n -= 2 {
			r.to.buf = append(r.to.buf, 0, 0) // what follows is of port 0: nothing
			r.length += 2
		}
		r.write()
		r.ticks++
	}
	for i := range r.partitions {
		s := &r.partitions[i]
		s.buf, s.any = s.buf[:0], false
	}
}
