package durable_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

var update = flag.Bool("update", false, "TestReleases writes the directories of this version")

// releaseNow is the version that comes next, whose directories in testdata -update writes.
// docs/releasing.md says when it is raised.
const releaseNow = "v0.1.0"

// Hull is a component of the kept directories. Neither it nor the systems here may change, because
// the log of a release must lead to the same world.
type (
	Hull struct {
		Points int32
		Left   float64
		Name   string
	}
	knock struct{ N uint16 }
	boats struct{ Hull }
)

// newKept makes the world of the kept directories.
func newKept() (*world.World, *scheduler.Scheduler, *world.Bundle[boats], *names.Names[string], *timer.Timers[knock], *world.Func[int32]) {
	w := world.MustNew(world.Options{Shards: 2, VersionsEach: 10_000, Seed: 7})
	hulls := world.Register[Hull](w, "hull")
	all := world.NewBundle[boats](w)
	knocks := world.RegisterMessage[knock](w, "knock")
	called := names.New[string](w, "called", names.Options{})
	timers := timer.New(w, "knocks", knocks, timer.Options{})
	repair := world.RegisterFunc(w, "repair", func(self *world.EntityContext, n int32) { hulls.Write(self).Points += n })
	s := scheduler.New(w, scheduler.Options{Workers: 1})
	s.MustAdd("wear", func(b *world.Build) func(*world.Context) {
		hull, got := world.Write[Hull](b), world.Receive[knock](b)
		boats := b.Query(hull)
		return func(c *world.Context) {
			for _, m := range got.All() {
				hull.Get(m.To).Points -= int32(m.Body.N)
			}
			for ch := range boats.Chunks() {
				for i := range hull.Slice(ch) {
					hull.Slice(ch)[i].Left += float64(c.Rand().IntN(8)) / 8
				}
			}
		}
	})
	return w, s, all, called, timers, repair
}

// TestReleases opens two directories that each release has written: one of a process that died, with
// a snapshot, an increment, a log with ticks behind it and the statement; and one that was closed.
// The worlds are as they were. A version may be unable to play an older log: then it says so.
func TestReleases(t *testing.T) {
	if strconv.IntSize < 64 || handle.IndexBits != 24 {
		t.Skip("a log is for machines and builds of the same layout")
	}
	if *update {
		for _, end := range []string{"closed", "crashed"} {
			writeKept(t, filepath.Join("testdata", releaseNow+"-"+end), end == "closed")
		}
	}
	all, err := filepath.Glob("testdata/v*")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(all), 2)
	for _, kept := range all {
		t.Run(filepath.Base(kept), func(t *testing.T) {
			path := t.TempDir()
			require.NoError(t, os.CopyFS(path, os.DirFS(kept)))
			w, s, _, called, _, _ := newKept()
			st, err := durable.Open(t.Context(), path, w, s, durable.Options{Interval: -1, OtherProgram: durable.ReplayOther})
			if errors.Is(err, inputlog.ErrVersion) && strings.HasSuffix(kept, "crashed") && !strings.Contains(kept, releaseNow) {
				require.ErrorContains(t, err, "start the program that wrote it")
				return
			}
			require.NoError(t, err)
			x := st.Recovered()
			require.Equal(t, strings.HasSuffix(kept, "closed"), x.Clean)
			require.True(t, x.Other == nil || x.Other.Differences == inputlog.Differences{})
			require.True(t, x.Clean || x.Ticks >= 6 && strings.HasSuffix(x.Snapshot.Path, ".increment"))
			want, err := os.ReadFile(filepath.Join(kept, "want.txt"))
			require.NoError(t, err)
			require.Equal(t, string(want), observeKept(w, called))
			require.NoError(t, s.Step(t.Context()))
			require.NoError(t, st.Close())
		})
	}
}

// observeKept returns the world as text, which no version writes in another way.
func observeKept(w *world.World, called *names.Names[string]) string {
	var b strings.Builder
	hull := world.Read[Hull](w)
	_, _ = fmt.Fprintln(&b, "tick", w.Tick())
	for h := range w.Query(hull).Entities() {
		name, _ := called.NameOf(h)
		_, _ = fmt.Fprintln(&b, h, name, *hull.Get(h))
	}
	return b.String()
}

// writeKept writes a directory of this version.
func writeKept(t *testing.T, to string, closed bool) {
	w, s, boat, called, timers, repair := newKept()
	path := t.TempDir()
	var hs []handle.Handle
	st, err := durable.Open(t.Context(), path, w, s, durable.Options{Interval: -1, Increments: 3, New: func(w *world.World) error {
		for i, name := range []string{"Ann", "Bob", "Cid"} {
			h, err := boat.Create(w, boats{Hull{Points: int32(100 + i), Name: name}})
			if err != nil {
				return err
			}
			hs = append(hs, h)
			if err := called.Bind(w, h, name); err != nil {
				return err
			}
			if _, err := timers.After(w, h, 4+3*i, knock{uint16(i + 1)}); err != nil {
				return err
			}
		}
		return nil
	}})
	require.NoError(t, err)
	step := func() { require.NoError(t, s.Step(t.Context())) }
	port, err := w.OpenPort()
	require.NoError(t, err)
	step()
	saved := make(chan error, 1)
	go func() { saved <- st.Save(t.Context()) }()
	for len(saved) == 0 {
		step()
		time.Sleep(time.Millisecond)
	}
	require.NoError(t, <-saved)
	for range 6 {
		h, err := boat.Create(port, boats{Hull{Points: 7}})
		require.NoError(t, err)
		require.NoError(t, repair.Call(port, hs[0], 5))
		require.NoError(t, called.Bind(port, h, h.String()))
		step()
	}
	for st.Durable() < w.Tick() {
		require.NoError(t, st.Wait(t.Context()))
	}
	want := observeKept(w, called)
	if port.Close(); closed {
		step()
		want = observeKept(w, called)
		require.NoError(t, st.Close())
	} else {
		st.Crash()
	}
	require.NoError(t, os.RemoveAll(to))
	require.NoError(t, os.CopyFS(to, os.DirFS(path)))
	require.NoError(t, os.Remove(filepath.Join(to, "lock")))
	require.NoError(t, os.WriteFile(filepath.Join(to, "want.txt"), []byte(want), 0o666))
}
