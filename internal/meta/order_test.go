//go:build !race

package meta_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// upMost is the part of the arrows between the files of a package that may go up, in percent.
const upMost = 20

// ordered are the packages with many files.
var ordered = []string{
	"internal/slots", "internal/store", "internal/refresh", "internal/engine", "world", "scheduler", "ext/hierarchy", "ext/interest",
	"persist/durable", "persist/inputlog", "persist/snapshot", "persist/snapshot/text",
	"persist/snapshot/internal/format", "persist/state", "inspect", "inspect/internal/query",
}

// TestOrder reads each package as a text of files. An arrow leads from a file to another whose
// declaration it uses. Files are put in the order with the fewest arrows up, as far as a search by
// insertion finds it: a reader can follow what goes down.
func TestOrder(t *testing.T) {
	exports := exportsOf(t)
	for _, dir := range ordered {
		all := arrowsOf(t, dir, exports)
		order, up := fewestUp(all)
		t.Logf("%s: %d of %d arrows go up, %d files", dir, up, len(all), len(order))
		if 100*up > upMost*len(all) {
			t.Errorf("%s: %d of %d arrows go up, more than %d %%, in the order %v", dir, up, len(all), upMost, order)
		}
	}
}

// fileArrow is a pair of files of a package: one uses what the other declares.
type fileArrow struct{ from, to string }

// exportsOf returns the files with what packages export, for the compiler's importer.
func exportsOf(t *testing.T) map[string]string {
	list := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Export", "./...", "./inspect/...")
	list.Env = append(os.Environ(), "GOWORK=") // inspect is in the workspace
	out, err := list.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		t.Fatalf("%v: %s", err, failed.Stderr)
	}
	require.NoError(t, err)
	files := map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return files
		} else if err != nil {
			t.Fatal(err)
		}
		files[p.ImportPath] = p.Export
	}
}

// arrowsOf returns the arrows between the files of a package.
func arrowsOf(t *testing.T, dir string, exports map[string]string) map[fileArrow]bool {
	fset := token.NewFileSet()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution|parser.ParseComments)
		require.NoError(t, err)
		if !slices.ContainsFunc(file.Comments, func(c *ast.CommentGroup) bool { return strings.HasPrefix(c.List[0].Text, "//go:build ") }) {
			files = append(files, file)
		}
	}
	require.NotEmpty(t, files, dir)
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	conf := types.Config{Error: func(error) {}, Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})}
	pkg, _ := conf.Check(dir, fset, files, info) // files with build tags are missing
	all := map[fileArrow]bool{}
	for id, of := range info.Uses {
		if of.Pkg() != pkg || !of.Pos().IsValid() {
			continue
		}
		if f, ok := of.(*types.Func); ok {
			of = f.Origin()
		} else if v, ok := of.(*types.Var); ok {
			of = v.Origin()
		}
		from, to := fset.File(id.Pos()).Name(), fset.File(of.Pos()).Name()
		if from != to {
			all[fileArrow{filepath.Base(from), filepath.Base(to)}] = true
		}
	}
	return all
}

// fewestUp orders files: it moves one at a time to where the fewest arrows go up, until none can be moved.
func fewestUp(all map[fileArrow]bool) (order []string, up int) {
	seen := map[string]int{} // arrows out, less arrows in
	for a := range all {
		seen[a.from]++
		seen[a.to]--
	}
	order = slices.SortedFunc(maps.Keys(seen), func(a, b string) int {
		if seen[a] != seen[b] {
			return seen[b] - seen[a]
		}
		return strings.Compare(a, b)
	})
	for moved := true; moved; {
		moved = false
		for _, file := range slices.Clone(order) {
			at := slices.Index(order, file)
			best, gain, sum := at, 0, 0
			for k := at - 1; k >= 0; k-- { // above order[k]
				sum += less(all, order[k], file)
				if sum > gain {
					best, gain = k, sum
				}
			}
			sum = 0
			for k := at + 1; k < len(order); k++ { // below order[k]
				sum += less(all, file, order[k])
				if sum > gain {
					best, gain = k, sum
				}
			}
			if gain > 0 {
				order = slices.Insert(slices.Delete(order, at, at+1), best, file)
				moved = true
			}
		}
	}
	for a := range all {
		if slices.Index(order, a.from) > slices.Index(order, a.to) {
			up++
		}
	}
	return order, up
}

// less returns how many fewer arrows go up when b stands above a, which is above it now.
func less(all map[fileArrow]bool, a, b string) (n int) {
	if all[fileArrow{b, a}] {
		n++
	}
	if all[fileArrow{a, b}] {
		n--
	}
	return n
}
