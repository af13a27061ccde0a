package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// schema is the module with many changes at once. Each function has a copy of its
// body for each change that can be made to it, and an environment variable says
// which one is run:
//
//	func f() {
//		switch mutant {
//		case 17:
//			… the body, changed
//			return
//		case 18:
//			…
//		}
//		… the body
//	}
//
// So tests are compiled once, and not for each change. Changes that do not compile
// are found by the compiler's complaints, and left out. (The idea is that of R. H.
// Untch, A. J. Offutt and M. J. Harrold, Mutation Analysis Using Mutant Schemata, 1993.)
type schema struct {
	root, tmp string
	sites     []site // the number of each is its place, from 1
	broken    []bool // those that do not compile
	binaries  map[binary]string
}

// binary is one of tests: of a package, with the race detector or without, or in the
// check build.
type binary struct {
	pkg         string
	race, check bool
}

// args are those of go test that make it, with others.
func (b binary) args(others ...string) []string {
	args := append([]string{"test", "-c", "-vet=off", "-race=" + strconv.FormatBool(b.race)}, others...)
	if b.check {
		args = append(args, "-tags=atollcheck")
	}
	return append(args, "./"+b.pkg)
}

func (b binary) String() string {
	name := path.Base(b.pkg)
	if b.race {
		name += "-race"
	}
	if b.check {
		name += "-check"
	}
	return name
}

// variable is the environment variable that says which change is made.
const variable = "ATOLL_MUTANT"

// chooser is the file that is added to each package that is changed.
const chooser = `package %s

import (
	"os"
	"strconv"
)

var mutant, _ = strconv.Atoi(os.Getenv("` + variable + `"))
`

var errBuild = errors.New("it does not compile")

// newSchema makes a schema. Its files are in a directory that is kept, or if that is ""
// in one that close removes.
func newSchema(root, keep string, all []site) (s *schema, close func(), err error) {
	s = &schema{root: root, tmp: keep, sites: all, broken: make([]bool, len(all)), binaries: map[binary]string{}}
	if keep != "" {
		return s, func() {}, nil
	}
	s.tmp, err = os.MkdirTemp("", "mutate-")
	return s, func() { _ = os.RemoveAll(s.tmp) }, err
}

// build compiles tests.
func (s *schema) build(ctx context.Context, b binary) error {
	if s.binaries[b] != "" {
		return nil
	}
	file := filepath.Join(s.tmp, b.String()+".test")
	for {
		overlay, lines, err := s.write()
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, "go", b.args("-gcflags=-e", "-overlay", overlay, "-o", file)...)
		cmd.Dir = s.root
		out, err := cmd.CombinedOutput()
		if err == nil {
			s.binaries[b] = file
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !s.exclude(out, lines) {
			return fmt.Errorf("%w:\n%s", errBuild, out)
		}
	}
}

// complaint is what the compiler says of a line.
var complaint = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):\d+: `)

// exclude leaves out the changes that the compiler complains of, and reports
// whether there are any. lines says, for each file, which change each of its lines
// is for.
func (s *schema) exclude(out []byte, lines map[string][]int) (found bool) {
	for _, m := range complaint.FindAllSubmatch(out, -1) {
		n, err := strconv.Atoi(string(m[2]))
		file := path.Clean(string(m[1]))
		of := lines[file]
		if of == nil {
			of = lines[filepath.Join(s.root, file)] // beside the module
		}
		if err != nil || n >= len(of) || of[n] == 0 || s.broken[of[n]-1] {
			continue
		}
		s.broken[of[n]-1], found = true, true
	}
	return found
}

// write writes the files, as they are with all changes, and the overlay that puts
// them there.
func (s *schema) write() (overlay string, lines map[string][]int, err error) {
	replace := map[string]string{}
	lines = map[string][]int{}
	put := func(file string, text []byte, of []int) error {
		to := filepath.Join(s.tmp, strings.ReplaceAll(file, "/", "-"))
		replace[filepath.Join(s.root, file)] = to
		lines[file], lines[to] = of, of // with -trimpath the compiler names the latter, or how to get there
		return os.WriteFile(to, text, 0o600)
	}
	for _, file := range s.files() {
		data, err := os.ReadFile(filepath.Join(s.root, file))
		if err != nil {
			return "", nil, err
		}
		text, of, pkg, err := s.file(file, data)
		if err != nil {
			return "", nil, err
		}
		if err := put(file, text, of); err != nil {
			return "", nil, err
		}
		if err := put(path.Dir(file)+"/mutant.go", fmt.Appendf(nil, chooser, pkg), nil); err != nil {
			return "", nil, err
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", nil, err
	}
	overlay = filepath.Join(s.tmp, "overlay.json")
	return overlay, lines, os.WriteFile(overlay, data, 0o600)
}

// files are those that have something to change.
func (s *schema) files() (all []string) {
	for _, x := range s.sites {
		if !slices.Contains(all, x.file) {
			all = append(all, x.file)
		}
	}
	return all
}

// file returns a file with all its changes, which change each line is for, and
// the package's name.
func (s *schema) file(name string, data []byte) (text []byte, lines []int, pkg string, err error) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, name, data, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, "", err
	}
	var out bytes.Buffer
	lines = []int{0} // they are counted from 1
	emit := func(text string, number int) {
		out.WriteString(text)
		lines = append(lines, slices.Repeat([]int{number}, strings.Count(text, "\n"))...)
	}
	at, done := 0, map[int]bool{}
	for _, decl := range parsed.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		from, to := fset.Position(f.Body.Lbrace).Offset+1, fset.Position(f.Body.Rbrace).Offset
		emit(string(data[at:from]), 0)
		at = from
		end := "return"
		if f.Type.Results != nil {
			end = `panic("no return")`
		}
		emit("\nswitch mutant {\n", 0)
		for i, x := range s.sites {
			if x.file != name || x.offset < from || x.end > to {
				continue
			}
			done[i] = true
			if !s.broken[i] {
				body := string(data[from:x.offset]) + x.text + string(data[x.end:to])
				emit(fmt.Sprintf("case %d:\n", i+1), 0)
				emit("{\n"+body+"\n}\n"+end+"\n", i+1)
			}
		}
		emit("}\n", 0)
	}
	emit(string(data[at:]), 0)
	for i, x := range s.sites {
		if x.file == name && !done[i] {
			return nil, nil, "", fmt.Errorf("%q is not within one function", x.name)
		}
	}
	return out.Bytes(), append(lines, 0), parsed.Name.Name, nil
}
