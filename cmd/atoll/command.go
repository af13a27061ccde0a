package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // it could not run, or an audit found something wrong
	exitUsage  = 2 // the command line is wrong
)

// command is a word that may follow atoll.
type command struct {
	name    string
	summary string
	run     func(ctx context.Context, args []string, stdout, stderr io.Writer) int
}

// commands lists them in the order in which help does.
var commands = []command{
	{"demo", "run a world of creatures, served to bots over TCP, and audit it", runDemo},
	{"top", "show what a world with an inspector does, in the terminal", runTop},
	{"inspect", "ask a world with an inspector, or change it", runInspect},
	{"soak", "put a world under everything at once and hold it against the books", runSoak},
	{"sim", "run the demo's world on scripted input and write hashes of its state", runSim},
	{"snapshot", "tell what saved worlds are, make text of them, save and load one", runSnapshot},
}

// run runs a command line, the program's name left out, and returns the exit
// code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		writeHelp(stdout)
		return exitOK
	}
	name, rest := args[0], args[1:]
	switch name {
	case "help", "-h", "-help", "--help":
		if len(rest) == 0 {
			writeHelp(stdout)
			return exitOK
		}
		name, rest = rest[0], []string{"-help"}
	}
	for _, c := range commands {
		if c.name == name {
			return c.run(ctx, rest, stdout, stderr)
		}
	}
	_, _ = fmt.Fprintf(stderr, "atoll: unknown command %q; the commands are:\n\n", name)
	writeCommands(stderr)
	return exitUsage
}

func writeHelp(w io.Writer) {
	_, _ = fmt.Fprint(w, "Atoll runs worlds of many entities, sharded and concurrent.\n\nUsage: atoll <command> [flags]\n\n")
	writeCommands(w)
	_, _ = fmt.Fprint(w, "\natoll help <command> tells of its flags.\n")
}

func writeCommands(w io.Writer) {
	for _, c := range commands {
		_, _ = fmt.Fprintf(w, "  %-8s %s\n", c.name, c.summary)
	}
}

// newFlags makes a command's flag set. about is what help says first.
func newFlags(name, about string) *flag.FlagSet {
	f := flag.NewFlagSet("atoll "+name, flag.ContinueOnError)
	f.SetOutput(io.Discard) // parse prints errors
	f.Usage = func() {
		_, _ = fmt.Fprintf(f.Output(), "%s\n\nUsage: atoll %s [flags]\n\n", about, name)
		f.PrintDefaults()
	}
	return f
}

// parse parses a command's flags. If the command should not continue, done is true
// and code is the exit code.
func parse(f *flag.FlagSet, args []string, stdout, stderr io.Writer) (code int, done bool) {
	err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		f.SetOutput(stdout)
		f.Usage()
		return exitOK, true
	case err == nil && f.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "%s: %v\n%s -help lists the flags\n", f.Name(), err, f.Name())
		return exitUsage, true
	}
	return exitOK, false
}
