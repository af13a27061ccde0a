package inputlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/form"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/internal/hash"
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
	// Content is what the program reads at its start and goes by, such as tables and maps of the
	// game. The log gets a hash of it, so that an error about a replay that differs can say that
	// the content has changed: see Log.SetContent. If it is large, pass a hash of your own.
	Content []byte
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
	// Commit, if not nil, seals ticks: when a tick begins, its record, with what its refresh will
	// apply, is written; systems run; then Commit is called, and the refresh waits until it returns.
	// So nobody sees what the log does not have. Commit returns nil when the record of the last tick
	// is where it has to be. If it returns an error, or recording ends, the tick ends without its
	// refresh and the world is closed: requests in the record get the outcome world.Unknown, later
	// ones world.Closed.
	//
	// What ports send while a tick runs belongs to the next one, and one tick takes SealBytes of it
	// at most. References that systems release count as released in the next tick. The idle world
	// cannot be changed any more: calls that would do so panic, some of them even if they would have no
	// effect, and OnChange is not called.
	// A goroutine of the tick calls Commit. Until it returns the tick stands, whatever becomes of the
	// context of Scheduler.Run; scheduler.Watchdog reports one that takes long.
	Commit func() error
	// OnFailed, if not nil, is called with each request of a port whose value cannot be encoded,
	// because a codec panics, if ticks are sealed. Such a request stands in the log without its
	// value, and has the outcome world.Failed. Otherwise a codec that panics ends recording. A
	// goroutine of the tick calls it, so it must not block.
	OnFailed func(error)
}

// SealBytes is how much of what ports have sent a sealed tick takes, in bytes as
// world.Options.QueueBytes counts them. Each port gives a share, from its beginning and without
// dividing a batch; then the rest goes round. What does not fit waits for the next tick.
const SealBytes = extend.SealBytes

// Recorder writes a log of a world's inputs.
//
// Each tick is written by one call, after its refresh but before senders are notified of outcomes, or
// with Options.Commit before its systems run. So the log of a process that dies has all ticks that
// its senders can know of. With each tick goes
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
	out        writer
	partitions [extend.PartitionsMax]partition
	turns      *hash.Turns
	sum        uint64 // of the parts of the state before the next tick
	ticks      uint64
	length     int // bytes of the ticks
	onEnd      func(error)
	onChange   func()
	onFailed   func(error)
	commit     func() error // nil: ticks are not sealed
	port       int          // of the request before, in the record of a sealed tick, or -1
	err        error
	closed     bool
	dropped    bool // the world sends no more inputs
}

// partition is what one reader in a refresh recorded.
type partition struct {
	buf []byte
	_   [64]byte // other workers write its neighbours
}

// NewRecorder begins to record w to out, with the next tick. To play the log of a world that has
// ticked, or that was loaded, save that world at the same moment. The first Write has the head of
// the log. If out has a method Tick(n uint64, record []byte) (int, error), that gets the record of
// each tick, with its number, in place of Write. NewRecorder returns an error
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
	into, ok := out.(sink)
	if !ok {
		into = plain{out}
	}
	r := &Recorder{w: w, codecs: o.Codecs, known: d.Survey().Kinds(), out: writer{sink: into}}
	r.turns = hash.NewTurns(w, (*form.Codecs)(o.Codecs))
	r.sum = hash.NewTurns(w, (*form.Codecs)(o.Codecs)).Sum() // by others, so that a Player which cannot know this sum hashes the same parts later
	kinds, err := learn(nil, r.known, r.codecs)
	if err != nil {
		return nil, err
	}
	head, err := headerOf(w, &o)
	if err != nil {
		return nil, err
	}
	r.onChange, r.onFailed, r.commit = o.OnChange, o.OnFailed, o.Commit
	to := extend.Recorder((*recorder)(r))
	if r.commit == nil {
		r.commit = commitAlways
	}
	if r.commit != nil {
		to = sealer{(*recorder)(r)}
	}
	var changed func()
	if o.OnChange != nil {
		changed = r.changed
	}
	if err := d.RecordInputs(to, changed); err != nil {
		return nil, fmt.Errorf("inputlog: %w", err)
	}
	began := false
	defer func() {
		if !began { // also if out panics
			_ = d.RecordInputs(nil, nil)
		}
	}()
	r.out.open()
	r.out.begin(headerRecord)
	r.out.buf = head.append(r.out.buf)
	if err := r.out.end(r.out.Write); err != nil {
		return nil, err
	}
	if r.writeKinds(kinds); r.err != nil {
		return nil, r.err
	}
	r.onEnd, began = o.OnEnd, true
	return r, nil
}

// headerOf returns the header of a log that begins now. The world is idle. If its state cannot be
// hashed for lack of a codec, the header has no hash. Another error ends NewRecorder.
func headerOf(w *world.World, o *Options) (header, error) {
	h := header{note: o.Note, program: ThisProgram(), settings: settings(w), lists: append(lists(w), forms(w, o.Codecs)...), tick: w.Tick()}
	h.program.Content = hashContent(o.Content)
	if o.NoHash {
		return h, nil
	}
	sections, err := state.NewHasher(w, o.Codecs).Sections()
	if errors.Is(err, state.ErrNoCodec) {
		return h, nil
	}
	for _, s := range sections {
		h.hashes = append(h.hashes, s.Hash)
	}
	return h, err
}

// writeKinds writes the kinds of requests that are new, from the refresh or NewRecorder.
func (r *Recorder) writeKinds(all []kind) {
	r.out.begin(kindsRecord)
	r.out.buf = binary.AppendUvarint(r.out.buf, uint64(len(r.kinds)))
	r.out.buf = binary.AppendUvarint(r.out.buf, uint64(len(all)-len(r.kinds)))
	for _, k := range all[len(r.kinds):] {
		r.out.buf = appendBytes(r.out.buf, k.shape)
	}
	r.kinds = all
	r.write(r.out.Write)
}

// write passes a record to a method of the sink, while the world waits. If that returns an error or
// panics, recording ends and the world goes on.
func (r *Recorder) write(to func(record []byte) (int, error)) {
	err, returned := error(nil), false
	defer func() {
		if !returned {
			err = aside.Recovered("inputlog: the Write of a Recorder's output", recover())
		}
		r.stop(err)
	}()
	err = r.out.end(to)
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
	r.out.begin(hashRecord)
	r.out.buf = binary.AppendUvarint(r.out.buf, r.w.Tick())
	r.out.buf = binary.AppendUvarint(r.out.buf, uint64(len(sections)))
	for _, s := range sections {
		r.out.buf = appendBytes(r.out.buf, s.Name)
		r.out.buf = binary.LittleEndian.AppendUint64(r.out.buf, uint64(s.Hash))
	}
	r.write(r.out.Write)
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
		r.out.begin(endRecord)
		r.out.buf = binary.AppendUvarint(r.out.buf, r.ticks)
		r.onEnd = nil // it ends here anyway
		r.write(r.out.Write)
	}
	return r.err
}

// changed writes that the log cannot be played further, and calls OnChange. The world calls it,
// idle, when it finds such a change.
func (r *Recorder) changed() {
	if r.err != nil {
		return
	}
	r.out.begin(changeRecord)
	r.out.buf = binary.AppendUvarint(r.out.buf, r.w.Tick())
	r.write(r.out.Write)
	r.onChange()
}

// recorder is a Recorder as the world sees it.
//
// Ownership: as for the Recorder. Methods run on goroutines for which the coordinator, or the
// worker of a partition, waits.
type recorder Recorder

// Begin learns the kinds of requests that were registered since the last tick. A refresh begins
// with it; the coordinator waits. An error ends the recording.
func (r *recorder) Begin() {
	if r.err != nil || r.known.Len() == len(r.kinds) {
		return
	}
	kinds, err := learn(r.kinds, r.known, r.codecs)
	if err != nil {
		(*Recorder)(r).stop(fmt.Errorf("inputlog: recording ends at tick %d: %w", r.w.Tick(), err))
		return
	}
	(*Recorder)(r).writeKinds(kinds)
}

// Requests appends the requests of a port to the record of their partition, in the step read, while
// the worker of the partition waits:
//
//	0 port  kind+1 flags handle value   kind+1 flags handle value   …
func (r *recorder) Requests(partition, port int, sent []queue.PendingRequest) {
	if r.err != nil {
		return
	}
	to := &r.partitions[partition].buf
	b := binary.AppendUvarint(append(*to, 0), uint64(port))
	first := len(b)
	for _, q := range sent {
		switch k := &r.kinds[q.Kind()]; {
		case k.Asks:
		case q.IsMany():
			b = r.appendMany(b, k, q)
		default:
			b = r.append(b, k, q)
		}
	}
	if len(b) == first {
		b = b[:len(*to)] // it has only asked
	}
	*to = b
}

// appendMany is append for each request of a record of many.
func (r *recorder) appendMany(b []byte, k *kind, many queue.PendingRequest) []byte {
	r.known.Each(many, func(q queue.PendingRequest) { b = r.append(b, k, q) })
	return b
}

// append appends one request: its kind, flags, handle and value. It may run a codec of the user.
func (r *recorder) append(b []byte, k *kind, q queue.PendingRequest) []byte {
	b = binary.AppendUvarint(b, uint64(q.Kind()+1))
	b = binary.AppendUvarint(b, uint64(q.Flags()))
	b = appendHandle(b, q.Handle)
	switch {
	case k.whole: // as the form does, which costs several times as much
		b = append(b, k.of.Bytes(q.Payload().Address, 1)...)
	case k.of != nil: // as below, likewise
		b = k.form.Append(b, k.of.Run(q.Payload().Address, 1))
	case k.form != nil:
		b = k.form.Append(b, r.known.Payload(q))
	}
	return b
}

// sealer is a Recorder of a world whose ticks are sealed.
type sealer struct{ *recorder }

// Begin is a recorder's Begin.
func (s sealer) Begin() {
	s.port = -1
	s.recorder.Begin()
}

// of appends that the requests of another port follow.
func (s sealer) of(b []byte, port int) []byte {
	if port == s.port {
		return b
	}
	return binary.AppendUvarint(append(b, 0), uint64(port))
}

// Request appends a request to the record, as Requests does. If that panics, nothing is appended.
func (s sealer) Request(port int, sent queue.PendingRequest) {
	if s.err != nil || s.kinds[sent.Kind()].Asks {
		return
	}
	to, k := &s.partitions[0].buf, &s.kinds[sent.Kind()]
	b := s.of(*to, port)
	if sent.IsMany() {
		b = s.appendMany(b, k, sent)
	} else {
		b = s.append(b, k, sent)
	}
	*to, s.port = b, port
}

// Fail appends a request without its value.
func (s sealer) Fail(port int, sent queue.PendingRequest, value any) {
	to := &s.partitions[0].buf
	b := s.of(*to, port)
	one := func(q queue.PendingRequest) {
		b = binary.AppendUvarint(b, uint64(q.Kind()+1))
		b = binary.AppendUvarint(b, uint64(q.Flags())|failedFlag)
		b = appendHandle(b, q.Handle)
	}
	if sent.IsMany() {
		s.known.Each(sent, one)
	} else {
		one(sent)
	}
	*to, s.port = b, port
	if value == nil {
		value = aside.ErrGoexit
	}
	if s.onFailed != nil {
		s.onFailed(fmt.Errorf("inputlog: tick %d: a request of port %d has failed, because its value cannot be recorded: %s: its codec panicked: %v",
			s.w.Tick(), port, s.kinds[sent.Kind()].Name, value))
	}
}

// Commit waits until the log has the tick.
func (s sealer) Commit() error {
	if s.err != nil {
		return s.err
	}
	err := s.commit()
	if err != nil {
		(*Recorder)(s.recorder).stop(err)
	}
	return err
}

// commitAlways seals the ticks of all worlds, for tests.
var commitAlways func() error

// End writes the tick, and empties the parts for the next. The coordinator waits for it, before
// senders learn the outcomes. An error ends the recording.
func (r *recorder) End(in *extend.Inputs) {
	if r.err == nil {
		in.Sum = r.sum
		out := &r.out
		out.begin(tickRecord)
		out.buf = appendTick(out.buf, in)
		for i := range r.partitions {
			out.buf = append(out.buf, r.partitions[i].buf...)
		}
		r.length += out.length()
		for n := unexplained(in.Drawn, in.Settled, r.length); n > 0; n -= 2 {
			out.buf = append(out.buf, 0, 0) // what follows is of port 0: nothing
			r.length += 2
		}
		(*Recorder)(r).write(func(record []byte) (int, error) { return out.Tick(in.Tick, record) })
		r.ticks++
	}
	for i := range r.partitions {
		s := &r.partitions[i]
		s.buf = s.buf[:0]
	}
}

// Settled hashes parts of the state at the end of a refresh, while the coordinator waits. The next
// tick is written with the hash.
func (r *recorder) Settled() {
	if r.err == nil {
		r.sum = r.turns.Sum()
	}
}

// Failed ends recording: a method of the Recorder has panicked, so the world has sent the last tick
// only in part, or not at all, and sends no more. The coordinator waits for it.
func (r *recorder) Failed(err error) {
	r.dropped = true
	if r.err == nil {
		(*Recorder)(r).stop(fmt.Errorf("inputlog: recording ends: %w", err))
	}
}
