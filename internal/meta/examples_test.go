//go:build !race

package meta_test

import (
	"fmt"
	"go/ast"
	"go/doc"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// shown are the packages whose entry points have examples: every function, and
// every type that has methods of its own; of package world every type, and every
// method is called in one of the files with examples.
var shown = []string{"handle", "world/stats", "world", "scheduler", "ext/reference", "ext/hierarchy", "worldtest", "ext/names", "ext/timer", "ext/async", "ext/near", "ext/prefab", "ext/interest", "ext/transit", "ext/transit/link", "inspect", "ext/region", "persist/state", "persist/snapshot", "persist/snapshot/text", "persist/durable"}

// plainMethods are those that are called by other packages, for what a type is.
var plainMethods = []string{"Error", "LogValue", "MarshalJSON", "String", "Unwrap"}

// TestExamples holds the examples of the packages against what they export.
func TestExamples(t *testing.T) {
	read, err := readTree(os.DirFS("."))
	require.NoError(t, err)
	for _, pkg := range shown {
		for _, problem := range checkExamples(read, pkg) {
			t.Error(problem)
		}
	}
}

// TestIndex holds the index in doc.go against the packages that a user can import.
func TestIndex(t *testing.T) {
	read, err := readTree(os.DirFS("."))
	require.NoError(t, err)
	index, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	packages := map[string]bool{}
	for _, s := range read.sources {
		dir := s.dir()
		if !s.isTest() && dir != "." && s.file.Name.Name != "main" && dir != "world/many" && !strings.Contains("/"+dir+"/", "/internal/") {
			packages[dir] = true
		}
	}
	require.Greater(t, len(packages), 10)
	for dir := range packages {
		require.Regexp(t, `package `+dir+`\b|\b`+dir+`\.[A-Z]`, string(index), "%s is not in the index", dir)
	}
}

// checkExamples returns what the examples of a package lack, one message each.
func checkExamples(t tree, pkg string) (problems []string) {
	var code, tests []*ast.File
	for _, s := range t.sources {
		switch {
		case s.dir() != pkg:
		case s.isTest():
			tests = append(tests, s.file)
		default:
			code = append(code, s.file)
		}
	}
	functions, types := exportedIn(code)
	examples := map[string]bool{}
	called := map[string]bool{}
	for _, x := range doc.Examples(tests...) {
		if x.Output == "" {
			problems = append(problems, fmt.Sprintf("%s: Example%s has no Output", pkg, x.Name))
		}
		subject, _, _ := strings.Cut(x.Name, "_")
		examples[subject] = true
	}
	for _, file := range tests {
		if len(doc.Examples(file)) > 0 {
			addCalled(called, file)
		}
	}
	for _, name := range functions {
		if !examples[name] {
			problems = append(problems, fmt.Sprintf("%s.%s has no example", pkg, name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		methods := types[name]
		if !examples[name] && (len(methods) > 0 || pkg == "world") {
			problems = append(problems, fmt.Sprintf("%s.%s has no example", pkg, name))
		}
		for _, method := range methods {
			if pkg == "world" && !called[method] {
				problems = append(problems, fmt.Sprintf("%s.%s.%s is called in no example", pkg, name, method))
			}
		}
	}
	return problems
}

// addCalled adds the methods that are called, or implemented, in a file.
func addCalled(called map[string]bool, file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			called[n.Sel.Name] = true
		case *ast.FuncDecl:
			called[n.Name.Name] = called[n.Name.Name] || n.Recv != nil
		}
		return true
	})
}

// exportedIn returns the exported functions, and the types with their methods,
// plain ones left out.
func exportedIn(files []*ast.File) (functions []string, types map[string][]string) {
	types = map[string][]string{}
	for _, file := range files {
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if !d.Name.IsExported() {
					continue
				}
				if d.Recv == nil {
					functions = append(functions, d.Name.Name)
				} else if on := typeName(d.Recv.List[0].Type); ast.IsExported(on) && !slices.Contains(plainMethods, d.Name.Name) {
					types[on] = append(types[on], d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok && spec.Name.IsExported() {
						types[spec.Name.Name] = append(types[spec.Name.Name], interfaceMethods(spec)...)
					}
				}
			}
		}
	}
	return functions, types
}

// interfaceMethods returns the methods that an implementation must have. (One of a
// single method is a name for others' methods.)
func interfaceMethods(spec *ast.TypeSpec) (names []string) {
	x, ok := spec.Type.(*ast.InterfaceType)
	if !ok || len(x.Methods.List) == 1 {
		return nil
	}
	for _, method := range x.Methods.List {
		for _, name := range method.Names {
			if name.IsExported() {
				names = append(names, name.Name)
			}
		}
	}
	return names
}

// TestExamplesSeen looks at a package that lacks one of each.
func TestExamplesSeen(t *testing.T) {
	read, err := readTree(fstest.MapFS{
		"go.mod": {Data: []byte("module m\n")},
		"world/code.go": {Data: []byte(`package world
type Shown struct{}
func (s *Shown) Called() {}
func (s *Shown) Forgotten() {}
func (s *Shown) String() string { return "" }
type hidden struct{}
func (hidden) Method() {}
type Bare struct{}
func New() *Shown { return nil }
func Make() *Shown { return nil }
func internal() {}
`)},
		"world/example_test.go": {Data: []byte(`package world_test
func ExampleShown_Called() {
	new(world.Shown).Called()
	// Output:
	// something
}
func ExampleNew() {
	world.New()
}
`)},
	})
	require.NoError(t, err)
	require.Equal(t, []string{
		"world: ExampleNew has no Output",
		"world.Make has no example",
		"world.Bare has no example",
		"world.Shown.Forgotten is called in no example",
	}, checkExamples(read, "world"))
	require.Equal(t, path.Base(read.sources[0].path), "code.go")
}
