// Command atoll shows the Atoll engine at work. Run it without arguments for the
// list of its commands.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/setting"
)

func main() {
	if code, is := serveCrash(); is {
		os.Exit(code)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

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
	{"crash", "kill a trading server again and again, and audit what it has kept", runCrash},
	{"sim", "run the demo's world on scripted input and write hashes of its state", runSim},
	{"follow", "copy the directory of a durable world while it runs", runFollow},
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

// value is a flag that is read by a function, which says what it wants.
type value[T any] struct {
	to   *T
	read func(text string) (T, error)
}

// String returns the default, for help.
func (v value[T]) String() string {
	if v.to == nil {
		return ""
	}
	return fmt.Sprint(*v.to)
}

// Set reads the flag.
func (v value[T]) Set(text string) error {
	is, err := v.read(text)
	if err == nil {
		*v.to = is
	}
	return err
}

// number is a flag for a whole number within a range.
func number(to *int, in setting.Range) value[int] {
	return value[int]{to, func(text string) (int, error) {
		v, err := strconv.Atoi(text)
		if err != nil || !in.Has(v) {
			err = fmt.Errorf("want a whole number from %d to %d", in.Min, in.Max)
		}
		return v, err
	}}
}

// span is a flag for a time that is not negative.
func span(to *time.Duration) value[time.Duration] {
	return value[time.Duration]{to, func(text string) (time.Duration, error) {
		v, err := time.ParseDuration(text)
		if err != nil || v < 0 {
			err = errors.New("want a time such as 10s, 1m30s or 0, not negative")
		}
		return v, err
	}}
}

// natural is a flag for a seed.
func natural(to *uint64) value[uint64] {
	return value[uint64]{to, func(text string) (uint64, error) {
		v, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			err = errors.New("want a whole number from 0 to 18446744073709551615")
		}
		return v, err
	}}
}

// address is a flag for where to listen.
func address(to *string) value[string] {
	return value[string]{to, func(text string) (string, error) {
		_, port, err := net.SplitHostPort(text)
		if err == nil {
			_, err = strconv.ParseUint(port, 10, 16)
		}
		if err != nil {
			err = errors.New("want host:port with a port from 0, which is any that is free, to 65535")
		}
		return text, err
	}}
}

// secret is a flag for a text that is never shown: the help would tell its default.
type secret struct{ to *string }

func (s secret) String() string { return "" }

func (s secret) Set(text string) error {
	*s.to = text
	return nil
}
