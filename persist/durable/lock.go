package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/gofrs/flock"
)

// lock locks a directory against other Stores, until it is closed or the process ends. Where the
// system has no such locks it returns an error.
func lock(path string) (io.Closer, error) {
	l := flock.New(path, flock.SetFlag(os.O_RDWR|os.O_CREATE), flock.SetPermissions(0o666))
	ok, err := l.TryLock()
	switch {
	case ok:
		return l, nil
	case err == nil:
		return nil, fmt.Errorf("%w: by a process that has locked %s", ErrInUse, path)
	case errors.As(err, new(*fs.PathError)): // its text has the path
		return nil, fmt.Errorf("durable: %w", err)
	}
	return nil, fmt.Errorf("durable: locking %s: %w", path, err)
}
