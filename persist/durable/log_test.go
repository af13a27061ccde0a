package durable

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/files"
)

// slowFile is a file whose syncs wait.
type slowFile struct {
	files.File
	syncs chan struct{}
}

func (f slowFile) Write(p []byte) (int, error) { return len(p), nil }
func (f slowFile) Sync() error                 { <-f.syncs; return nil }
func (f slowFile) Close() error                { return nil }

// TestLogAllocatesNothing writes a tick while the one before is synced, and another when the log
// has caught up, in turns: two buffers are enough for that.
func TestLogAllocatesNothing(t *testing.T) {
	if check.Enabled {
		t.Skip("the race detector allocates")
	}
	f := slowFile{syncs: make(chan struct{})}
	tick := uint64(0)
	l := newLog(1<<20, target{file: f}, tick, func(error) {}, func(note) error { return nil })
	record := make([]byte, 32<<10)
	write := func() {
		_, _ = l.Tick(tick, record)
		tick++
	}
	taken := func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.mu.queue) == 0
	}
	await := func(ok func() bool) {
		for !ok() {
			runtime.Gosched()
		}
	}
	allocated := testing.AllocsPerRun(100, func() {
		write()
		await(taken)
		write() // while the first is synced
		f.syncs <- struct{}{}
		f.syncs <- struct{}{}
		await(func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.mu.synced == tick
		})
	})
	require.Less(t, allocated, 0.5)
	close(f.syncs)
	require.NoError(t, l.close())
}
