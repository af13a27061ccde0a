//go:build !race

package meta_test

import (
	"go/ast"
	"go/token"
	"path"
	"strconv"
	"strings"
)

// names are what the documents may name: the exported declarations of the
// packages, by path from the package on (world.World.Count), and the tests.
type names struct {
	exported map[string]bool
	tests    map[string]map[string]bool // of each test its strings, one of which names a subtest
}

func namesOf(t tree) names {
	n := names{exported: map[string]bool{}, tests: map[string]map[string]bool{}}
	for _, s := range t.sources {
		pkg := path.Base(s.dir())
		for _, d := range s.file.Decls {
			f, isFunc := d.(*ast.FuncDecl)
			switch {
			case s.isTest() && isFunc && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test"):
				n.tests[pkg+"."+f.Name.Name] = stringsIn(f)
			case !s.isTest():
				n.declare(pkg, d)
			}
		}
	}
	return n
}

// declare adds a declaration of a package, with its methods' or fields' names.
func (n names) declare(pkg string, d ast.Decl) {
	add := func(parts ...string) {
		if ast.IsExported(parts[len(parts)-1]) {
			n.exported[pkg+"."+strings.Join(parts, ".")] = true
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			add(d.Name.Name)
		} else if on := typeName(d.Recv.List[0].Type); ast.IsExported(on) {
			add(on, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					add(name.Name)
				}
			case *ast.TypeSpec:
				add(spec.Name.Name)
				if fields, ok := spec.Type.(*ast.StructType); ok && ast.IsExported(spec.Name.Name) {
					for _, field := range fields.Fields.List {
						for _, name := range field.Names {
							add(spec.Name.Name, name.Name)
						}
					}
				}
			}
		}
	}
}

// typeName returns the name of a receiver's type.
func typeName(x ast.Expr) string {
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

func stringsIn(f *ast.FuncDecl) map[string]bool {
	all := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if s, err := strconv.Unquote(l.Value); err == nil {
				all[s] = true
			}
		}
		return true
	})
	return all
}
