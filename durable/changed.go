package durable

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/atoll-sim/atoll/snapshot"
)

// What the idle world is changed by outside of its ticks is not in the log: in a function of
// Scheduler.Between, say. The world is captured right there, before its next tick, and another
// segment begins. Until the snapshot is on disk, nothing from there on is durable.

// changes are those of the idle world that no log has, counted from 1.
//
// Ownership: mu of the log guards them.
type changes struct {
	made     uint64
	captured uint64 // up to which the snapshot has them that is written
	saved    uint64 // up to which they are on disk
	first    uint64 // the tick before which the first was made that is not saved, or never
	next     uint64 // the same of the first that is not captured
	failed   error  // why the last capture was not saved, until the next
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

// capturing notes that a snapshot has all changes until now, if it is saved.
func (l *log) capturing() {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := &l.mu.changes
	x.captured, x.next, x.failed = x.made, never, nil
}

// saved notes that the snapshot was saved, or why it was not. It reports whether there is a change
// that none has.
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
// Ownership: whoever has taken it, and then whoever writes it.
type capture struct {
	store *Store
	taken atomic.Bool   // or given up
	done  chan struct{} // closed when it was taken
	saved bool          // for a Save that was called
	hash  bool          // the segment says by a hash where it begins, which takes time
	*snapshot.Captured
	tick uint64
	err  error
}

// take takes the state of the idle world, and begins the next segment of the log there. It reports
// false if that was done, or given up.
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
	d.mark, x.tick = mark{number: d.number + 1}, d.w.Tick()
	if x.Captured, x.err = snapshot.Capture(d.w, d.o.Snapshot); x.err != nil || d.o.NoLog {
		return true
	}
	d.capturing = true
	defer func() { d.capturing = false }()
	err := d.recorder.Close()
	if err == nil {
		d.log.capturing()
		d.log.next(d.ready)
		d.number, d.ready = d.number+1, nil
		err = d.record(note{Incarnation: d.w.Incarnation(), Saved: x.saved}, x.hash)
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
		x.err = d.saved(d.dir.Write(x.Captured))
		x.Release()
	}
	if x.err == nil {
		d.saves.Store(x.tick)
		d.written.snapshots.Add(1)
		d.written.took.Add(int64(time.Since(began)))
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
