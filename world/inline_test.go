package world_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/check"
)

// TestInlines reads what the compiler makes of testdata/access: what a system
// does for every entity must not cost a call. Each function there is one access;
// here is what must have been inlined into it, in full.
func TestInlines(t *testing.T) {
	if strconv.IntSize < 64 {
		t.Skip("look-ups of 64-bit handles are calls here")
	}
	if check.Enabled {
		t.Skip("it is about a release build, and is run in one, too")
	}
	const file = "testdata/access/access.go"
	want := map[string][]string{
		"Slice":            {"world.(*Reader).Slice", "store.Slice", "atomic.(*Pointer).Load"},
		"SliceWrite":       {"world.(*Writer).Slice", "SliceWrite.(*Writer).Slice.func1", "store.Slice", "store.(*View).Noted", "store.(*View).NoteRows", "atomic.(*Pointer).Load", "store.(*Chunk).number"},
		"At":               {"world.(*Reader).At", "store.At"},
		"AtWrite":          {"world.(*Writer).At", "AtWrite.(*Writer).At.func1", "store.At", "store.(*View).Note"},
		"Locate":           {"world.(*Context).Locate", "engine.(*Context).Locate", "Locate.(*Context).Locate.(*Context).Locate.func1", "slots.(*Lookup).Locate", "engine.(*Context).isElsewhere", "atomic.(*Uint64).Load", "atomic.(*Pointer).Load", "slots.(*Slot).Load", "handle.Handle.Home", "slots.(*Lookup).Drawn", "atomic.(*Uint32).Load"},
		"LocateIdle":       {"world.(*World).Locate", "engine.(*World).Locate", "slots.(*Lookup).Locate", "atomic.(*Uint64).Load", "atomic.(*Pointer).Load", "slots.(*Slot).Load"},
		"Alive":            {"world.(*World).Alive", "engine.(*World).Alive", "slots.(*Lookup).Alive", "atomic.(*Uint64).Load", "atomic.(*Pointer).Load", "slots.(*Slot).Load"},
		"AliveInSystem":    {"world.(*Context).Alive", "engine.(*Context).Alive", "AliveInSystem.(*Context).Alive.(*Context).Alive.func1", "slots.(*Lookup).Alive", "engine.(*Context).isElsewhere", "atomic.(*Uint64).Load", "atomic.(*Pointer).Load", "slots.(*Slot).Load", "handle.Handle.Home", "slots.(*Lookup).Drawn", "atomic.(*Uint32).Load"},
		"AliveFromOutside": {"world.(*Port).Alive", "engine.(*Port).Alive", "slots.(*Lookup).Alive", "atomic.(*Uint64).Load", "atomic.(*Pointer).Load", "slots.(*Slot).Load"},
		"ColumnAt":         {"store.(*Column).At", "atomic.(*Pointer).Load", "mem.(*Type).At"},
		"Get":              {"world.(*Reader).Get"},
		"GetWrite":         {"world.(*Writer).Get", "GetWrite.(*Writer).Get.func1", "slots.(*Lookup).Locate", "atomic.(*Uint64).Load", "atomic.(*Pointer).Load", "slots.(*Slot).Load"},
	}

	// The functions by line: each is on one.
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, 0)
	require.NoError(t, err)
	byLine := map[int]string{}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			byLine[set.Position(f.Pos()).Line] = f.Name.Name
			require.Contains(t, want, f.Name.Name, "a function that nobody expects anything of")
		}
	}

	out, err := exec.CommandContext(t.Context(), "go", "build", "-gcflags=-m", "./testdata/access").CombinedOutput()
	require.NoError(t, err, "%s", out)
	line := regexp.MustCompile(regexp.QuoteMeta(file) + `:(\d+):\d+: inlining call to (.*)`)
	got := map[string][]string{}
	for _, m := range line.FindAllStringSubmatch(string(out), -1) {
		n, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		got[byLine[n]] = append(got[byLine[n]], withoutTypes(m[2]))
	}
	for name, calls := range want {
		t.Run(name, func(t *testing.T) { require.Equal(t, calls, got[name]) })
	}
}

// withoutTypes takes the type arguments out of a function's name.
func withoutTypes(name string) string {
	var b strings.Builder
	depth := 0
	for _, r := range name {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case depth == 0:
			b.WriteRune(r)
		}
	}
	return b.String()
}
