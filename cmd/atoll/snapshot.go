package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/demo"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/snapshot/text"
)

const (
	snapshotAbout = `Snapshot tells what saved worlds are: files of package snapshot, or directories of
them. atoll snapshot <word> -help tells of a word:

  info    read the head of each file
  verify  read all of each file, and look at each checksum
  plan    tell what Load does with a file in the program that saved another
  diff    tell what differs between two files
  merge   make one file of a base and increments on it
  export  write a file as text
  import  make a file of such a text
  save    make a world as atoll sim does, and save it
  load    load such a world, audit it and run it on`
	infoAbout = `Info reads the head of each file, or of each in a directory, and tells what it is. An
increment is read with what it is based on, beside it in its directory.`
	verifyAbout = `Verify reads all of each file, or of each in a directory, looks at each checksum and tells
what it is. It fails if any of them is not whole. An increment is read with what it is
based on, beside it in its directory.`
	planAbout = `Plan tells what Load does with the old file in the program that saved the new one, and
what it refuses: then it fails. Of a directory it takes the newest file.`
	diffAbout = `Diff tells what differs between two files, entities and values too, and exits with 1 if
anything does. Of a directory it takes the newest file.`
)

// snapshotLine is the JSON about a file.
type snapshotLine struct {
	Path     string `json:"path"`
	Bytes    int64  `json:"bytes"`
	Tick     uint64 `json:"tick"`
	Entities int    `json:"entities"`
	Shards   int    `json:"shards"`
	Hash     string `json:"hash,omitempty"`
	// Base is the tick of the snapshot that an increment is based on.
	Base  *uint64 `json:"base,omitempty"`
	Error string  `json:"error,omitempty"`
}

// snapshotWords are the words that may follow atoll snapshot.
var snapshotWords = map[string]func(ctx context.Context, args []string, stdout, stderr io.Writer) int{
	"info": runInfo, "verify": runVerify, "plan": runPlan, "diff": runDiff, "merge": runMerge,
	"export": runExport, "import": runImport, "save": runSave, "load": runLoad,
}

// runSnapshot is the snapshot command.
func runSnapshot(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && snapshotWords[args[0]] != nil {
		return snapshotWords[args[0]](ctx, args[1:], stdout, stderr)
	}
	f := newFlags("snapshot", snapshotAbout)
	f.Usage = func() {
		_, _ = fmt.Fprintf(f.Output(), "%s\n\nUsage: atoll snapshot <word> [flags] <file or directory> …\n", snapshotAbout)
	}
	if errors.Is(f.Parse(args), flag.ErrHelp) {
		f.SetOutput(stdout)
		f.Usage()
		return exitOK
	}
	_, _ = fmt.Fprint(stderr, "atoll snapshot: say info, verify, plan, diff, merge, export, import, save or load\natoll snapshot -help tells what they do\n")
	return exitUsage
}

func runInfo(_ context.Context, args []string, stdout, stderr io.Writer) int {
	return runOnEach("info", infoAbout, snapshot.Inspect, args, stdout, stderr)
}

func runVerify(_ context.Context, args []string, stdout, stderr io.Writer) int {
	return runOnEach("verify", verifyAbout, snapshot.Verify, args, stdout, stderr)
}

// runOnEach is a word that reads each file by itself.
func runOnEach(word, about string, read func(io.Reader) (snapshot.Info, error), args []string, stdout, stderr io.Writer) int {
	f := wordFlags(word, about, "[flags] <file or directory> …")
	asJSON := f.Bool("json", false, "write each file as a JSON object in a line of its own")
	if code, done := parseFiles(f, args, 1, math.MaxInt, stdout, stderr); done {
		return code
	}
	code := exitOK
	for _, path := range f.Args() {
		names, err := snapshotFiles(path)
		if err != nil {
			code = failed(f, err, stderr)
		}
		for _, name := range names {
			bar := newProgress(stderr, filepath.Base(name))
			line := lineOf(name, read, bar)
			if line.Error != "" {
				code = exitFailed
			}
			writeSnapshot(stdout, line, *asJSON)
		}
	}
	return code
}

// told is the result about two files.
type told struct {
	fmt.Stringer
	differences []snapshot.Difference
	failed      bool
}

func runPlan(_ context.Context, args []string, stdout, stderr io.Writer) int {
	f := wordFlags("plan", planAbout, twoFiles)
	return runOnTwo(f, args, func(old, now io.Reader) (told, error) {
		p, err := snapshot.PlanFiles(old, now, snapshot.Options{})
		return told{p, p.Differences, len(p.Refused()) > 0}, err
	}, stdout, stderr)
}

func runDiff(_ context.Context, args []string, stdout, stderr io.Writer) int {
	f := wordFlags("diff", diffAbout, twoFiles)
	limit := 100
	f.Var(number{&limit, demo.Range{Max: math.MaxInt32}}, "limit", "the most differences that are told; 0 for all")
	return runOnTwo(f, args, func(old, now io.Reader) (told, error) {
		c, err := text.Compare(old, now, limit)
		return told{c, c.Differences, !c.Equal()}, err
	}, stdout, stderr)
}

const twoFiles = "[flags] <old file or directory> <new file or directory>"

// runOnTwo is a word that reads two files.
func runOnTwo(f *flag.FlagSet, args []string, do func(old, now io.Reader) (told, error), stdout, stderr io.Writer) int {
	asJSON := f.Bool("json", false, "write each difference as a JSON object in a line of its own")
	if code, done := parseFiles(f, args, 2, 2, stdout, stderr); done {
		return code
	}
	var files [2]io.Reader
	bar := newProgress(stderr, "reading")
	for i, path := range f.Args() {
		file, size, err := openNewest(path)
		if err != nil {
			return failed(f, err, stderr)
		}
		defer func() { _ = file.Close() }()
		files[i] = bufio.NewReader(bar.reader(file, size))
	}
	x, err := do(files[0], files[1])
	bar.end()
	switch {
	case err != nil:
		return failed(f, err, stderr)
	case *asJSON:
		out := json.NewEncoder(stdout)
		for _, d := range x.differences {
			_ = out.Encode(d)
		}
	default:
		_, _ = io.WriteString(stdout, x.String())
	}
	if x.failed {
		return exitFailed
	}
	return exitOK
}

// openFile opens a file, and returns its size.
func openFile(name string) (file *os.File, size int64, err error) {
	if file, err = os.Open(name); err != nil {
		return nil, 0, err
	}
	if info, err := file.Stat(); err == nil {
		size = info.Size()
	}
	return file, size, nil
}

// openNewest opens a file, or the newest of a directory, as a whole snapshot. It returns the size
// of the file, too.
func openNewest(path string) (file io.ReadCloser, size int64, err error) {
	names, err := snapshotFiles(path)
	if err != nil {
		return nil, 0, err
	}
	newest := names[len(names)-1]
	if file, err = openWhole(newest); err != nil {
		return nil, 0, err
	}
	if info, err := os.Stat(newest); err == nil {
		size = info.Size()
	}
	return file, size, nil
}

// snapshotFiles returns the path of a file, or those of the snapshots of a directory, the oldest
// first.
func snapshotFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	names, err := snapshotNames(path)
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%s: %w", path, snapshot.ErrNone)
	}
	return names, err
}

func lineOf(name string, read func(io.Reader) (snapshot.Info, error), bar *progress) (x snapshotLine) {
	x.Path = name
	defer bar.end()
	file, size, err := openFile(name)
	if err == nil {
		defer func() { _ = file.Close() }()
		x.Bytes = size
		var info snapshot.Info
		if info, err = readIncrement(name, bar.reader(file, size), read); err == nil {
			if info.Increment {
				x.Base = &info.BaseTick
			}
			x.Tick, x.Entities, x.Shards = info.Tick, info.Entities, info.Options.Shards
			if info.Hash != 0 {
				x.Hash = info.Hash.String()
			}
		}
	}
	if err != nil {
		x.Error = err.Error()
	}
	return x
}

func writeSnapshot(w io.Writer, x snapshotLine, asJSON bool) {
	switch {
	case asJSON:
		_ = json.NewEncoder(w).Encode(x)
	case x.Error != "":
		_, _ = fmt.Fprintf(w, "%s: %s\n", x.Path, x.Error)
	default:
		hash := x.Hash
		if hash == "" {
			hash = "none"
		}
		_, _ = fmt.Fprintf(w, "%s: tick %d, %d entities in %d shards, hash %s, %d bytes%s\n", x.Path, x.Tick, x.Entities, x.Shards, hash, x.Bytes, onBase(x.Base))
	}
}
