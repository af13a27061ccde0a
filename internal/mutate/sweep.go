package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// sweep makes every small change there is in some packages.
type sweep struct {
	root     string
	keep     string // directory that keeps what was found; none if ""
	out      io.Writer
	jobs     int
	dirs     []string
	match    *regexp.Regexp
	min      float64
	seed     uint64
	deadline time.Time // none: all are tried
	again    bool      // those that survived before are tried again
	verbose  bool

	journal *journal
	mu      struct {
		sync.Mutex
		tally
	}
}

// tally counts what became of the changes.
type tally struct{ noticed, late, survive, unreached, unknown, broken, left int }

// stages are by package the tests that a change must get past to survive: first its own,
// then those of what is built on it. Those in the check build, which are slow, are for what
// no other test gets to.
var stages = map[string][]binary{
	"handle": {{pkg: "handle"}, {pkg: "shard"}},
	"shard": {
		{pkg: "shard"}, {pkg: "world"}, {pkg: "scheduler"}, {pkg: "state"}, {pkg: "inputlog"},
		{pkg: "shard", check: true}, {pkg: "world", check: true},
	},
}

func (s *sweep) list() error {
	for _, dir := range s.dirs {
		all, err := sites(s.root, dir)
		if err != nil {
			return err
		}
		for _, x := range all {
			if s.match.MatchString(x.name) {
				_, _ = fmt.Fprintf(s.out, "%4d  %s\n", x.line, x.name)
			}
		}
	}
	return nil
}

// run tries the changes and prints those that nothing notices. It reports whether
// enough is noticed, and each survivor known.
func (s *sweep) run(ctx context.Context) (ok bool, err error) {
	start := time.Now()
	if s.journal, err = openJournal(s.root, s.keep); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, s.journal.close()) }()
	for _, dir := range s.dirs {
		if stages[dir] == nil {
			return false, fmt.Errorf("no tests are known for %q", dir)
		}
		if err := s.runPackage(ctx, dir); err != nil {
			return false, err
		}
	}
	t := &s.mu.tally
	part := float64(t.noticed) / float64(max(t.noticed+t.survive, 1))
	_, _ = fmt.Fprintf(s.out, "\n%d small changes, %d noticed (%.1f %%), %d of them because time was up; %d survive, %d of them where no test gets, %d not in survivors.txt; %d do not compile, %d not tried; %.0f s\n",
		t.noticed+t.survive, t.noticed, 100*part, t.late, t.survive, t.unreached, t.unknown, t.broken, t.left, time.Since(start).Seconds())
	return part >= s.min && t.unknown == 0, nil
}

func (s *sweep) runPackage(ctx context.Context, dir string) error {
	all, err := sites(s.root, dir)
	if err != nil {
		return err
	}
	keep := ""
	if s.keep != "" {
		keep = filepath.Join(s.keep, dir)
		if err := os.MkdirAll(keep, 0o700); err != nil {
			return err
		}
	}
	c, close, err := newSchema(s.root, keep, all)
	if err != nil {
		return err
	}
	defer close()
	todo, err := s.resume(c)
	if err != nil {
		return err
	}
	if len(todo) == 0 {
		return nil
	}
	reaches := map[binary]*reach{}
	for _, b := range stages[dir] {
		if err := c.build(ctx, b); err != nil {
			return err
		}
		if reaches[b], err = c.newReach(ctx, dir, b, s.jobs); err != nil {
			return err
		}
		if err := c.mustPassAll(ctx, b); err != nil {
			return err
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.jobs)
	for _, i := range todo {
		if c.broken[i] {
			if err := s.journal.note(&c.sites[i], verdict{}, true); err != nil {
				return err
			}
			s.mu.broken++
			continue
		}
		g.Go(func() error { return s.attack(ctx, c, i, reaches, stages[dir]) })
	}
	return g.Wait()
}

// resume counts what the journal knows, and returns which changes to try, by chance
// if there may not be time for all. Those that are tried again are the ones that
// have no reason to survive, the longest ago first: so pieces get to all of them.
func (s *sweep) resume(c *schema) (todo []int, err error) {
	age := map[int]int{} // the line of the journal that it is from
	for i := range c.sites {
		x := &c.sites[i]
		e, ok, err := s.journal.look(x)
		_, listed := known[x.name]
		switch {
		case err != nil:
			return nil, err
		case ok && e.Broken:
			c.broken[i] = true
			s.mu.broken++
		case !s.match.MatchString(x.name):
		case ok && (e.By != "" || listed || !s.again):
			s.tell(x, verdict{failed: e.By, late: e.Late, unreached: e.Unreached})
		default:
			todo, age[i] = append(todo, i), e.line
		}
	}
	if !s.deadline.IsZero() {
		rand.New(rand.NewPCG(s.seed, 0)).Shuffle(len(todo), func(i, k int) { todo[i], todo[k] = todo[k], todo[i] })
	}
	slices.SortStableFunc(todo, func(a, b int) int { return age[a] - age[b] })
	return todo, nil
}

// attack tries one change with the tests that get to it.
func (s *sweep) attack(ctx context.Context, c *schema, i int, reaches map[binary]*reach, all []binary) error {
	if !s.deadline.IsZero() && time.Now().After(s.deadline) {
		s.mu.Lock()
		s.mu.left++
		s.mu.Unlock()
		return nil
	}
	v := verdict{unreached: true}
	for _, b := range all {
		if b.check && !v.unreached {
			break
		}
		for _, g := range reaches[b].tests(&c.sites[i]) {
			var err error
			if v, err = c.tryFor(ctx, b, tests{pkg: b.pkg, run: g.run()}, i+1, g.timeout()); err != nil {
				return err
			}
			if v.noticed() {
				break
			}
		}
		if v.noticed() {
			break
		}
	}
	s.tell(&c.sites[i], v)
	return s.journal.note(&c.sites[i], v, false)
}

// tell counts and prints what became of a change.
func (s *sweep) tell(x *site, v verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	reason, listed := known[x.name]
	switch {
	case v.noticed():
		s.mu.noticed++
		if v.late {
			s.mu.late++
		}
		if listed {
			_, _ = fmt.Fprintf(s.out, "%s:%d is noticed, by %v, and in survivors.txt: %s\n", x.file, x.line, v, x.name)
		} else if s.verbose {
			_, _ = fmt.Fprintf(s.out, "%s:%d %v (%.1f s): %s\n", x.file, x.line, v, v.took.Seconds(), x.name)
		}
		return
	case !listed:
		s.mu.unknown++
		reason = "NOT IN survivors.txt"
	}
	s.mu.survive++
	if v.unreached {
		s.mu.unreached++
		reason = "no test gets there; " + reason
	}
	_, _ = fmt.Fprintf(s.out, "%s:%d survives: %s\n\t%s\n", x.file, x.line, x.name, reason)
}

// known are the changes that survive, with the reason why they may: nobody could
// tell, or all that changes is how fast it is.
var known = readKnown(survivorsText)

//go:embed survivors.txt
var survivorsText string

// readKnown reads survivors: two lines for each, the name and the reason.
func readKnown(text string) map[string]string {
	all, name := map[string]string{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "\t"):
			all[name] = strings.TrimSpace(line)
		default:
			name = line
		}
	}
	return all
}
