package main

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// runReport runs the command with flags and a plan that takes no time, and
// returns what it writes.
func runReport(t *testing.T, args ...string) (*report, string) {
	t.Helper()
	s, err := parse(args, io.Discard)
	require.NoError(t, err)
	s.plan = testPlan
	var out, log bytes.Buffer
	r := &report{settings: s, header: header{commit: "abc"}, w: &out, log: &log}
	require.NoError(t, r.run(time.Now()))
	require.NotEmpty(t, log.String())
	return r, out.String()
}

func TestReportJSON(t *testing.T) {
	r, out := runReport(t, "-full", "-json", "-run", "^(random|new-world|allocations)/(1|64|1024)$", "-peers", "^ark$")
	lines := jsonLines(t, []byte(out))
	require.Len(t, lines, 4+len(r.findings)+1, "cells, findings, a summary")
	for i, want := range []float64{1, 64, 1024} {
		assert.Equal(t, "random", lines[i]["bench"])
		assert.Equal(t, want, lines[i]["n"])
		assert.Equal(t, "ark", lines[i]["best_peer"])
	}
	for _, line := range lines {
		assert.Equal(t, "abc", line["commit"])
	}
	assert.Equal(t, "allocations", lines[4]["section"])
	last := lines[len(lines)-1]
	assert.Equal(t, "summary", last["section"])
	assert.Equal(t, 4.0, last["cells"])
	assert.NotZero(t, last["geometric_mean"])
}

// TestReportWholePage runs a cell of each bench and all sections with few
// entities, and checks that all are on the page.
func TestReportWholePage(t *testing.T) {
	for _, x := range sections {
		full := x.full
		x.full = 600
		t.Cleanup(func() { x.full = full })
	}
	file := filepath.Join(t.TempDir(), "benchmarks.md")
	_, out := runReport(t, "-full", "-run", "/(1|16|600)$", "-peers", "^(ark|volt)$", "-out", file)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	page := string(data)
	for _, b := range benches {
		if b.sizes != nil && b.sizes[0] > 16 {
			continue // has no size as small as these
		}
		assert.Contains(t, out, "\n"+b.name+" ")
		assert.Contains(t, page, "\n## "+b.name+"\n")
	}
	for _, x := range sections {
		assert.Contains(t, out, "\n"+x.name+" ")
		assert.Contains(t, page, "\n## "+x.title+": N = 600\n")
	}
	assert.Contains(t, out, "\n46 cells: geometric mean of the ratios ")
	for _, want := range []string{"## Bars", "## Where Atoll loses", "## By the number of shards"} {
		assert.Contains(t, page, want)
	}
	assert.NotRegexp(t, "is left out( in .*)?:", page)
	for _, bad := range []string{"NaN", "Inf", "%!", "<nil>"} {
		assert.NotContains(t, page, bad)
	}
}

func TestReportOutOfTime(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	r, _ := runReport(t, "-budget", "1ns", "-run", "^random/", "-out", file)
	assert.Empty(t, r.results)
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(page), "Out of time: 5 of 5 cells and sections were not measured, from random/16 on.")
}

func TestParse(t *testing.T) {
	quick, err := parse(nil, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, quickBudget, quick.budget)
	assert.True(t, quick.peers.MatchString("ark-cached"))
	assert.False(t, quick.peers.MatchString("volt"))
	full, err := parse([]string{"-full"}, io.Discard)
	require.NoError(t, err)
	assert.True(t, full.peers.MatchString("volt"))
	for _, args := range [][]string{{"-quick", "-full"}, {"extra"}, {"-run", "("}, {"-peers", "("}, {"-budget", "x"}, {"-nonsense"}} {
		var out bytes.Buffer
		_, err := parse(args, &out)
		assert.Error(t, err, "%q", args)
		assert.Equal(t, 1, strings.Count(out.String(), "compare: "), "told once: %s", &out)
	}
	var out bytes.Buffer
	_, err = parse([]string{"-h"}, &out)
	assert.ErrorIs(t, err, flag.ErrHelp)
	assert.True(t, strings.HasPrefix(out.String(), "usage: compare [-quick|-full]"))
	assert.NotContains(t, out.String(), "compare: ")
}

// TestRunNames chooses cells by both ways to write their numbers, and refuses what matches nothing.
func TestRunNames(t *testing.T) {
	for run, want := range map[string]int{"^create2/1024$": 1, "^create2/1k$": 1, "^create2/1M$": 1, "^create2/": 5, "^create2/2$": 0} {
		s, err := parse([]string{"-run", run}, io.Discard)
		require.NoError(t, err)
		assert.Len(t, s.cells(), want, run)
	}
	s, err := parse([]string{"-run", "nonsense"}, io.Discard)
	require.NoError(t, err)
	r := report{settings: s, w: io.Discard, log: io.Discard}
	assert.ErrorContains(t, r.run(time.Now()), `no cell and no section matches -run "nonsense"`)
}

// TestHelp checks that the help says what each flag is for.
func TestHelp(t *testing.T) {
	var out bytes.Buffer
	flags := new(settings).flags(&out, new(texts))
	flags.Usage()
	flags.VisitAll(func(f *flag.Flag) {
		assert.Greater(t, len(f.Usage), 20, f.Name)
		assert.Contains(t, out.String(), "  -"+f.Name)
	})
}
