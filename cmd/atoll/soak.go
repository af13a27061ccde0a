package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/demo"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/soak"
)

const soakAbout = `Soak puts a world under everything at once: clients that create, destroy, change,
message and check entities through ports at full rate, systems that move, replace
and message entities, and that panic and are slow at random. Everybody keeps a
book, and all that happens is held against the books: nothing may be lost, doubled
or wrongly alive, and memory and goroutines must not grow. It exits with 1 if
anything is wrong.`

// runSoak is the soak command.
func runSoak(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := soak.Default()
	f := newFlags("soak", soakAbout)
	in := func(name, text string, to *int, r soak.Range) {
		f.Var(number{to, demo.Range(r)}, name, ranged(text, demo.Range(r)))
	}
	f.Var(span{&c.Duration}, "duration", "`time` to run after the warm-up; 0: until interrupted")
	f.Var(span{&c.WarmUp}, "warmup", "`time` to run before heap, memory and goroutines are first looked at")
	in("entities", "`number` of entities that live at a time", &c.Entities, soak.EntitiesRange)
	in("clients", "`number` of goroutines that act through ports", &c.Clients, soak.ClientsRange)
	in("churn", "`percent` of the entities that systems replace each second", &c.Churn, soak.ChurnRange)
	in("queue", "`number` of requests that a port may have under way", &c.Queue, soak.QueueRange)
	in("shards", "`number` of shards; 0: the world's default", &c.Shards, soak.ShardsRange)
	in("workers", "`number` of goroutines that run systems; 0: one for each processor", &c.Workers, soak.WorkersRange)
	in("hz", "`number` of ticks per second", &c.Hz, soak.HzRange)
	in("versions", "`number` of times that a slot is used before it is retired; 0: the world's default", &c.Versions, soak.VersionsRange)
	f.Var(natural{&c.Seed}, "seed", "`number` that all chance comes from")
	asJSON := f.Bool("json", false, "write one JSON object to standard output at the end")
	if code, done := parse(f, args, stdout, stderr); done {
		return code
	}
	summary, err := soak.Run(ctx, c, stderr)
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "atoll soak: %v\n", err)
		return exitFailed
	}
	return reportSoak(summary, *asJSON, stdout, stderr)
}

// reportSoak writes the result of a run, and returns the exit code that it means.
func reportSoak(summary *soak.Summary, asJSON bool, stdout, stderr io.Writer) int {
	if asJSON {
		if err := json.NewEncoder(stdout).Encode(summary); err != nil {
			_, _ = fmt.Fprintf(stderr, "atoll soak: %v\n", err)
			return exitFailed
		}
		summary.Write(stderr)
	} else {
		summary.Write(stdout)
	}
	if !summary.OK() {
		return exitFailed
	}
	return exitOK
}
