package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/atoll-sim/atoll/snapshot"
)

const snapshotAbout = `Snapshot tells what saved worlds are: files of package snapshot, or directories of
them. With info it reads the head of each, with verify all of it, and looks at each
checksum. It fails if any of them is not whole.

An increment is read with what it is based on, beside it in its directory. With merge
a base and increments on it, in their order, become one new file.

With plan it tells what Load does with the first file in the program that saved the
second, and what it refuses: then it fails. With diff it tells what differs between
two files, entities and values too, and exits with 1 if anything does. Of a directory
they take the newest file.

With export it writes a file as text, JSON in each line, and with import it makes the
same file again of that. With save it makes a world as atoll sim does, without players,
runs it and saves it; with load it makes such a world of a file, audits it, and runs on.
atoll snapshot <word> -help tells of their flags.`

// snapshotKinds are the words that may follow atoll snapshot, with what reads a file.
var snapshotKinds = map[string]func(src io.Reader) (snapshot.Info, error){"info": snapshot.Inspect, "verify": snapshot.Verify}

// snapshotLine is what is told of a file.
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

// snapshotWords are the words that have flags of their own.
var snapshotWords = map[string]func(ctx context.Context, args []string, stdout, stderr io.Writer) int{
	"export": runExport, "import": runImport, "save": runSave, "load": runLoad,
}

// runSnapshot is the snapshot command.
func runSnapshot(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && snapshotWords[args[0]] != nil {
		return snapshotWords[args[0]](ctx, args[1:], stdout, stderr)
	}
	f := flag.NewFlagSet("atoll snapshot", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	asJSON := f.Bool("json", false, "write each file, or each difference, as a JSON object in a line of its own")
	limit := f.Int("limit", 100, "the most differences that diff tells; 0 for all")
	usage := func(w io.Writer) {
		_, _ = fmt.Fprintf(w, "%s\n\nUsage: atoll snapshot info|verify [flags] <file or directory> …\n       atoll snapshot plan|diff [flags] <old> <new>\n       atoll snapshot merge <new> <base> <increment> …\n       atoll snapshot export|import|save|load …\n\n", snapshotAbout)
		f.SetOutput(w)
		f.PrintDefaults()
	}
	wrong := func(err error) int {
		_, _ = fmt.Fprintf(stderr, "atoll snapshot: %v\natoll snapshot -help tells how to call it\n", err)
		return exitUsage
	}
	if len(args) > 0 && args[0] == "merge" {
		return runMerge(args[1:], stdout, stderr)
	}
	var read func(io.Reader) (snapshot.Info, error)
	var both func(old, now io.Reader) (told, error)
	if len(args) > 0 {
		read = snapshotKinds[args[0]]
		switch args[0] {
		case "plan":
			both = plan
		case "diff":
			both = func(old, now io.Reader) (told, error) { return diff(old, now, *limit) }
		}
		if read != nil || both != nil {
			args = args[1:]
		}
	}
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		usage(stdout)
		return exitOK
	case err != nil:
		return wrong(err)
	case read == nil && both == nil:
		return wrong(errors.New("say info, verify, plan, diff, merge, export, import, save or load"))
	case *limit < 0:
		return wrong(errors.New("a limit is no negative number"))
	case both != nil && f.NArg() != 2:
		return wrong(errors.New("name two files, the old one first"))
	case both != nil:
		return runOnTwo(both, f.Arg(0), f.Arg(1), *asJSON, stdout, stderr)
	case f.NArg() == 0:
		return wrong(errors.New("name a file, or a directory of snapshots"))
	}
	code := exitOK
	for _, path := range f.Args() {
		names, err := snapshotFiles(path)
		if err != nil {
			_, _ = fmt.Fprintf(stderr, "atoll snapshot: %v\n", err)
			code = exitFailed
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

// told is what is told of two files.
type told struct {
	fmt.Stringer
	differences []snapshot.Difference
	failed      bool
}

func plan(old, now io.Reader) (told, error) {
	p, err := snapshot.PlanFiles(old, now, snapshot.Options{})
	return told{p, p.Differences, len(p.Refused()) > 0}, err
}

func diff(old, now io.Reader, limit int) (told, error) {
	c, err := snapshot.Compare(old, now, limit)
	return told{c, c.Differences, !c.Equal()}, err
}

// runOnTwo is runSnapshot for two files.
func runOnTwo(do func(old, now io.Reader) (told, error), old, now string, asJSON bool, stdout, stderr io.Writer) int {
	var files [2]io.Reader
	bar := newProgress(stderr, "reading")
	for i, path := range []string{old, now} {
		file, size, err := openNewest(path)
		if err != nil {
			_, _ = fmt.Fprintf(stderr, "atoll snapshot: %v\n", err)
			return exitFailed
		}
		defer func() { _ = file.Close() }()
		files[i] = bufio.NewReader(bar.reader(file, size))
	}
	x, err := do(files[0], files[1])
	bar.end()
	switch {
	case err != nil:
		_, _ = fmt.Fprintf(stderr, "atoll snapshot: %v\n", err)
		return exitFailed
	case asJSON:
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

// openFile opens a file, and tells how long it is.
func openFile(name string) (file *os.File, size int64, err error) {
	if file, err = os.Open(name); err != nil {
		return nil, 0, err
	}
	if info, err := file.Stat(); err == nil {
		size = info.Size()
	}
	return file, size, nil
}

// openNewest opens a file, or the newest of a directory, as a whole snapshot, and tells how long the
// file is.
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
