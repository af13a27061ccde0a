package durable_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/files/faulty"
	"github.com/atoll-sim/atoll/persist/durable"
)

// sizeOf returns how many bytes the files of a disk have, and how many whole snapshots there are.
func sizeOf(t *testing.T, disk *faulty.Disk) (all int64, whole int) {
	names, err := disk.List()
	require.NoError(t, err)
	for _, name := range names {
		n, err := disk.Size(name)
		require.NoError(t, err)
		if all += n; strings.HasSuffix(name, ".snapshot") {
			whole++
		}
	}
	return all, whole
}

// savesSlowly saves snapshots, with few ticks between them, so that the log is short.
func savesSlowly(t *testing.T, x *bank, st *durable.Store, n int) {
	for range n {
		done := make(chan error, 1)
		go func() { done <- st.Save(context.Background()) }()
		for len(done) == 0 {
			x.step(t)
			time.Sleep(time.Millisecond)
		}
		require.NoError(t, <-done)
	}
}

// TestDiskBytes removes snapshots that Keep would keep when the directory takes too much, and never
// the last. What the metric says is what the files take.
func TestDiskBytes(t *testing.T) {
	for _, increments := range []int{0, 2} {
		path, disk := useDisk(t)
		var told tale
		open := func(bytes int64) (*bank, *durable.Store) {
			x := newBank(1)
			x.options.Increments, x.options.Keep, x.options.DiskBytes = increments, 100, bytes
			x.options.Logger = slog.New(slog.NewTextHandler(&told, nil))
			st, err := x.open(path)
			require.NoError(t, err)
			return x, st
		}
		x, st := open(0)
		savesSlowly(t, x, st, 9)
		require.NoError(t, st.Close())
		all, whole := sizeOf(t, disk)
		require.Greater(t, whole, 3)

		x, st = open(all * 2 / 3)
		savesSlowly(t, x, st, 1)
		now, left := sizeOf(t, disk)
		logs := logsOf(t, disk)
		since, err := disk.Size(logs[len(logs)-1]) // it has grown since the snapshot
		require.NoError(t, err)
		require.LessOrEqual(t, now-since, all*2/3)
		require.Greater(t, left, 1)
		require.Less(t, left, whole+1)
		require.NotContains(t, told.String(), "WARN")
		require.NoError(t, st.Wait(context.Background()))
		st.Measured(func(name string, value float64) {
			if name == "atoll_store_bytes" {
				now, _ := sizeOf(t, disk)
				require.InEpsilon(t, now, value, 0.1)
			}
		})
		st.Crash()

		x, st = open(1)
		savesSlowly(t, x, st, 4)
		_, left = sizeOf(t, disk)
		require.LessOrEqual(t, left, 2)
		require.Equal(t, 1, strings.Count(told.String(), "take more than Options.DiskBytes"))
		want := x.observe()
		require.NoError(t, st.Wait(context.Background()))
		st.Crash()
		y, st := open(0)
		require.Equal(t, want, y.observe())
		require.NoError(t, st.Close())
	}
}

// TestDiskBytesLog saves a snapshot early when the log has become too long.
func TestDiskBytesLog(t *testing.T) {
	path, disk := useDisk(t)
	var told tale
	x := newBank(1)
	x.options.Keep, x.options.DiskBytes = 1, 40_000
	x.options.Logger = slog.New(slog.NewTextHandler(&told, nil))
	st, err := x.open(path)
	require.NoError(t, err)
	for end := time.Now().Add(20 * time.Second); !strings.Contains(told.String(), "because=Options.DiskBytes") && time.Now().Before(end); {
		x.given(t)
		time.Sleep(200 * time.Microsecond)
	}
	require.Contains(t, told.String(), "because=Options.DiskBytes")
	all, _ := sizeOf(t, disk)
	require.Less(t, all, int64(400_000))
	st.Crash()
}
