// Agents simulates an epidemic among a million people that wander over a map of 256 by
// 256 cells which has no borders. The ill infect people in the same district, recover
// or die, are immune for a time, and have children.
//
//	go run ./examples/agents -agents 1000000 -ticks 100 -workers 2
//
// Every ten ticks it prints how many are well, ill and immune, and at the end the ticks
// per second and the hash of the state. The hash depends on -agents, -ticks and -seed,
// and not on -workers.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"runtime"
	"time"

	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// It shapes the world, so it must not follow from the number of workers or cores. With
// more shards than workers, a worker that is done early takes another shard.
const shards = 16

type options struct {
	agents, ticks, workers int
	seed                   uint64
}

func main() {
	var o options
	flag.IntVar(&o.agents, "agents", 1_000_000, "how many people there are at first")
	flag.IntVar(&o.ticks, "ticks", 100, "how many ticks to simulate")
	flag.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "how many goroutines run the systems")
	flag.Uint64Var(&o.seed, "seed", 1, "the seed of all random numbers")
	flag.Parse()
	if _, err := simulate(os.Stdout, o); err != nil {
		log.Fatal(err)
	}
}

// simulate runs the epidemic, writes statistics to out, and returns the hash of the
// state after the last tick.
func simulate(out io.Writer, o options) (state.Hash, error) {
	w, err := world.New(world.Options{Shards: shards, Seed: o.seed, HugePages: true})
	if err != nil {
		return 0, err
	}
	defer w.Close()
	world.Register[Place](w, "place")
	world.Register[Health](w, "health")
	world.RegisterAccumulator(w, "crowd", mergeCrowd)
	census := world.RegisterAccumulator(w, "census", mergeCensus)
	people := world.NewBundle[Person](w)

	s := scheduler.New(w, scheduler.Options{Workers: o.workers})
	s.MustAdd("wander", Wander)
	s.MustAdd("count", Count)
	s.MustAdd("live", Live)
	s.MustAdd("breed", Breed(people))

	random := rand.New(rand.NewPCG(o.seed, 0))
	if err := people.CreateN(w, o.agents, func(i int, p *Person) {
		p.Place = Place{uint8(random.Uint32()), uint8(random.Uint32())}
		if i%1000 == 0 {
			p.Health = Health{Ill, illTicks}
		}
	}); err != nil {
		return 0, err
	}

	start := time.Now()
	for tick := 1; tick <= o.ticks; tick++ {
		if err := s.Step(context.Background()); err != nil {
			return 0, err
		}
		if tick%10 == 0 || tick == o.ticks {
			n := census.Get()
			fmt.Fprintf(out, "tick %d: %d well, %d ill, %d immune; %d born, %d died\n",
				tick, n.Well, n.Ill, n.Immune, n.Born, n.Died)
		}
	}
	took := time.Since(start)
	hash, err := state.StateHash(w, nil)
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(out, "%d people, %.1f ticks per second, state %v\n",
		w.Count(), float64(o.ticks)/took.Seconds(), hash)
	return hash, nil
}
