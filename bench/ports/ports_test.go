package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRun measures everything, very little of it, and so checks that each
// contender has done what it was asked to.
func TestRun(t *testing.T) {
	all := goroutineCounts
	defer func() { goroutineCounts = all }()
	goroutineCounts = []int{1, 2}
	var page bytes.Buffer
	s := tiny
	require.NoError(t, s.run(&page, ""))
	for _, want := range []string{
		"\n| Port.Alive | 1000 |", "\n| create | 2 |", "\n| goroutines, alone | atoll | ark, mutex | maps, 64 locks | column |",
		"\n| goroutines, in chunks |", "\nAtoll in chunks against the others alone:\n", "\nProcessor time of all cores",
	} {
		require.Contains(t, page.String(), want)
	}
}

// TestContenders checks that entities live for as long as they should.
func TestContenders(t *testing.T) {
	for _, x := range contenders {
		for _, batch := range []bool{false, true} {
			const resident = 100
			f := x.open(setting{2, resident, chunkSize, batch})
			require.Equal(t, resident, f.count(), x.name)
			workers := []worker{f.worker(0), f.worker(1)}
			f.begin()
			for _, w := range workers {
				w.create(0)
				w.create(1)
				w.destroy(0)
				w.create(0)
			}
			f.end()
			require.Equal(t, resident+4*chunkSize, f.count(), x.name)
			f.begin()
			for _, w := range workers {
				w.destroy(0)
				w.destroy(1)
			}
			f.end()
			require.Equal(t, resident, f.count(), x.name)
		}
	}
}
