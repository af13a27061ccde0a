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
	all, err := segments(s.files)
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
