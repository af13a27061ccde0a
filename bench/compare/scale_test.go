package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMakespan(t *testing.T) {
	for _, test := range []struct {
		jobs  []float64
		cores int
		want  float64
	}{
		{nil, 3, 0}, {[]float64{5, 1, 2}, 1, 8}, {[]float64{1, 5, 2}, 2, 5}, {[]float64{3, 3, 2, 2, 2}, 2, 7}, {[]float64{4, 1}, 8, 4},
	} {
		assert.InDelta(t, test.want, makespan(test.jobs, test.cores), 1e-9, "%v on %d", test.jobs, test.cores)
	}
}

// TestScaleModel checks a tick that can be reckoned by hand.
func TestScaleModel(t *testing.T) {
	m := scale{node: 1, fence: 2, count: 0.5, start: 100, alone: 1000, systems: [][]float64{make([]float64, scaleShards), make([]float64, scaleShards)}, refresh: [][]float64{{40, 20, 20}}}
	m.apart = [][]float64{make([]float64, scaleShards), make([]float64, scaleShards)}
	for i := range scaleShards {
		m.apart[0][i], m.apart[1][i] = 10, 20
		m.systems[0][i], m.systems[1][i] = 9, 19
	}
	assert.InDelta(t, 1000+scaleShards*30+80, m.tick(1, false), 1e-6)
	assert.InDelta(t, 100+1000+scaleShards*30/2+40+1.5, m.tick(2, false), 1e-6)
	assert.InDelta(t, 1000+scaleShards*36+80, m.tick(1, true), 1e-6)
	assert.InDelta(t, 100+1000+scaleShards*36/2+2*scaleShards*0.5+40+1.5, m.tick(2, true), 1e-6)
}

// TestBattle checks that wrong results are seen.
func TestBattle(t *testing.T) {
	p := player{goroutines: 1, make: func() game { return atollBattle(4, 1, 2000) }}
	p.prepare(20)
	p.ns = []float64{2, 1}
	assert.InDelta(t, 1, p.values([]*player{&p})["ns"], 0)
	p.ticks *= 2
	assert.Panics(t, func() { p.values(nil) }, "too few attacks")
	assert.EqualError(t, verifyBattle(1999, 20, 2000, 0), "wrong result: number of entities is 2000, want 1999")
}
