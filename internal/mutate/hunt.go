package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// hunt runs tests against deliberate bugs.
type hunt struct {
	root     string
	keep     string // directory that keeps what was found; none if ""
	out      io.Writer
	jobs     int
	bugs     []bug
	deadline time.Time // none: all are tried
}

// run prints which test notices which bug, and reports whether each is noticed.
func (h *hunt) run(ctx context.Context) (ok bool, err error) {
	start := time.Now()
	var all []site
	for i := range h.bugs {
		x, err := h.bugs[i].site(h.root)
		if err != nil {
			return false, err
		}
		all = append(all, x)
	}
	s, close, err := newSchema(h.root, h.keep, all)
	if err != nil {
		return false, err
	}
	defer close()
	j, err := openJournal(h.root, h.keep)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, j.close()) }()
	todo, done := h.bugs[:0:0], map[int]verdict{}
	for i := range all {
		switch e, ok, err := j.look(&all[i]); {
		case err != nil:
			return false, err
		case ok && e.By != "":
			done[i] = verdict{failed: e.By, late: e.Late}
		default:
			todo = append(todo, h.bugs[i])
		}
	}
	if err := h.prepare(ctx, s, todo); err != nil {
		return false, err
	}
	_, _ = fmt.Fprintf(h.out, "the tests pass without a bug, %.0f s\n\n%-60s %5s  %s\n", time.Since(start).Seconds(), "bug", "s", "noticed by")
	var mu sync.Mutex
	survived, late, left := 0, 0, 0
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(h.jobs)
	for i, b := range h.bugs {
		g.Go(func() error {
			v, known := done[i]
			if !known && !h.deadline.IsZero() && time.Now().After(h.deadline) {
				mu.Lock()
				defer mu.Unlock()
				left++
				return nil
			}
			var err error
			if !known {
				if v, err = s.try(ctx, b.tests, i+1); err == nil {
					err = j.note(&all[i], v, false)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if !v.noticed() {
				survived++
			}
			if v.late {
				late++
			}
			_, _ = fmt.Fprintf(h.out, "%-60s %5.1f  %v\n", b.name, v.took.Seconds(), v)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return false, err
	}
	_, _ = fmt.Fprintf(h.out, "\n%d bugs, %d noticed, %d of them because time was up, %d not tried; %.0f s\n",
		len(h.bugs), len(h.bugs)-survived-left, late, left, time.Since(start).Seconds())
	return survived == 0, nil
}

// prepare compiles what is needed and runs each set of tests without a bug.
func (h *hunt) prepare(ctx context.Context, s *schema, todo []bug) error {
	passed := map[tests]bool{}
	for _, b := range todo {
		if err := s.build(ctx, binary{pkg: b.tests.pkg, race: b.tests.race}); err != nil {
			return err
		}
	}
	for i, b := range h.bugs {
		if s.broken[i] {
			return fmt.Errorf("bug %q: %w", b.name, errBuild)
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(h.jobs)
	for _, b := range todo {
		if !passed[b.tests] {
			passed[b.tests] = true
			g.Go(func() error { return s.mustPass(ctx, b.tests) })
		}
	}
	return g.Wait()
}
