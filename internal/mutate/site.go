package main

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// site is a small change that can be made to a file: its bytes from offset to end
// become text.
type site struct {
	file        string // from the root of the module
	line        int
	column      int
	from, to    int // lines of the function it is in
	offset, end int
	text        string
	name        string // the same as long as the function is
}

// swaps are what operators are changed into.
var swaps = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR},
	token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.LAND: {token.LOR}, token.LOR: {token.LAND},
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL}, token.REM: {token.MUL},
	token.AND: {token.OR}, token.OR: {token.AND}, token.XOR: {token.AND}, token.AND_NOT: {token.AND},
	token.SHL: {token.SHR}, token.SHR: {token.SHL},
	token.ADD_ASSIGN: {token.SUB_ASSIGN}, token.SUB_ASSIGN: {token.ADD_ASSIGN}, token.MUL_ASSIGN: {token.QUO_ASSIGN},
	token.OR_ASSIGN: {token.AND_ASSIGN}, token.AND_ASSIGN: {token.OR_ASSIGN}, token.AND_NOT_ASSIGN: {token.OR_ASSIGN}, token.XOR_ASSIGN: {token.OR_ASSIGN},
	token.INC: {token.DEC}, token.DEC: {token.INC},
}

// sites finds the changes that can be made in the Go files of a directory, tests
// aside, as far as they are built here.
func sites(root, dir string) ([]site, error) {
	files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var all []site
	for _, file := range files {
		base := filepath.Base(file)
		built, err := build.Default.MatchFile(filepath.Dir(file), base)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(base, "_test.go") || !built {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		found, err := sitesIn(dir+"/"+base, data)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has nothing to change", dir)
	}
	return all, nil
}

// finder collects the sites of one file.
type finder struct {
	fset     *token.FileSet
	data     []byte
	file     string
	function string
	from, to int // its lines
	sites    []site
	names    map[string]int
}

func sitesIn(file string, data []byte) ([]site, error) {
	f := &finder{fset: token.NewFileSet(), data: data, file: file, names: map[string]int{}}
	parsed, err := parser.ParseFile(f.fset, file, data, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, decl := range parsed.Decls {
		function, ok := decl.(*ast.FuncDecl)
		if !ok || function.Body == nil {
			continue
		}
		f.function = function.Name.Name
		f.from, f.to = f.fset.Position(function.Pos()).Line, f.fset.Position(function.End()).Line
		ast.Inspect(function.Body, f.visit)
	}
	return f.sites, nil
}

func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		f.operator(n.OpPos, n.Op, n)
	case *ast.AssignStmt:
		f.operator(n.TokPos, n.Tok, n)
		if n.Tok != token.DEFINE {
			f.remove(n)
		}
	case *ast.IncDecStmt:
		f.operator(n.TokPos, n.Tok, n)
		f.remove(n)
	case *ast.ExprStmt:
		f.remove(n)
	case *ast.BranchStmt:
		f.remove(n)
	case *ast.ReturnStmt:
		if len(n.Results) == 0 {
			f.remove(n)
		}
	case *ast.IfStmt:
		f.condition(n.Cond)
	case *ast.ForStmt:
		f.condition(n.Cond)
	case *ast.BasicLit:
		f.number(n)
	}
	return true
}

// operator swaps an operator, which is within whole.
func (f *finder) operator(pos token.Pos, op token.Token, whole ast.Node) {
	for _, to := range swaps[op] {
		f.add(pos, pos+token.Pos(len(op.String())), to.String(), whole, "")
	}
}

// condition turns a condition around that has no operator to swap.
func (f *finder) condition(c ast.Expr) {
	switch c.(type) {
	case nil, *ast.BinaryExpr:
		return
	}
	f.add(c.Pos(), c.End(), "!("+f.source(c)+")", c, "")
}

// number makes a whole number one more.
func (f *finder) number(n *ast.BasicLit) {
	if n.Kind != token.INT {
		return
	}
	v, err := strconv.ParseUint(n.Value, 0, 63)
	if err == nil {
		f.add(n.Pos(), n.End(), strconv.FormatUint(v+1, 10), n, "")
	}
}

// remove leaves a statement out.
func (f *finder) remove(n ast.Stmt) { f.add(n.Pos(), n.End(), "", n, "left out") }

func (f *finder) add(pos, end token.Pos, text string, whole ast.Node, what string) {
	from := f.fset.Position(whole.Pos()).Offset
	before, after := f.source(whole), what
	offset, to := f.fset.Position(pos).Offset, f.fset.Position(end).Offset
	if after == "" {
		after = string(f.data[from:offset]) + text + string(f.data[to:f.fset.Position(whole.End()).Offset])
	}
	name := fmt.Sprintf("%s %s: %s → %s", f.file, f.function, short(before), short(after))
	f.names[name]++
	if n := f.names[name]; n > 1 {
		name += fmt.Sprintf(" #%d", n)
	}
	at := f.fset.Position(pos)
	f.sites = append(f.sites, site{
		file: f.file, line: at.Line, column: at.Column, from: f.from, to: f.to, offset: offset, end: to, text: text, name: name,
	})
}

func (f *finder) source(n ast.Node) string {
	return string(f.data[f.fset.Position(n.Pos()).Offset:f.fset.Position(n.End()).Offset])
}

// short makes a text one line.
func short(text string) string { return strings.Join(strings.Fields(text), " ") }
