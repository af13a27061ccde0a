package durable

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/atoll-sim/atoll/internal/files"
)

// tickRecord is the kind of the records that inputlog writes for ticks. Each record is one Write
// and begins with its kind.
const tickRecord = 'T'

// log writes the output of a Recorder to files, while the ticks go on.
//
//	Write ──▶ queue ──▶ one goroutine: write, sync ──▶ durable
//
// Ownership: mu guards what is nested with it. Only the world's goroutine calls Write and next; any
// goroutine calls the rest.
type log struct {
	max  int           // bytes of the queue
	tick func() uint64 // of the world
	fail func(error)   // is called once, with the reason why inputs are not written any more
	done sync.WaitGroup

	mu struct {
		sync.Mutex
		more, room sync.Cond
		file       files.File // the present one
		queue      []piece
		spare      []piece // an empty queue, and an empty buffer
		spareBuf   []byte
		bytes      int    // of the queue, and of what is being written
		recorded   uint64 // ticks before this one are in the queue, or were
		synced     uint64 // ticks before this one are on disk
		changes    changes
		waiting    []waiter
		err        error
		closed     bool
		over       bool // nothing more will be saved
	}
}

// piece is bytes for one file.
type piece struct {
	to  files.File
	buf []byte
	end bool // of the file
}

// waiter waits for a tick to be on disk, and for the changes of the idle world until then.
type waiter struct {
	tick    uint64
	changes uint64
	done    chan error
}

func newLog(max int, file files.File, tick func() uint64, fail func(error)) *log {
	l := &log{max: max, tick: tick, fail: fail}
	l.mu.more.L, l.mu.room.L = &l.mu, &l.mu
	l.mu.file, l.mu.recorded, l.mu.synced = file, tick(), tick()
	l.mu.changes = changes{first: never, next: never}
	l.done.Go(l.run)
	return l
}

// Write queues a record. It waits if too many bytes are not on disk yet: then the disk is
// slower than the world.
func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.mu.err == nil && l.mu.bytes > 0 && l.mu.bytes+len(p) > l.max {
		l.mu.room.Wait()
	}
	if l.mu.err != nil {
		return 0, l.mu.err
	}
	last := l.last()
	last.buf = append(last.buf, p...)
	l.mu.bytes += len(p)
	if p[0] == tickRecord {
		l.mu.recorded = l.tick() + 1
	}
	l.mu.more.Signal()
	return len(p), nil
}

// last returns the piece that is written to.
func (l *log) last() *piece {
	if n := len(l.mu.queue); n == 0 || l.mu.queue[n-1].end {
		l.mu.queue = append(l.mu.queue, piece{to: l.mu.file, buf: l.mu.spareBuf[:0]})
		l.mu.spareBuf = nil
	}
	return &l.mu.queue[len(l.mu.queue)-1]
}

// next ends the present file and continues with another.
func (l *log) next(file files.File) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last().end = true
	l.mu.file = file
	l.mu.more.Signal()
}

// close ends the present file. It returns when all is on disk, or the reason why it is not.
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

// stop ends the log for a reason. Later reasons are ignored.
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

// run writes and syncs.
func (l *log) run() {
	for {
		queue, recorded, ok := l.take()
		if !ok {
			return
		}
		n := 0
		for _, x := range queue {
			if err := x.write(); err != nil {
				l.stop(err)
				return
			}
			n += len(x.buf)
		}
		l.synced(queue, n, recorded)
	}
}

// take waits for something to write. It returns false at the end.
func (l *log) take() (queue []piece, recorded uint64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.mu.queue) == 0 && !l.mu.closed && l.mu.err == nil {
		l.mu.more.Wait()
	}
	queue, l.mu.queue, l.mu.spare = l.mu.queue, l.mu.spare, nil
	return queue, l.mu.recorded, len(queue) > 0 && l.mu.err == nil
}

// write writes a piece to its file and syncs that.
func (x *piece) write() error {
	_, err := x.to.Write(x.buf)
	if err == nil {
		err = x.to.Sync()
	}
	if err == nil && x.end {
		err = x.to.Close()
	}
	return err
}

// synced notes that pieces are on disk.
func (l *log) synced(queue []piece, n int, recorded uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.spareBuf = queue[len(queue)-1].buf
	clear(queue)
	l.mu.spare = queue[:0]
	l.mu.bytes -= n
	l.mu.synced = recorded
	l.mu.room.Broadcast()
	l.answer()
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

// waits reports whether a waiter must still wait, and otherwise the answer for it. mu is held.
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

// wait waits until all that is recorded now is on disk.
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

// end answers present and later waiters with what is on disk, now that nothing more is written.
func (l *log) end(saved bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if x := &l.mu.changes; saved {
		x.saved, x.first = x.made, never
	}
	l.mu.over = true
	l.answer()
}

// flushed waits until all that was written until now is on disk, ticks or not.
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
