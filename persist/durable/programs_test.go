package durable_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// TestPrograms lets a program load what another has saved, which has one more or one fewer of each
// kind of thing: by Load, as a fork, from a Dir and by Open after Close. PlanLoad tells each
// difference on which the hash depends. Where it tells none, the hash is the same.
func TestPrograms(t *testing.T) {
	apart := 4
	if testing.Short() {
		apart = 10
	}
	turn := int(seed.Of(t) % uint64(apart))
	for i, p := range programs {
		base := another{name: "nothing", add: p.had}
		t.Run(p.name, func(t *testing.T) {
			if !check.Enabled || i%apart == turn { // there each takes long: the others with other seeds
				t.Run("more", func(t *testing.T) { mustChange(t, base, p, p.listed, false) })
			}
			if !check.Enabled || (i+apart/2)%apart == turn {
				t.Run("fewer", func(t *testing.T) { mustChange(t, p, base, p.listed, p.alone) })
			}
		})
	}
}

// mustChange saves by one program and loads by another.
func mustChange(t *testing.T, from, to another, listed, refused bool) {
	mk := func(a another) *bank {
		x := newBankOf(1, a.options)
		if a.add != nil {
			a.add(x)
		}
		x.options.Snapshot.Scheduler, x.options.Snapshot.OtherOptions = x.s, true
		return x
	}
	hashOf := func(x *bank) state.Hash {
		hash, err := state.StateHash(x.World, nil)
		require.NoError(t, err)
		return hash
	}
	path, _ := useDisk(t)
	x := mk(from)
	x.options.Snapshot.Scheduler = nil // Open sets it
	st, err := x.open(path)
	require.NoError(t, err)
	for range 40 {
		x.step(t)
	}
	x.add(t, 5)
	if from.after != nil {
		from.after(x)
	}
	o := x.options.Snapshot
	o.Scheduler = x.s
	var file bytes.Buffer
	require.NoError(t, snapshot.Write(&file, x.World, o))
	c, err := snapshot.Capture(x.World, o)
	require.NoError(t, err)
	defer c.Release()
	dir := &snapshot.Dir{Path: t.TempDir()}
	_, err = dir.Save(x.World, o)
	require.NoError(t, err)
	want := hashOf(x)

	y := mk(to)
	plan, err := snapshot.PlanLoad(bytes.NewReader(file.Bytes()), y.World, y.options.Snapshot)
	require.NoError(t, err)
	require.Equal(t, listed, len(plan.Differences) > 0, "%v", plan)
	require.Equal(t, refused, len(plan.Blocking()) > 0, "%v", plan)
	loads := map[string]func(y *bank) error{
		"file": func(y *bank) error {
			return snapshot.Load(bytes.NewReader(file.Bytes()), y.World, y.options.Snapshot)
		},
		"fork": func(y *bank) error { return c.Load(y.World, y.options.Snapshot) },
		"dir": func(y *bank) error {
			_, err := dir.Load(y.World, y.options.Snapshot)
			return err
		},
	}
	for how, load := range loads {
		y := mk(to)
		if err := load(y); refused {
			require.ErrorIs(t, err, snapshot.ErrOtherWorld, how)
			require.NoError(t, y.Err(), how)
			continue
		} else {
			require.NoError(t, err, how)
		}
		if to.after != nil {
			to.after(y)
		}
		require.Equal(t, x.observe(), y.observe(), how)
		if !listed {
			require.Equal(t, want, hashOf(y), how)
		}
		z := mk(from)
		require.NoError(t, load(z), how)
		for range 80 { // tables come and go
			y.step(t)
			z.step(t)
			require.Equal(t, z.observe(), y.observe(), how)
			if !listed {
				require.Equal(t, hashOf(z), hashOf(y), how)
			}
		}
	}
	now := x.observe()
	require.NoError(t, st.Close())
	y = mk(to)
	y.options.Snapshot.Scheduler = nil
	st, err = y.open(path)
	if refused {
		require.ErrorIs(t, err, snapshot.ErrOtherWorld)
		return
	}
	require.NoError(t, err)
	require.Equal(t, now, y.observe())
	require.NoError(t, st.Close())
}

// asides are functions that make or register something that is no part of a program's world.
var asides = map[string]string{
	"handle.New": "a number", "world.New": "the world itself", "world.MustNew": "the world itself", "scheduler.New": "the scheduler itself",
	"link.NewClient": "carries, and is in no world", "link.NewServer": "carries, and is in no world",
}

// TestProgramsComplete finds every exported function that makes or registers something, and what
// must be registered before Open: programs has each. It also has each list of which the hash
// depends, and PlanLoad tells it.
func TestProgramsComplete(t *testing.T) {
	var known, told []string
	for _, p := range programs {
		known = append(known, p.by)
	}
	for _, name := range makers(t) {
		if asides[name] == "" {
			require.Contains(t, known, name, "add it to programs, or to asides with the reason")
		}
	}
	for what := range late {
		require.Contains(t, known, regexp.MustCompile(`^[\w.]+`).FindString(what), "it must be registered before Open")
	}
	for _, p := range programs {
		if p.add == nil || p.had != nil {
			continue
		}
		x, y := newBank(1), newBank(1)
		p.add(y)
		var file bytes.Buffer
		require.NoError(t, snapshot.Write(&file, x.World, x.options.Snapshot))
		plan, err := snapshot.PlanLoad(&file, y.World, y.options.Snapshot)
		require.NoError(t, err)
		for _, d := range plan.Differences {
			told = append(told, d.Kind)
		}
	}
	for _, list := range engine.Of(newBank(1).World).Survey().Registered() {
		require.Contains(t, told, list.What, "no program has one more")
	}
}

// makers returns the exported functions of public packages whose names begin with New, MustNew or
// Register, and World's methods that do.
func makers(t *testing.T) (all []string) {
	makes := regexp.MustCompile(`^(New|MustNew|Register)([A-Z]|$)`)
	require.NoError(t, filepath.WalkDir("../..", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && slices.Contains([]string{"internal", "cmd", "proof", "bench", "inspect", "examples", "testdata", "docs", ".git"}, e.Name()):
			return fs.SkipDir
		case e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !makes.MatchString(f.Name.Name) {
				continue
			}
			if f.Recv == nil {
				all = append(all, file.Name.Name+"."+f.Name.Name)
			} else if star, ok := f.Recv.List[0].Type.(*ast.StarExpr); ok {
				if name, ok := star.X.(*ast.Ident); ok && name.Name == "World" {
					all = append(all, "World."+f.Name.Name)
				}
			}
		}
		return nil
	}))
	require.Greater(t, len(all), 20)
	return all
}

// TestPins loads what knows one of two pinned components: the pin of the other stays, and for the
// first what was saved holds.
func TestPins(t *testing.T) {
	x, y := newBank(1), newBank(1)
	var file bytes.Buffer
	require.NoError(t, snapshot.Write(&file, x.World, x.options.Snapshot))
	mast := world.Register[Mast](y.World, "mast")
	y.Pin(y.shipOf, mast)
	require.Len(t, engine.Of(y.World).Survey().Pinned(), 2)
	require.NoError(t, snapshot.Load(&file, y.World, y.options.Snapshot))
	require.Equal(t, []int{2}, engine.Of(y.World).Survey().Pinned())
}
