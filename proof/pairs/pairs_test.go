package pairs_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/seed"
)

var (
	runs      = flag.Int("runs", 0, "runs to make beyond every pair once: sets of features in which any three are together")
	pair      = flag.String("pair", "", "features to run together, by name, rather than every pair: \"flags,move\"")
	firstSeed = flag.Uint64("seed", 1, "seed of the first run")
	sealed    = flag.Bool("sealed", false, "record the inputs of every world, and seal its ticks")
	ticksOf   = flag.Int("ticks", 0, "ticks of a run; 0: 3, or 6 with -runs")
)

// How many features are in a set: of those that bring any three together, and of those, fewer
// for the race detector, that bring any two together.
const setSize, largeSize = 7, 14

// together are sets that no pair can stand for. An entity is spared while its chunk is gathered in
// another, and the rows of its table keep their order; nobody else dies.
var together = []string{"relations,coalesce,order"}

// TestPairs runs every pair of features once, and the sets above, with 1, 2 and 5 workers. With
// -runs it goes on with larger sets, any three of which are together in one before they begin
// again. Under the race detector and -short there are larger sets instead, in which each pair is.
// The race detector sees every other set, or under -short every fourth, with another seed others, with
// 1 worker and, in turns, 2 or 5; TestConcurrent shows it all of them.
func TestPairs(t *testing.T) {
	began, all, number := time.Now(), plans(), *firstSeed
	for i := range all {
		if *sealed {
			all[i] = all[i].recorded()
		}
		all[i].seed, all[i].ticks = number, ticks()
		number++
	}
	apart := 1
	if check.Enabled && *pair == "" && *runs == 0 {
		if apart = 2; testing.Short() {
			apart = 4
		}
	}
	turn := int(seed.Of(t) % uint64(apart))
	var done atomic.Int64
	for i, p := range all {
		if i%apart != turn {
			continue
		}
		t.Run(fmt.Sprintf("%v,seed=%d", p, p.seed), func(t *testing.T) {
			t.Parallel()
			if err := p.check(); err != nil {
				t.Fatalf("%v\nagain: go test ./proof/pairs -run TestPairs -pair %v -seed %d -ticks %d", err, p, p.seed, p.ticks)
			}
			done.Add(1)
		})
	}
	t.Cleanup(func() { t.Logf("%d runs in %v", done.Load(), time.Since(began).Round(time.Millisecond)) })
}

// ticks returns how many ticks a run has.
func ticks() int {
	switch {
	case *ticksOf > 0:
		return *ticksOf
	case *runs > 0:
		return 6
	}
	return 3
}

// plans returns what is to be run.
func plans() (all []plan) {
	table := features()
	if *pair != "" {
		var p plan
		for name := range strings.SplitSeq(*pair, ",") {
			p.features = append(p.features, find(name))
		}
		for range max(1, *runs) {
			all = append(all, p)
		}
		return all
	}
	if check.Enabled || testing.Short() {
		for _, set := range pairsInSets(len(table)) {
			all = append(all, planOf(table, set))
		}
	} else {
		for i := range table {
			for j := range i {
				all = append(all, planOf(table, []int{j, i}))
			}
		}
	}
	for _, set := range together {
		var p plan
		for name := range strings.SplitSeq(set, ",") {
			p.features = append(p.features, find(name))
		}
		all = append(all, p)
	}
	dice := rand.New(rand.NewPCG(*firstSeed, 4))
	for made := 0; made < *runs; {
		for _, set := range cover(len(table), setSize, dice) {
			if made++; made <= *runs {
				all = append(all, planOf(table, set))
			}
		}
	}
	return all
}

// pairsInSets returns sets in which each pair is together: greedily, the first that has not
// been and whoever brings most.
func pairsInSets(n int) (sets [][]int) {
	met := map[[2]int]bool{}
	for i := range n {
		for j := range i {
			if met[[2]int{j, i}] {
				continue
			}
			set := []int{j, i}
			for len(set) < largeSize {
				best, most := -1, -1
				for k := range n {
					news := 0
					for _, x := range set {
						if !met[[2]int{min(x, k), max(x, k)}] {
							news++
						}
					}
					if news > most && !slices.Contains(set, k) {
						best, most = k, news
					}
				}
				set = append(set, best)
			}
			slices.Sort(set)
			for b := range set {
				for a := range b {
					met[[2]int{set[a], set[b]}] = true
				}
			}
			sets = append(sets, set)
		}
	}
	return sets
}

func planOf(table []*feature, set []int) (p plan) {
	for _, i := range set {
		p.features = append(p.features, table[i])
	}
	return p
}

// recorded is the plan with inputs, in their place.
func (p plan) recorded() (with plan) {
	with = p
	with.features = nil
	for _, f := range features() {
		if f.name == "inputs" || p.has(f.name) {
			with.features = append(with.features, f)
		}
	}
	return with
}

func find(name string) *feature {
	for _, f := range features() {
		if f.name == name {
			return f
		}
	}
	panic(fmt.Sprintf("there is no feature %q", name))
}

// check runs the plan with 1, 2 and 5 workers, or fewer where that takes long.
func (p plan) check() error {
	one := make([][]fact, 0, p.ticks)
	if err := p.run(1, 0, func(s *scene, _ int) { one = append(one, slices.Clone(s.facts)) }); err != nil {
		return err
	}
	more := []int{2, 5}
	if check.Enabled && *runs == 0 {
		more = more[p.seed/2%2:][:1]
	}
	for _, workers := range more {
		err := p.run(workers, p.seed+uint64(workers), func(s *scene, tick int) {
			d := difference(one[tick], s.facts)
			s.must(d == "", "other than with one worker: %s", d)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// run runs the plan with some workers.
func (p plan) run(workers int, chaos uint64, done func(s *scene, tick int)) (err error) {
	s := newScene(p, workers, chaos)
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = fmt.Errorf("%s", string(r))
		default:
			err = fmt.Errorf("tick %d, %d workers, chaos %d: panic: %v\n%s", s.model.tick, workers, chaos, r, debug.Stack())
		}
	}()
	s.run(func(tick int) { done(s, tick) })
	return nil
}
