package durable_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/internal/files/faulty"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
	snaptext "github.com/atoll-sim/atoll/persist/snapshot/text"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestPlan asks what Open would do, for the program that has saved and for another version.
func TestPlan(t *testing.T) {
	path, disk := useDisk(t)
	_, err := durable.Plan(path, newBank(1).World, newBank(1).s, durable.Options{})
	require.ErrorIs(t, err, snapshot.ErrNone)
	x := newBank(1)
	x.options.Increments = 2
	for range 2 { // with an increment
		st, err := x.open(path)
		require.NoError(t, err)
		for range 3 {
			x.step(t)
		}
		require.NoError(t, st.Close())
		x = newBank(1)
		x.options.Increments = 2
	}
	plan, err := durable.Plan(path, x.World, x.s, x.options)
	require.NoError(t, err)
	require.Empty(t, plan.Differences)

	before := disk.Clone()
	y := newBank(1)
	world.Register[struct{ Left int }](y.World, "fuel")
	y.options.Snapshot.Changes = []snapshot.Change{snapshot.Renamed("vessel", "ship")}
	plan, err = durable.Plan(path, y.World, y.s, y.options)
	require.NoError(t, err)
	require.Empty(t, plan.Blocking())
	require.NotEmpty(t, plan.Differences)
	names, err := disk.List()
	require.NoError(t, err)
	was, err := before.List()
	require.NoError(t, err)
	require.ElementsMatch(t, was, names)
	st, err := y.open(path)
	require.NoError(t, err)
	require.NoError(t, st.Close())
}

// TestPlanNumbers plans for a directory whose segments have higher numbers than its snapshots, as
// after a crash between the beginning of a segment and the naming of its snapshot, and for one
// whose snapshots have higher numbers than its segments, as after a repair by Import. What Plan does
// not refuse, Open does not, and the other way round.
func TestPlanNumbers(t *testing.T) {
	more := func() *bank {
		x := newBank(1)
		world.Register[struct{ Left int }](x.World, "fuel")
		return x
	}
	same := func(t *testing.T, path string, refused bool, says string) {
		x := more()
		plan, err := durable.Plan(path, x.World, x.s, x.options)
		require.NoError(t, err)
		require.Equal(t, refused, len(plan.Blocking()) > 0, "%v", plan)
		st, err := more().open(path)
		if refused {
			require.ErrorIs(t, err, inputlog.ErrOtherWorld)
			require.ErrorContains(t, err, says)
			return
		}
		require.NoError(t, err)
		require.True(t, st.Recovered().Clean)
		require.NoError(t, st.Close())
	}
	const alone = `component "fuel" registered here alone`

	path, disk := t.TempDir(), unnamed{faulty.New(), new(atomic.Bool)}
	useAs(t, path, func() files.Files { return disk })
	for _, clean := range []bool{false, true} {
		x := newBank(1)
		st, err := x.open(path)
		require.NoError(t, err)
		disk.fails.Store(!clean)
		saved := make(chan error, 1)
		go func() { saved <- st.Save(t.Context()) }()
		for len(saved) == 0 {
			x.step(t)
		}
		require.Equal(t, clean, <-saved == nil)
		disk.fails.Store(false)
		if clean {
			require.NoError(t, st.Close())
		} else {
			st.Crash()
		}
		same(t, path, !clean, alone)
	}

	path = t.TempDir()
	x := newBank(1)
	st, err := x.open(path)
	require.NoError(t, err)
	x.step(t)
	require.NoError(t, st.Close())
	var text, file bytes.Buffer
	dir := snapshot.Dir{Path: path}
	in, err := dir.Open(snapshot2)
	require.NoError(t, err)
	_, err = snaptext.Export(in, &text, snapshot.Options{})
	require.NoError(t, err)
	require.NoError(t, in.Close())
	_, err = snaptext.Import(&text, &file, snapshot.Options{})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(path, "000000000050.snapshot"), file.Bytes(), 0o600))
	for _, clean := range []bool{false, true} {
		x = newBank(1)
		st, err = x.open(path)
		require.NoError(t, err)
		x.step(t)
		require.NoError(t, st.Wait(t.Context()))
		if clean {
			require.NoError(t, st.Close())
		} else {
			st.Crash()
		}
		same(t, path, !clean, alone)
	}
}

// unnamed is a disk on which no snapshot gets its name while fails is set.
type unnamed struct {
	*faulty.Disk
	fails *atomic.Bool
}

func (d unnamed) Rename(from, to string) error {
	if d.fails.Load() && strings.HasSuffix(to, ".snapshot") {
		return faulty.ErrDisk
	}
	return d.Disk.Rename(from, to)
}

// TestCopyOfSnapshots opens a directory that has nothing but a backup, and is told how to restore it.
func TestCopyOfSnapshots(t *testing.T) {
	path, disk := useDisk(t)
	x := newBank(1)
	st, err := x.open(path)
	require.NoError(t, err)
	x.step(t)
	require.NoError(t, st.Close())
	alone := func(d *faulty.Disk) {
		names, err := d.List()
		require.NoError(t, err)
		for _, name := range names {
			if name != snapshot2 {
				require.NoError(t, d.Remove(name))
			}
		}
	}
	_, _, err = opened(t, disk, alone, nil)
	require.ErrorIs(t, err, durable.ErrDamaged)
	require.ErrorContains(t, err, "begin with an empty directory, load it in Options.New, and call World.Reincarnate there")
	accept := func(o *durable.Options) { o.AcceptLoss = true }
	y, _, err := opened(t, disk, alone, accept)
	require.NoError(t, err)
	require.Equal(t, x.observe(), y.observe())

	var file bytes.Buffer // without a mark
	require.NoError(t, snapshot.Write(&file, x.World, snapshot.Options{Scheduler: x.s}))
	for _, options := range []func(*durable.Options){nil, accept} {
		_, _, err = opened(t, disk, func(d *faulty.Disk) {
			alone(d)
			d.Edit(snapshot2, func([]byte) []byte { return file.Bytes() })
		}, options)
		require.ErrorIs(t, err, durable.ErrDamaged)
		require.ErrorContains(t, err, "was saved without a Store; to restore a backup, begin with an empty directory")
	}
}

// TestClosedBefore closes the world before its Store: nothing is lost, and nothing is said of a
// process that died.
func TestClosedBefore(t *testing.T) {
	path, _ := useDisk(t)
	x := newBank(1)
	st, err := x.open(path)
	require.NoError(t, err)
	for range 3 {
		x.step(t)
	}
	want := x.observe()
	x.World.Close()
	require.NoError(t, st.Close())
	x = newBank(1)
	st, err = x.open(path)
	require.NoError(t, err)
	require.Equal(t, want, x.observe())
	require.False(t, st.Recovered().Clean)
	require.ErrorContains(t, st.Recovered().Torn, "the world was closed")
	require.NoError(t, st.Close())
}

// TestOtherSystems opens a directory with a program that has dropped a system and renamed another.
func TestOtherSystems(t *testing.T) {
	path, _ := useDisk(t)
	x := newBank(1)
	x.s.MustAdd("gone", idle).MustAdd("was", idle, scheduler.Disabled())
	st, err := x.open(path)
	require.NoError(t, err)
	x.step(t)
	require.NoError(t, st.Close())
	for _, changes := range [][]snapshot.Change{nil, {snapshot.Dropped("gone"), snapshot.Renamed("was", "is")}} {
		y := newBank(1)
		y.s.MustAdd("is", idle)
		y.options.Snapshot.Changes = changes
		plan, err := durable.Plan(path, y.World, y.s, y.options)
		require.NoError(t, err)
		st, err := y.open(path)
		if changes == nil {
			require.Len(t, plan.Blocking(), 2)
			require.ErrorIs(t, err, snapshot.ErrOtherWorld)
			continue
		}
		require.Empty(t, plan.Blocking())
		require.NoError(t, err)
		require.False(t, y.s.Enabled("is"))
		require.Equal(t, x.observe(), y.observe())
		y.step(t)
		require.NoError(t, st.Close())
	}
}

// TestPlanIncarnation plans without the file incarnation, with an altered one, and for a world that has
// one incarnation: Open refuses all of these.
func TestPlanIncarnation(t *testing.T) {
	path, disk := useDisk(t)
	x := newBank(1)
	st, err := x.open(path)
	require.NoError(t, err)
	x.step(t)
	require.NoError(t, st.Wait(t.Context()))
	st.Crash()
	for says, change := range map[string]func(d *faulty.Disk){
		"is missing":  func(d *faulty.Disk) { require.NoError(t, d.Remove("incarnation")) },
		"was altered": func(d *faulty.Disk) { d.Edit("incarnation", func(b []byte) []byte { b[20] ^= 1; return b }) },
	} {
		for _, accept := range []bool{false, true} {
			copied := disk.Clone()
			change(copied)
			useAs(t, path, func() files.Files { return copied })
			y := newBank(1)
			y.options.AcceptLoss = accept
			plan, err := durable.Plan(path, y.World, y.s, y.options)
			require.NoError(t, err)
			require.Contains(t, plan.String(), `file "incarnation": `+says)
			require.Equal(t, !accept, len(plan.Blocking()) > 0)
			st, err := y.open(path)
			require.Equal(t, accept, err == nil)
			if accept {
				st.Crash()
			}
		}
	}
	one := func() *bank {
		return newBankOf(1, func(o *world.Options, _ *scheduler.Options) { o.VersionsEach = 0 })
	}
	y := one()
	plan, err := durable.Plan(path, y.World, y.s, y.options)
	require.NoError(t, err)
	require.Contains(t, plan.String(), `option "VersionsEach" (1000 → `)
	require.NotEmpty(t, plan.Blocking())

	path, _ = useDisk(t) // of a world that has one, and no Store
	_, err = (&snapshot.Dir{Path: path}).Save(one().World, snapshot.Options{})
	require.NoError(t, err)
	plan, err = durable.Plan(path, y.World, y.s, y.options)
	require.NoError(t, err)
	require.Contains(t, plan.String(), `option "VersionsEach": VersionsEach is `)
	require.Contains(t, plan.String(), "so there is one incarnation")
	_, err = y.open(path)
	require.ErrorContains(t, err, "so there is one incarnation")
}
