package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// reach is which tests of a package get to which code, found by the coverage of each
// test alone: a change need be tried with no others.
type reach struct {
	Sum    string // of the test binary
	Blocks []block
	Tests  []reached
}

// block is a run of statements that are run one after the other.
type block struct {
	File             string // from the root of the module
	Line, Column     int    // of the beginning
	ToLine, ToColumn int    // of the end, exclusive
}

// reached is what one test gets to.
type reached struct {
	Name   string
	Took   time.Duration
	Blocks []int // ascending
}

const (
	// quick is how long tests may take that are tried before all others.
	quick = time.Second / 2
	// slow is how long those of one package may take together, the quickest first:
	// what is beyond is not tried.
	slow = 20 * time.Second
)

// newReach finds out what the tests of a package get to in a directory. What it found
// is kept with the schema's files, if those are.
func (s *schema) newReach(ctx context.Context, dir string, b binary, jobs int) (*reach, error) {
	file := filepath.Join(s.tmp, b.String()+"-cover.test")
	cmd := exec.CommandContext(ctx, "go", b.args("-cover", "-covermode=atomic", "-coverpkg=./"+dir, "-o", file)...)
	cmd.Dir = s.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w:\n%s", err, out)
	}
	sum, err := sumOf(file)
	if err != nil {
		return nil, err
	}
	r, kept := &reach{}, file+"-reach.json"
	if old, err := os.ReadFile(kept); err == nil && json.Unmarshal(old, r) == nil && r.Sum == sum {
		return r, nil
	}
	r = &reach{Sum: sum}
	if err := r.measure(ctx, file, filepath.Join(s.root, b.pkg), dir, jobs); err != nil {
		return nil, err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return r, os.WriteFile(kept, data, 0o600)
}

// measure runs each test of a binary by itself.
func (r *reach) measure(ctx context.Context, file, pkg, dir string, jobs int) error {
	cmd := exec.CommandContext(ctx, file, "-test.list", ".")
	cmd.Dir = pkg
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		if !strings.HasPrefix(name, "Benchmark") && !regexp.MustCompile(unchanged).MatchString(name) {
			r.Tests = append(r.Tests, reached{Name: name})
		}
	}
	profiles := make([][]byte, len(r.Tests))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(jobs)
	for i := range r.Tests {
		g.Go(func() error {
			t, start, profile := &r.Tests[i], time.Now(), fmt.Sprintf("%s.%d", file, i)
			cmd := exec.CommandContext(ctx, file, "-test.run", "^"+t.Name+"$", "-test.short", "-test.coverprofile", profile)
			cmd.Dir = pkg
			out, err := cmd.CombinedOutput()
			if err != nil {
				return fmt.Errorf("%s of %s: %w\n%s", t.Name, pkg, err, out)
			}
			t.Took = time.Since(start)
			profiles[i], err = os.ReadFile(profile)
			return errors.Join(err, os.Remove(profile))
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	numbers := map[block]int{}
	for i := range r.Tests {
		r.add(i, dir, string(profiles[i]), numbers)
	}
	return nil
}

// line is one of a profile: a block, its statements, and how often it was run.
var line = regexp.MustCompile(`([^/]+\.go):(\d+)\.(\d+),(\d+)\.(\d+) \d+ (\d+)\n`)

// add reads the profile of a test. numbers are those of the blocks.
func (r *reach) add(test int, dir, profile string, numbers map[block]int) {
	for _, m := range line.FindAllStringSubmatch(profile, -1) {
		var n [4]int
		for i := range n {
			n[i], _ = strconv.Atoi(m[2+i]) // digits
		}
		b := block{dir + "/" + m[1], n[0], n[1], n[2], n[3]}
		number, ok := numbers[b]
		if !ok {
			number = len(r.Blocks)
			numbers[b] = number
			r.Blocks = append(r.Blocks, b)
		}
		if t := &r.Tests[test]; m[6] != "0" {
			t.Blocks = append(t.Blocks, number)
		}
	}
	slices.Sort(r.Tests[test].Blocks)
}

// blocks returns those that a site is in: one, or if none has it, such as the condition of
// a case, all of its function.
func (r *reach) blocks(x *site) (all []int) {
	for i, b := range r.Blocks {
		after := b.Line < x.line || b.Line == x.line && b.Column <= x.column
		before := x.line < b.ToLine || x.line == b.ToLine && x.column < b.ToColumn
		if b.File == x.file && after && before {
			return []int{i}
		}
		if b.File == x.file && x.from <= b.Line && b.Line <= x.to {
			all = append(all, i)
		}
	}
	return all
}

// tests returns those that get to a site: the quick ones, and the others.
func (r *reach) tests(x *site) (groups []group) {
	blocks := r.blocks(x)
	var all []reached
	for _, t := range r.Tests {
		if slices.ContainsFunc(blocks, func(b int) bool { _, ok := slices.BinarySearch(t.Blocks, b); return ok }) {
			all = append(all, t)
		}
	}
	slices.SortStableFunc(all, func(a, b reached) int { return int(a.Took - b.Took) })
	var sum time.Duration
	for i, t := range all {
		if i > 0 && sum+t.Took > slow {
			break
		}
		if i == 0 || sum < quick && sum+t.Took >= quick {
			groups = append(groups, group{})
		}
		sum += t.Took
		g := &groups[len(groups)-1]
		g.names, g.took = append(g.names, t.Name), g.took+t.Took
	}
	return groups
}

// group is tests that are run at once.
type group struct {
	names []string
	took  time.Duration
}

// run is what chooses the tests.
func (g *group) run() string { return "^(" + strings.Join(g.names, "|") + ")$" }

// timeout is how long they may run: what is slower by that much comes to no end.
func (g *group) timeout() time.Duration { return 5*time.Second + 10*g.took }
