package same_test

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var logs = flag.Int("logs", 40, "logs to play, a quarter of that under -short")

const (
	shapesOfEach  = 4
	entriesOfEach = 4000
)

// TestSame plays each log in worlds of several shapes. Every other one has systems that
// act on what the log makes, tick by tick; the others are refreshed at any time.
func TestSame(t *testing.T) {
	n := *logs
	if testing.Short() {
		n = max(2, n/4)
	}
	entities, began := 0, time.Now()
	for seed := range uint64(n) {
		r := rand.New(rand.NewPCG(seed, 0))
		log, systems := newLog(r, entriesOfEach), seed%2 == 0
		want := play(t, plain(), log, systems)
		entities += len(want)
		for range shapesOfEach {
			s := newShape(r)
			if !systems {
				s.every = 1 + r.IntN(2000)
			}
			mustBeSame(t, want, play(t, s, log, systems), seed, s)
		}
	}
	t.Logf("%d logs of %d entries in %d shapes each in %v; %d entities in the end", n, entriesOfEach, 1+shapesOfEach,
		time.Since(began).Round(time.Millisecond), entities)
	require.Greater(t, entities, 100*n, "there is something to compare")
}

func mustBeSame(t *testing.T, want, got map[int64]string, seed uint64, s shape) {
	t.Helper()
	for key, text := range want {
		if got[key] != text {
			t.Fatalf("log of seed %d: key %d is\n%s\nand in the shape %v\n%s", seed, key, text, s, got[key])
		}
	}
	for key, text := range got {
		if want[key] == "" {
			t.Fatalf("log of seed %d: there is no key %d, and in the shape %v\n%s", seed, key, s, text)
		}
	}
}

// TestSameSees plays a log that differs in one value: the comparison must see that.
func TestSameSees(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	log := newLog(r, entriesOfEach)
	for _, systems := range []bool{false, true} {
		want := play(t, plain(), log, systems)
		require.Equal(t, want, play(t, newShape(r), log, systems))
		for i := len(log) - 1; ; i-- {
			if log[i].verb == create {
				other := append([]entry(nil), log...)
				other[i].value++
				if got := play(t, newShape(r), other, systems); i < len(log)/2 {
					t.Fatal("no change of a value shows")
				} else if !equal(want, got) {
					break
				}
			}
		}
	}
}

func equal(a, b map[int64]string) bool {
	for key, text := range a {
		if b[key] != text {
			return false
		}
	}
	return len(a) == len(b)
}
