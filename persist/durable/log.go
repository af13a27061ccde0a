package durable

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"go.uber.org/atomic"

	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/internal/marks"
)

// log writes the output of a Recorder to files, while the ticks go on.
//
//	Write, Tick ──▶ queue ──▶ one goroutine: write, sync, mark ──▶ durable
//
// A mark says which ticks are on disk: if something before it is damaged, the next Open knows that
// this is no tear. It is on its way to the disk before anybody is told, and the next sync covers
// it. The first Write to a segment has its head: begun is called when that is on disk.
//
// Ownership: mu guards what is nested with it. Only the world's goroutine calls Write, Tick and
// next; any goroutine calls the rest.
type log struct {
	most  int              // bytes of the queue
	fail  func(error)      // is called once, with the reason why inputs are not written any more
	begun func(note) error // states that the head of a segment is on disk
	done  sync.WaitGroup
	mark  []byte       // owned by run
	wrote atomic.Int64 // bytes, to all files

	mu struct {
		sync.Mutex
		more, room sync.Cond // something is to be written; something was
		to         target    // the present segment
		begun      bool      // its head is in the queue, or was
		queue      []piece
		spare      []piece   // an empty queue
		spareBufs  [2][]byte // empty buffers: one is filled while another is written
		bytes      int       // of the queue, and of what is being written
		recorded   uint64    // ticks before this one are in the queue, or were
		synced     uint64    // ticks before this one are on disk
		changes    changes
		waiting    []waiter
		err        error
		closed     bool
		over       bool // nothing more will be saved
	}
}

// target is a segment that is written.
type target struct {
	note
	file files.File
}

// piece is bytes for one segment.
type piece struct {
	to     target
	buf    []byte
	begins bool // the segment: its head is among the bytes
	end    bool // of the segment
}

// waiter waits for a tick to be on disk, and for the changes of the idle world until then.
type waiter struct {
	tick    uint64
	changes uint64
	done    chan error
}

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

// newLog begins to write a segment. tick is the next one of the world. From then on a goroutine
// writes, until close or an error.
func newLog(most int, to target, tick uint64, fail func(error), begun func(note) error) *log {
	l := &log{most: most, fail: fail, begun: begun}
	l.mu.more.L, l.mu.room.L = &l.mu, &l.mu
	l.mu.to, l.mu.recorded, l.mu.synced = to, tick, tick
	l.mu.changes = changes{first: never, next: never}
	l.done.Go(l.run)
	return l
}

// Write queues a record that is not a tick's. The Recorder calls it, while the world waits.
func (l *log) Write(record []byte) (int, error) { return l.put(record, 0) }

// Tick queues the record of tick n. The Recorder calls it in the refresh, while the coordinator
// waits.
func (l *log) Tick(n uint64, record []byte) (int, error) { return l.put(record, n+1) }

// put queues a record, with which the ticks before the given one are recorded. It waits if too many
// bytes are not on disk yet: then the disk is slower than the world. After an error nothing was
// queued, and nothing will be.
func (l *log) put(record []byte, recorded uint64) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.mu.err == nil && l.mu.bytes > 0 && l.mu.bytes+len(record) > l.most {
		l.mu.room.Wait()
	}
	if l.mu.err != nil {
		return 0, l.mu.err
	}
	last := l.last()
	last.buf = append(last.buf, record...)
	last.begins = last.begins || !l.mu.begun
	l.mu.bytes += len(record)
	l.mu.begun, l.mu.recorded = true, max(l.mu.recorded, recorded)
	l.mu.more.Signal()
	return len(record), nil
}

// last returns the piece that is written to, which it begins if there is none. mu is held.
func (l *log) last() *piece {
	if n := len(l.mu.queue); n == 0 || l.mu.queue[n-1].end {
		free := &l.mu.spareBufs
		l.mu.queue = append(l.mu.queue, piece{to: l.mu.to, buf: free[0]})
		free[0], free[1] = free[1], nil
	}
	return &l.mu.queue[len(l.mu.queue)-1]
}

// next ends the present segment and continues with another. On the world's goroutine.
func (l *log) next(to target) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last().end = true
	l.mu.to, l.mu.begun = to, false
	l.mu.more.Signal()
}

// close ends the present file. It returns when all is on disk, or the reason why it is not. Open
// and Close call it, with the idle world.
func (l *log) close() error {
	l.mu.Lock()
	if !l.mu.closed {
		l.last().end = true
		l.mu.closed = true
		l.mu.more.Signal()
	}
	l.mu.Unlock()
	l.done.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.err
}

// stop ends the log for a reason, answers all who wait, and calls fail. Any goroutine calls it;
// only the first reason counts. What was queued and not written is lost.
func (l *log) stop(err error) {
	l.mu.Lock()
	first := l.mu.err == nil
	if first {
		l.mu.err = fmt.Errorf("%w: %w", ErrFailed, err)
		err = l.mu.err
		l.answer()
		l.mu.room.Broadcast()
		l.mu.more.Signal()
	}
	l.mu.Unlock()
	if first {
		l.fail(err)
	}
}

// run writes, syncs and marks what is queued, until the end or an error. It is the goroutine of the
// log.
func (l *log) run() {
	for {
		queue, recorded, ok := l.take()
		if !ok {
			return
		}
		n, last := 0, &queue[len(queue)-1]
		for i := range queue {
			x := &queue[i]
			err := l.write(x)
			if err == nil && x != last && x.end {
				err = x.to.file.Close()
			}
			if err != nil {
				l.stop(err)
				return
			}
			n += len(x.buf)
		}
		err := l.marks(last, recorded)
		l.wrote.Add(int64(n + len(l.mark)))
		l.synced(queue, n, recorded) // whether that has a mark or not
		if err != nil {
			l.stop(err)
			return
		}
	}
}

// take waits for something to write. It returns false at the end. Only run calls it.
func (l *log) take() (queue []piece, recorded uint64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.mu.queue) == 0 && !l.mu.closed && l.mu.err == nil {
		l.mu.more.Wait()
	}
	queue, l.mu.queue, l.mu.spare = l.mu.queue, l.mu.spare, nil
	return queue, l.mu.recorded, len(queue) > 0 && l.mu.err == nil
}

// write writes a piece to its file and syncs that, on the goroutine of the log. After an error
// nobody knows how much is on disk, so the log ends.
func (l *log) write(x *piece) error {
	_, err := x.to.file.Write(x.buf)
	if err == nil {
		err = x.to.file.Sync()
	}
	if err == nil && x.begins {
		err = l.begun(x.to.note)
	}
	return err
}

// marks writes a mark behind the last piece that was synced, and closes its file if it has ended.
// Only run calls it.
func (l *log) marks(last *piece, recorded uint64) error {
	l.mu.Lock()
	tick := min(recorded, l.mu.changes.first)
	l.mu.Unlock()
	l.mark = marks.Append(l.mark[:0], last.to.ID, tick)
	_, err := last.to.file.Write(l.mark)
	if err == nil && last.end {
		err = last.to.file.Close()
	}
	return err
}

// synced notes that pieces are on disk, and answers those who waited for it. Only run calls it.
func (l *log) synced(queue []piece, n int, recorded uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	free := &l.mu.spareBufs
	free[1] = free[0] // nil, unless the log has caught up with the ticks
	free[0] = queue[len(queue)-1].buf[:0]
	clear(queue)
	l.mu.spare = queue[:0]
	l.mu.bytes -= n
	l.mu.synced = recorded
	l.mu.room.Broadcast()
	l.answer()
}

// durable returns the tick up to which everything is on disk.
func (l *log) durable() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return min(l.mu.synced, l.mu.changes.first)
}

// changed notes that the idle world was changed. On the world's goroutine.
func (l *log) changed(tick uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := &l.mu.changes
	x.made++
	x.first, x.next = min(x.first, tick), min(x.next, tick)
}

// capturing notes that a snapshot, once saved, has all changes until now. On the goroutine that
// captures the idle world.
func (l *log) capturing() {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := &l.mu.changes
	x.captured, x.next, x.failed = x.made, never, nil
}

// saved notes that the snapshot was saved, or why it was not. It reports whether there is a change
// that no snapshot has. The goroutine that saves calls it.
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

// answer answers the waiters that need not wait any more. mu is held.
func (l *log) answer() {
	left := l.mu.waiting[:0]
	for _, x := range l.mu.waiting {
		if waits, err := l.waits(x); waits {
			left = append(left, x)
		} else {
			x.done <- err
		}
	}
	clear(l.mu.waiting[len(left):])
	l.mu.waiting = left
}

// waits reports whether a waiter must still wait, and otherwise returns the answer for it: nil, or
// why it waits in vain. mu is held.
func (l *log) waits(x waiter) (bool, error) {
	unsaved := x.changes > l.mu.changes.saved
	switch {
	case l.mu.err != nil:
		return false, l.mu.err
	case unsaved && l.mu.changes.failed != nil:
		return false, l.mu.changes.failed
	}
	if waits := unsaved || x.tick > l.mu.synced; !waits || !l.mu.over {
		return waits, nil
	}
	return false, ErrClosed
}

// wait waits until all that is recorded now is on disk, or until the context ends: that changes
// nothing but this wait. Any goroutine may call it.
func (l *log) wait(ctx context.Context) error {
	l.mu.Lock()
	x := waiter{l.mu.recorded, l.mu.changes.made, make(chan error, 1)}
	if waits, err := l.waits(x); !waits {
		l.mu.Unlock()
		return err
	}
	l.mu.waiting = append(l.mu.waiting, x)
	l.mu.Unlock()
	select {
	case err := <-x.done:
		return err
	case <-ctx.Done():
		l.mu.Lock()
		defer l.mu.Unlock()
		l.mu.waiting = slices.DeleteFunc(l.mu.waiting, func(y waiter) bool { return y.done == x.done })
		return ctx.Err()
	}
}

// commit waits until all ticks that are recorded now are on disk.
func (l *log) commit() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.mu.err == nil && l.mu.synced < l.mu.recorded {
		l.mu.room.Wait()
	}
	return l.mu.err
}

// end answers present and later waiters with what is on disk, now that nothing more is written.
// Close calls it.
func (l *log) end(saved bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if x := &l.mu.changes; saved {
		x.saved, x.first = x.made, never
	}
	l.mu.over = true
	l.answer()
}

// flushed waits until all that was written until now is on disk, ticks or not. Open calls it. It
// returns why that cannot be.
func (l *log) flushed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.mu.bytes > 0 && l.mu.err == nil {
		l.mu.room.Wait()
	}
	return l.mu.err
}

// waitingBytes returns how much is not on disk yet.
func (l *log) waitingBytes() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.bytes
}
