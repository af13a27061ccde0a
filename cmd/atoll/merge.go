package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/atoll-sim/atoll/persist/snapshot"
)

const mergeAbout = `Merge makes one new file of a base and increments on it, in their order.`

func runMerge(_ context.Context, args []string, stdout, stderr io.Writer) int {
	f := wordFlags("merge", mergeAbout, "<new file> <base> <increment> …")
	if code, done := parseFiles(f, args, 2, math.MaxInt, stdout, stderr); done {
		return code
	}
	info, err := mergeFiles(f.Arg(0), f.Args()[1:])
	if err == nil {
		_, _ = fmt.Fprintf(stdout, "%s: tick %d, %d entities, of %d files\n", f.Arg(0), info.Tick, info.Entities, f.NArg()-1)
	}
	return failed(f, err, stderr)
}

// mergeFiles writes a temporary file beside the target, and renames it when it is complete.
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

// snapshotNames returns the paths of the files of a snapshot.Dir, oldest first.
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

// openWhole opens a file as a whole snapshot: it merges an increment with its base.
func openWhole(path string) (io.ReadCloser, error) {
	if filepath.Ext(path) == ".increment" {
		return (&snapshot.Dir{Path: filepath.Dir(path)}).Open(path)
	}
	return os.Open(path)
}

// readIncrement reads a file. If an increment cannot be read alone, it is read with its base.
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
