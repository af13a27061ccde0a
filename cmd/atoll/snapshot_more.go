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

	"github.com/atoll-sim/atoll/cmd/atoll/internal/demo"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/sim"
	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/snapshot/text"
	"github.com/atoll-sim/atoll/persist/state"
)

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

func runSave(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := sim.Default()
	f := wordFlags("save", saveAbout, "[flags] <file>")
	f.Var(number{&c.Ticks, sim.TicksRange}, "ticks", ranged("`number` of ticks", sim.TicksRange))
	f.Var(number{&c.Creatures, demo.CreaturesRange}, "creatures", ranged("`number` of creatures that live at a time", demo.CreaturesRange))
	f.Var(number{&c.Shards, demo.ShardsRange}, "shards", ranged("`number` of shards; 0: the world's default", demo.ShardsRange))
	f.Var(number{&c.Workers, demo.WorkersRange}, "workers", ranged("`number` of goroutines; 0: one for each processor", demo.WorkersRange))
	f.Var(natural{&c.Seed}, "seed", "`number` that all chance comes from")
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

func runLoad(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := sim.Default()
	c.Ticks = 100
	f := wordFlags("load", loadAbout, "[flags] <file or directory>")
	f.Var(number{&c.Ticks, sim.TicksRange}, "ticks", ranged("`number` of ticks to run on", sim.TicksRange))
	f.Var(number{&c.Workers, demo.WorkersRange}, "workers", ranged("`number` of goroutines; 0: one for each processor", demo.WorkersRange))
	f.Var(number{&c.Creatures, demo.CreaturesRange}, "creatures", ranged("`number` of creatures that live at a time, if the demo has saved the file", demo.CreaturesRange))
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
