package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/atoll-sim/atoll/persist/state"
)

// The same people on any number of workers, to the last bit.
func TestAnyNumberOfWorkers(t *testing.T) {
	run := func(workers int, seed uint64) (state.Hash, string) {
		var out bytes.Buffer
		hash, err := simulate(&out, options{agents: 10_000, ticks: 50, workers: workers, seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		return hash, strings.Join(lines[:len(lines)-1], "\n") // without the time it took
	}
	hash, lines := run(1, 1)
	for _, workers := range []int{2, 5} {
		if h, l := run(workers, 1); h != hash || l != lines {
			t.Errorf("with %d workers %v, with one %v:\n%s\n%s", workers, h, hash, l, lines)
		}
	}
	if other, _ := run(1, 2); other == hash {
		t.Errorf("two seeds, one hash: %v", hash)
	}
	t.Log("\n" + lines)
}

func TestEpidemic(t *testing.T) {
	var out bytes.Buffer
	if _, err := simulate(&out, options{agents: 10_000, ticks: 30, workers: 2, seed: 1}); err != nil {
		t.Fatal(err)
	}
	for _, never := range []string{" 0 ill", " 0 immune"} {
		if last := out.String()[strings.Index(out.String(), "tick 30"):]; strings.Contains(last, never) {
			t.Errorf("nobody caught it: %s", last)
		}
	}
}
