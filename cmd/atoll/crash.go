package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/crash"
)

const crashAbout = `Crash runs a trading server in a process of its own, with clients that send numbered
orders over TCP, and kills it: while it opens, trades or saves, or right after it
has told an answer. It starts it again, and compares all gold and wares with what the
clients were told: nothing that was told may be lost, nothing may be done twice, and
what was refused must have changed nothing. It exits with 1 at the first difference.
With -sealed, the server answers without waiting: its ticks are sealed.
With -worlds, there are several servers, each with a world, whose clients send gold to
clients of others, over links. One is killed, or several at once. An audit over all
worlds finds each payment once, at its receiver or back with its sender.`

// runCrash is the crash command.
func runCrash(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := crash.Default()
	f := newFlags("crash", crashAbout)
	f.Var(number(&c.Kills, crash.KillsRange), "kills", ranged("`number` of times that the server is killed", crash.KillsRange))
	f.Var(number(&c.Worlds, crash.WorldsRange), "worlds", ranged("`number` of worlds, each in a process of its own", crash.WorldsRange))
	f.Var(number(&c.Clients, crash.ClientsRange), "clients", ranged("`number` of clients of each world", crash.ClientsRange))
	f.Var(number(&c.Hz, crash.HzRange), "hz", ranged("`number` of ticks per second", crash.HzRange))
	f.Var(natural(&c.Seed), "seed", "`number` that all chance comes from; when a process dies depends on the machine, too")
	f.BoolVar(&c.Sealed, "sealed", false, "seal ticks, by durable.Options.Sync, in place of waiting for the disk before each answer")
	f.StringVar(&c.State, "state", "", "`directory` to keep the worlds in, new or empty; by default a temporary one, which is removed\nif nothing is wrong")
	asJSON := f.Bool("json", false, "write one JSON object to standard output at the end, and all else to standard error")
	if code, done := parse(f, args, stdout, stderr); done {
		return code
	}
	live := stdout
	if *asJSON {
		live = stderr
	}
	program, err := os.Executable()
	if err == nil {
		var s *crash.Summary
		if s, err = crash.Run(ctx, c, program, live); err == nil {
			return report("crash", s, *asJSON, stdout, stderr)
		}
	}
	_, _ = fmt.Fprintf(stderr, "atoll crash: %v\n", err)
	return exitFailed
}

// serveCrash is the server of the crash command, if this process was started to be that.
func serveCrash() (code int, is bool) {
	if os.Getenv(crash.ServerEnv) == "" {
		return 0, false
	}
	if err := crash.Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "atoll crash: %v\n", err)
		return exitFailed, true
	}
	return exitOK, true
}
