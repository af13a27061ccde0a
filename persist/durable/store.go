package durable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"go.uber.org/atomic"

	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Options say how a world is kept. The zero value means the defaults.
type Options struct {
	// New fills the world if the directory has none yet. It uses what was registered before Open:
	// registering panics here. Nil: the world begins empty. To continue from a backup, load it
	// here, into an empty directory, and call World.Reincarnate with a number above the last
	// Recovered.Incarnation of the world that it replaces. Otherwise handles that were given since
	// the backup are given again.
	New func(w *world.World) error
	// Upgrade, if not nil, changes a world that was restored, before its first tick. For example, a
	// newer version of a program adds a new component to existing entities. It is called at each
	// start but the first, so it must find out what is left to do. Open then saves a snapshot, unless
	// Upgrade has changed nothing. A component that Upgrade has asked to write, and looked at, counts
	// as changed.
	Upgrade func(w *world.World) error
	// Snapshot says what belongs to a snapshot and how it is written. Its Codecs are also those of
	// the log; its Scheduler is the one that Open is given. The log lacks what its Extras append,
	// and which systems were enabled or disabled after the last tick: if the last snapshot is
	// damaged, and the ticks of the log do not lead to the same bytes, that is a loss.
	Snapshot snapshot.Options
	// Content is what the program reads at its start and goes by, such as tables and maps of the
	// game. The log has a hash of it, so that Open can say that it has changed, where the log leads
	// elsewhere than it did. Each snapshot hashes it again: if it is large, pass a hash of your own.
	Content []byte
	// Interval is how often a snapshot is saved while the scheduler runs. Default: a minute.
	// Negative: only Save and Close save. A snapshot needs a frame of the world, one of
	// world.Options.FramesMax.
	Interval time.Duration
	// Keep is how many whole snapshots are kept, each with the increments on it and the log since.
	// Default: 3.
	Keep int
	// DiskBytes is how much the files of the directory may take. If they take more when a snapshot was
	// saved, older snapshots are removed though Keep would keep them, the oldest first, each with its
	// log. If the log alone makes them take more, a snapshot is saved before Interval is over, unless
	// the log is smaller than the last snapshot. The last whole snapshot, its increments and the log
	// since are always kept, and the Logger warns if these take more: nothing stops. Leave room for
	// one more snapshot, which is written before others are removed. Default: no limit.
	DiskBytes int64
	// Increments is how many snapshots after each whole one have only what has changed since the
	// one before, as snapshot.Dir says. The first of a process is whole. If one of them is damaged,
	// the log since the last intact one makes up for it. Default: 0.
	Increments int
	// Sync makes an outcome, an answer, a frame or a message be on disk when anybody sees it, so that
	// nobody calls Wait. Ticks are sealed: what a tick will apply is written to the log when it
	// begins, while its systems run, and its refresh waits until that is on disk. A tick takes
	// longer only where the disk takes longer than the systems, and scheduler.Stats.Commit says by
	// how much. inputlog.Options.Commit says what else changes: the idle world cannot be changed by
	// the program, except in New and Upgrade. If the log cannot be written, the world is closed
	// before anybody sees what may be lost; requests whose outcome is then world.Unknown may be in
	// the log or not, and those with world.Closed are not. It needs a log.
	Sync bool
	// NoLog keeps only snapshots: after a crash the world is that of the last one. It is for
	// systems that are not deterministic, because they read a socket, say.
	NoLog bool
	// LogBytes is how much of the log may be not on disk yet. If there is more, the tick waits.
	// Default: 64 MB. Two buffers of the largest amount so far stay allocated.
	LogBytes int
	// LockTimeout is how long Open waits for a process that has the directory, and is ending. Default:
	// 0, Open returns ErrInUse at once. Waiting ends with the context of Open, too.
	LockTimeout time.Duration
	// AcceptLoss makes Open continue from what is intact, where it would return ErrDamaged.
	// Recovered.Lost says what is lost.
	AcceptLoss bool
	// OtherProgram says what Open does with ticks that another program has logged. Default:
	// RefuseOther.
	OtherProgram OtherProgram
	// OnError, if not nil, is called with what goes wrong while the world runs: once with an error
	// that wraps ErrFailed, after which nothing more is saved, and once for each snapshot that
	// could not be saved. Any goroutine may call it, even in the middle of a tick; it must not
	// block, nor call the Store. If it panics, the Logger gets that; without one, standard error.
	OnError func(error)
	// Logger, if not nil, gets records of what is restored, saved and removed. A panic of its
	// handler is written to standard error.
	Logger *slog.Logger
}

const (
	everyDefault    = time.Minute
	logBytesDefault = 64 << 20
)

// Recovered says what Open has found.
//
// Torn is for what was never told durable: the end of the log, as a crash leaves it. If the
// world was closed before Store.Close, so that no snapshot could be saved, it says so, and the
// log lacks nothing. What was told durable and is missing or damaged is ErrDamaged or, with
// AcceptLoss, in Lost: which file, and which ticks. Two losses look like a tear: the last
// segment is cut off behind its beginning, so that the marks there are gone, too; or power was
// lost, and the ticks of the last sync alone are damaged.
type Recovered struct {
	New         bool           // nothing: the world is new
	Snapshot    snapshot.Found // the one that was loaded, with why newer ones were skipped
	Ticks       uint64         // that were played from the log
	Torn        error          // why the log ends where it does, without a snapshot: a crash, or World.Close before Store.Close
	Clean       bool           // the last Store was closed, and nothing is lost
	Incarnation uint32         // of the world, from now on
	Other       *Other         // what was done with ticks that another program had logged; nil: there were none
	Lost        []error        // what AcceptLoss has accepted, or DiscardOther has discarded
	Took        time.Duration
}

// Store keeps a world in a directory. Open returns it.
//
// Ownership: any goroutine may call Wait, Durable, Save and Err. Close is for one that may use the
// idle World.
type Store struct {
	w         *world.World
	scheduler *scheduler.Scheduler
	o         Options
	dir       snapshot.Dir
	files     files.Files
	lock      io.Closer
	log       *log
	recorder  *inputlog.Recorder
	stated    stated
	recovered Recovered
	opening   bool  // Open has not returned
	began     []any // what Open logs of the snapshot that it has saved

	// saving holds one element while a goroutine saves. The goroutine that put it there owns
	// number, before, ready, mark and marks; Open and Close use them while none saves. recorder and
	// capturing are for the idle world.
	saving    chan struct{}
	captures  chan *capture           // from Save to changed
	wanted    atomic.Pointer[capture] // by the Save that holds saving; the function whose result called has takes it
	called    <-chan error            // of a function of Between that was not called yet, or nil; owned as number is
	again     chan struct{}           // tells keep that a change was not saved
	capturing bool                    // the capture under way has what was changed

	number  uint64            // of the segment that is written; the snapshot where it begins has it too
	before  uint64            // the id of that segment: the next one names it
	copies  copies            // that Follow makes
	size    size              // of the files
	ready   files.File        // the next segment's, if it is made already
	mark    mark              // what is saved with the world
	marks   map[string]uint64 // of the snapshots that this Store has saved, by path
	ends    context.Context   // ends with the Store
	stop    context.CancelFunc
	stopped sync.WaitGroup
	closed  atomic.Bool
	saves   atomic.Uint64 // the tick of the last snapshot
	written struct {      // while the world runs, for statistics
		snapshots, failed atomic.Uint64
		took              atomic.Duration // by all snapshots together
	}
}

// stated is what a Store has stated.
//
// Ownership: the mutex guards it. The goroutine of the log states segments, the one that saves
// states snapshots.
type stated struct {
	sync.Mutex
	statement
}

// snapshot returns the options of a snapshot, with what a Store adds to it. m gets the sums. It
// changes neither the options nor the world.
func (o *Options) snapshot(by *scheduler.Scheduler, m *mark) snapshot.Options {
	all := o.Snapshot
	all.Scheduler, all.Extras = by, slices.Clone(all.Extras)
	for i := range all.Extras {
		x := &all.Extras[i]
		if save := x.Append; save != nil {
			name := x.Name
			x.Append = func(dst []byte) []byte {
				at := len(dst)
				dst = save(dst)
				m.add(name, dst[at:])
				return dst
			}
		}
	}
	own := m.extra()
	save := own.Append
	own.Append = func(dst []byte) []byte {
		m.add("", systemsOn(by))
		return save(dst)
	}
	all.Extras = append(all.Extras, own)
	return all
}

// systemsOn returns the names of the systems that are enabled in what a snapshot saves.
func systemsOn(s *scheduler.Scheduler) (on []byte) {
	for rest := s.AppendState(nil); ; {
		x, next, more, err := extend.NextSystem(rest, s.World().Shards())
		if err != nil || !more {
			return on
		}
		if rest = next; x.On {
			on = append(append(on, x.Name...), 0)
		}
	}
}

// besideNow returns mark.beside as of now, in Open. A function of the user may panic: then it
// returns that as an error.
func (s *Store) besideNow() (uint64, error) {
	err := aside.Do("a function that a snapshot calls", func() error {
		for _, x := range s.o.Snapshot.Extras {
			if x.Append != nil {
				x.Append(nil)
			}
		}
		return nil
	})
	return s.mark.beside(), err
}

// Recovered returns what Open has found. Its Incarnation is the last, if World.Reincarnate was called
// since. Safe from any goroutine.
func (s *Store) Recovered() Recovered {
	x := s.recovered
	s.stated.Lock()
	defer s.stated.Unlock()
	x.Incarnation = max(x.Incarnation, s.stated.incarnation)
	return x
}

// Durable returns the tick up to which everything is on disk: after a restart the world has all
// ticks before it, from the log or in its snapshot. It grows while the world runs. A server that
// holds answers back notes World.Tick plus 1 when it learns an outcome, and sends the answer when
// Durable has reached that. If the idle world is changed outside of ticks, Durable stands still
// until a snapshot has the change. Without a log it is the tick of the last snapshot. Safe from any
// goroutine.
func (s *Store) Durable() uint64 {
	if s.o.NoLog {
		return s.saves.Load()
	}
	return s.log.durable()
}

// Wait waits until everything that has been applied by now is on disk: with Options.Sync that is so
// already. If a goroutine learns an
// outcome before it calls Wait, that is not lost once Wait has returned nil. Wait takes as long as
// one or two syncs of the disk, or as a snapshot if the idle world was changed outside of ticks.
// Such a change counts from the end of its function of Scheduler.Between, any other from the next
// tick on. Wait returns ErrFailed, ErrClosed, why that snapshot was not saved, or the error of ctx.
// Without a log it is Save. Safe from any goroutine outside of ticks, of functions of
// Scheduler.Between and of OnTick.
func (s *Store) Wait(ctx context.Context) error {
	if s.o.NoLog {
		return s.Save(ctx)
	}
	switch {
	case s.closed.Load():
		return ErrClosed
	case s.o.Sync: // nobody knows of what is not on disk
		return s.Err()
	}
	return s.log.wait(ctx)
}

// Err returns an error that wraps ErrFailed if inputs are not written any more, or nil. Safe from
// any goroutine.
func (s *Store) Err() error {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return s.log.mu.err
}

// Save saves a snapshot now. The world is captured between two ticks of the scheduler, which must
// make ticks or be paused in Run, and written while the world ticks on. Save returns when the file
// is on disk, and older ones are removed. On an error the directory is as good as before, and the
// log goes on. The error is that of ctx if the world was not captured in time. Safe from any
// goroutine outside of ticks, of functions of Scheduler.Between and of OnTick; one at a time saves.
// But a goroutine that calls Step itself waits for ever: another one must call Save, while that goes
// on to call Step.
func (s *Store) Save(ctx context.Context) error { return s.save(ctx, bySave) }

// bySave is why a snapshot is saved that the user has asked for.
const bySave = "Store.Save"

// save is Save, called by the user or, from keep, by a timer, as why says. It waits for its turn. On
// an error the directory is as good as before.
func (s *Store) save(ctx context.Context, why string) error {
	if s.closed.Load() {
		return ErrClosed
	}
	select {
	case s.saving <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.ends.Done():
		return ErrClosed
	}
	defer func() { <-s.saving }()
	return s.saveOne(ctx, why)
}

// saveOne saves a snapshot: it has the world captured between ticks, and writes the file on the
// caller's goroutine. saving is held. After an error the directory has what it had.
func (s *Store) saveOne(ctx context.Context, why string) error {
	if s.closed.Load() {
		return ErrClosed
	}
	if err := s.Err(); err != nil {
		return err
	}
	if err := s.prepare(); err != nil {
		return err
	}
	x := &capture{store: s, why: why, done: make(chan struct{})}
	s.wanted.Store(x)
	canceled, ends := ctx.Done(), s.ends.Done()
	for !x.isTaken() {
		if s.called == nil {
			s.called = s.scheduler.Between(s.takeWanted)
		}
		var err error
		select {
		case <-x.done:
			continue
		case s.captures <- x:
			<-x.done
			continue
		case err = <-s.called: // of this Save, or of one that was given up
			if s.called = nil; err == nil {
				continue
			}
		case <-canceled:
			err, canceled = ctx.Err(), nil
		case <-ends:
			err, ends = ErrClosed, nil
		}
		if !x.taken.Swap(true) {
			return err
		} // else it is being captured
	}
	return x.write()
}

// takeWanted captures the world for the Save that waits, if it still does. The scheduler calls it
// between two ticks, once even if Saves before were given up.
func (s *Store) takeWanted(*world.World) {
	if x := s.wanted.Swap(nil); x != nil {
		x.take()
	}
}

// changed saves a snapshot because the idle world was changed. It is called on the goroutine that
// uses the idle world, and captures the world there. Only while an earlier snapshot is written does
// it wait.
func (s *Store) changed() {
	if s.log.changed(s.w.Tick()); s.capturing || s.Err() != nil {
		return
	}
	for waits := true; waits; {
		select {
		case x := <-s.captures: // a Save that waits for an idle world
			if x.take() {
				return
			}
		case s.saving <- struct{}{}:
			waits = false
		}
	}
	x := &capture{store: s, why: "the idle world was changed"}
	if x.err = s.prepare(); x.err == nil {
		x.take()
	}
	s.stopped.Go(func() {
		defer func() { <-s.saving }()
		if err := x.write(); err != nil && !errors.Is(err, ErrFailed) {
			s.tell(fmt.Errorf("durable: no snapshot was saved: %w", err))
		}
	})
}

// capture is a snapshot that is captured, and then written.
//
// Ownership: the goroutine that has taken it, and then the one that writes it.
type capture struct {
	store *Store
	taken atomic.Bool   // or given up
	done  chan struct{} // closed when it is taken
	why   string        // it is saved
	hash  bool          // the segment begins with a hash of the state, which takes time
	*snapshot.Captured
	tick uint64
	err  error
}

// take captures the idle world, and begins the next segment of the log there. Whoever has the idle
// world calls it: the scheduler between ticks, the Recorder after a change, or Open. It returns
// false if the capture was already taken, or given up. What went wrong is in err, for write to
// return.
func (c *capture) take() bool {
	if c.taken.Swap(true) {
		return false
	}
	if c.done != nil {
		defer close(c.done)
	}
	s := c.store
	if s.closed.Load() {
		c.err = ErrClosed
		return true
	}
	s.mark, c.tick = mark{number: s.number + 1, before: s.before, early: s.o.NoLog}, s.w.Tick()
	c.err = aside.Do("a function that a snapshot calls", func() (err error) {
		c.Captured, err = snapshot.Capture(s.w, s.o.Snapshot)
		return err
	})
	if c.err != nil || s.o.NoLog {
		return true
	}
	s.capturing = true
	defer func() { s.capturing = false }()
	err := s.recorder.Close()
	if err == nil {
		s.log.capturing()
		n := note{Incarnation: s.w.Incarnation(), Saved: c.why == bySave, Number: s.number + 1, ID: rand.Uint64(), Before: s.before}
		s.log.next(target{n, s.ready})
		s.number, s.before, s.ready = n.Number, n.ID, nil
		err = s.record(n, c.hash)
	}
	if err != nil {
		c.Release()
		s.log.stop(err)
		if c.err = s.Err(); s.o.Sync { // the world has no Recorder, which would close it in its next tick
			engine.Of(s.w).Lose(c.err)
		}
	}
	return true
}

// isTaken reports whether it was captured.
func (c *capture) isTaken() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// write writes what was captured to a file, and lets go of the frame. saving is held. It returns
// err if the capture failed. After an error the log goes on from the last snapshot, and keep tries
// again if a change would be lost.
func (c *capture) write() error {
	s, began := c.store, time.Now()
	if c.err == nil {
		c.err = s.saved(c.why, func() (string, error) { return s.dir.SaveCaptured(c.Captured) })
		c.Release()
	}
	if c.err == nil {
		s.saves.Store(c.tick)
		s.written.snapshots.Add(1)
		s.written.took.Add(time.Since(began))
	} else {
		s.written.failed.Add(1)
	}
	if s.log.saved(c.err) {
		select {
		case s.again <- struct{}{}:
		default:
		}
	}
	return c.err
}

// prepare makes the file of the next segment, because that takes a sync. saving is held. After an
// error there is no such file, and the next call tries again.
func (s *Store) prepare() error {
	if s.ready != nil || s.o.NoLog {
		return nil
	}
	file, err := s.create(s.number + 1)
	s.ready = file
	return err
}

// create makes the file of a segment, which is still there after a crash. After an error an empty
// file may be left, which the next Open passes over.
func (s *Store) create(n uint64) (files.File, error) {
	file, err := s.files.Create(segmentName(n))
	if err == nil {
		if err = s.files.Sync(); err == nil {
			return file, nil
		}
		_ = file.Close() // nothing was written
	}
	return nil, fmt.Errorf("durable: %w", err)
}

// record begins to record to the present segment, on the world's goroutine. With hash, the segment
// begins with a hash of the state. After an error nothing is recorded.
func (s *Store) record(n note, hash bool) error {
	return aside.Do("a function that hashes the state", func() error {
		o := inputlog.Options{Codecs: s.o.Snapshot.Codecs, Note: n.append(nil), Content: s.o.Content, NoHash: !hash, OnEnd: s.log.stop, OnChange: s.changed}
		if s.o.Sync {
			o.Commit, o.OnFailed = s.log.commit, func(err error) { s.warn("request failed", "because", err) }
		}
		r, err := inputlog.NewRecorder(s.w, s.log, o)
		if err == nil {
			s.recorder = r
		}
		return err
	})
}

// saved saves a snapshot by calling save, states that, removes files that are no longer needed, and
// logs it, with the reason. saving is held, or the caller has the idle world. After an error the
// snapshot may be there, unstated: the next Open may use it.
func (s *Store) saved(why string, save func() (path string, err error)) error {
	path := ""
	err := aside.Do("a function that a snapshot calls", func() (err error) {
		path, err = save()
		return err
	})
	if err == nil {
		err = s.has(path)
	}
	if err != nil {
		return err
	}
	s.marks[path] = s.mark.number
	removed, err := s.prune()
	if s.opening {
		s.began = []any{"saved", path, "because", why} // Open logs it with the rest
		return err
	}
	if err == nil {
		var more []string
		more, err = s.shrink(filepath.Base(path))
		removed = append(removed, more...)
	}
	values := []any{"file", path, "because", why}
	if len(removed) > 0 {
		values = append(values, "removed", removed)
	}
	s.info("snapshot saved", values...)
	return err
}

// saveIdle saves a snapshot of the idle world.
func (s *Store) saveIdle() (path string, err error) { return s.dir.Save(s.w, s.o.Snapshot) }

// has states that a snapshot is on disk. saving is held. After an error the file is there,
// unstated.
func (s *Store) has(path string) error {
	name := filepath.Base(path)
	info, err := inspect(s.files, name)
	if err != nil {
		return fmt.Errorf("durable: %s: %w", name, err)
	}
	return s.state(func(x *statement) {
		x.snapshot, x.tick, x.hash, x.beside = snapshotNumber(name), info.Tick, info.Hash, s.mark.beside()
	})
}

// begun states that the head of a segment is on disk. The goroutine of the log calls it. An error
// ends the log.
func (s *Store) begun(n note) error {
	return s.state(func(x *statement) {
		x.segment, x.id = n.Number, n.ID
		if n.First {
			x.incarnation, x.first, x.logs = s.recovered.Incarnation, n.Number, !s.o.NoLog
		}
	})
}

// state changes what the file incarnation says. When it returns nil that is on disk; after an error
// the Store goes on from what it said before. The goroutines of the log and of saving call it.
func (s *Store) state(change func(x *statement)) error {
	s.stated.Lock()
	defer s.stated.Unlock()
	x := s.stated.statement
	change(&x)
	_, err := files.Write(s.files, incarnationName, func(to io.Writer) error {
		_, err := io.WriteString(to, x.String())
		return err
	})
	if err != nil {
		return fmt.Errorf("durable: %s: %w", incarnationName, err)
	}
	s.stated.statement = x
	return nil
}

// inspect reads the head of a snapshot. It needs no world. An error is about reading the file or
// about what is in it.
func inspect(f files.Files, name string) (snapshot.Info, error) {
	in, err := f.Open(name)
	if err != nil {
		return snapshot.Info{}, err
	}
	defer in.Close()
	return snapshot.Inspect(in)
}

// retryAfter is the delay after which a change of the idle world that could not be saved is saved
// again.
const retryAfter = time.Second

// keep saves snapshots regularly, and again after a change that was not saved. It is a goroutine of
// the Store's, until Close.
func (s *Store) keep() {
	var every <-chan time.Time
	if s.o.Interval > 0 {
		ticker := time.NewTicker(s.o.Interval)
		defer ticker.Stop()
		every = ticker.C
	}
	var full <-chan time.Time
	if s.o.DiskBytes > 0 && !s.o.NoLog {
		ticker := time.NewTicker(sizeEvery)
		defer ticker.Stop()
		full = ticker.C
	}
	var retry <-chan time.Time
	for {
		why := "Options.Interval"
		select {
		case <-s.ends.Done():
			return
		case <-s.again:
			retry = time.After(retryAfter)
			continue
		case <-retry:
			why = "the idle world was changed, and the snapshot of that has failed"
		case <-full:
			if why = "Options.DiskBytes"; !s.isFull() {
				continue
			}
		case <-every:
		}
		retry = nil
		err := s.save(s.ends, why)
		switch {
		case s.ends.Err() != nil || errors.Is(err, ErrFailed):
			return // already reported
		case err != nil:
			s.tell(fmt.Errorf("durable: no snapshot was saved: %w", err))
			if s.w.Err() != nil {
				return // the world is closed or broken, and stays so
			}
		}
	}
}

// Close ends the Store: it waits until the log is on disk, and saves a last snapshot. The world
// must be idle, so call it when Run has returned, and before World.Close: a closed world cannot be
// saved, so the next Open plays the log and begins another incarnation. Ports that are open then
// may hold handles that are given again. Close them before, and refresh the world; otherwise the
// next Open begins another incarnation. Close returns why the directory may lack something. With
// Options.NoLog that may be because a closed or broken world cannot be saved; without it the log
// has everything. Closing twice is no error.
//
// When the Store has failed, because of a full disk say, Close saves no snapshot, even if there is
// room again, and returns ErrFailed. The next Open has the world as it was at Durable, or some
// ticks later. To keep what came after that, call snapshot.Write with the idle world, to another
// place.
func (s *Store) Close() error {
	if s.closed.Load() {
		return nil
	}
	if s.w.Err() == nil {
		engine.Of(s.w).MustIdle("Store.Close")
	}
	clean := s.w.Reincarnate(s.w.Incarnation()) == nil // changes nothing; an error if ports are open
	s.capturing = true                                 // the snapshot will have all changes
	err := s.recorder.Close()
	s.closed.Store(true)
	s.stop()
	s.stopped.Wait()
	s.saving <- struct{}{} // for ever: nothing saves any more
	err = errors.Join(s.log.close(), err)
	if s.ready != nil {
		err = errors.Join(err, s.ready.Close(), s.files.Remove(segmentName(s.number+1)))
	}
	wrong := s.w.Err()
	saved := err == nil && wrong == nil
	switch {
	case saved:
		s.mark = mark{number: s.number + 1, before: s.before, clean: clean, early: true}
		err = s.saved("Store.Close", s.saveIdle)
	case err == nil && s.o.NoLog: // a log would have everything
		err = fmt.Errorf("durable: Store.Close saved no snapshot, and there is no log of what came after tick %d: %w", s.saves.Load(), wrong)
	}
	s.log.end(saved && err == nil)
	engine.Of(s.w).KeepIncarnation(nil)
	return errors.Join(err, s.lock.Close())
}

// measured is a Store as the world sees it, for statistics.
type measured struct{ *Store }

// Measure reports what is on disk, and what is not yet. The world calls it between ticks.
func (m measured) Measure(add func(extend.Measured)) {
	figure := func(name, help string, counts bool, value float64) {
		add(extend.Measured{Name: "atoll_store_" + name, Help: help, Counts: counts, Value: value})
	}
	w := &m.written
	figure("snapshots_total", "Snapshots saved while the world ran.", true, float64(w.snapshots.Load()))
	figure("snapshots_failed_total", "Snapshots that could not be saved.", true, float64(w.failed.Load()))
	figure("snapshot_seconds_total", "How long it took to write snapshots, once they were captured.", true, w.took.Load().Seconds())
	figure("snapshot_tick", "Tick of the last snapshot.", false, float64(m.saves.Load()))
	figure("durable_tick", "Tick up to which everything is on disk.", false, float64(m.Durable()))
	failed := 0.0
	if m.Err() != nil {
		failed = 1
	}
	figure("failed", "1 if inputs are not written any more.", false, failed)
	figure("bytes", "Bytes of the files of the directory.", false, float64(m.bytes()))
	m.copies.measure(m.Durable(), figure)
	if !m.o.NoLog {
		figure("log_waiting_bytes", "Bytes of the log that are not on disk yet.", false, float64(m.log.waitingBytes()))
	}
}

// tell passes an error to the Logger and to OnError, from any goroutine. If these panic it tells
// whoever is left.
func (s *Store) tell(err error) {
	aside.Log(s.o.Logger, slog.LevelError, err.Error(), aside.Stack(err)...)
	if s.o.OnError == nil {
		return
	}
	wrong := aside.Do("durable: Options.OnError", func() error {
		s.o.OnError(err)
		return nil
	})
	switch {
	case wrong != nil && s.o.Logger != nil:
		aside.Log(s.o.Logger, slog.LevelError, wrong.Error(), aside.Stack(wrong)...)
	case wrong != nil:
		aside.Report(wrong)
	}
}

// warn logs what may need a look.
func (s *Store) warn(what string, values ...any) {
	aside.Log(s.o.Logger, slog.LevelWarn, "durable: "+what, values...)
}

// info logs what the Store does, with the tick.
func (s *Store) info(what string, values ...any) {
	aside.Log(s.o.Logger, slog.LevelInfo, "durable: "+what, append([]any{"tick", s.w.Tick()}, values...)...)
}
