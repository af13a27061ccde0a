package durable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"
	"go.uber.org/atomic"

	"github.com/atoll-sim/atoll/internal/files"
)

// prune removes the segments that no snapshot needs: those before the segment that the oldest
// snapshot, which is whole, names. If another process saved that, only its tick is known: then the
// segment with which the rest begins must begin before the tick. saving is held. It returns
// the names of what it has removed. An error leaves files that the next snapshot removes.
func (s *Store) prune() (removed []string, err error) {
	names, err := s.files.List()
	if err != nil {
		return nil, fmt.Errorf("durable: %w", err)
	}
	slices.Sort(names)
	at := slices.IndexFunc(names, func(name string) bool { _, ok := numberOf(name, snapshotEnd); return ok })
	if at < 0 {
		return nil, nil
	}
	all, err := segments(s.files, nil)
	if err != nil {
		return nil, err
	}
	oldest := filepath.Join(s.dir.Path, names[at])
	maps.DeleteFunc(s.marks, func(path string, _ uint64) bool { return path < oldest })
	least, known := s.marks[oldest]
	if !known {
		info, err := inspect(s.files, names[at])
		if err != nil {
			return nil, nil // unknown which segments it needs
		}
		for _, x := range all {
			if x.wrong == nil && x.tick < info.Tick {
				least = x.number
			}
		}
	}
	for _, x := range all {
		if x.number >= least {
			break
		}
		if err := s.files.Remove(x.name); err != nil {
			return removed, fmt.Errorf("durable: a snapshot was saved, and an older file cannot be removed: %w", err)
		}
		removed = append(removed, x.name)
	}
	return removed, nil
}

// size is how much the files of a directory take. What the log writes is added to what they took
// when a snapshot was saved, so nobody has to ask the disk between ticks.
//
// Ownership: any goroutine reads it; who saves writes it.
type size struct {
	all      atomic.Int64 // when it was measured
	log      atomic.Int64 // that the log had written then
	snapshot atomic.Int64 // of the last snapshot
	told     bool         // that it is too much
}

// sizeEvery is how often a Store looks whether the log has become too long.
const sizeEvery = time.Second

// measure measures the files, and the last snapshot among them. While the log is written it looks
// again, a few times. After an error it keeps what it knew.
func (s *Store) measure(snapshot string) error {
	for range 5 {
		log := s.log.wrote.Load()
		all, last, err := sizes(s.files, snapshot)
		if err != nil {
			return err
		}
		s.size.all.Store(all)
		s.size.log.Store(log)
		s.size.snapshot.Store(last)
		if s.log.wrote.Load() == log {
			break
		}
	}
	return nil
}

// sizes returns how many bytes all files of a directory have, and the one with a name.
func sizes(f files.Files, name string) (all, one int64, err error) {
	names, err := f.List()
	for _, x := range names {
		n, e := f.Size(x)
		if errors.Is(e, fs.ErrNotExist) {
			continue // it was removed, or has another name now
		}
		if all += n; x == name {
			one = n
		}
		err = errors.Join(err, e)
	}
	if err != nil {
		err = fmt.Errorf("durable: %w", err)
	}
	return all, one, err
}

// bytes returns how much the files take now. Any goroutine calls it.
func (s *Store) bytes() int64 {
	return s.size.all.Load() + s.log.wrote.Load() - s.size.log.Load()
}

// isFull reports whether the directory takes too much, and a snapshot would help: the log that it
// would replace is larger.
func (s *Store) isFull() bool {
	return s.bytes() > s.o.DiskBytes && s.log.wrote.Load()-s.size.log.Load() > s.size.snapshot.Load()
}

// shrink removes snapshots, with the log that only they need, as long as the directory takes more
// than DiskBytes. It keeps the one that was just saved, and what that is based on. saving is held. It
// returns the names of what it has removed. An error leaves files that the next snapshot removes.
func (s *Store) shrink(saved string) (removed []string, err error) {
	for {
		if err = s.measure(saved); err != nil || s.o.DiskBytes == 0 {
			return removed, err
		}
		over := s.size.all.Load() > s.o.DiskBytes
		var names []string
		if over {
			if names, err = s.removeOldest(saved); err != nil {
				return removed, err
			}
			removed = append(removed, names...)
		}
		if len(names) > 0 {
			continue
		}
		if over && !s.size.told {
			s.warn("one snapshot and its log take more than Options.DiskBytes", "bytes", s.size.all.Load(), "of", s.o.DiskBytes)
		}
		s.size.told = over
		return removed, nil
	}
}

// removeOldest removes the oldest whole snapshot, unless it is the last, with its increments and the
// log that only they need. It returns their names.
func (s *Store) removeOldest(saved string) (removed []string, err error) {
	names, err := s.files.List()
	if err != nil {
		return nil, fmt.Errorf("durable: %w", err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return snapshotNumber(name) == 0 || name > saved })
	slices.Sort(names)
	isWhole := func(name string) bool { _, is := numberOf(name, snapshotEnd); return is }
	if len(names) < 2 {
		return nil, nil
	}
	next := 1 + slices.IndexFunc(names[1:], isWhole)
	if next == 0 {
		return nil, nil
	}
	for _, name := range slices.Backward(names[:next]) {
		if err := s.files.Remove(name); err != nil {
			return removed, fmt.Errorf("durable: a snapshot was saved, and an older file cannot be removed: %w", err)
		}
		removed = append(removed, name)
	}
	log, err := s.prune()
	return append(removed, log...), err
}

// lockAgain is how often a lock is tried that another process has.
const lockAgain = 20 * time.Millisecond

// lock locks a directory against other Stores, until it is closed or the process ends. It waits for
// one that has it, for the given time or until ctx ends. Where the system has no such locks it
// returns an error. An error has locked nothing.
func lock(ctx context.Context, path string, wait time.Duration) (io.Closer, error) {
	l := flock.New(path, flock.SetFlag(os.O_RDWR|os.O_CREATE), flock.SetPermissions(0o666))
	ok, err := l.TryLock()
	for end := time.Now().Add(wait); !ok && err == nil && time.Now().Before(end); ok, err = l.TryLock() {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: by a process that has locked %s: %w", ErrInUse, path, ctx.Err())
		case <-time.After(lockAgain):
		}
	}
	switch {
	case ok:
		return l, nil
	case err == nil && wait > 0:
		return nil, fmt.Errorf("%w: by a process that has locked %s for more than %v", ErrInUse, path, wait)
	case err == nil:
		return nil, fmt.Errorf("%w: by a process that has locked %s; if it is ending, set LockTimeout", ErrInUse, path)
	case errors.As(err, new(*fs.PathError)): // its text has the path
		return nil, fmt.Errorf("durable: %w", err)
	}
	return nil, fmt.Errorf("durable: locking %s: %w", path, err)
}
