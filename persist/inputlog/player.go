package inputlog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/form"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/internal/hash"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// Log is a log that is opened for playing.
//
// Ownership: one goroutine at a time.
type Log struct {
	from    reader
	header  header
	content uint64 // of the program that plays it, or 0: not known
	played  bool
	accept  bool // AcceptOther was called
}

// Open reads the beginning of a log. It returns ErrNoLog, ErrVersion, ErrTruncated
// or ErrAltered, or the error of in.
func Open(in io.Reader) (*Log, error) {
	l := &Log{from: reader{in: bufio.NewReader(in)}}
	if err := l.from.open(); err != nil {
		return nil, err
	}
	kind, body, err := l.from.next()
	if err != nil {
		return nil, err
	}
	if kind != headerRecord {
		return nil, l.from.altered("a header is wanted, not a record of kind %q", kind)
	}
	if err = l.header.read(body); err != nil {
		return nil, l.from.altered("%v", err)
	}
	return l, nil
}

// Program returns the program that wrote the log.
func (l *Log) Program() Program { return l.header.program }

// SetContent says what Options.Content is in the program that plays the log. If a replay differs,
// and the content is another one than in the log, the error says so. Call it before Play.
func (l *Log) SetContent(content []byte) { l.content = hashContent(content) }

// Unlike returns in which ways this program differs from the one that wrote the log, for people, or
// nil. What is not known of one of them is no difference.
func (l *Log) Unlike() []string {
	here := ThisProgram()
	here.Content = l.content
	return l.header.program.unlike(here)
}

// AcceptOther makes a replay go on where it differs from what was recorded, if another program wrote
// the log: this program's rules count, and what they make of the recorded inputs, also if they have
// made the world another where the log begins. A create by a port whose handle is another entity's by
// then fails. If no other program wrote the log, it changes nothing. Call it before Play; it counts
// for the logs of Player.Then, too.
func (l *Log) AcceptOther() { l.accept = true }

// Empty reports whether the log has no tick that can be read. It reads as far as the first: open the
// log again to play it.
func (l *Log) Empty() bool {
	l.played = true
	for {
		kind, _, err := l.from.next()
		if err != nil || kind == endRecord {
			return true
		}
		if kind == tickRecord {
			return false
		}
	}
}

// Fits returns nil if Play would take the world once it is in the state in which the log begins. If
// not, it returns the ErrOtherWorld that says what was registered or made otherwise, or is of another
// form. The world must be idle, and stays as it is. The log is read as far as its first tick: open it
// again to play it.
func (l *Log) Fits(w *world.World, codecs *state.Codecs) error {
	if w == nil {
		panic("inputlog: Log.Fits with a nil World; make one with world.New")
	}
	if err := w.Err(); err != nil {
		return err
	}
	engine.Of(w).MustIdle("Log.Fits")
	if err := l.header.mustFit(w, codecs); err != nil {
		return err
	}
	l.played = true
	p := &Player{log: l, w: w, codecs: codecs, known: engine.Of(w).Survey().Kinds()}
	return p.begin()
}

// isOther reports whether another program wrote the log.
func (l *Log) isOther() bool { return len(l.Unlike()) > 0 }

// differs adds the reason to an error that is ErrDiffers: that another program wrote the log, or
// else what may be wrong with this one. It returns other errors as they are.
func (l *Log) differs(err error, reasons string) error {
	if !errors.Is(err, ErrDiffers) {
		return err
	}
	if ways := l.Unlike(); len(ways) > 0 {
		return fmt.Errorf("%w: %s; play it by the program that wrote it, on such a machine: %w", ErrOtherProgram, strings.Join(ways, "; "), err)
	}
	return fmt.Errorf("%w; the program that wrote the log does not differ from this one, so %s", err, reasons)
}

// What is wrong if a replay by the same program differs.
const (
	otherTicks = "a system, function or hook is not deterministic, the world was changed between ticks, what a request points to, such as a slice, was written again after it was sent, two entities or requests share a map, slice or pointer, or a time has a monotonic reading: see docs/determinism.md"
	otherState = "something is not deterministic: see docs/determinism.md"
	otherStart = "the world was filled in another way, or loaded from another snapshot"
)

// Note returns Options.Note of the Recorder.
func (l *Log) Note() []byte { return l.header.note }

// Tick returns the tick that the log begins with: Info.Tick of the snapshot that it
// is played to, or 0 for a new world.
func (l *Log) Tick() uint64 { return l.header.tick }

// Player gives a world the inputs of a log, tick by tick:
//
//	for player.Next() {
//		… // one tick of the world
//	}
//	err := player.Err()
//
// Compare hashes of the state before the Next that returns false, as Verify does. When the log
// ends, or the Player is closed, ports can be opened again. Then the free slots of entities that
// ports created continue with their next version, because ports of the recorded world may have
// given out the last one. So state.StateHash differs from that of the recorded world from then on.
//
// Ownership: the world's goroutine.
type Player struct {
	log      *Log
	next     []*Log // those of Then
	wrote    *Log   // the first that another program wrote, or log if there is none
	w        *world.World
	replayer *engine.Replayer
	codecs   *state.Codecs
	known    store.Kinds
	kinds    []kind
	held     form.Budget // of what slices, maps and pointers hold in the values of a tick
	in       extend.Inputs
	turns    *hash.Turns
	sum      uint64 // of the parts of the state before the next tick
	settled  bool   // sum is known: the idle world may be filled after Play
	ticks    uint64
	before   uint64 // bytes of ticks in earlier logs
	drawn    uint32 // how many indexes ports had drawn when the log began
	length   int    // bytes of its ticks
	pending  bool   // a record was read ahead
	kind     byte
	body     []byte
	accept   bool // Log.AcceptOther was called
	err      error

	differences Differences
	differed    uint64 // one above the last tick among them
}

// Play begins to play a log to a world that is as the recorded one was when recording began: with
// the same options, registrations in the same order and systems, and filled in the same way or, if
// the log does not begin at tick 0, loaded from a snapshot or fork of that tick. It returns
// ErrOtherWorld, naming the first difference in how the world was made or in the tick, see
// Log.Fits; or ErrDiffers, naming the first part of the state that has another hash, see
// Log.AcceptOther; or an error if ports are open. A log can be played once. If it was played even
// in part, or passed to a Player that refused it, open it again. Ports cannot be opened until the
// log ends or the Player is closed.
func (l *Log) Play(w *world.World, codecs *state.Codecs) (*Player, error) {
	if w == nil {
		panic("inputlog: Play to a nil World; make one with world.New")
	}
	if err := w.Err(); err != nil {
		return nil, err
	}
	d := engine.Of(w)
	d.MustIdle("Log.Play")
	err := l.header.mustMatch(w, codecs)
	if err != nil {
		return nil, err
	}
	if err = l.once(); err != nil {
		return nil, err
	}
	p := &Player{log: l, wrote: l, w: w, codecs: codecs, known: d.Survey().Kinds(), accept: l.accept}
	if err = p.begin(); err != nil {
		return nil, err
	}
	if err = p.mustBeThere(otherStart); err != nil {
		return nil, err
	}
	if p.replayer, err = d.ReplayInputs(); err != nil {
		return nil, err
	}
	p.drawn = p.replayer.Drawn()
	p.turns = hash.NewTurns(w, (*form.Codecs)(codecs))
	p.replayer.OnSettled(func() { p.sum, p.settled = p.turns.Sum(), true })
	return p, nil
}

// once returns an error if the log was read beyond its header. Otherwise it notes that it is, from
// now on.
func (l *Log) once() error {
	if l.played {
		return errors.New("inputlog: the log was given to a Player before; open it again, with inputlog.Open")
	}
	l.played = true
	return nil
}

// begin reads the records before the first tick of a log. The world is idle, and does not change.
// An error says that the world has other kinds of requests.
func (p *Player) begin() error {
	kind, body := p.peek()
	if p.err != nil || kind != kindsRecord {
		return nil // Next reports it
	}
	p.pending = false
	err := p.learn(body)
	if err != nil {
		if kind, _ := p.peek(); p.err != nil || kind == endRecord {
			return nil // no tick follows that would need them
		}
	}
	return err
}

// Then adds a log that is played after the one before, if that has its end mark: it must begin at
// the tick at which that ends. So a world can be recorded in several logs. Make each Recorder
// where the one before is closed, while the world stays idle. If a log does
// not match, Next returns false there, and Err says why.
func (p *Player) Then(next *Log) {
	if next == nil {
		panic("inputlog: Player.Then of a nil Log; pass one of Open")
	}
	p.next = append(p.next, next)
}

// Left returns how many logs of Then were not begun.
func (p *Player) Left() int { return len(p.next) }

// follow continues with the next log. The world is idle. After an error, which is Err from then on,
// it plays no more.
func (p *Player) follow() error {
	p.log, p.next = p.next[0], p.next[1:]
	if !p.wrote.isOther() {
		p.wrote = p.log
	}
	p.kinds, p.before = nil, p.ticks
	p.drawn, p.length = p.replayer.Drawn(), 0
	if err := p.log.header.mustMatch(p.w, p.codecs); err != nil {
		return err
	}
	if err := p.log.once(); err != nil {
		return err
	}
	p.turns = hash.NewTurns(p.w, (*form.Codecs)(p.codecs))
	p.sum, p.settled = hash.NewTurns(p.w, (*form.Codecs)(p.codecs)).Sum(), true // as the Recorder of this log did
	if err := p.begin(); err != nil {
		return err
	}
	return p.mustBeThere(otherState)
}

// mustBeThere returns an error if the world is not in the state in which the log begins, unless that is
// accepted. reasons are why it may not be.
func (p *Player) mustBeThere(reasons string) error {
	err := p.log.header.mustBeThere(p.w, p.codecs)
	if errors.Is(err, ErrDiffers) && p.accepts() {
		p.differ()
		return nil
	}
	return p.wrote.differs(err, reasons)
}

// accepts reports whether a difference is accepted.
func (p *Player) accepts() bool { return p.accept && p.wrote.isOther() }

// differ notes a difference before the coming tick that is accepted.
func (p *Player) differ() {
	now := p.w.Tick()
	if p.differences.Ticks == 0 {
		p.differences.First = now
	}
	if p.differed != now+1 { // the first tick of a log is looked at twice
		p.differences.Ticks++
	}
	p.differed = now + 1
}

// Differences says in what a replay has differed from the log of another program; see
// Log.AcceptOther. That nothing has differed proves little about the last ticks: with each tick
// the log has a hash of a part of the state before it, so a difference may show only after some
// ticks, up to 1,024 in a large world.
type Differences struct {
	Ticks    uint64 // before which a hash was another one
	First    uint64 // the first of them
	Requests uint64 // that failed, because their handle is another entity's here
}

// Differences returns in what the replay has differed until now.
func (p *Player) Differences() Differences { return p.differences }

// Next gives the world the inputs of the next tick: make that tick, and call Next again. It
// returns false when the log ends or something is wrong with it; see Err. The world
// must be idle.
func (p *Player) Next() bool {
	for p.err == nil {
		kind, body := p.peek()
		p.pending = false
		switch {
		case p.err != nil:
		case kind == tickRecord:
			p.err = p.wrote.differs(p.tick(body), otherTicks)
			if p.err == nil {
				p.ticks++
				return true
			}
		case kind == kindsRecord:
			p.err = p.learn(body)
		case kind == hashRecord: // the program did not call Verify
		case kind == changeRecord:
			p.err = fmt.Errorf("%w: before tick %d", ErrChanged, p.w.Tick())
		case kind == endRecord:
			c := cursor{rest: body}
			switch n := c.number(); {
			case c.err != nil || n != p.ticks-p.before:
				p.err = p.log.from.altered("it ends after %d ticks, and says %d", p.ticks-p.before, n)
			case len(p.next) > 0:
				if err := p.follow(); err != nil {
					p.err = err
				}
			default:
				p.err = io.EOF
			}
		default:
			p.err = p.log.from.altered("there are no records of kind %q", kind)
		}
	}
	p.Close()
	return false
}

// Make makes the tick that Next has prepared, in the way in which it was recorded: by calling tick,
// which must run the systems and refresh the world, as Scheduler.Step does; or by World.Refresh or
// World.Clear if the program had called these on the idle world. It returns the error of tick.
func (p *Player) Make(tick func() error) error {
	switch p.in.By {
	case extend.ByRefresh:
		p.w.Refresh()
	case extend.ByClear:
		p.w.Clear()
	default:
		return tick()
	}
	return nil
}

// Err returns why Next returned false: nil if the log was played to its end mark, ErrTruncated if
// it has none, ErrAltered, ErrOtherWorld, ErrChanged, or ErrDiffers if a hash of a part of the
// state shows that earlier ticks differed from the recorded ones. If another program wrote the log,
// ErrDiffers comes with ErrOtherProgram, and the error names both. A difference may show only after
// some ticks, up to 1,024 in a large world: see Recorder.
func (p *Player) Err() error {
	if errors.Is(p.err, io.EOF) {
		return nil
	}
	return p.err
}

// Ticks returns how many ticks were given to the world until now.
func (p *Player) Ticks() uint64 { return p.ticks }

// Close ends the playing early, and allows ports to be opened, which changes the hash of the state:
// see Player. The world must be idle.
// Closing twice is no error.
func (p *Player) Close() { p.replayer.Close() }

// peek returns the next record without consuming it. An error is in err.
func (p *Player) peek() (byte, []byte) {
	if !p.pending && p.err == nil {
		p.kind, p.body, p.err = p.log.from.next()
		p.pending = true
	}
	return p.kind, p.body
}

// learn checks that the world has the kinds of requests that a record names. If not, it returns
// ErrOtherWorld, and the log cannot be played further.
func (p *Player) learn(body []byte) (err error) {
	from := &p.log.from
	if p.kinds, err = learn(p.kinds, p.known, (*state.Codecs)((*form.Codecs)(p.codecs).Within(&p.held))); err != nil {
		return err
	}
	c := cursor{rest: body}
	first, n := c.number(), c.count()
	for i := range n {
		shape := string(c.bytes())
		switch at := first + uint64(i); {
		case c.err != nil:
		case at >= uint64(len(p.kinds)):
			return from.wrong(ErrOtherWorld, "request kind %d is %s; this world has %d kinds", at, strings.Split(shape, "\n")[0], len(p.kinds))
		default:
			if other := p.kinds[at].differs(shape); other != "" {
				return from.wrong(ErrOtherWorld, "request kind %d %s", at, other)
			}
		}
	}
	if c.err != nil {
		return from.altered("%v", c.err)
	}
	return nil
}

// heldMost and heldEach are what slices, maps and pointers in the values of a tick may hold: so many
// bytes, and so many for each byte of the record.
const heldMost, heldEach = 1 << 30, 64

// tick gives the idle world the inputs of the tick that it makes next. After an error, which is Err
// from then on, it may have been given a part of them.
func (p *Player) tick(body []byte) error {
	from, c := &p.log.from, cursor{rest: body}
	p.held.Reset(heldMost, heldEach)
	c.readTick(&p.in)
	p.length += len(body)
	switch {
	case c.err != nil:
		return from.altered("%v", c.err)
	case p.in.Tick != p.w.Tick():
		return from.wrong(ErrOtherWorld, "it is of tick %d, the world is at %d; make one tick for each Next", p.in.Tick, p.w.Tick())
	case unexplained(p.in.Drawn, p.drawn, p.length) > 0:
		return from.altered("tick %d: ports have drawn %d handles, of which the log has too little", p.in.Tick, p.in.Drawn)
	case p.settled && p.in.Sum != p.sum && p.accepts():
		p.differ()
	case p.settled && p.in.Sum != p.sum && p.turns.Wrong() != nil:
		return fmt.Errorf("%w: before tick %d, in a part of the state; in the replay: %w", ErrDiffers, p.in.Tick, p.turns.Wrong())
	case p.settled && p.in.Sum != p.sum:
		return fmt.Errorf("%w: before tick %d, in a part of the state", ErrDiffers, p.in.Tick)
	}
	err := p.replayer.Draw(p.in.Drawn)
	if err == nil {
		err = p.replayer.Shift(p.in.Shifts)
		p.replayer.Rung(p.in.Rung)
		p.replayer.Switch(p.in.Switches)
		p.replayer.Seal(p.in.Sealed)
	}
	for _, h := range p.in.Recalled {
		if err == nil {
			err = p.replayer.Recall(h)
		}
		if err != nil && p.accepts() {
			err = nil // its slot is taken by another entity here
		}
	}
	if err == nil {
		err = p.requests(&c)
	}
	switch {
	case c.err != nil:
		return from.altered("tick %d: %v", p.in.Tick, c.err)
	case errors.Is(err, ErrOtherWorld):
		return err
	case err != nil && p.wrote.isOther(): // what was there when it was recorded
		return fmt.Errorf("%w: in tick %d: %w", ErrDiffers, p.in.Tick, err)
	case errors.Is(err, extend.ErrForged):
		return from.altered("tick %d: %v", p.in.Tick, err)
	case err != nil:
		return from.wrong(ErrOtherWorld, "tick %d: %v", p.in.Tick, err)
	}
	for _, h := range p.in.Released {
		p.replayer.Release(h)
	}
	p.replayer.Publish()
	return nil
}

// requests sends a tick's requests. After an error some of them may have been sent.
func (p *Player) requests(c *cursor) error {
	for c.err == nil && len(c.rest) > 0 {
		number := c.number()
		if number == 0 {
			c.number() // the port's number, for programs that read the log
			p.replayer.Port()
			continue
		}
		how, h := c.below(2*failedFlag), c.handle()
		flags := queue.Flags(how) // without failedFlag
		if c.err != nil {
			return c.err
		}
		if number > uint64(len(p.kinds)) {
			c.fail(fmt.Errorf("a request is of kind %d, of %d", number-1, len(p.kinds)))
			return c.err
		}
		if how >= failedFlag {
			if _, err := p.replayer.Fail(int(number-1), flags, h); err != nil {
				return err
			}
			continue
		}
		value, err := p.replayer.Request(int(number-1), flags, h)
		if err != nil && flags&queue.Create != 0 && p.accepts() { // its slot is taken by another entity here
			p.differences.Requests++
			value, err = p.replayer.Fail(int(number-1), flags, h)
		}
		if err != nil {
			return err
		}
		k := &p.kinds[number-1]
		if k.form == nil {
			continue
		}
		if c.rest, err = k.form.Read(c.rest, value); err != nil {
			c.fail(err)
		} else if k.taken != nil {
			if is := k.taken(value); is != "" {
				return fmt.Errorf("%w: in tick %d %s %s: play it by a program without that constant", ErrOtherWorld, p.in.Tick, k.Name, is)
			}
		}
	}
	return c.err
}

// Verify compares the state of the world with the hashes that were recorded between these two
// ticks, and reports whether there were any. hasher must be one of the played
// world with the options of the Recorder's. It returns ErrDiffers, with the tick and the
// first section that differs, or the hasher's error. After the last tick, call it
// before the Next that returns false.
func (p *Player) Verify(hasher *state.Hasher) (verified bool, err error) {
	for {
		kind, body := p.peek()
		if p.err == nil && kind == kindsRecord {
			p.pending, p.err = false, p.learn(body)
			continue
		}
		if p.err != nil || kind != hashRecord {
			return verified, nil // Next reports it
		}
		p.pending = false
		if err := p.verify(hasher, body); err != nil {
			return true, p.wrote.differs(err, otherState)
		}
		verified = true
	}
}

// verify compares the state with the hashes of one record. The world is idle. A difference is
// ErrDiffers, with the first section that differs.
func (p *Player) verify(hasher *state.Hasher, body []byte) error {
	mine, err := hasher.Sections()
	if err != nil {
		return err
	}
	c := cursor{rest: body}
	tick, n := c.number(), c.count()
	if c.err == nil && tick != p.w.Tick() {
		return p.log.from.wrong(ErrOtherWorld, "it has the hashes of tick %d, the world is at %d", tick, p.w.Tick())
	}
	for i := range n {
		name := string(c.bytes())
		hash := state.Hash(c.word())
		if c.err != nil {
			break
		}
		if i >= len(mine) || mine[i].Name != name {
			return fmt.Errorf("%w: before tick %d, in what it consists of: it has no %s in that place", ErrDiffers, tick, name)
		}
		if mine[i].Hash != hash {
			return fmt.Errorf("%w: before tick %d, first in %s: %v, was %v", ErrDiffers, tick, name, mine[i].Hash, hash)
		}
	}
	switch {
	case c.err != nil:
		return p.log.from.altered("%v", c.err)
	case n < len(mine):
		return fmt.Errorf("%w: before tick %d, in what it consists of: it also has a %s", ErrDiffers, tick, mine[n].Name)
	}
	return nil
}
