package snapshot

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// files is what a Dir asks of a file system, in its directory.
type files interface {
	Make() error // the directory, unless it is there
	List() ([]string, error)
	Create(name string) (file, error) // empty, to be written
	Open(name string) (io.ReadCloser, error)
	Rename(from, to string) error
	Remove(name string) error
	Sync() error // the directory
}

// file is a file that is written.
type file interface {
	io.WriteCloser
	Sync() error
}

// osFiles are those of the operating system, in a directory.
type osFiles string

func (d osFiles) Make() error {
	if _, err := os.Stat(string(d)); err == nil {
		return nil
	}
	if err := os.MkdirAll(string(d), 0o777); err != nil {
		return err
	}
	return osFiles(filepath.Dir(string(d))).Sync()
}

func (d osFiles) List() (names []string, err error) {
	entries, err := os.ReadDir(string(d))
	for _, x := range entries {
		if !x.IsDir() {
			names = append(names, x.Name())
		}
	}
	return names, err
}

func (d osFiles) Create(name string) (file, error) {
	return os.OpenFile(d.path(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
}

func (d osFiles) Open(name string) (io.ReadCloser, error) { return os.Open(d.path(name)) }

func (d osFiles) Rename(from, to string) error { return os.Rename(d.path(from), d.path(to)) }

func (d osFiles) Remove(name string) error { return os.Remove(d.path(name)) }

// Sync syncs the directory, where that can be done.
func (d osFiles) Sync() error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(string(d))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (d osFiles) path(name string) string { return filepath.Join(string(d), name) }
