package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// sweep makes every small change there is in some packages.
type sweep struct {
	root     string
	out      io.Writer
	jobs     int
	dirs     []string
	match    *regexp.Regexp
	min      float64
	seed     uint64
	deadline time.Time // none: all are tried
	verbose  bool

	mu struct {
		sync.Mutex
		tally
	}
}

// tally counts what became of the changes.
type tally struct{ noticed, late, survive, unknown, broken, left int }

// stages are by package the tests that a change must get past to survive: first
// its own, then those of what is built on it.
var stages = map[string][]tests{
	"handle": {{pkg: "handle", run: "."}, {pkg: "shard", run: "."}},
	"shard":  {{pkg: "shard", run: "."}, {pkg: "world", run: "."}, {pkg: "shard", run: ".", long: true}, {pkg: "scheduler", run: "."}},
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
	_, _ = fmt.Fprintf(s.out, "\n%d small changes, %d noticed (%.1f %%), %d of them because time was up; %d survive, %d of them not in survivors.txt; %d do not compile, %d not tried; %.0f s\n",
		t.noticed+t.survive, t.noticed, 100*part, t.late, t.survive, t.unknown, t.broken, t.left, time.Since(start).Seconds())
	return part >= s.min && t.unknown == 0, nil
}

func (s *sweep) runPackage(ctx context.Context, dir string) error {
	all, err := sites(s.root, dir)
	if err != nil {
		return err
	}
	c, close, err := newSchema(s.root, all)
	if err != nil {
		return err
	}
	defer close()
	for _, t := range stages[dir] {
		if err := c.build(ctx, binary{pkg: t.pkg}); err != nil {
			return err
		}
		if err := c.mustPass(ctx, t); err != nil {
			return err
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.jobs)
	for _, i := range s.order(c) {
		g.Go(func() error { return s.attack(ctx, c, i, stages[dir]) })
	}
	return g.Wait()
}

// order returns which changes to try, by chance if there may not be time for all.
func (s *sweep) order(c *schema) (all []int) {
	for i, x := range c.sites {
		switch {
		case !s.match.MatchString(x.name):
		case c.broken[i]:
			s.mu.broken++
		default:
			all = append(all, i)
		}
	}
	if !s.deadline.IsZero() {
		rand.New(rand.NewPCG(s.seed, 0)).Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	}
	return all
}

// attack tries one change.
func (s *sweep) attack(ctx context.Context, c *schema, i int, all []tests) error {
	if !s.deadline.IsZero() && time.Now().After(s.deadline) {
		s.mu.Lock()
		s.mu.left++
		s.mu.Unlock()
		return nil
	}
	v := verdict{}
	for k := 0; k < len(all) && !v.noticed(); k++ {
		var err error
		if v, err = c.try(ctx, all[k], i+1); err != nil {
			return err
		}
	}
	s.tell(&c.sites[i], v)
	return nil
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
