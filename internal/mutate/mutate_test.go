package main

import (
	"bytes"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../.."

// TestBugsApply checks that each bug finds what it replaces, within one function,
// and leaves something that can be parsed: the code moves on, and a bug that does
// not is none.
func TestBugsApply(t *testing.T) {
	require.GreaterOrEqual(t, len(allBugs), 25)
	names := map[string]bool{}
	for _, b := range allBugs {
		t.Run(b.name, func(t *testing.T) {
			require.False(t, names[b.name])
			names[b.name] = true
			require.LessOrEqual(t, len(b.name), 60, "the name is a column of the table")
			require.NotEmpty(t, b.tests.run)
			require.DirExists(t, filepath.Join(root, b.tests.pkg))
			x, err := b.site(root)
			require.NoError(t, err)
			data, err := os.ReadFile(filepath.Join(root, b.file))
			require.NoError(t, err)
			changed := string(data[:x.offset]) + x.text + string(data[x.end:])
			require.Equal(t, strings.Replace(string(data), b.old, b.new, 1), changed)
			_, err = parser.ParseFile(token.NewFileSet(), b.file, changed, 0)
			require.NoError(t, err)
			s := &schema{sites: []site{x}, broken: make([]bool, 1)}
			_, _, _, err = s.file(b.file, data)
			require.NoError(t, err)
		})
	}
}

// TestBugOutOfDate checks that a bug which does not apply is no bug.
func TestBugOutOfDate(t *testing.T) {
	for _, old := range []string{"no such thing", "return"} {
		_, err := (&bug{name: "x", file: "handle/handle.go", old: old}).site(root)
		require.ErrorContains(t, err, `bug "x": handle/handle.go has `)
	}
}

// TestSurvivorsAreThere checks that survivors.txt lists changes that can be made,
// each with a reason.
func TestSurvivorsAreThere(t *testing.T) {
	there := map[string]bool{}
	for dir := range stages {
		all, err := sites(root, dir)
		require.NoError(t, err)
		for _, x := range all {
			require.False(t, there[x.name], "%s is there twice", x.name)
			there[x.name] = true
		}
	}
	for name, reason := range known {
		assert.True(t, there[name], "no such change can be made: %s", name)
		assert.Greater(t, len(reason), 10, name)
	}
}

const sample = `package p

import "fmt"

func f(a, b int) (n int) {
	if a < b && ok(a) {
		n++
		fmt.Println("x")
	}
	for !ok(b) {
		b -= 2
		continue
	}
	return a*b + n
}

func ok(int) bool { return true }

func g() {
	if ok(1) {
		return
	}
}
`

func TestSites(t *testing.T) {
	all, err := sitesIn("p/p.go", []byte(sample))
	require.NoError(t, err)
	var names []string
	for _, x := range all {
		names = append(names, strings.TrimPrefix(x.name, "p/p.go "))
		changed := sample[:x.offset] + x.text + sample[x.end:]
		require.NotEqual(t, sample, changed)
		_, err := format.Source([]byte(changed))
		require.NoError(t, err, x.name)
	}
	slices.Sort(names)
	require.Equal(t, []string{
		"f: !ok(b) → !(!ok(b))",
		"f: 2 → 3",
		"f: a < b && ok(a) → a < b || ok(a)",
		"f: a < b → a <= b",
		"f: a < b → a >= b",
		"f: a*b + n → a*b - n",
		"f: a*b → a/b",
		"f: b -= 2 → b += 2",
		"f: b -= 2 → left out",
		"f: continue → left out",
		`f: fmt.Println("x") → left out`,
		"f: n++ → left out",
		"f: n++ → n--",
		"g: 1 → 2",
		"g: ok(1) → !(ok(1))",
		"g: return → left out",
	}, names)
}

// TestSchemaFile checks that a file with all changes has each line where lines
// say, and that changes the compiler complains of are left out.
func TestSchemaFile(t *testing.T) {
	all, err := sitesIn("p/p.go", []byte(sample))
	require.NoError(t, err)
	s := &schema{sites: all, broken: make([]bool, len(all))}
	text, lines, pkg, err := s.file("p/p.go", []byte(sample))
	require.NoError(t, err)
	require.Equal(t, "p", pkg)
	_, err = format.Source(text)
	require.NoError(t, err)
	n := 1 + bytes.Count(text, []byte("\n"))
	require.Len(t, lines, n+1)
	for i, x := range all {
		require.Contains(t, lines, i+1, x.name)
	}
	line := slices.Index(lines, 3)
	require.Positive(t, line)
	out := []byte("# p\np/p.go:" + strconv.Itoa(line) + ":2: declared and not used: x\n")
	found := map[string][]int{"p/p.go": lines}
	require.True(t, s.exclude(out, found))
	require.False(t, s.exclude(out, found), "it is left out already")
	require.False(t, s.exclude([]byte("./p/p.go:1:1: bad\np/q.go:3:1: bad\n"), found), "these are no changes")
	s.root, s.broken[2] = "/work/module", false
	out = bytes.Replace(out, []byte("p/p.go"), []byte("../kept/p-p.go"), 1)
	require.True(t, s.exclude(out, map[string][]int{"/work/kept/p-p.go": lines}), "the files are beside the module")
	text, lines, _, err = s.file("p/p.go", []byte(sample))
	require.NoError(t, err)
	require.NotContains(t, lines, 3)
	require.NotContains(t, string(text), "case 3:")
	require.Contains(t, string(text), "case 2:")

	s.sites = append(s.sites, site{name: "outside", file: "p/p.go", offset: 0, end: 1})
	s.broken = append(s.broken, false)
	_, _, _, err = s.file("p/p.go", []byte(sample))
	require.ErrorContains(t, err, `"outside" is not within one function`)
}

// TestHunt tries a bug that is noticed and one that is not, one that does not
// compile, and tests that there are not.
func TestHunt(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles")
	}
	layout := bug{
		name: "layout", file: "handle/handle.go", old: "uint32(h >> shardShift & ShardMax)", new: "uint32(h >> indexShift & ShardMax)",
		tests: tests{pkg: "handle", run: "TestFields"},
	}
	unseen, broken, without := layout, layout, layout
	unseen.name, unseen.tests.run = "unseen", "TestTextSizeMax"
	broken.name, broken.new = "broken", "uint32(h >> nothing)"
	without.name, without.tests.run = "without", "TestNoSuchTest"
	for _, test := range []struct {
		bugs []bug
		ok   bool
		out  string
		err  string
	}{
		{bugs: []bug{layout}, ok: true, out: "1 bugs, 1 noticed, "},
		{bugs: []bug{layout, unseen}, out: "SURVIVED"},
		{bugs: []bug{broken}, err: `bug "broken": it does not compile`},
		{bugs: []bug{without}, err: "no test has such a name"},
	} {
		var out bytes.Buffer
		abs, err := filepath.Abs(root)
		require.NoError(t, err)
		ok, err := (&hunt{root: abs, out: &out, jobs: 1, bugs: test.bugs}).run(t.Context())
		if test.err != "" {
			require.ErrorContains(t, err, test.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, test.ok, ok)
		require.Contains(t, out.String(), test.out)
	}
}
