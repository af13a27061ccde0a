package misuse_test

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// callbackPackages are the directories of the packages that are searched for callbacks.
var callbackPackages = []string{
	"world", "scheduler", "ext/reference", "ext/names", "ext/hierarchy", "ext/timer", "ext/async", "ext/near", "ext/prefab", "ext/interest", "ext/transit", "ext/transit/link", "inspect", "ext/region", "persist/state",
	"world/stats", "shard", "persist/inputlog", "persist/snapshot", "persist/snapshot/text", "persist/durable", "worldtest",
}

// userTypes are types of other packages that users implement.
var userTypes = regexp.MustCompile(`^\*?(io\.(Reader|Writer)|slog\.(Logger|Handler)|iter\.Seq2?\[.*|net\.Listener)$`)

// TestCallbacksComplete holds the table of callbacks against what the packages export: each
// parameter, field, interface and sequence through which they call a user's code is in it, or is
// left out for a reason.
func TestCallbacksComplete(t *testing.T) {
	inTable, leftOut := map[string]bool{}, map[string]bool{}
	for _, row := range callbackRows() {
		for name := range strings.SplitSeq(row.of, "\n") {
			inTable[strings.TrimSpace(name)] = true
		}
	}
	for _, names := range callbacksLeftOut {
		for name := range strings.SplitSeq(names, "\n") {
			leftOut[strings.TrimSpace(name)] = true
		}
	}
	exported := map[string]bool{}
	for _, pkg := range callbackPackages {
		addCallbacks(t, exported, pkg)
	}
	for _, name := range slices.Sorted(maps.Keys(exported)) {
		if inTable[name] == leftOut[name] {
			t.Errorf("%q is in the table of callbacks: %v, left out: %v; want one of them", name, inTable[name], leftOut[name])
		}
		delete(leftOut, name)
		delete(inTable, name)
	}
	maps.DeleteFunc(inTable, func(name string, _ bool) bool { return strings.HasPrefix(name, besides) })
	require.Empty(t, leftOut, "no package exports that")
	require.Empty(t, inTable, "no package exports that")
}

// addCallbacks adds what of a package calls the user's code: "durable.Options.OnError" for a field,
// "world.Bundle.CreateN init" for a parameter, "scheduler.Balancer" for an interface, and
// "world.Query.Chunks loop" for the body of a loop over a sequence.
func addCallbacks(t *testing.T, to map[string]bool, pkg string) {
	files, err := filepath.Glob("../../" + pkg + "/*.go")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	pkg = path.Base(pkg)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				addCallbacksOfFunc(t, to, pkg, d)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok && s.Name.IsExported() {
						addCallbacksOfType(t, to, pkg+"."+s.Name.Name, s.Type)
					}
				}
			}
		}
	}
}

func addCallbacksOfFunc(t *testing.T, to map[string]bool, pkg string, d *ast.FuncDecl) {
	name := pkg + "." + d.Name.Name
	if d.Recv != nil {
		of := strings.TrimPrefix(typeText(t, d.Recv.List[0].Type), "*")
		of, _, _ = strings.Cut(of, "[")
		if !ast.IsExported(of) {
			return
		}
		name = pkg + "." + of + "." + d.Name.Name
	}
	if !d.Name.IsExported() {
		return
	}
	for _, p := range d.Type.Params.List {
		if isUsers(t, p.Type) {
			for _, id := range p.Names {
				to[name+" "+id.Name] = true
			}
		}
	}
	if d.Type.Results != nil {
		for _, r := range d.Type.Results.List {
			if strings.HasPrefix(typeText(t, r.Type), "iter.Seq") {
				to[name+" loop"] = true
			}
		}
	}
}

func addCallbacksOfType(t *testing.T, to map[string]bool, name string, x ast.Expr) {
	switch x := x.(type) {
	case *ast.StructType:
		for _, f := range x.Fields.List {
			for _, id := range f.Names {
				if id.IsExported() && isUsers(t, f.Type) {
					to[name+"."+id.Name] = true
				}
			}
		}
	case *ast.FuncType:
		to[name] = true
	case *ast.InterfaceType: // users can implement it if all of its methods are exported
		methods := 0
		for _, m := range x.Methods.List {
			for _, id := range m.Names {
				methods++
				if !id.IsExported() {
					return
				}
			}
			if len(m.Names) == 0 {
				return
			}
		}
		if methods > 0 {
			to[name] = true
		}
	}
}

// isUsers reports whether values of a type run the user's code.
func isUsers(t *testing.T, x ast.Expr) bool {
	if e, ok := x.(*ast.Ellipsis); ok {
		x = e.Elt
	}
	if _, ok := x.(*ast.FuncType); ok {
		return true
	}
	return userTypes.MatchString(typeText(t, x))
}

// typeText returns a type as in a source.
func typeText(t *testing.T, x ast.Expr) string {
	var b strings.Builder
	require.NoError(t, printer.Fprint(&b, token.NewFileSet(), x))
	return b.String()
}
