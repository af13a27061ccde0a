//go:build !race

package meta_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The shape of the code base. A change here is a change of the design.
var (
	// layers are the packages of the core, each of which may import those
	// before it.
	layers = []string{
		"handle", "internal/mem", "internal/slots", "internal/queue", "internal/store", "shard",
		"internal/extend", "world/stats", "internal/refresh", "internal/engine", "world", "internal/form", "internal/wheel", "scheduler", "internal/figures",
		"ext", "persist", "ext/transit", "worldtest", "inspect",
	}

	// thirdParty are the modules that the library may import, commands and
	// tests aside.
	thirdParty = []string{"golang.org/x/sync", "go.uber.org/atomic"}

	// thirdPartyOf are those that one package beside the core may import as well,
	// by its directory: who does not import it does not compile them.
	thirdPartyOf = map[string][]string{
		"internal/form": {"github.com/fxamacker/cbor/v2"}, "persist/internal/hash": {"github.com/zeebo/xxh3"}, "persist/inputlog": {"github.com/zeebo/xxh3"},
		"persist/snapshot": {"github.com/zeebo/xxh3"}, "persist/snapshot/internal/format": {"github.com/zeebo/xxh3", "github.com/klauspost/compress"},
		"persist/snapshot/internal/shape": {"github.com/zeebo/xxh3"}, "persist/snapshot/text": {"github.com/zeebo/xxh3"},
		"persist/durable": {"github.com/gofrs/flock", "github.com/zeebo/xxh3"}, "inspect": {"golang.org/x/net"}, "inspect/metrics": {"github.com/prometheus/client_golang"},
	}

	// modules are nested ones for which the same rules hold.
	modules = []string{"inspect", "cmd/atoll", "examples"}

	// emptyNames are names of files that say nothing about what is inside.
	emptyNames = []string{"common.go", "helpers.go", "types.go", "util.go"}
)

// linesMax is the length from which a file has to answer a question, tests aside: does it hold two
// duties? It is no law: a type's methods stand together, in as few files as the type has duties.
const linesMax = 800

// rules are what holds for the code base. Each check returns its violations,
// one message each, in the order of the files.
var rules = []struct {
	name  string
	check func(tree) []string
}{
	{"arrows", checkArrows},
	{"third party", checkThirdParty},
	{"unsafe", checkUnsafe},
	{"length", checkLength},
	{"names", checkNames},
}

func TestLayers(t *testing.T) {
	tree, err := readTree(os.DirFS("."))
	require.NoError(t, err)
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			for _, violation := range rule.check(tree) {
				t.Error(violation)
			}
		})
	}
}

// tree is the Go code of one module.
type tree struct {
	module  string   // import path
	sources []source // ordered by path
}

// source is one Go file.
type source struct {
	path    string // from the root of the module, with slashes
	lines   int
	file    *ast.File
	imports []string
}

func (s source) dir() string  { return path.Dir(s.path) }
func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// readTree parses the Go files of the module at the root of fsys, whatever
// their build tags. It leaves out what the go command leaves out: nested
// modules but ours, testdata, vendor, and names that begin with a dot or an underscore.
func readTree(fsys fs.FS) (tree, error) {
	mod, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return tree{}, err
	}
	match := regexp.MustCompile(`(?m)^module (\S+)$`).FindSubmatch(mod)
	if match == nil {
		return tree{}, fmt.Errorf("go.mod has no module line")
	}
	read := tree{module: string(match[1])}
	err = fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case name == ".":
			return nil
		case entry.IsDir():
			_, err := fs.Stat(fsys, path.Join(name, "go.mod"))
			nested := err == nil && !slices.Contains(modules, name)
			if nested || base == "testdata" || base == "vendor" || strings.ContainsAny(base[:1], "._") {
				return fs.SkipDir
			}
			return nil
		case path.Ext(name) != ".go" || strings.ContainsAny(base[:1], "._"):
			return nil
		}
		parsed, err := readSource(fsys, name)
		read.sources = append(read.sources, parsed)
		return err
	})
	if err == nil && len(read.sources) == 0 {
		err = fmt.Errorf("no Go files")
	}
	return read, err
}

func readSource(fsys fs.FS, name string) (source, error) {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return source{}, err
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, data, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return source{}, err
	}
	s := source{path: name, file: file, lines: bytes.Count(data, []byte("\n"))}
	if !bytes.HasSuffix(data, []byte("\n")) {
		s.lines++
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return source{}, err
		}
		s.imports = append(s.imports, imported)
	}
	return s, nil
}

// library yields the files that a user of the module may come to compile.
func (t tree) library(yield func(source) bool) {
	for _, s := range t.sources {
		if !s.isTest() && !yield(s) {
			return
		}
	}
}

// within returns the directory of an imported package of this module, and
// whether it is one.
func (t tree) within(imported string) (dir string, ok bool) {
	if imported == t.module {
		return ".", true
	}
	return strings.CutPrefix(imported, t.module+"/")
}

// top returns the first element of a directory: the layer it is in.
func top(dir string) string {
	first, _, _ := strings.Cut(dir, "/")
	return first
}

// checkArrows checks imports within the module: those of layers go to lower ranks. Other
// internal packages are above handle and below all others, packages beside the core above it,
// the root and the commands on top.
func checkArrows(t tree) (violations []string) {
	for s := range t.library {
		for _, imported := range s.imports {
			to, ok := t.within(imported)
			if !ok {
				continue
			}
			if problem := arrowProblem(s.dir(), to); problem != "" {
				violations = append(violations, fmt.Sprintf("%s imports %s: %s", s.path, to, problem))
			}
		}
	}
	return violations
}

// layerOf returns the layer that a directory is in, or else its first element, and the rank of
// the layer, or else -1. A directory below two layers is in the inner one.
func layerOf(dir string) (layer string, rank int) {
	rank = -1
	for i, l := range layers {
		if (dir == l || strings.HasPrefix(dir, l+"/")) && len(l) > len(layer) {
			layer, rank = l, i
		}
	}
	if rank < 0 {
		layer = top(dir)
	}
	return layer, rank
}

// arrows lists the layers by rank.
func arrows() string { return strings.Join(layers, " ← ") }

// arrowProblem says why a package in one directory must not import one in another,
// or nothing if it may.
func arrowProblem(fromDir, toDir string) string {
	from, high := layerOf(fromDir)
	to, low := layerOf(toDir)
	switch {
	case from == to || from == "cmd" || from == "examples":
		return ""
	case to == "cmd" || to == ".":
		return "only commands import the root and other commands"
	case to == "internal":
		return ""
	case from == "internal" && to != "handle":
		return "internal packages without a rank import only handle and each other"
	case high >= 0 && (low < 0 || low >= high):
		return "the arrows are " + arrows()
	}
	return ""
}

// checkThirdParty checks that the library, commands aside, imports no module
// but those allowed.
func checkThirdParty(t tree) (violations []string) {
	for s := range t.library {
		modules := slices.Concat(thirdParty, thirdPartyOf[s.dir()])
		for _, imported := range s.imports {
			_, own := t.within(imported)
			standard := !strings.Contains(top(imported), ".")
			allowed := slices.ContainsFunc(modules, func(module string) bool {
				return imported == module || strings.HasPrefix(imported, module+"/")
			})
			if !own && !standard && !allowed && !slices.Contains([]string{"cmd", "examples"}, top(s.dir())) {
				violations = append(violations, fmt.Sprintf("%s imports %s: the library imports only %s",
					s.path, imported, strings.Join(modules, ", ")))
			}
		}
	}
	return violations
}

// checkUnsafe checks that at most one file of a package imports unsafe, and
// that each function in it says why it is safe.
func checkUnsafe(t tree) (violations []string) {
	first := map[string]string{} // by directory
	for s := range t.library {
		if !slices.Contains(s.imports, "unsafe") {
			continue
		}
		if other, ok := first[s.dir()]; ok {
			violations = append(violations, fmt.Sprintf("%s imports unsafe, and so does %s: at most one file of a package may",
				s.path, other))
		} else {
			first[s.dir()] = s.path
		}
		for _, decl := range s.file.Decls {
			if function, ok := decl.(*ast.FuncDecl); ok && !hasSafety(function.Doc) {
				violations = append(violations, fmt.Sprintf("%s: %s has no \"Safety:\" paragraph in its comment, in a file that imports unsafe",
					s.path, function.Name))
			}
		}
	}
	return violations
}

// hasSafety reports whether a paragraph of doc begins with "Safety:" and goes
// on.
func hasSafety(doc *ast.CommentGroup) bool {
	return slices.ContainsFunc(strings.Split(doc.Text(), "\n\n"), func(paragraph string) bool {
		reason, ok := strings.CutPrefix(paragraph, "Safety:")
		return ok && strings.TrimSpace(reason) != ""
	})
}

// checkLength finds files so long that they may hold two things.
func checkLength(t tree) (violations []string) {
	for s := range t.library {
		if s.lines > linesMax {
			violations = append(violations, fmt.Sprintf("%s has %d lines, more than %d: if it has two duties, split it by noun", s.path, s.lines, linesMax))
		}
	}
	return violations
}

// checkNames checks that no file, tests included, has a name that says nothing.
func checkNames(t tree) (violations []string) {
	for _, s := range t.sources {
		if slices.Contains(emptyNames, path.Base(s.path)) {
			violations = append(violations, s.path+": name the file after the noun inside")
		}
	}
	return violations
}
