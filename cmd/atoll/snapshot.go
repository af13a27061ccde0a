package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/demo"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/setting"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/sim"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/snapshot/text"
	"github.com/atoll-sim/atoll/persist/state"
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
increment is read with what it is based on, beside it in its directory. Of a directory of
package durable it also tells the last incarnation.`
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
		if word == "info" && len(names) > 0 && names[0] != path {
			code = max(code, failed(f, writeIncarnation(stdout, path, *asJSON), stderr))
		}
	}
	return code
}

// writeIncarnation writes the last incarnation of the world in a directory, if package durable keeps
// one there.
func writeIncarnation(w io.Writer, path string, asJSON bool) error {
	n, err := extend.Incarnation(path)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	case n == 0: // no directory of package durable
	case asJSON:
		_ = json.NewEncoder(w).Encode(map[string]any{"path": path, "incarnation": n})
	default:
		_, _ = fmt.Fprintf(w, "%s: incarnation %d\n", path, n)
	}
	return nil
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
		return told{p, p.Differences, len(p.Blocking()) > 0}, err
	}, stdout, stderr)
}

func runDiff(_ context.Context, args []string, stdout, stderr io.Writer) int {
	f := wordFlags("diff", diffAbout, twoFiles)
	limit := 100
	f.Var(number(&limit, setting.Range{Max: math.MaxInt32}), "limit", "the most differences that are told; 0 for all")
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

// lineOf reads a file, and returns what is told of it.
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

// writeSnapshot writes what is told of a file.
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

const (
	exportAbout = `Export writes a snapshot as text: a JSON object in each line, entities in the order of
their handles. Of two texts diff tells what happened. Values in a text may be changed.
Of a directory it takes the newest file; - is standard input, or output.`
	importAbout = `Import makes of the text that export wrote the same snapshot, or of one in which values
were changed one that has these.`
	saveAbout = `Save makes a world as atoll sim does, without players, runs it for some ticks and saves it.`
	loadAbout = `Load makes the world that save has saved, or the demo with -state, audits it, runs it on
for some ticks and audits it again. It exits with 1 if the audit finds anything wrong. Of
a directory it takes the newest file.`
)

// wordFlags makes the flag set of a word. Usage is what follows it.
func wordFlags(word, about, usage string) *flag.FlagSet {
	f := newFlags("snapshot "+word, about)
	f.Usage = func() {
		_, _ = fmt.Fprintf(f.Output(), "%s\n\nUsage: atoll snapshot %s %s\n\n", about, word, usage)
		f.PrintDefaults()
	}
	return f
}

// parseFiles is parse for a word that takes so many files.
func parseFiles(f *flag.FlagSet, args []string, least, most int, stdout, stderr io.Writer) (code int, done bool) {
	err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		f.SetOutput(stdout)
		f.Usage()
		return exitOK, true
	case err == nil && f.NArg() < least:
		err = errors.New([]string{"name a file", "name two files at least, in the order of the usage"}[least-1])
	case err == nil && f.NArg() > most:
		err = fmt.Errorf("unexpected argument %q; flags come before files", f.Arg(most))
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "%s: %v\n%s -help tells how to call it\n", f.Name(), err, f.Name())
		return exitUsage, true
	}
	return exitOK, false
}

// failed prints an error, if there is one, and returns the exit code.
func failed(f *flag.FlagSet, err error, stderr io.Writer) int {
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "%s: %v\n", f.Name(), err)
		return exitFailed
	}
	return exitOK
}

func runExport(_ context.Context, args []string, stdout, stderr io.Writer) int {
	f := wordFlags("export", exportAbout, "<file or directory> [<text>]")
	if code, done := parseFiles(f, args, 1, 2, stdout, stderr); done {
		return code
	}
	return failed(f, convert(f, "export", text.Export, stdout, stderr), stderr)
}

func runImport(_ context.Context, args []string, stdout, stderr io.Writer) int {
	f := wordFlags("import", importAbout, "<text> [<file>]")
	if code, done := parseFiles(f, args, 1, 2, stdout, stderr); done {
		return code
	}
	if isTerminal(stdout) && toStandard(f.Arg(1)) {
		_, _ = fmt.Fprintf(stderr, "%s: a snapshot is not for a terminal; name a file\n", f.Name())
		return exitUsage
	}
	return failed(f, convert(f, "import", text.Import, stdout, stderr), stderr)
}

// toStandard reports whether an argument stands for standard output.
func toStandard(name string) bool { return name == "" || name == "-" }

// convert makes the second file from the first.
func convert(f *flag.FlagSet, word string, do func(src io.Reader, dst io.Writer, o snapshot.Options) (snapshot.Info, error), stdout, stderr io.Writer) error {
	var in io.ReadCloser = os.Stdin
	size := int64(0)
	if name := f.Arg(0); name != "-" {
		var err error
		if in, size, err = openNewest(name); err != nil {
			return err
		}
		defer func() { _ = in.Close() }()
	}
	read, written := newProgress(stderr, word+": reading"), newProgress(stderr, word+": writing")
	defer read.end()
	return writeTo(f.Arg(1), stdout, func(to io.Writer) error {
		_, err := do(bufio.NewReader(read.reader(in, size)), io.MultiWriter(to, written), snapshot.Options{})
		written.end()
		return err
	})
}

// writeTo writes to standard output, or to a file that gets its name when it is complete.
func writeTo(name string, stdout io.Writer, write func(to io.Writer) error) error {
	if toStandard(name) {
		return write(stdout)
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() { // a device such as /dev/null must not be replaced
		file, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(file), file.Close())
	}
	_, err := files.Write(files.Of(filepath.Dir(name)), filepath.Base(name), write)
	return err
}

// runSave is the word save.
func runSave(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := sim.Default()
	f := wordFlags("save", saveAbout, "[flags] <file>")
	f.Var(number(&c.Ticks, sim.TicksRange), "ticks", ranged("`number` of ticks", sim.TicksRange))
	f.Var(number(&c.Creatures, demo.CreaturesRange), "creatures", ranged("`number` of creatures that live at a time", demo.CreaturesRange))
	f.Var(number(&c.Shards, demo.ShardsRange), "shards", ranged("`number` of shards; 0: the world's default", demo.ShardsRange))
	f.Var(number(&c.Workers, demo.WorkersRange), "workers", ranged("`number` of goroutines; 0: one for each processor", demo.WorkersRange))
	f.Var(natural(&c.Seed), "seed", "`number` that all chance comes from")
	how := f.String("compression", "zstd", "`how` the file is compressed: zstd, s2 or none")
	asJSON := f.Bool("json", false, "write what was saved as a JSON object")
	if code, done := parseFiles(f, args, 1, 1, stdout, stderr); done {
		return code
	}
	packed, ok := map[string]snapshot.Compression{"zstd": snapshot.Zstd, "s2": snapshot.S2, "none": snapshot.None}[*how]
	if !ok {
		_, _ = fmt.Fprintf(stderr, "%s: there is no compression %q; say zstd, s2 or none\n", f.Name(), *how)
		return exitUsage
	}
	bar := newProgress(stderr, "save: ticks")
	bar.total = int64(c.Ticks)
	name := f.Arg(0)
	err := writeTo(name, stdout, func(to io.Writer) error {
		defer bar.end()
		return sim.Save(ctx, c, packed, to, func() { bar.add(1) })
	})
	if err == nil && !toStandard(name) {
		writeSnapshot(stdout, lineOf(name, snapshot.Inspect, &progress{}), *asJSON)
	}
	return failed(f, err, stderr)
}

// snapshotLook is the state of a loaded world.
type snapshotLook struct {
	Tick     uint64     `json:"tick"`
	Entities int        `json:"entities"`
	Hash     state.Hash `json:"hash"`
}

// runLoad is the word load.
func runLoad(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := sim.Default()
	c.Ticks = 100
	f := wordFlags("load", loadAbout, "[flags] <file or directory>")
	f.Var(number(&c.Ticks, sim.TicksRange), "ticks", ranged("`number` of ticks to run on", sim.TicksRange))
	f.Var(number(&c.Workers, demo.WorkersRange), "workers", ranged("`number` of goroutines; 0: one for each processor", demo.WorkersRange))
	f.Var(number(&c.Creatures, demo.CreaturesRange), "creatures", ranged("`number` of creatures that live at a time, if the demo has saved the file", demo.CreaturesRange))
	asJSON := f.Bool("json", false, "write how the world looks as a JSON object in a line of its own, and the audits to standard error")
	if code, done := parseFiles(f, args, 1, 1, stdout, stderr); done {
		return code
	}
	audits := stdout
	if *asJSON {
		audits = stderr
	}
	bar := newProgress(stderr, "load")
	defer bar.end()
	open := func() (io.ReadCloser, error) {
		file, size, err := openNewest(f.Arg(0))
		if err != nil {
			return nil, err
		}
		bar.total, bar.done = 0, 0
		return struct {
			io.Reader
			io.Closer
		}{bufio.NewReader(bar.reader(file, size)), file}, nil
	}
	tell := func(l sim.Look, entities int) {
		if *asJSON {
			_ = json.NewEncoder(stdout).Encode(snapshotLook{l.Tick, entities, l.Hash})
			return
		}
		_, _ = fmt.Fprintf(stdout, "tick %d, %d entities, hash %v\n", l.Tick, entities, l.Hash)
	}
	return failed(f, sim.Load(ctx, c, open, audits, tell, func() {}), stderr)
}

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

const (
	barAfter = 500 * time.Millisecond // nothing is shown before
	barEvery = 100 * time.Millisecond
	barWidth = 30
)

// progress is a progress bar on a terminal. The zero value shows nothing.
type progress struct {
	to          io.Writer // nil: no terminal
	now         func() time.Time
	what        string
	began, told time.Time
	done, total int64 // total is 0 if it is not known
}

// newProgress returns a bar on stderr for some work, which shows nothing if stderr is no terminal.
func newProgress(stderr io.Writer, what string) *progress {
	p := &progress{what: what, now: time.Now}
	if isTerminal(stderr) {
		p.to = stderr
	}
	return p
}

func isTerminal(w any) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// add counts what was done.
func (p *progress) add(n int) {
	if p.to == nil {
		return
	}
	now := p.now()
	if p.began.IsZero() {
		p.began, p.told = now, now.Add(barAfter-barEvery)
	}
	p.done += int64(n)
	if now.Sub(p.told) < barEvery {
		return
	}
	p.told = now
	if p.total <= 0 {
		_, _ = fmt.Fprintf(p.to, "\r%s %.1f MB", p.what, float64(p.done)/1e6)
		return
	}
	part := min(float64(p.done)/float64(p.total), 1)
	full := int(part * barWidth)
	_, _ = fmt.Fprintf(p.to, "\r%s [%s%s] %3.0f %%", p.what, strings.Repeat("=", full), strings.Repeat(" ", barWidth-full), 100*part)
}

// end removes the bar.
func (p *progress) end() {
	if p.done > 0 && p.now().Sub(p.began) >= barAfter {
		_, _ = fmt.Fprint(p.to, "\r\x1b[K")
	}
}

// Write counts bytes that are written elsewhere.
func (p *progress) Write(b []byte) (int, error) {
	p.add(len(b))
	return len(b), nil
}

// reader returns a reader of r that counts what is read.
func (p *progress) reader(r io.Reader, size int64) io.Reader {
	p.total += size
	return io.TeeReader(r, p)
}
