// Package files is the file system as the packages that keep a world on disk see it, so that tests
// can use one that fails.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Files is a directory of a file system.
type Files interface {
	Make() error // makes the directory, unless it exists
	List() ([]string, error)
	Create(name string) (File, error) // empty, to be written
	Append(name string) (File, error) // to be written behind what it has
	Open(name string) (io.ReadCloser, error)
	Size(name string) (int64, error)
	Rename(from, to string) error
	Remove(name string) error
	SyncFile(name string) error // syncs its contents, whichever process wrote them
	Sync() error                // syncs the directory
}

// File is a file that is being written.
type File interface {
	io.WriteCloser
	Sync() error
}

// Of returns the directory of a path: one of the operating system. Tests replace it.
var Of = func(path string) Files { return OS(path) }

// PartEnd ends the name of a file that is being written.
const PartEnd = ".part"

// Write writes a file. The file gets its name only when all of it is on disk; until then the name
// stands for what it did before. Write reports whether the file has its name; if not, nothing is
// left of it. With an error it may have its name all the same, and not be on disk. write runs on
// the caller's goroutine.
func Write(f Files, name string, write func(to io.Writer) error) (named bool, err error) {
	part := name + PartEnd
	defer func() { // also if write panics
		if !named {
			_ = f.Remove(part) // ignore the error: it may not exist
		}
	}()
	out, err := f.Create(part)
	if err == nil {
		err = fill(out, write)
	}
	if err == nil {
		err = f.Rename(part, name)
	}
	if err != nil {
		return false, err
	}
	named = true
	return true, f.Sync()
}

// fill writes a file, syncs it and closes it. After an error what is in the file is worth nothing,
// and the file is closed all the same.
func fill(out File, write func(to io.Writer) error) (err error) {
	defer func() { err = errors.Join(err, out.Close()) }()
	if err = write(out); err == nil {
		err = out.Sync()
	}
	return err
}

// OS is a directory of the operating system, by its path.
//
// Ownership: any goroutine. Two that write one file get in each other's way.
type OS string

// Make makes the directory and those that it is in, unless it exists. When it returns, an entry of
// it in its parent is on disk. After an error some of them may exist.
func (d OS) Make() error {
	if _, err := os.Stat(string(d)); err == nil {
		return nil
	}
	if err := os.MkdirAll(string(d), 0o777); err != nil {
		return err
	}
	return OS(filepath.Dir(string(d))).Sync()
}

// List returns the names of the files in the directory, but not of directories.
func (d OS) List() (names []string, err error) {
	entries, err := os.ReadDir(string(d))
	for _, x := range entries {
		if !x.IsDir() {
			names = append(names, x.Name())
		}
	}
	return names, err
}

// Create makes an empty file, or empties the one with that name. The caller closes it.
func (d OS) Create(name string) (File, error) {
	return os.OpenFile(d.path(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
}

// Append opens a file that exists, to write behind what it has. The caller closes it.
func (d OS) Append(name string) (File, error) {
	return os.OpenFile(d.path(name), os.O_WRONLY|os.O_APPEND, 0)
}

// Size returns how many bytes a file has.
func (d OS) Size(name string) (int64, error) {
	x, err := os.Stat(d.path(name))
	if err != nil {
		return 0, err
	}
	return x.Size(), nil
}

// errNotRegular counts as a file that is not there.
var errNotRegular = fmt.Errorf("not a regular file: %w", fs.ErrNotExist)

// Open opens a regular file for reading. The caller closes it. Anything else counts as missing:
// opening a pipe would wait for a writer.
func (d OS) Open(name string) (io.ReadCloser, error) {
	x, err := os.Stat(d.path(name))
	if err != nil {
		return nil, err
	}
	if !x.Mode().IsRegular() {
		return nil, &os.PathError{Op: "open", Path: d.path(name), Err: errNotRegular}
	}
	return os.Open(d.path(name))
}

// Rename gives a file another name, in place of the file that had it. Sync puts that on disk.
func (d OS) Rename(from, to string) error { return os.Rename(d.path(from), d.path(to)) }

// Remove removes a file.
func (d OS) Remove(name string) error { return os.Remove(d.path(name)) }

// SyncFile opens a file again, to sync its contents. An error says nothing about what is on disk.
func (d OS) SyncFile(name string) error {
	f, err := os.OpenFile(d.path(name), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Sync syncs the directory, so that new names and removed ones are on disk. Windows cannot do that:
// there it does nothing. An error says nothing about what is on disk.
func (d OS) Sync() error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(string(d))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// path returns the path of a file in the directory.
func (d OS) path(name string) string { return filepath.Join(string(d), name) }
