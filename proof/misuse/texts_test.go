package misuse_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// textPackages are the packages whose names texts may use.
var textPackages = []string{"world", "shard", "scheduler", "ext/reference", "ext/names", "ext/hierarchy", "ext/timer", "ext/async", "ext/near", "ext/prefab", "ext/interest", "ext/transit", "ext/transit/link", "inspect", "ext/region", "persist/state", "persist/inputlog", "persist/snapshot", "persist/snapshot/text", "persist/durable", "handle"}

// dotted is a name such as World.Count or world.Register in a text.
var dotted = regexp.MustCompile(`\b([A-Za-z]\w*)\.([A-Z]\w*)`)

// declarations are what textPackages declare: "world.Register", "World.Count", and as
// "Options.Shards" the fields.
var declarations = sync.OnceValues(func() (map[string]bool, error) {
	all, aliases := map[string]bool{}, map[string]string{}
	for _, pkg := range textPackages {
		files, err := filepath.Glob("../../" + pkg + "/*.go")
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				return nil, err
			}
			for _, d := range f.Decls {
				declare(all, aliases, path.Base(pkg), d)
			}
		}
	}
	for alias, of := range aliases {
		for name := range all {
			if method, ok := strings.CutPrefix(name, of+"."); ok {
				all[alias+"."+method] = true
			}
		}
	}
	return all, nil
})

func declare(all map[string]bool, aliases map[string]string, pkg string, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		on := pkg
		if d.Recv != nil {
			on = receiver(d.Recv.List[0].Type)
		}
		all[on+"."+d.Name.Name] = true
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					all[pkg+"."+name.Name] = true
				}
			case *ast.TypeSpec:
				all[pkg+"."+spec.Name.Name] = true
				if of, ok := spec.Type.(*ast.SelectorExpr); ok && spec.Assign.IsValid() {
					aliases[spec.Name.Name] = of.Sel.Name
				}
				var fields *ast.FieldList
				switch x := spec.Type.(type) {
				case *ast.StructType:
					fields = x.Fields
				case *ast.InterfaceType:
					fields = x.Methods
				default:
					continue
				}
				for _, f := range fields.List {
					for _, name := range f.Names {
						all[spec.Name.Name+"."+name.Name] = true
					}
				}
			}
		}
	}
}

func receiver(x ast.Expr) string {
	for {
		switch y := x.(type) {
		case *ast.StarExpr:
			x = y.X
		case *ast.IndexExpr:
			x = y.X
		case *ast.IndexListExpr:
			x = y.X
		case *ast.Ident:
			return y.Name
		default:
			return ""
		}
	}
}

// unknownNames returns the dotted names in a text that no package declares. Those of types
// of this test, and of other modules, are not looked at.
func unknownNames(t testing.TB, text string) (unknown []string) {
	known, err := declarations()
	require.NoError(t, err)
	for _, m := range dotted.FindAllStringSubmatch(text, -1) {
		switch name := m[0]; {
		case m[1] == "b" && known["Build."+m[2]]: // as a constructor calls its Build
		case slices.Contains([]string{"misuse_test", "runtime", "context", "iter", "strings", "list", "ring", "time", "unique"}, m[1]):
		case !known[name]:
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// TestTextsNameWhatThereIs looks at the text of every panic and error of the packages in
// the source: each dotted name in one is declared, and none is put together of a type and
// a verb, which hides it from this test.
func TestTextsNameWhatThereIs(t *testing.T) {
	spliced := regexp.MustCompile(`\b(World|Context|EntityContext|Build|Port|world)\.%s`)
	texts := 0
	for _, pkg := range textPackages {
		files, err := filepath.Glob("../../" + pkg + "/*.go")
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			ast.Inspect(f, func(n ast.Node) bool {
				if _, imports := n.(*ast.ImportSpec); imports {
					return false
				}
				if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
					text, err := strconv.Unquote(l.Value)
					require.NoError(t, err)
					require.Empty(t, unknownNames(t, text), "%s: %s", file, text)
					require.NotRegexp(t, spliced, text, file)
					texts++
				}
				return true
			})
		}
	}
	require.Greater(t, texts, 200)
	require.Equal(t, []string{"World.Wipe", "world.Wipe"}, unknownNames(t, "world: World.Wipe, not World.Clear; call world.Wipe"))
}

// namesCall reports whether a text names the call of a row: Component.Set as it is, Read as
// world.Read.
func namesCall(said, call string) bool {
	call, _, _ = strings.Cut(call, " ")
	if !strings.Contains(call, ".") {
		call = "world." + call
	}
	return regexp.MustCompile(regexp.QuoteMeta(call) + `\b`).MatchString(said)
}
