package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/demo"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/setting"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/sim"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/soak"
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
	f.Var(span(&c.Duration), "duration", "`time` to run; 0: until interrupted")
	f.Var(number(&c.Bots, demo.BotsRange), "bots", ranged("`number` of bots", demo.BotsRange))
	f.Var(number(&c.Creatures, demo.CreaturesRange), "creatures", ranged("`number` of creatures that live at a time", demo.CreaturesRange))
	f.Var(number(&c.Shards, demo.ShardsRange), "shards", ranged("`number` of shards; 0: the world's default", demo.ShardsRange))
	f.Var(number(&c.Workers, demo.WorkersRange), "workers", ranged("`number` of goroutines that run systems; 0: one for each processor", demo.WorkersRange))
	f.Var(number(&c.Hz, demo.HzRange), "hz", ranged("`number` of ticks per second", demo.HzRange))
	f.Var(natural(&c.Seed), "seed", "`number` that all chance comes from")
	f.Var(address(&c.Listen), "listen", "`host:port` to serve on; port 0: any that is free")
	f.StringVar(&c.State, "state", "", "`directory` that the world is kept in: it is saved every ten seconds, what clients send is logged,\nand it goes on from there after a stop or a crash, with the same -shards, -hz and -seed; empty: none")
	f.Var(address(&c.Inspect), "inspect", "`host:port` to serve a page on that shows the world live, with an API below /api/ and /metrics;\nthe audit finds what is changed there; empty: none")
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
	return report("demo", summary, *asJSON, stdout, stderr)
}

// summary is the result of a run.
type summary interface {
	Write(io.Writer)
	OK() bool
}

// report writes the result of a command's run, and returns the exit code that it means.
func report(command string, s summary, asJSON bool, stdout, stderr io.Writer) int {
	to := stdout
	if asJSON {
		to = stderr
	}
	s.Write(to)
	if asJSON {
		if err := json.NewEncoder(stdout).Encode(s); err != nil {
			_, _ = fmt.Fprintf(stderr, "atoll %s: %v\n", command, err)
			return exitFailed
		}
	}
	if !s.OK() {
		return exitFailed
	}
	return exitOK
}

// ranged adds a range to the text of a flag.
func ranged(text string, r setting.Range) string {
	return fmt.Sprintf("%s (%d to %d)", text, r.Min, r.Max)
}

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
	in := func(name, text string, to *int, r setting.Range) { f.Var(number(to, r), name, ranged(text, r)) }
	f.Var(span(&c.Duration), "duration", "`time` to run after the warm-up; 0: until interrupted")
	f.Var(span(&c.WarmUp), "warmup", "`time` to run before heap, memory and goroutines are first looked at")
	in("entities", "`number` of entities that live at a time", &c.Entities, soak.EntitiesRange)
	in("clients", "`number` of goroutines that act through ports", &c.Clients, soak.ClientsRange)
	in("churn", "`percent` of the entities that systems replace each second", &c.Churn, soak.ChurnRange)
	in("queue", "`number` of requests that a port may have under way", &c.Queue, soak.QueueRange)
	in("shards", "`number` of shards; 0: the world's default", &c.Shards, soak.ShardsRange)
	in("workers", "`number` of goroutines that run systems; 0: one for each processor", &c.Workers, soak.WorkersRange)
	in("hz", "`number` of ticks per second", &c.Hz, soak.HzRange)
	in("versions", "`number` of times that a slot is used before it is retired; 0: the world's default", &c.Versions, soak.VersionsRange)
	f.Var(natural(&c.Seed), "seed", "`number` that all chance comes from")
	asJSON := f.Bool("json", false, "write one JSON object to standard output at the end")
	if code, done := parse(f, args, stdout, stderr); done {
		return code
	}
	summary, err := soak.Run(ctx, c, stderr)
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "atoll soak: %v\n", err)
		return exitFailed
	}
	return report("soak", summary, *asJSON, stdout, stderr)
}

const simAbout = `Sim runs the demo's world without network and clock, with players that follow a
script, and writes a hash of the world's state every 50 ticks and at the end. The
same seed, shards, creatures and players give the same hashes, whatever -workers,
GOMAXPROCS and -chaos are. With -record, what the players send is kept in a file, of
which -replay makes the same world without players.`

// runSim is the sim command.
func runSim(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := sim.Default()
	f := newFlags("sim", simAbout)
	f.Var(number(&c.Ticks, sim.TicksRange), "ticks", ranged("`number` of ticks", sim.TicksRange))
	f.Var(number(&c.Players, sim.PlayersRange), "players", ranged("`number` of players", sim.PlayersRange))
	f.Var(number(&c.Creatures, demo.CreaturesRange), "creatures", ranged("`number` of creatures that live at a time", demo.CreaturesRange))
	f.Var(number(&c.Shards, demo.ShardsRange), "shards", ranged("`number` of shards, which shapes the world; 0: the world's default", demo.ShardsRange))
	f.Var(number(&c.Workers, demo.WorkersRange), "workers", ranged("`number` of goroutines that run systems; 0: one for each processor", demo.WorkersRange))
	f.Var(natural(&c.Seed), "seed", "`number` that all chance comes from")
	f.BoolVar(&c.Chaos, "chaos", false, "run shards in a random order, with random delays")
	record := f.String("record", "", "write what the players send to a `file`, for -replay")
	replay := f.String("replay", "", "make the world again of a `file` that -record wrote, and compare; only -workers, -chaos and -json count beside")
	asJSON := f.Bool("json", false, "write each hash as a JSON object in a line of its own")
	if code, done := parse(f, args, stdout, stderr); done {
		return code
	}
	tell := func(l sim.Look) { writeLook(stdout, l, *asJSON) }
	var err error
	switch {
	case *record != "" && *replay != "":
		_, _ = fmt.Fprintln(stderr, "atoll sim: -record and -replay at the same time; a replay has nothing new to record")
		return exitUsage
	case *record != "":
		err = recordSim(ctx, c, *record, tell)
	case *replay != "":
		err = replaySim(ctx, c, *replay, tell)
	default:
		err = sim.Run(ctx, c, tell)
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "atoll sim: %v\n", err)
		return exitFailed
	}
	return exitOK
}

func recordSim(ctx context.Context, c sim.Config, name string, tell func(sim.Look)) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	c.Record = file
	return errors.Join(sim.Run(ctx, c, tell), file.Close())
}

func replaySim(ctx context.Context, c sim.Config, name string, tell func(sim.Look)) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	return sim.Replay(ctx, c, file, tell)
}

func writeLook(w io.Writer, l sim.Look, asJSON bool) {
	if asJSON {
		_ = json.NewEncoder(w).Encode(l)
		return
	}
	_, _ = fmt.Fprintf(w, "tick %6d  hash %v\n", l.Tick, l.Hash)
}
