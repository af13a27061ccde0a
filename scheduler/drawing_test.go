package scheduler_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// drawn is a scheduler with one of everything that a schedule tells.
func drawn(t *testing.T) *fixture {
	type Sum struct{ N int }
	type Rule struct{ N int }
	f := newFixture(t, 4, 1)
	world.RegisterAccumulator(f.w, "sum", func(total, part *Sum) { total.N += part.N })
	world.RegisterResource(f.w, "rule", Rule{})
	write := func(b *world.Build) func(*world.Context) {
		world.Write[Value](b)
		b.Creates(f.movers)
		return nothing
	}
	f.MustAdd("rule", func(b *world.Build) func(*world.Context) { world.WriteResource[Rule](b); return nothing },
		scheduler.Global(), scheduler.In(scheduler.PreUpdate))
	f.MustAdd("write", write)
	f.MustAdd("look", func(b *world.Build) func(*world.Context) {
		world.ReadForeign[Value](b)
		world.ReadForeign[Position](b)
		world.ReadResource[Rule](b)
		world.Accumulate[Sum](b)
		return nothing
	}, scheduler.Every(3, 1), scheduler.After("write"))
	f.MustAdd("near", func(b *world.Build) func(*world.Context) {
		world.ReadForeign[Velocity](b, ring(b.Shard(), 4)...)
		world.ReadResource[Sum](b)
		return nothing
	}, scheduler.When(func(*world.World) bool { return true }), scheduler.Disabled())
	f.MustAdd("write again", write)
	f.MustAdd("all", func(b *world.Build) func(*world.Context) { world.Read[Value](b); return nothing },
		scheduler.Global(), scheduler.In(scheduler.PostUpdate))
	f.MustAdd("last", idle, scheduler.In(scheduler.PostUpdate))
	return f
}

// TestPlanPrinted prints a schedule with one of everything.
func TestPlanPrinted(t *testing.T) {
	f := drawn(t)
	p, err := f.Schedule()
	require.NoError(t, err)
	require.Equal(t, strings.TrimPrefix(`
1. rule (PreUpdate; once per tick)
2. write
3. look (every 3 ticks, from 1 on)
   waits for the world to pass rule
      "rule": written, then read
   waits for all shards to pass write
      "position": written, then read in all shards
      "value": written, then read in all shards
4. merge "sum" (once per tick)
   waits for all shards to pass look
      "sum": added to, then written
5. near (on a condition; disabled)
   waits for its neighbours to pass write
      "velocity": written, then read in neighbours
   waits for the world to pass merge "sum"
      "sum": written, then read
6. write again
   waits for all shards to pass look
      "position": read in all shards, then written
      "value": read in all shards, then written
   waits for its neighbours to pass near
      "velocity": read in neighbours, then written
7. all (PostUpdate; once per tick)
   waits for all shards to pass write again
      "all shards": run, then stopped
8. last (PostUpdate)
   waits for the world to pass all
      "all shards": stopped, then run
`, "\n"), p.String())
	f.step(4)
}

// TestPlanDrawn draws it for Graphviz, which can read it where it is installed.
func TestPlanDrawn(t *testing.T) {
	p, err := drawn(t).Schedule()
	require.NoError(t, err)
	dot := p.DOT()
	for _, part := range []string{
		"digraph schedule {", `"write" [label="write"];`, `"rule" [label="rule\n(PreUpdate; once per tick)", shape=octagon];`,
		`"near" [label="near\n(on a condition; disabled)", style=dotted];`, `"write" -> "look" [style=dashed];`,
		`"rule" -> "write" [color=grey];`, `"merge \"sum\"" -> "near" [style="bold", label="\"sum\": written, then read"];`,
		`"write" -> "near" [style="bold,dotted", label="\"velocity\": written, then read in neighbours"];`,
	} {
		require.Contains(t, dot, part)
	}
	if _, err := exec.LookPath("dot"); err != nil {
		t.Skip("Graphviz is not installed")
	}
	run := exec.Command("dot", "-Tsvg")
	run.Stdin = strings.NewReader(dot)
	out, err := run.CombinedOutput()
	require.NoError(t, err, string(out))
}
