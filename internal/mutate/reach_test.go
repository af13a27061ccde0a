package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestReach reads profiles of three tests and asks who gets to a change: to one in a
// block, to one in a function but in no block, and to one where nobody gets.
func TestReach(t *testing.T) {
	r := &reach{Tests: []reached{{Name: "TestSlow", Took: 2 * time.Second}, {Name: "TestQuick", Took: time.Millisecond}, {Name: "TestTooSlow", Took: slow}}}
	numbers := map[block]int{}
	const head = "mode: atomic\nexample.com/m/p/p.go:5.30,6.21 1 "
	r.add(0, "p", head+"1\nexample.com/m/p/p.go:6.21,9.3 2 0\nexample.com/m/p/p.go:20.5,22.3 1 0\n", numbers)
	r.add(1, "p", head+"7\nexample.com/m/p/p.go:6.21,9.3 2 1\nexample.com/m/p/p.go:20.5,22.3 1 0\n", numbers)
	r.add(2, "p", head+"1\nexample.com/m/p/p.go:6.21,9.3 2 0\nexample.com/m/p/p.go:20.5,22.3 1 0\n", numbers)
	require.Len(t, r.Blocks, 3)
	at := func(line, column, from, to int) *site {
		return &site{file: "p/p.go", line: line, column: column, from: from, to: to}
	}
	require.Equal(t, []group{{names: []string{"TestQuick"}, took: time.Millisecond}}, r.tests(at(7, 1, 5, 10)))
	both := []group{{[]string{"TestQuick"}, time.Millisecond}, {[]string{"TestSlow"}, 2 * time.Second}}
	require.Equal(t, both, r.tests(at(5, 31, 5, 10)), "the quick ones first, and none beyond the limit")
	require.Equal(t, both, r.tests(at(9, 3, 5, 10)), "in no block: all of the function")
	require.Empty(t, r.tests(at(21, 1, 20, 30)))
	require.Empty(t, r.tests(&site{file: "p/q.go", line: 7, column: 1, from: 5, to: 10}))
	require.Equal(t, "^(TestQuick|TestSlow)$", (&group{names: []string{"TestQuick", "TestSlow"}}).run())
	require.Equal(t, 15*time.Second, both[0].timeout().Round(time.Second)+10*time.Second)
}

// TestJournal goes on where an earlier run ended, as long as the source is the same.
func TestJournal(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "p"), 0o700))
	source := filepath.Join(root, "p", "p.go")
	require.NoError(t, os.WriteFile(source, []byte("package p"), 0o600))
	noticed, survives, broken := &site{file: "p/p.go", name: "a"}, &site{file: "p/p.go", name: "b"}, &site{file: "p/p.go", name: "c"}
	j, err := openJournal(root, dir)
	require.NoError(t, err)
	for _, x := range []*site{noticed, survives, broken} {
		_, ok, err := j.look(x)
		require.NoError(t, err)
		require.False(t, ok)
	}
	require.NoError(t, j.note(noticed, verdict{failed: "TestX", late: true}, false))
	require.NoError(t, j.note(survives, verdict{}, false))
	require.NoError(t, j.note(survives, verdict{unreached: true}, false))
	require.NoError(t, j.note(broken, verdict{}, true))
	require.NoError(t, j.close())

	look := func(x *site) (entry, bool) {
		j, err := openJournal(root, dir)
		require.NoError(t, err)
		defer func() { require.NoError(t, j.close()) }()
		e, ok, err := j.look(x)
		require.NoError(t, err)
		return e, ok
	}
	e, ok := look(noticed)
	require.Equal(t, []any{true, "TestX", true, false}, []any{ok, e.By, e.Late, e.Broken})
	e, ok = look(survives)
	require.Equal(t, []any{true, "", true}, []any{ok, e.By, e.Unreached}, "what was found last counts")
	e, ok = look(broken)
	require.Equal(t, []any{true, true}, []any{ok, e.Broken})

	require.NoError(t, os.WriteFile(source, []byte("package p // another"), 0o600))
	_, ok = look(noticed)
	require.False(t, ok)

	none, err := openJournal(root, "")
	require.NoError(t, err)
	require.NoError(t, none.note(noticed, verdict{}, false))
	require.NoError(t, none.close())
}
