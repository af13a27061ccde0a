package worldtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/snapshot/text"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Game is a world that Same runs.
type Game struct {
	// Scheduler is that of a new world in which everything is registered, with all systems, made
	// with the options that the constructor was given.
	Scheduler *scheduler.Scheduler
	// Options are those that durable.Open gets. Same uses New, which fills the world, Snapshot, for
	// codecs and what is saved beside the world, and Sync: with it, ticks are sealed.
	Options durable.Options
	// Script sends what clients send before a tick, by the port or by others that it opens. It is
	// called in the first run only, from tick 0 on; the other runs play the log of that. It may draw
	// random numbers. It must not change the idle world.
	Script func(tick uint64, port *world.Port)
}

// Same tests that a world is deterministic: that the same inputs make the same world, whatever the
// time, the number of workers and their order, and also after a restart. A world that is not cannot
// be replayed after a crash. Make a test of your own server with it:
//
//	func TestSame(t *testing.T) {
//		worldtest.Same(t, 300, func(o scheduler.Options) worldtest.Game {
//			g := newGame(o) // as the server does
//			return worldtest.Game{Scheduler: g.scheduler, Options: g.saved(), Script: g.play}
//		})
//	}
//
// make makes the world as the server does at each start, with o.Workers and o.Chaos in the options of
// the scheduler, and opens no port. Same calls it once for each run. The first run has one worker: it
// calls Game.Script before each of its ticks, and records the inputs. Others play these to new
// worlds: again with one worker; twice with several workers and scheduler.Options.Chaos; and with
// two restarts, where the world is saved, and loaded into another one of make. After each tick the
// hash of the state, and what Options.Snapshot.Extras append, must be the same as in the first run.
//
// At the first difference it ends the test, and says in which run, in which tick and part of the
// state it is, which entities differ, and what the usual reasons are. The entities are named if the
// state of that tick is among the first 64 MB of saved states.
//
// All runs are in one process, one after the other: a variable of a package goes on from run to run,
// and shows. It finds what happens in the ticks of the script: let that use all that players can do.
func Same(t testing.TB, ticks int, make func(o scheduler.Options) Game) {
	t.Helper()
	s := &same{TB: t, ticks: ticks, make: make, states: map[uint64][]byte{}}
	s.record()
	workers := max(4, runtime.GOMAXPROCS(0))
	for _, r := range []run{
		{workers: 1, name: "its inputs are played again, on one worker, as in the first run", reasons: `the clock or the order of goroutines (take time from Context.Tick and Delta);
random numbers that are not of Context.Rand; a loop over a map whose order matters; a variable
outside the world, which goes on from run to run; a row or slice that is kept after its tick`},
		{workers: workers, chaos: rand.Uint64() | 1, name: "several workers run it", reasons: severalWorkers},
		{workers: workers, chaos: rand.Uint64() | 1, name: "several workers run it", reasons: severalWorkers},
		{workers: workers, chaos: rand.Uint64() | 1, restarts: true, name: "it is saved, and loaded into another world", reasons: `state outside the world that a restart loses: variables of systems and hooks, fields
of the server; keep it in a component or resource, or save it by Options.Snapshot.Extras, or make it
again from what is in the world`},
	} {
		s.play(r)
	}
}

const severalWorkers = `shards share something outside the world, such as a variable, a slice, a map or a
counter, also an atomic one or behind a mutex; a loop over a map; the clock or the order of goroutines`

// statesMax is how many bytes of saved states a Same keeps.
const statesMax = 64 << 20

// parts is how many parts the log has: a run may restart between them.
const parts = 3

// same is a Same that runs.
//
// Ownership: the goroutine of the test.
type same struct {
	testing.TB
	ticks  int
	make   func(o scheduler.Options) Game
	logs   [parts]bytes.Buffer
	states map[uint64][]byte // snapshots of the first run, by tick
	size   int               // bytes of states
}

// run is how the log is played.
type run struct {
	workers  int
	chaos    uint64
	restarts bool
	name     string // ends: the world is not the same when …
	reasons  string
}

// game is a Game with what is known of it.
type game struct {
	Game
	w      *world.World
	hasher *state.Hasher
}

// new makes a world. It ends the test if make does not do what it must.
func (s *same) new(o scheduler.Options) game {
	s.Helper()
	g := game{Game: s.make(o)}
	if g.Scheduler == nil {
		s.Fatal("worldtest.Same: the Scheduler of the Game is nil; set it to the one of scheduler.New")
	}
	g.w = g.Scheduler.World()
	if has := g.Scheduler.Options(); has.Chaos != o.Chaos || has.Workers != min(o.Workers, g.w.Shards()) {
		s.Fatalf("worldtest.Same: the scheduler has Workers = %d and Chaos = %d, want %d and %d; pass the options that make is given to scheduler.New", has.Workers, has.Chaos, o.Workers, o.Chaos)
	}
	g.Options.Snapshot.Scheduler = g.Scheduler
	g.hasher = state.NewHasher(g.w, g.Options.Snapshot.Codecs)
	for _, x := range g.Options.Snapshot.Extras {
		g.hasher.Add("extra "+x.Name, x.Append)
	}
	return g
}

// fill calls Options.New.
func (s *same) fill(g game) {
	s.Helper()
	if g.Options.New != nil {
		s.must(g.Options.New(g.w), "Options.New")
	}
}

// must ends the test if there is an error.
func (s *same) must(err error, what string) {
	s.Helper()
	if err == nil {
		return
	}
	if panicked := (*world.PanicError)(nil); errors.As(err, &panicked) {
		s.Fatalf("worldtest.Same: %s: %v\n\n%s", what, err, panicked.Stack)
	}
	s.Fatalf("worldtest.Same: %s: %v", what, err)
}

// save returns a snapshot of a world between two ticks.
func (s *same) save(g game) []byte {
	s.Helper()
	var file bytes.Buffer
	s.must(snapshot.Write(&file, g.w, g.Options.Snapshot), "saving the world")
	return file.Bytes()
}

// keep keeps the state of the first run as of now, if there is room.
func (s *same) keep(g game) {
	s.Helper()
	if s.size >= statesMax {
		return
	}
	state := s.save(g)
	s.states[g.w.Tick()] = state
	s.size += len(state)
}

// begins returns the number of ticks before a part of the log.
func (s *same) begins(part int) int { return s.ticks * part / parts }

// record is the first run.
func (s *same) record() {
	s.Helper()
	g := s.new(scheduler.Options{Workers: 1})
	defer g.w.Close()
	s.fill(g)
	s.keep(g)
	var port *world.Port
	for part := range parts {
		changed := false
		o := inputlog.Options{Codecs: g.Options.Snapshot.Codecs, OnChange: func() { changed = true }}
		if g.Options.Sync {
			o.Commit, o.OnFailed = func() error { return nil }, func(err error) { s.Log(err) }
		}
		recorder, err := inputlog.NewRecorder(g.w, &s.logs[part], o)
		s.must(err, "recording its inputs")
		if port == nil {
			port, err = g.w.OpenPort()
			s.must(err, "opening a port")
		}
		for tick := s.begins(part); tick < s.begins(part+1); tick++ {
			if g.Script != nil {
				g.Script(uint64(tick), port)
			}
			s.must(g.Scheduler.Step(context.Background()), fmt.Sprintf("tick %d", g.w.Tick()))
			s.must(recorder.Hash(g.hasher), "hashing the state")
			s.keep(g)
		}
		s.must(recorder.Close(), "recording its inputs")
		if changed {
			s.Fatal("worldtest.Same: Script has changed the idle world, and a log does not have that; let it send requests or transactions by its port")
		}
	}
}

// play is another run, which must not differ.
func (s *same) play(r run) {
	s.Helper()
	g := s.new(scheduler.Options{Workers: r.workers, Chaos: r.chaos})
	s.fill(g)
	defer func() { g.w.Close() }()
	var p *inputlog.Player
	for part := range parts {
		if part > 0 && r.restarts {
			saved := s.save(g)
			p.Close()
			g.w.Close()
			g = s.new(scheduler.Options{Workers: r.workers, Chaos: r.chaos})
			s.must(snapshot.Load(bytes.NewReader(saved), g.w, g.Options.Snapshot), "loading the world")
		}
		log, err := inputlog.Open(bytes.NewReader(s.logs[part].Bytes()))
		s.must(err, "opening the log")
		if part > 0 && !r.restarts {
			p.Then(log)
			continue
		}
		p, err = log.Play(g.w, g.Options.Snapshot.Codecs)
		s.check(err, r, g)
		if r.restarts {
			s.ticksOf(p, r, g, s.begins(part+1)-s.begins(part))
		}
	}
	if !r.restarts {
		s.ticksOf(p, r, g, s.ticks)
	}
	if p.Next() {
		s.Fatal("worldtest.Same: the log has more ticks than the script")
	}
	s.check(p.Err(), r, g)
}

// ticksOf plays ticks, and stops before the end of the log.
func (s *same) ticksOf(p *inputlog.Player, r run, g game, ticks int) {
	s.Helper()
	for range ticks {
		if !p.Next() {
			s.check(p.Err(), r, g)
			s.Fatal("worldtest.Same: the log has fewer ticks than the script")
		}
		s.must(p.Make(func() error { return g.Scheduler.Step(context.Background()) }), fmt.Sprintf("tick %d, when %s", g.w.Tick(), r.name))
		_, err := p.Verify(g.hasher)
		s.check(err, r, g)
	}
}

// check ends the test if a run differs from the first, with all that is known.
func (s *same) check(err error, r run, g game) {
	s.Helper()
	if !errors.Is(err, inputlog.ErrDiffers) {
		s.must(err, "the world cannot be played again when "+r.name)
		return
	}
	entities := ""
	if was := s.states[g.w.Tick()]; was != nil {
		x, wrong := text.Compare(bytes.NewReader(was), bytes.NewReader(s.save(g)), entitiesMax)
		x.Differences = slices.DeleteFunc(x.Differences, func(d snapshot.Difference) bool { return d.Kind == "option" && d.Name == "hash" })
		if wrong == nil && len(x.Differences) > 0 {
			entities = "\nIn the first run → in this one:\n" + indent(x.String())
		}
	}
	s.Fatalf("worldtest.Same: the world is not the same when %s (Workers: %d, Chaos: %d).\n\n%s%s\nThe usual reasons:\n%s",
		r.name, r.workers, r.chaos, indent(err.Error()), entities, indent(r.reasons))
}

// entitiesMax is how many differences are told.
const entitiesMax = 8

// indent moves lines to the right.
func indent(lines string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(lines), "\n", "\n    ") + "\n"
}
