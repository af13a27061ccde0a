package world_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/world"
)

var update = flag.Bool("update", false, "write the generated parts of docs")

// semantics says what each actor gets from each operation on an entity in each
// state: the answer now, then a comma and what is done at once, or an arrow and
// what the refresh makes of the request. The table in docs/design.md is
// generated from it; TestSemantics does each of its cells.
var semantics = []struct {
	operation, by string
	cells         [6]string // by state
}{
	//                     unused      pending           alive             dying             stale       forged
	{"Alive", "World", [6]string{"false", "false", "true", "true", "false", "false"}},
	{"Alive", "Context, owner", [6]string{"false", "false", "true", "true", "false", "false"}},
	{"Alive", "Context, elsewhere", [6]string{"false", "false", "true", "true", "false", "false"}},
	{"Alive", "Port", [6]string{"false", "false", "true", "true", "false", "false"}},

	{"Status", "World", [6]string{"unused", "pending", "alive", "dying", "stale", "forged"}},
	{"Status", "Context, owner", [6]string{"unused", "forged or pending", "alive", "dying", "stale", "forged"}},
	{"Status", "Context, elsewhere", [6]string{"unused", "forged or pending", "alive", "alive", "stale", "forged"}},
	{"Status", "Port", [6]string{"unused", "pending", "alive", "alive", "stale", "forged"}},

	{"Get", "World", [6]string{"nil", "nil", "pointer", "pointer", "nil", "nil"}},
	{"Get", "Context, owner", [6]string{"nil", "nil", "pointer", "pointer", "nil", "nil"}},
	{"Get", "Context, elsewhere", [6]string{"nil", "nil", "foreign copy", "foreign copy", "nil", "nil"}},
	{"Get", "Port", [6]string{"n/a", "n/a", "n/a", "n/a", "n/a", "n/a"}},

	{"Set", "World", [6]string{"ErrStale", "ErrStale", "nil, stored", "nil, stored", "ErrStale", "ErrStale"}},
	{"Set", "Context, owner", [6]string{"ErrStale", "ErrStale", "nil, stored", "nil, stored", "ErrStale", "ErrStale"}},
	{"Set", "Context, elsewhere", [6]string{"ErrStale", "ErrStale", "nil → applied", "nil → gone", "ErrStale", "ErrStale"}},
	{"Set", "Port", [6]string{"nil → gone", "nil → applied", "nil → applied", "nil → gone", "nil → gone", "nil → gone"}},

	{"Destroy", "World", [6]string{"false", "false", "true, marked", "false", "false", "false"}},
	{"Destroy", "Context, owner", [6]string{"ErrStale", "ErrStale", "nil, marked", "nil", "ErrStale", "ErrStale"}},
	{"Destroy", "Context, elsewhere", [6]string{"ErrStale", "ErrStale", "nil → applied", "nil → gone", "ErrStale", "ErrStale"}},
	{"Destroy", "Port", [6]string{"nil → gone", "nil → applied", "nil → applied", "nil → gone", "nil → gone", "nil → gone"}},

	{"Move", "World", [6]string{"ErrStale", "ErrStale", "nil, moved", "ErrStale", "ErrStale", "ErrStale"}},
	{"Move", "Context, owner", [6]string{"ErrStale", "ErrStale", "nil → applied", "nil → gone", "ErrStale", "ErrStale"}},
	{"Move", "Context, elsewhere", [6]string{"ErrStale", "ErrStale", "nil → applied", "nil → gone", "ErrStale", "ErrStale"}},
	{"Move", "Port", [6]string{"nil → gone", "nil → applied", "nil → applied", "nil → gone", "nil → gone", "nil → gone"}},

	{"Send", "World", [6]string{"ErrStale", "ErrStale", "nil, delivered", "nil, delivered", "ErrStale", "ErrStale"}},
	{"Send", "Context, owner", [6]string{"ErrStale", "ErrStale", "nil → applied", "nil → gone", "ErrStale", "ErrStale"}},
	{"Send", "Context, elsewhere", [6]string{"ErrStale", "ErrStale", "nil → applied", "nil → gone", "ErrStale", "ErrStale"}},
	{"Send", "Port", [6]string{"nil → gone", "nil → applied", "nil → applied", "nil → gone", "nil → gone", "nil → gone"}},

	{"Call", "World", [6]string{"ErrStale", "ErrStale", "nil, run", "nil, run", "ErrStale", "ErrStale"}},
	{"Call", "Context, owner", [6]string{"ErrStale", "ErrStale", "nil → applied", "nil → gone", "ErrStale", "ErrStale"}},
	{"Call", "Context, elsewhere", [6]string{"ErrStale", "ErrStale", "nil → applied", "nil → gone", "ErrStale", "ErrStale"}},
	{"Call", "Port", [6]string{"nil → gone", "nil → applied", "nil → applied", "nil → gone", "nil → gone", "nil → gone"}},

	{"Ask", "Port", [6]string{"nil → gone", "nil → applied", "nil → applied", "nil → gone", "nil → gone", "nil → gone"}},
}

// notes stand below the table.
const notes = `A cell is the answer now; after a comma, what is done at once; after an arrow, the outcome that the
refresh decides for the request. At the refresh, whatever is asked, pending becomes alive (and is
then found by the requests of the same refresh) and dying becomes stale; alive becomes stale where
the table says marked, or applied for Destroy.

- Pending: a port was given the handle, and the refresh has yet to store the entity. Unused: the
  handle that a free slot would give next.
- That an entity is dying is known to its owner alone, and to the idle World: elsewhere and to a
  Port it is alive until the refresh.
- What another shard creates is Unused to a Context elsewhere until the tick ends, or a global system
  has had all shards to itself: whether it is there yet depends on time. ReadForeign does find it,
  after the systems that create it, because its system waits for them.
- A Context's own Get finds the entities of its own shard. For those of other shards it gives nil;
  ReadForeign gives a copy.
- A Port has no Get: it asks, and the refresh fills in the answer.
- A Move is done after everything else that the refresh was asked for. The last one counts, and an
  entity that was destroyed after all does not move.
- Send by a World is delivered in the next tick like what the last refresh applied.
- Pending in the last column of a Port: the create is in the same refresh. If the create is not sent
  by then the outcome is gone: it is in a batch, or the handle is the next of a slot that ports
  create from, and no caller was given it.
- An EntityContext, in a function, does at once what concerns its own entity (Set, AddFlags, Destroy)
  and what it creates; its other requests are the next refresh's, and are answered as a Context's.
  What functions and hooks create on other shards in the same refresh is Unused to it, and to hooks.
`

const (
	semanticsBegin = "<!-- semantics:begin -->\n"
	semanticsEnd   = "<!-- semantics:end -->\n"
	designPath     = "../docs/design.md"
)

// markdown writes the table for docs.
func markdown() string {
	var b strings.Builder
	b.WriteString("\n| operation | by |")
	for _, s := range states {
		b.WriteString(" " + s.String() + " |")
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(states)) + "\n")
	for _, row := range semantics {
		b.WriteString("| " + row.operation + " | " + row.by + " | " + strings.Join(row.cells[:], " | ") + " |\n")
	}
	b.WriteString("\n" + notes + "\n")
	return b.String()
}

func TestSemanticsInDocs(t *testing.T) {
	data, err := os.ReadFile(designPath)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(data), semanticsBegin)
	require.True(t, ok, "docs/design.md has no line %q", semanticsBegin)
	block, after, ok := strings.Cut(rest, semanticsEnd)
	require.True(t, ok, "docs/design.md has no line %q", semanticsEnd)
	if *update {
		require.NoError(t, os.WriteFile(designPath, []byte(before+semanticsBegin+markdown()+semanticsEnd+after), 0o644))
		return
	}
	require.Equal(t, markdown(), block, "docs/design.md is behind the code: go test ./world -run TestSemanticsInDocs -update")
}

func TestSemantics(t *testing.T) {
	for _, row := range semantics {
		t.Run(row.operation+"/"+row.by, func(t *testing.T) {
			for i, want := range row.cells {
				for k, variant := range variants[states[i]] {
					t.Run(states[i].String()+"/"+variant.name, func(t *testing.T) {
						if want == "n/a" { // who cannot ask for a Reader cannot Get
							_, asks := any((*world.Port)(nil)).(world.Binder)
							require.False(t, asks)
							return
						}
						s := newScene(t, variant.make)
						require.Equal(t, states[i], s.Status(s.h), "the scene is set wrongly")
						got, want := s.act(row.operation, row.by), want
						if each := strings.Split(want, " or "); len(each) > 1 { // by variant
							want = each[k]
						}
						require.Equal(t, want, got)
						s.mustEnd(states[i], row.operation, got)
					})
				}
			}
		})
	}
}
