package guide_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

const (
	atOnce      = "at once"
	refresh     = "refresh"
	nextRefresh = "next refresh"
	never       = "never"
)

// requests is the table of the guide's "At once, or by request": what each caller gets from each
// operation. An empty cell is what it cannot do.
var requests = []struct {
	caller string
	cells  [6]string // create; destroy; set; add, remove, move; send; call
}{
	{"the idle `World`", [6]string{atOnce, atOnce, atOnce, atOnce, atOnce, atOnce}},
	{"a system, in its shard", [6]string{atOnce, atOnce, atOnce, refresh, refresh, refresh}},
	{"a system, in another shard", [6]string{"", refresh, refresh, refresh, refresh, refresh}},
	{"a global system", [6]string{atOnce, atOnce, atOnce, refresh, refresh, refresh}},
	{"a port", [6]string{refresh, refresh, refresh, refresh, refresh, refresh}},
	{"a function, on its entity", [6]string{atOnce, atOnce, atOnce, nextRefresh, nextRefresh, nextRefresh}},
	{"a function, on another entity", [6]string{"", nextRefresh, nextRefresh, nextRefresh, nextRefresh, nextRefresh}},
	{"a hook, in its shard", [6]string{atOnce, nextRefresh, atOnce, nextRefresh, nextRefresh, nextRefresh}},
}

// TestRequestTable holds the table of the guide against requests.
func TestRequestTable(t *testing.T) {
	guide, err := os.ReadFile("../../docs/guide/entities.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range requests {
		line := fmt.Sprintf("| %s | %s |\n", row.caller, strings.Join(row.cells[:], " | "))
		if line = strings.ReplaceAll(line, "|  |", "| |"); !strings.Contains(string(guide), line) {
			t.Errorf("the guide has no line %s", line)
		}
	}
}

// TestRequests does what each cell says.
func TestRequests(t *testing.T) {
	for _, row := range requests {
		for i, operations := range [][]string{{"create"}, {"destroy"}, {"set"}, {"add", "remove", "move"}, {"send"}, {"call"}} {
			for _, operation := range operations {
				if row.cells[i] == "" {
					continue
				}
				if got := newAttempt(operation).by(row.caller); got != row.cells[i] {
					t.Errorf("%s: %s is done %s, want %s", row.caller, operation, got, row.cells[i])
				}
			}
		}
	}
}

// attempt is one operation by one caller, in a world of its own. It concerns the entity h of shard
// 0.
type attempt struct {
	operation string
	w         *world.World
	s         *scheduler.Scheduler
	ships     *world.Bundle[Ship]
	hull      *world.Component[Hull]
	anchored  *world.Component[Anchored]
	hit       *world.Message[Hit]
	poke, act *world.Func[int]
	points    *world.Writer[Hull] // of the system that acts
	h, other  handle.Handle       // other is in shard 1
	made      handle.Handle
	poked     bool
	now       bool   // it was done when the call returned
	heard     []bool // by tick: a system received the message
}

func newAttempt(operation string) *attempt {
	x := &attempt{operation: operation, heard: make([]bool, 3)}
	x.w = world.MustNew(world.Options{Shards: 2})
	world.Register[Position](x.w, "position")
	world.Register[Velocity](x.w, "velocity")
	x.hull, x.anchored = world.Register[Hull](x.w, "hull"), world.Register[Anchored](x.w, "anchored")
	x.hit = world.RegisterMessage[Hit](x.w, "hit")
	x.poke = world.RegisterFunc(x.w, "poke", func(*world.EntityContext, int) { x.poked = true })
	x.act = world.RegisterFunc(x.w, "act", func(self *world.EntityContext, _ int) { x.do(self) })
	x.ships = world.NewBundle[Ship](x.w)
	x.ships.PlaceBy(func(s Ship) int { return int(s.Position.X) })
	x.h, _ = x.ships.Create(x.w, Ship{})
	x.other, _ = x.ships.Create(x.w, Ship{Position: Position{X: 1}})
	if operation == "remove" {
		_ = x.anchored.Add(x.w, x.h, Anchored{})
	}
	x.s = scheduler.New(x.w, scheduler.Options{})
	x.s.MustAdd("listen", func(b *world.Build) func(*world.Context) {
		hits := world.Receive[Hit](b)
		return func(c *world.Context) {
			if len(hits.All()) > 0 {
				x.heard[c.Tick()] = true
			}
		}
	})
	return x
}

// by has a caller do it before tick 0, or in it, and returns when it is done.
func (x *attempt) by(caller string) string {
	port, _ := x.w.OpenPort()
	switch caller {
	case "the idle `World`":
		x.do(x.w)
	case "a system, in its shard":
		x.s.MustAdd("act", x.actFrom(0))
	case "a system, in another shard":
		x.s.MustAdd("act", x.actFrom(1))
	case "a global system":
		x.s.MustAdd("act", x.actFrom(world.AllShards), scheduler.Global())
	case "a port":
		x.do(port)
	case "a function, on its entity":
		_ = x.act.Call(port, x.h, 0)
	case "a function, on another entity":
		_ = x.act.Call(port, x.other, 0)
	case "a hook, in its shard":
		act := func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
			act := x.actFrom(0)(b)
			return func(c *world.Context, _ world.Event, _ []handle.Handle) { act(c) }
		}
		x.w.Observe("act", world.OnCreate, act, x.hull)
		_, _ = x.ships.Create(port, Ship{})
	}
	applied := never
	for _, when := range []string{refresh, nextRefresh, "later"} {
		if err := x.s.Step(context.Background()); err != nil {
			return err.Error()
		}
		if applied == never && x.sees(x.w) {
			applied = when
		}
	}
	switch i := slices.Index(x.heard, true); {
	case x.operation == "send" && i >= 0:
		return []string{atOnce, refresh, nextRefresh}[i] // the tick after that has it
	case x.now:
		return atOnce
	}
	return applied
}

// actFrom is a system that does it in tick 0, in a shard or for all.
func (x *attempt) actFrom(shard int) scheduler.System {
	return func(b *world.Build) func(*world.Context) {
		b.Creates(x.ships)
		points := world.Write[Hull](b)
		if b.Shard() == shard {
			x.points = points
		}
		return func(c *world.Context) {
			if c.Shard() == shard && c.Tick() == 0 {
				x.do(c)
			}
		}
	}
}

// do does the operation, and looks whether it is done when the call returns.
func (x *attempt) do(by world.Actor) {
	var err error
	switch x.operation {
	case "create":
		x.made, err = x.ships.Create(by, Ship{})
	case "destroy":
		if w, ok := by.(*world.World); ok {
			w.Destroy(x.h)
		} else {
			err = by.(interface{ Destroy(handle.Handle) error }).Destroy(x.h)
		}
	case "set":
		err = x.hull.Set(by, x.h, Hull{7})
	case "add":
		err = x.anchored.Add(by, x.h, Anchored{})
	case "remove":
		err = x.anchored.Remove(by, x.h)
	case "move":
		err = world.Move(by, x.h, 1)
	case "send":
		err = x.hit.Send(by, x.h, Hit{})
	case "call":
		err = x.poke.Call(by, x.h, 0)
	}
	if err != nil {
		panic(err)
	}
	x.now = x.sees(by)
}

// sees reports whether an actor sees that it is done.
func (x *attempt) sees(by world.Actor) bool {
	switch x.operation {
	case "create":
		return by.Alive(x.made)
	case "destroy":
		status := by.Status(x.h)
		return status == world.Dying || status == world.Stale
	case "call":
		return x.poked
	}
	var hull *Hull
	var anchored, shard = x.operation == "remove", 0
	switch by := by.(type) {
	case *world.World:
		hull, anchored = world.Read[Hull](by).Get(x.h), by.Has(x.h, x.anchored)
		shard, _ = by.Owner(x.h)
	case *world.Context:
		hull = x.points.Get(x.h)
		if shard, _ = by.Owner(x.h); by.Owns(x.h) {
			anchored = by.Has(x.h, x.anchored)
		}
	case *world.EntityContext:
		if by.Handle() == x.h {
			hull, anchored = x.hull.Read(by), x.anchored.Read(by) != nil
		}
	}
	switch x.operation {
	case "set":
		return hull != nil && hull.Points == 7
	case "add":
		return anchored
	case "remove":
		return !anchored
	case "move":
		return shard == 1
	}
	return false
}
