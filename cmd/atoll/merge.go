package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/atoll-sim/atoll/snapshot"
)

// runMerge makes a new file of a base and increments.
func runMerge(args []string, stdout, stderr io.Writer) int {
	if len(args) < 2 {
		_, _ = fmt.Fprintf(stderr, "atoll snapshot: name the new file, the base and its increments\natoll snapshot -help tells how to call it\n")
		return exitUsage
	}
	info, err := mergeFiles(args[0], args[1:])
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "atoll snapshot: %v\n", err)
		return exitFailed
	}
	_, _ = fmt.Fprintf(stdout, "%s: tick %d, %d entities, of %d files\n", args[0], info.Tick, info.Entities, len(args)-1)
	return exitOK
}

// mergeFiles writes a file beside the new one, and renames it when it is whole.
func mergeFiles(to string, from []string) (info snapshot.Info, err error) {
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return info, errors.Join(err, fmt.Errorf("%s: %w; name a new file", to, fs.ErrExist))
	}
	var all []io.Reader
	for _, path := range from {
		file, err := os.Open(path)
		if err != nil {
			return info, err
		}
		defer func() { _ = file.Close() }()
		all = append(all, bufio.NewReader(file))
	}
	out, err := os.CreateTemp(filepath.Dir(to), filepath.Base(to)+".*.part")
	if err != nil {
		return info, err
	}
	defer func() {
		_ = out.Close()
		_ = os.Remove(out.Name()) // unless it has another name now
	}()
	if _, err = io.Copy(out, snapshot.Merge(all[0], all[1:]...)); err == nil {
		_, err = out.Seek(0, io.SeekStart)
	}
	if err == nil {
		info, err = snapshot.Inspect(out)
	}
	if err == nil {
		err = out.Sync()
	}
	if err == nil {
		err = os.Rename(out.Name(), to)
	}
	return info, err
}

// snapshotNames returns the paths of what a snapshot.Dir has, the oldest first.
func snapshotNames(path string) (names []string, err error) {
	for _, end := range []string{"*.snapshot", "*.increment"} {
		some, err := filepath.Glob(filepath.Join(path, end))
		if err != nil {
			return nil, err
		}
		names = append(names, some...)
	}
	slices.Sort(names) // they begin with a number
	return names, nil
}

// openWhole opens a file as a whole snapshot: an increment with what it is based on.
func openWhole(path string) (io.ReadCloser, error) {
	if filepath.Ext(path) == ".increment" {
		return (&snapshot.Dir{Path: filepath.Dir(path)}).Open(path)
	}
	return os.Open(path)
}

// readIncrement reads a file; an increment that cannot be read alone is read with its base.
func readIncrement(path string, file io.Reader, read func(io.Reader) (snapshot.Info, error)) (snapshot.Info, error) {
	info, err := read(file)
	if !errors.Is(err, snapshot.ErrBase) {
		return info, err
	}
	alone := info
	whole, err := openWhole(path)
	if err != nil {
		return info, err
	}
	defer func() { _ = whole.Close() }()
	info, err = read(whole)
	info.Increment, info.BaseTick = alone.Increment, alone.BaseTick
	return info, err
}

func onBase(tick *uint64) string {
	if tick == nil {
		return ""
	}
	return fmt.Sprintf(", an increment on tick %d", *tick)
}
