package durable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"go.uber.org/atomic"

	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/internal/engine"
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
	// start but the first, so it must find out what is left to do. Open then saves a snapshot.
	Upgrade func(w *world.World) error
	// Snapshot says what belongs to a snapshot and how it is written. Its Codecs are also those of
	// the log; its Scheduler is the one that Open is given. The log lacks what its Also save, and which
	// systems are enabled: if the last snapshot is damaged, and the ticks of the log do not lead to
	// the same bytes, that is a loss.
	Snapshot snapshot.Options
	// Every is how often a snapshot is saved while the scheduler runs. Default: a minute. Negative:
	// only Save and Close save. A snapshot needs a frame of the world, one of
	// world.Options.FramesMax.
	Every time.Duration
	// Keep is how many whole snapshots are kept, each with the increments on it and the log since.
	// Default: 3.
	Keep int
	// Increments is how many snapshots after each whole one have only what has changed since the
	// one before, as snapshot.Dir says. The first of a process is whole. If one of them is damaged,
	// the log since the last intact one makes up for it. Default: 0.
	Increments int
	// NoLog keeps only snapshots: after a crash the world is that of the last one. It is for
	// systems that are not deterministic, because they read a socket, say.
	NoLog bool
	// LogBytes is how much of the log may be not on disk yet. If there is more, the tick waits.
	// Default: 64 MB. Two buffers of the largest amount so far stay allocated.
	LogBytes int
	// AcceptLoss makes Open continue from what is intact, where it would return ErrDamaged.
	// Recovered.Lost says what is lost.
	AcceptLoss bool
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
	Lost        []error        // what AcceptLoss has accepted
	Took        time.Duration

	segments int // of the log since the snapshot
}

// Store keeps a world in a directory. Open returns it.
//
// Ownership: any goroutine may call Wait, Durable, Save and Err. Close is for one that may use the
// idle World.
type Store struct {
	w         *world.World
	s         *scheduler.Scheduler
	o         Options
	dir       snapshot.Dir
	files     files.Files
	lock      io.Closer
	log       *log
	recorder  *inputlog.Recorder
	stated    stated
	recovered Recovered
	found     found // used by Open only

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

// Recovered returns what Open has found. Its Incarnation is the last, if World.Reincarnate was called
// since. Safe from any goroutine.
func (d *Store) Recovered() Recovered {
	x := d.recovered
	d.stated.Lock()
	defer d.stated.Unlock()
	x.Incarnation = max(x.Incarnation, d.stated.incarnation)
	return x
}

// Durable returns the tick up to which everything is on disk: after a restart the world has all
// ticks before it, from the log or in its snapshot. It grows while the world runs. A server that
// holds answers back notes World.Tick plus 1 when it learns an outcome, and sends the answer when
// Durable has reached that. If the idle world is changed outside of ticks, Durable stands still
// until a snapshot has the change. Without a log it is the tick of the last snapshot. Safe from any
// goroutine.
func (d *Store) Durable() uint64 {
	if d.o.NoLog {
		return d.saves.Load()
	}
	return d.log.durable()
}

// Wait waits until everything that has been applied by now is on disk. If a goroutine learns an
// outcome before it calls Wait, that is not lost once Wait has returned nil. Wait takes as long as
// one or two syncs of the disk, or as a snapshot if the idle world was changed outside of ticks.
// Such a change counts from the end of its function of Scheduler.Between, any other from the next
// tick on. Wait returns ErrFailed, ErrClosed, why that snapshot was not saved, or the error of ctx.
// Without a log it is Save. Safe from any goroutine outside of ticks, of functions of
// Scheduler.Between and of OnTick.
func (d *Store) Wait(ctx context.Context) error {
	if d.o.NoLog {
		return d.Save(ctx)
	}
	if d.closed.Load() {
		return ErrClosed
	}
	return d.log.wait(ctx)
}

// Err returns an error that wraps ErrFailed if inputs are not written any more, or nil. Safe from
// any goroutine.
func (d *Store) Err() error {
	d.log.mu.Lock()
	defer d.log.mu.Unlock()
	return d.log.mu.err
}

// Save saves a snapshot now. The world is captured between two ticks of the scheduler, which must
// make ticks or be paused in Run, and written while the world ticks on. Save returns when the file
// is on disk, and older ones are removed. On an error the directory is as good as before, and the
// log goes on. The error is that of ctx if the world was not captured in time. Safe from any
// goroutine outside of ticks, of functions of Scheduler.Between and of OnTick; one at a time saves.
// But a goroutine that calls Step itself waits for ever: another one must call Save, while that goes
// on to call Step.
func (d *Store) Save(ctx context.Context) error { return d.save(ctx, true) }

// save is Save, called by the user or by a timer.
func (d *Store) save(ctx context.Context, byUser bool) error {
	if d.closed.Load() {
		return ErrClosed
	}
	select {
	case d.saving <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-d.ends.Done():
		return ErrClosed
	}
	defer func() { <-d.saving }()
	return d.saveOne(ctx, byUser)
}

// saveOne saves a snapshot. saving is held.
func (d *Store) saveOne(ctx context.Context, byUser bool) error {
	if d.closed.Load() {
		return ErrClosed
	}
	if err := d.Err(); err != nil {
		return err
	}
	if err := d.prepare(); err != nil {
		return err
	}
	x := &capture{store: d, saved: byUser, done: make(chan struct{})}
	d.wanted.Store(x)
	canceled, ends := ctx.Done(), d.ends.Done()
	for !x.isTaken() {
		if d.called == nil {
			d.called = d.s.Between(d.takeWanted)
		}
		var err error
		select {
		case <-x.done:
			continue
		case d.captures <- x:
			<-x.done
			continue
		case err = <-d.called: // of this Save, or of one that was given up
			if d.called = nil; err == nil {
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

// takeWanted is called between two ticks, once even if Saves before were given up.
func (d *Store) takeWanted(*world.World) {
	if x := d.wanted.Swap(nil); x != nil {
		x.take()
	}
}

// saved saves a snapshot, states and logs that, and removes files that are no longer needed.
func (d *Store) saved(save func() (path string, err error)) error {
	path := ""
	err := aside.Do("a function that a snapshot calls", func() (err error) {
		path, err = save()
		return err
	})
	if err == nil {
		err = d.has(path)
	}
	if err != nil {
		return err
	}
	d.info("snapshot saved", "file", path)
	d.marks[path] = d.mark.number
	return d.prune()
}

// record begins to record to the present segment. With hash, the segment begins with a hash of the
// state.
func (d *Store) record(n note, hash bool) error {
	return aside.Do("a function that hashes the state", func() error {
		r, err := inputlog.NewRecorder(d.w, d.log, inputlog.Options{
			Codecs: d.o.Snapshot.Codecs, Note: n.append(nil), NoHash: !hash, OnEnd: d.log.stop, OnChange: d.changed,
		})
		if err == nil {
			d.recorder = r
		}
		return err
	})
}

// retryAfter is the delay after which a change of the idle world that could not be saved is saved
// again.
const retryAfter = time.Second

// keep saves snapshots regularly, and again after a change that was not saved.
func (d *Store) keep() {
	var every <-chan time.Time
	if d.o.Every > 0 {
		ticker := time.NewTicker(d.o.Every)
		defer ticker.Stop()
		every = ticker.C
	}
	var retry <-chan time.Time
	for {
		select {
		case <-d.ends.Done():
			return
		case <-d.again:
			retry = time.After(retryAfter)
			continue
		case <-retry:
		case <-every:
		}
		retry = nil
		err := d.save(d.ends, false)
		switch {
		case d.ends.Err() != nil || errors.Is(err, ErrFailed):
			return // already reported
		case err != nil:
			d.tell(fmt.Errorf("durable: no snapshot was saved: %w", err))
			if d.w.Err() != nil {
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
// ticks later. To keep what came after that, call snapshot.Save with the idle world, to another
// place.
func (d *Store) Close() error {
	if d.closed.Load() {
		return nil
	}
	clean := d.w.Reincarnate(d.w.Incarnation()) == nil // changes nothing; an error if ports are open
	d.capturing = true                                 // the snapshot will have all changes
	err := d.recorder.Close()                          // panics unless the world is idle, as the line before does
	d.closed.Store(true)
	d.stop()
	d.stopped.Wait()
	d.saving <- struct{}{} // for ever: nothing saves any more
	err = errors.Join(d.log.close(), err)
	if d.ready != nil {
		err = errors.Join(err, d.ready.Close(), d.files.Remove(segmentName(d.number+1)))
	}
	wrong := d.w.Err()
	saved := err == nil && wrong == nil
	switch {
	case saved:
		d.mark = mark{number: d.number + 1, before: d.before, clean: clean, early: true}
		err = d.saved(d.saveIdle)
	case err == nil && d.o.NoLog: // a log would have everything
		err = fmt.Errorf("durable: Store.Close saved no snapshot, and there is no log of what came after tick %d: %w", d.saves.Load(), wrong)
	}
	d.log.end(saved && err == nil)
	engine.Of(d.w).KeepIncarnation(nil)
	return errors.Join(err, d.lock.Close())
}

// saveIdle saves a snapshot of the idle world.
func (d *Store) saveIdle() (path string, err error) { return d.dir.Save(d.w, d.o.Snapshot) }

// tell reports that something went wrong.
func (d *Store) tell(err error) {
	aside.Log(d.o.Logger, slog.LevelError, err.Error(), aside.Stack(err)...)
	if d.o.OnError == nil {
		return
	}
	wrong := aside.Do("durable: Options.OnError", func() error {
		d.o.OnError(err)
		return nil
	})
	switch {
	case wrong != nil && d.o.Logger != nil:
		aside.Log(d.o.Logger, slog.LevelError, wrong.Error(), aside.Stack(wrong)...)
	case wrong != nil:
		aside.Report(wrong)
	}
}

func (d *Store) warn(what string, values ...any) {
	aside.Log(d.o.Logger, slog.LevelWarn, "durable: "+what, values...)
}

func (d *Store) info(what string, values ...any) {
	aside.Log(d.o.Logger, slog.LevelInfo, "durable: "+what, append([]any{"tick", d.w.Tick()}, values...)...)
}
