//go:build !race

package meta_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var updateAPI = flag.Bool("update", false, "rewrite docs/api/*.txt")

// TestAPI compares what the public packages export with docs/api/*.txt, so that a change of the API
// shows in a review. To accept one: go test ./internal/meta -run TestAPI -update
func TestAPI(t *testing.T) {
	for _, dir := range publicPackages {
		t.Run(dir, func(t *testing.T) {
			got := apiOf(t, dir)
			name := filepath.Join("docs", "api", filepath.Base(dir)+".txt")
			if *updateAPI {
				require.NoError(t, os.MkdirAll("docs/api", 0o755))
				require.NoError(t, os.WriteFile(name, []byte(got), 0o644))
				return
			}
			want, err := os.ReadFile(name)
			require.NoError(t, err, "run: go test ./internal/meta -run TestAPI -update")
			require.Equal(t, string(want), got, "the API has changed; if that is meant, run: go test ./internal/meta -run TestAPI -update")
		})
	}
}

// apiOf lists what a package exports, a line for each identifier, and how many there are:
// types, functions, methods, constants and variables. Fields have lines, too, and do not count.
func apiOf(t *testing.T, dir string) string {
	pkg, err := build.ImportDir(dir, 0)
	require.NoError(t, err)
	var lines []string
	count := 0
	add := func(counts bool, format string, args ...any) {
		lines = append(lines, fmt.Sprintf(format, args...))
		if counts {
			count++
		}
	}
	for _, file := range pkg.GoFiles {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, file), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if of := receiver(d); d.Name.IsExported() && (of == "" || ast.IsExported(of)) {
					add(true, "%s", text(t, &ast.FuncDecl{Recv: d.Recv, Name: d.Name, Type: d.Type}))
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.ValueSpec:
						for _, id := range s.Names {
							if id.IsExported() {
								add(true, "%s %s", d.Tok, id.Name)
							}
						}
					case *ast.TypeSpec:
						if s.Name.IsExported() {
							addType(t, s, add)
						}
					}
				}
			}
		}
	}
	slices.Sort(lines)
	return fmt.Sprintf("%d exported identifiers\n\n%s\n", count, strings.Join(lines, "\n"))
}

// addType adds a type, with what it exports of its fields or methods.
func addType(t *testing.T, s *ast.TypeSpec, add func(counts bool, format string, args ...any)) {
	name, fields, what := s.Name.Name, (*ast.FieldList)(nil), ""
	switch x := s.Type.(type) {
	case *ast.StructType:
		fields, what = x.Fields, "struct"
	case *ast.InterfaceType:
		fields, what = x.Methods, "interface"
	default:
		what = text(t, s.Type)
		if s.Assign != token.NoPos {
			what = "= " + what
		}
	}
	if s.TypeParams != nil {
		var params []string
		for _, p := range s.TypeParams.List {
			for _, id := range p.Names {
				params = append(params, id.Name+" "+text(t, p.Type))
			}
		}
		name += "[" + strings.Join(params, ", ") + "]"
	}
	add(true, "type %s %s", name, what)
	if fields == nil {
		return
	}
	for _, f := range fields.List {
		if len(f.Names) == 0 && ast.IsExported(embedded(f.Type)) {
			add(false, "type %s %s, %s", s.Name.Name, what, text(t, f.Type))
		}
		for _, id := range f.Names {
			if id.IsExported() {
				add(what == "interface", "type %s %s, %s %s", s.Name.Name, what, id.Name, text(t, f.Type))
			}
		}
	}
}

// receiver returns the name of the type that a method is of, or "" of a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	return typeName(d.Recv.List[0].Type)
}

// text returns a node in one line.
func text(t *testing.T, n ast.Node) string {
	var b strings.Builder
	require.NoError(t, printer.Fprint(&b, token.NewFileSet(), n))
	return strings.Join(strings.Fields(b.String()), " ")
}
