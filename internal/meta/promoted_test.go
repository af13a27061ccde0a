//go:build !race

package meta_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// publicPackages are the packages that a program outside of the module may import.
var publicPackages = []string{"handle", "shard", "world/stats", "world", "scheduler", "ext/hierarchy", "ext/names", "ext/timer", "ext/async", "ext/near", "ext/prefab", "ext/interest", "ext/transit", "ext/transit/link", "inspect", "ext/reference", "ext/region", "persist/state", "persist/inputlog", "persist/snapshot", "persist/snapshot/text", "persist/durable", "worldtest"}

// promotes lists the fields that exported types of the public packages embed, each
// with the reason why whoever holds the type may have all that the field has.
var promotes = map[string]string{
	"hierarchy.Relation.part":     "it exports nothing",
	"names.Names.part":            "it exports nothing",
	"near.Index.viewable":         "it exports nothing",
	"prefab.Prefab.part":          "it exports nothing",
	"world.Answer.Completion":     "an answer is waited for as a completion is",
	"world.Bundle.part":           "it exports nothing",
	"world.Component.part":        "it exports nothing",
	"world.Func.requested":        "it exports nothing",
	"world.Message.delivered":     "it exports nothing",
	"world.Question.requested":    "it exports nothing",
	"world.Transaction.requested": "it exports nothing",
	"world.Reader.accessor":       "it exports nothing",
	"world.Writer.Reader":         "who may write may read",

	"inspect.Inspector.visitor": "it exports nothing",
}

// TestPromoted finds embedded fields in exported struct types: everything that they
// export is promoted to whoever holds the type, so each needs a reason.
func TestPromoted(t *testing.T) {
	found := map[string]bool{}
	for _, dir := range publicPackages {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok || !spec.Name.IsExported() {
					return true
				}
				if s, ok := spec.Type.(*ast.StructType); ok {
					for _, f := range s.Fields.List {
						if len(f.Names) == 0 {
							found[filepath.Base(dir)+"."+spec.Name.Name+"."+embedded(f.Type)] = true
						}
					}
				}
				return true
			})
		}
	}
	for field := range found {
		assert.Contains(t, promotes, field, "%s is embedded, so all of its methods are the holder's; name the field, or give a reason", field)
	}
	for field := range promotes {
		assert.Contains(t, found, field, "there is no such field any more")
	}
}

// TestFace finds the types of package world that are defined by types of package engine. A program
// sees the exported fields of those, and what is promoted to them: there must be none.
func TestFace(t *testing.T) {
	exports := exportsOf(t)
	pkg, err := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	}).Import("github.com/atoll-sim/atoll/world")
	require.NoError(t, err)
	defined := 0
	for _, name := range pkg.Scope().Names() {
		of, ok := pkg.Scope().Lookup(name).(*types.TypeName)
		if !ok || of.IsAlias() || !of.Exported() {
			continue
		}
		named := of.Type().(*types.Named)
		s, ok := named.Underlying().(*types.Struct)
		if !ok || s.NumFields() == 0 || s.Field(0).Pkg() == pkg {
			continue
		}
		defined++
		for f := range s.Fields() {
			assert.False(t, f.Exported(), "world.%s shows the field %s of package engine", name, f.Name())
		}
		own := map[string]bool{}
		for m := range named.Methods() {
			own[m.Name()] = true
		}
		for m := range types.NewMethodSet(types.NewPointer(named)).Methods() {
			exported := m.Obj().Exported()
			assert.True(t, !exported || own[m.Obj().Name()], "world.%s gets the method %s of package engine", name, m.Obj().Name())
		}
	}
	assert.Equal(t, 11, defined)
}

// embedded returns the name of an embedded field, without package and type arguments.
func embedded(x ast.Expr) string {
	name := types.ExprString(x)
	name, _, _ = strings.Cut(name, "[")
	return strings.TrimPrefix(name[strings.LastIndex(name, ".")+1:], "*")
}
