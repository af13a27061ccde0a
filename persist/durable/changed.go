package durable

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"go.uber.org/atomic"

	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/persist/snapshot"
)

// The log does not have changes of the idle world outside of its ticks, as in a function of
// Scheduler.Between. So the world is captured right after such a change, before its next tick, and
// another segment begins. From there on nothing is durable until the snapshot is on disk.

// changes counts the changes of the idle world that no log has, from 1.
//
// Ownership: mu of the log guards them.
type changes struct {
	made     uint64
	captured uint64 // the last change in the snapshot that is being written
	saved    uint64 // the last change in a snapshot on disk
	first    uint64 // the tick before which the first unsaved change was made, or never
	next     uint64 // the same for the first change that is not captured
	failed   error  // why the last capture was not saved; nil from the next capture on
}

const never = math.MaxUint64

// durable returns the tick up to which everything is on disk.
func (l *log) durable() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return min(l.mu.synced, l.mu.changes.first)
}

// changed notes that the idle world was changed.
func (l *log) changed(tick uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := &l.mu.changes
	x.made++
	x.first, x.next = min(x.first, tick), min(x.next, tick)
}

// capturing notes that a snapshot, once saved, has all changes until now.
func (l *log) capturing() {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := &l.mu.changes
	x.captured, x.next, x.failed = x.made, never, nil
}

// saved notes that the snapshot was saved, or why it was not. It reports whether there is a change
// that no snapshot has.
func (l *log) saved(err error) (unsaved bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := &l.mu.changes
	if err == nil {
		x.saved, x.first = x.captured, x.next
	}
	unsaved = x.made > x.saved && err != nil
	if unsaved {
		x.next = x.first
		x.failed = fmt.Errorf("durable: the idle world was changed, which is not saved: %w", err)
	}
	l.answer()
	return unsaved
}

// changed saves a snapshot because the idle world was changed. It is called on the goroutine that
// uses the idle world, and captures the world there. Only while an earlier snapshot is written does
// it wait.
func (d *Store) changed() {
	if d.log.changed(d.w.Tick()); d.capturing || d.Err() != nil {
		return
	}
	for waits := true; waits; {
		select {
		case x := <-d.captures: // a Save that waits for an idle world
			if x.take() {
				return
			}
		case d.saving <- struct{}{}:
			waits = false
		}
	}
	x := &capture{store: d}
	if x.err = d.prepare(); x.err == nil {
		x.take()
	}
	d.stopped.Go(func() {
		defer func() { <-d.saving }()
		if err := x.write(); err != nil && !errors.Is(err, ErrFailed) {
			d.tell(fmt.Errorf("durable: no snapshot was saved: %w", err))
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
	saved bool          // for a Save that was called
	hash  bool          // the segment begins with a hash of the state, which takes time
	*snapshot.Captured
	tick uint64
	err  error
}

// take captures the idle world, and begins the next segment of the log there. It returns
// false if the capture was already taken, or given up.
func (x *capture) take() bool {
	if x.taken.Swap(true) {
		return false
	}
	if x.done != nil {
		defer close(x.done)
	}
	d := x.store
	if d.closed.Load() {
		x.err = ErrClosed
		return true
	}
	d.mark, x.tick = mark{number: d.number + 1, before: d.before, early: d.o.NoLog}, d.w.Tick()
	x.err = aside.Do("a function that a snapshot calls", func() (err error) {
		x.Captured, err = snapshot.Capture(d.w, d.o.Snapshot)
		return err
	})
	if x.err != nil || d.o.NoLog {
		return true
	}
	d.capturing = true
	defer func() { d.capturing = false }()
	err := d.recorder.Close()
	if err == nil {
		d.log.capturing()
		n := note{Incarnation: d.w.Incarnation(), Saved: x.saved, Number: d.number + 1, ID: rand.Uint64(), Before: d.before}
		d.log.next(n.target(d.ready))
		d.number, d.before, d.ready = n.Number, n.ID, nil
		err = d.record(n, x.hash)
	}
	if err != nil {
		x.Release()
		d.log.stop(err)
		x.err = d.Err()
	}
	return true
}

// isTaken reports whether it was captured.
func (x *capture) isTaken() bool {
	select {
	case <-x.done:
		return true
	default:
		return false
	}
}

// write writes what was captured. saving is held.
func (x *capture) write() error {
	d, began := x.store, time.Now()
	if x.err == nil {
		x.err = d.saved(func() (string, error) { return d.dir.Write(x.Captured) })
		x.Release()
	}
	if x.err == nil {
		d.saves.Store(x.tick)
		d.written.snapshots.Add(1)
		d.written.took.Add(time.Since(began))
	} else {
		d.written.failed.Add(1)
	}
	if d.log.saved(x.err) {
		select {
		case d.again <- struct{}{}:
		default:
		}
	}
	return x.err
}

// prepare makes the file of the next segment, because that takes a sync. saving is held.
func (d *Store) prepare() error {
	if d.ready != nil || d.o.NoLog {
		return nil
	}
	file, err := d.create(d.number + 1)
	d.ready = file
	return err
}
