package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/demo"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/sim"
)

const simAbout = `Sim runs the demo's world without network and clock, with players that follow a
script, and writes a hash of the world's state every 50 ticks and at the end. The
same seed, shards, creatures and players give the same hashes, whatever -workers,
GOMAXPROCS and -chaos are. With -record, what the players send is kept in a file, of
which -replay makes the same world without players.`

// runSim is the sim command.
func runSim(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := sim.Default()
	f := newFlags("sim", simAbout)
	f.Var(number{&c.Ticks, sim.TicksRange}, "ticks", ranged("`number` of ticks", sim.TicksRange))
	f.Var(number{&c.Players, sim.PlayersRange}, "players", ranged("`number` of players", sim.PlayersRange))
	f.Var(number{&c.Creatures, demo.CreaturesRange}, "creatures", ranged("`number` of creatures that live at a time", demo.CreaturesRange))
	f.Var(number{&c.Shards, demo.ShardsRange}, "shards", ranged("`number` of shards, which shapes the world; 0: the world's default", demo.ShardsRange))
	f.Var(number{&c.Workers, demo.WorkersRange}, "workers", ranged("`number` of goroutines that run systems; 0: one for each processor", demo.WorkersRange))
	f.Var(natural{&c.Seed}, "seed", "`number` that all chance comes from")
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
