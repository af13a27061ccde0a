package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/demo"
)

const demoAbout = `Demo fills a world with creatures that wander, fight, die, drop items and come
again, serves it over TCP to bots that steer avatars among them, tells once a
second how it goes, and at the end holds all books against each other. It exits
with 1 if the audit finds anything wrong. Join in with nc: HELP lists what a
client can say.`

// runDemo is the demo command.
func runDemo(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := demo.Default()
	f := newFlags("demo", demoAbout)
	f.Var(span{&c.Duration}, "duration", "`time` to run; 0: until interrupted")
	f.Var(number{&c.Bots, demo.BotsRange}, "bots", ranged("`number` of bots", demo.BotsRange))
	f.Var(number{&c.Creatures, demo.CreaturesRange}, "creatures", ranged("`number` of creatures that live at a time", demo.CreaturesRange))
	f.Var(number{&c.Shards, demo.ShardsRange}, "shards", ranged("`number` of shards; 0: the world's default", demo.ShardsRange))
	f.Var(number{&c.Workers, demo.WorkersRange}, "workers", ranged("`number` of goroutines that run systems; 0: one for each processor", demo.WorkersRange))
	f.Var(number{&c.Hz, demo.HzRange}, "hz", ranged("`number` of ticks per second", demo.HzRange))
	f.Var(natural{&c.Seed}, "seed", "`number` that all chance comes from")
	f.Var(address{&c.Listen}, "listen", "`host:port` to serve on; port 0: any that is free")
	f.StringVar(&c.State, "state", "", "`directory` that the world is kept in: it is saved every ten seconds, what clients send is logged,\nand it goes on from there after a stop or a crash, with the same -shards, -hz and -seed; empty: none")
	f.Var(address{&c.Inspect}, "inspect", "`host:port` to serve a page on that shows the world live, with an API below /api/ and /metrics;\nthe audit finds what is changed there; empty: none")
	f.StringVar(&c.Token, "token", "", "`secret` that pausing, changing and the like takes in the page and API, of 16 characters or more; empty: a new one")
	f.BoolVar(&c.Describe, "describe", false, "tell at the end what each shard is made of, too")
	asJSON := f.Bool("json", false, "write one JSON object to standard output at the end, and all else to standard error")
	if code, done := parse(f, args, stdout, stderr); done {
		return code
	}
	live := stdout
	if *asJSON {
		live = stderr
	}
	summary, err := demo.Run(ctx, c, live)
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "atoll demo: %v\n", err)
		return exitFailed
	}
	return report(summary, *asJSON, live, stdout, stderr)
}

// report writes the result of a run, and returns the exit code that it means.
func report(summary *demo.Summary, asJSON bool, live, stdout, stderr io.Writer) int {
	summary.Write(live)
	if asJSON {
		if err := json.NewEncoder(stdout).Encode(summary); err != nil {
			_, _ = fmt.Fprintf(stderr, "atoll demo: %v\n", err)
			return exitFailed
		}
	}
	if !summary.OK() {
		return exitFailed
	}
	return exitOK
}

// ranged adds a range to the text of a flag.
func ranged(text string, r demo.Range) string {
	return fmt.Sprintf("%s (%d to %d)", text, r.Min, r.Max)
}
