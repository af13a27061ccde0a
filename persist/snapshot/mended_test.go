package snapshot_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Small is a bundle of one component.
type Small struct{ Extra }

// bowl is a world with one component and one bundle.
func bowl(o world.Options) (*world.World, *world.Bundle[Small]) {
	if o.Shards == 0 {
		o.Shards = 1
	}
	w := world.MustNew(o)
	world.Register[Extra](w, "extra")
	return w, world.NewBundle[Small](w)
}

// saved returns a snapshot.
func saved(t testing.TB, w *world.World, o snapshot.Options) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, snapshot.Write(&b, w, o))
	return b.Bytes()
}

// TestTwoBundlesOfOneType has a request of the second of two kinds with one name under way.
func TestTwoBundlesOfOneType(t *testing.T) {
	mk := func() (*world.World, *world.Bundle[Small]) {
		w, first := bowl(world.Options{})
		second := world.NewBundle[Small](w)
		w.Observe("seen", world.OnCreate, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
			return func(c *world.Context, _ world.Event, hs []handle.Handle) { _ = second.Add(c, hs[0], Small{Extra{7}}) }
		})
		return w, first
	}
	w, first := mk()
	h, err := first.Create(w, Small{})
	require.NoError(t, err)
	w.Refresh()
	other, _ := mk()
	require.NoError(t, snapshot.Load(bytes.NewReader(saved(t, w, snapshot.Options{})), other, snapshot.Options{}))
	other.Refresh()
	require.Equal(t, Extra{7}, *world.Read[Extra](other).Get(h))
}

// crew is a world with a scheduler and systems that do nothing.
func crew(systems ...string) (*world.World, *scheduler.Scheduler) {
	w, _ := bowl(world.Options{})
	s := scheduler.New(w, scheduler.Options{Balancer: scheduler.Level(scheduler.LevelOptions{})})
	for _, name := range systems {
		s.MustAdd(name, func(*world.Build) func(*world.Context) { return func(*world.Context) {} })
	}
	return w, s
}

// TestOtherSystems matches systems by their names.
func TestOtherSystems(t *testing.T) {
	w, s := crew("move", "rest")
	require.NoError(t, s.Disable("rest"))
	image := saved(t, w, snapshot.Options{Scheduler: s})

	w, s = crew("new", "rest", "move", "newer")
	require.NoError(t, s.Disable("newer"))
	require.NoError(t, s.Disable("move"))
	require.NoError(t, snapshot.Load(bytes.NewReader(image), w, snapshot.Options{Scheduler: s}))
	require.True(t, s.Enabled("move") && s.Enabled("new"), "saved, and as it was added")
	require.False(t, s.Enabled("rest") || s.Enabled("newer"), "saved, and as it was disabled")

	w, s = crew("move", "new")
	err := snapshot.Load(bytes.NewReader(image), w, snapshot.Options{Scheduler: s})
	require.ErrorIs(t, err, snapshot.ErrOtherWorld)
	require.ErrorContains(t, err, `system "rest"`)
	require.NoError(t, w.Err(), "it is not touched")
	require.ErrorContains(t, s.LoadState([]byte("move\x00\x00\x00rest\x00\x00\x00")), `no system "rest"`)
	require.True(t, s.Enabled("move"), "nothing is changed")
	for _, bad := range []string{"a", "move\x00", "move\x00\x01", "move\x00\x01\x01", "move\x00\x01\x03\x00"} {
		require.Error(t, s.LoadState([]byte(bad)), "%q", bad)
	}
	require.ErrorContains(t, s.Add("a\x00b", func(*world.Build) func(*world.Context) { return func(*world.Context) {} }), "control character")
}

// TestBytesMaxOfLists refuses lists whose elements take much more memory than bytes, before they
// are made.
func TestBytesMaxOfLists(t *testing.T) {
	if check.Enabled {
		t.Skip("one goroutine does this, and it takes long with the checks")
	}
	mk := func() *world.World {
		w, _ := bowl(world.Options{})
		names.New[string](w, "names", names.Options{})
		hierarchy.New(w, "kin", hierarchy.Options{})
		return w
	}
	image := saved(t, mk(), snapshot.Options{})
	list := func(b []byte, n int) []byte { return append(binary.AppendUvarint(b, uint64(n)), make([]byte, 6*n)...) }
	for what, file := range map[string][]byte{
		"chunks":  snapshot.Exchange(image, 'S', func([]byte) []byte { return list([]byte{0, 0, 0, 0, 1, 0, 0, 0, 0}, 20_000) }),
		"tables":  snapshot.Exchange(image, 'S', func([]byte) []byte { return list([]byte{0, 0, 0, 0}, 20_000) }),
		"hooks":   snapshot.Exchange(image, 'W', func([]byte) []byte { return list(make([]byte, 9), 100_000) }),
		"names":   snapshot.Exchange(image, 'N', func([]byte) []byte { return list(nil, 1<<22*32/strconv.IntSize) }),
		"refused": snapshot.Exchange(image, 'N', func(old []byte) []byte { return append(old, 0) }),
	} {
		w := mk()
		err := snapshot.Load(bytes.NewReader(file), w, snapshot.Options{BytesMax: 1 << 20 * strconv.IntSize / 64})
		if what == "refused" {
			require.ErrorIs(t, err, snapshot.ErrAltered, "another body is looked at")
		} else {
			require.ErrorIs(t, err, snapshot.ErrTooLarge, what)
		}
	}

	long := snapshot.Exchange(image, 'X', func([]byte) []byte { return make([]byte, 1<<20+1) })
	require.ErrorIs(t, snapshot.Load(bytes.NewReader(long), mk(), snapshot.Options{BytesMax: 1 << 20}), snapshot.ErrTooLarge)
	many := func(old []byte) []byte {
		b := append(bytes.Clone(old[:16]), make([]byte, 8)...)
		return append(binary.LittleEndian.AppendUint64(b, 1<<20), make([]byte, 24<<20)...)
	}
	err := snapshot.Load(bytes.NewReader(snapshot.Exchange(image, 'X', many)), mk(), snapshot.Options{})
	require.ErrorContains(t, err, "1048576 conflicts, more than 1024")
}

// TestWithinInit refuses to show entities that are not alive yet.
func TestWithinInit(t *testing.T) {
	for _, fill := range []func(w *world.World, b *world.Bundle[Small], call func()) error{
		func(w *world.World, b *world.Bundle[Small], call func()) error {
			return b.CreateN(w, 1, func(int, *Small) { call() })
		},
		func(w *world.World, b *world.Bundle[Small], call func()) error {
			return b.CreateRows(w, 1, func(world.Chunk) { call() })
		},
	} {
		w, b := bowl(world.Options{})
		view, err := w.NewView()
		require.NoError(t, err)
		calls := []func(){
			func() { _ = snapshot.Write(io.Discard, w, snapshot.Options{}) },
			func() { _, _ = snapshot.Capture(w, snapshot.Options{}) },
			func() { _, _ = view.Now() },
		}
		require.NoError(t, fill(w, b, func() {
			for _, call := range calls {
				require.Panics(t, call)
			}
		}))
		for _, call := range calls {
			call()
		}
	}
}

// TestNotNewForAPort loads into a world to which a port has sent something.
func TestNotNewForAPort(t *testing.T) {
	w, b := bowl(world.Options{})
	h, err := b.Create(w, Small{})
	require.NoError(t, err)
	image := saved(t, w, snapshot.Options{})
	w, _ = bowl(world.Options{})
	p, err := w.OpenPort()
	require.NoError(t, err)
	require.NoError(t, p.Destroy(h))
	require.ErrorIs(t, snapshot.Load(bytes.NewReader(image), w, snapshot.Options{}), snapshot.ErrNotNew)
	require.NoError(t, w.Err())
}

// ends is a writer and a reader that calls end behind some calls.
type ends struct {
	left int
	from io.Reader
	end  func()
}

func (e *ends) call() {
	if e.left--; e.left < 0 {
		e.end()
	}
}

func (e *ends) Write(p []byte) (int, error) { e.call(); return len(p), nil }
func (e *ends) Read(p []byte) (int, error)  { e.call(); return e.from.Read(p) }

// TestGoexit has codecs, writers and readers that end the goroutine they are called on, or panic.
// Calls return, and leave no goroutine behind: in the bubble both would be a deadlock.
func TestGoexit(t *testing.T) {
	type Coded struct{ Code }
	mk := func(entities, workers, at int) (*world.World, snapshot.Options) {
		w := world.MustNew(world.Options{Shards: 2, ChunkRowsMax: 64})
		world.Register[Code](w, "code")
		var c state.Codecs
		end := func() {
			if at--; at == 0 {
				runtime.Goexit()
			}
		}
		state.Register(&c, state.Codec[Code]{
			Append: func(dst []byte, _ *Code) []byte { end(); return dst },
			Read:   func([]byte, *Code) error { end(); return nil },
		})
		require.NoError(t, world.NewBundle[Coded](w).CreateN(w, entities, nil))
		return w, snapshot.Options{Codecs: &c, Workers: workers, Compression: snapshot.None}
	}
	const n = 40_000 // in several sections
	w, o := mk(n, 1, 0)
	image := saved(t, w, o)
	apart := func(call func()) {
		var wait sync.WaitGroup
		wait.Go(func() {
			defer func() { _ = recover() }()
			call()
		})
		wait.Wait()
	}
	synctest.Test(t, func(t *testing.T) {
		for _, workers := range []int{1, 3} {
			for _, at := range []int{1, n} {
				x, o := mk(0, workers, at)
				err := snapshot.Load(bytes.NewReader(image), x, o)
				require.ErrorContains(t, err, "runtime.Goexit")
				require.NoError(t, x.Err())
			}
			x, o := mk(9, workers, 10) // of a hash, and then of a section
			require.ErrorContains(t, snapshot.Write(io.Discard, x, o), "runtime.Goexit")
			for _, end := range []func(){runtime.Goexit, func() { panic("ends") }} {
				x, o = mk(9, workers, 0)
				apart(func() { _ = snapshot.Write(&ends{left: 4, end: end}, x, o) })
				x, o = mk(0, workers, 0)
				apart(func() { _ = snapshot.Load(&ends{left: 20, from: bytes.NewReader(image), end: end}, x, o) })
				require.ErrorIs(t, x.Err(), world.ErrBroken)
			}
		}
	})
}

// TestDirOddFiles saves beside files that a Dir has not written.
func TestDirOddFiles(t *testing.T) {
	w, _ := bowl(world.Options{})
	dir := &snapshot.Dir{Path: filepath.Join(t.TempDir(), "there"), Keep: -1}
	save := func() error {
		w.Refresh()
		_, err := dir.Save(w, snapshot.Options{})
		return err
	}
	require.Panics(t, func() { _ = save() })
	require.NoDirExists(t, dir.Path, "before anything is done")
	dir.Keep = 2
	require.NoError(t, save())
	first := filepath.Join(dir.Path, "000000000001.snapshot")
	image, err := os.ReadFile(first)
	require.NoError(t, err)
	write := func(name string, b []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir.Path, name+".snapshot"), b, 0o600))
	}

	write("000000000002", image[:9])
	write("000000000003", image[:9])
	dir = &snapshot.Dir{Path: dir.Path, Keep: 2} // of another process
	require.NoError(t, save())
	require.FileExists(t, first, "the damaged ones do not count")
	require.NoError(t, save())
	require.NoFileExists(t, first)

	require.NoError(t, os.Mkdir(filepath.Join(dir.Path, "elsewhere"), 0o700))
	require.NoError(t, os.Symlink("elsewhere", filepath.Join(dir.Path, "000000000100.snapshot")))
	found, err := dir.Newest()
	require.NoError(t, err)
	require.Equal(t, w.Tick(), found.Info.Tick)
	require.ErrorContains(t, errors.Join(found.Passed...), "not a regular file")

	write("999999999999", image)
	require.NoError(t, save())
	require.NoError(t, save())
	found, err = dir.Newest()
	require.NoError(t, err)
	require.Equal(t, w.Tick(), found.Info.Tick, "a number of 13 digits is behind one of 12")
	require.Contains(t, found.Path, "1000000000001")

	write("18446744073709551615", image)
	require.ErrorContains(t, save(), "the last number")
}

// TestSmallerOutbox loads requests into a world that takes fewer of them.
func TestSmallerOutbox(t *testing.T) {
	mk := func(most int) (*world.World, *world.Bundle[Small]) {
		w, b := bowl(world.Options{OutboxRequests: most})
		w.Observe("seen", world.OnCreate, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
			return func(c *world.Context, _ world.Event, hs []handle.Handle) {
				for _, h := range hs {
					_ = b.Add(c, h, Small{Extra{7}})
				}
			}
		})
		return w, b
	}
	w, b := mk(100)
	require.NoError(t, b.CreateN(w, 10, nil))
	w.Refresh()
	image := saved(t, w, snapshot.Options{})
	w, _ = mk(5)
	err := snapshot.Load(bytes.NewReader(image), w, snapshot.Options{OtherOptions: true})
	require.ErrorIs(t, err, snapshot.ErrOtherWorld)
	require.NotErrorIs(t, err, snapshot.ErrAltered)
	require.ErrorContains(t, err, "OutboxRequests = 5,")
}

// TestFewerOutboxes loads the requests of several shards, each of which has sent as many as it may,
// into a world with fewer.
func TestFewerOutboxes(t *testing.T) {
	const most, made = 8, 4
	mk := func(shards int) (*world.World, *world.Bundle[Small], *int) {
		w, b := bowl(world.Options{Shards: shards, OutboxRequests: most})
		called := 0
		note := world.RegisterFunc(w, "note", func(*world.EntityContext, int) { called++ })
		w.Observe("seen", world.OnSet, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
			return func(c *world.Context, _ world.Event, hs []handle.Handle) {
				for i := range most {
					_ = note.Call(c, hs[0], i)
				}
			}
		}, b)
		return w, b, &called
	}
	w, b, _ := mk(made)
	var hs []handle.Handle
	for i := range made {
		h, err := b.Create(w, Small{})
		require.NoError(t, err)
		require.NoError(t, world.Move(w, h, i))
		hs = append(hs, h)
	}
	w.Refresh()
	for _, h := range hs {
		require.NoError(t, b.Set(w, h, Small{}))
	}
	w.Refresh()
	image := saved(t, w, snapshot.Options{})
	for _, n := range []int{1, 2, 4, 7} {
		w, _, called := mk(n)
		plan, err := snapshot.PlanLoad(bytes.NewReader(image), w, snapshot.Options{})
		require.NoError(t, err)
		require.Empty(t, plan.Blocking())
		require.NoError(t, snapshot.Load(bytes.NewReader(image), w, snapshot.Options{}), "into %d", n)
		w.Refresh()
		require.Equal(t, made*most, *called)
	}
}

// TestOtherInterval tells intervals as people write them.
func TestOtherInterval(t *testing.T) {
	w, _ := bowl(world.Options{TickInterval: 100 * time.Millisecond})
	image := saved(t, w, snapshot.Options{})
	other, _ := bowl(world.Options{TickInterval: 50 * time.Millisecond})
	err := snapshot.Load(bytes.NewReader(image), other, snapshot.Options{})
	require.ErrorIs(t, err, snapshot.ErrOtherWorld)
	require.ErrorContains(t, err, "100ms")
	require.ErrorContains(t, err, "50ms")
}

// TestSchedulerOfAnotherWorld panics before anything is done.
func TestSchedulerOfAnotherWorld(t *testing.T) {
	w, s := crew("move")
	image := saved(t, w, snapshot.Options{Scheduler: s})
	other, _ := crew("move")
	const want = "Options.Scheduler of another world"
	for _, call := range []func(){
		func() { _ = snapshot.Write(io.Discard, other, snapshot.Options{Scheduler: s}) },
		func() { _ = snapshot.Load(bytes.NewReader(image), other, snapshot.Options{Scheduler: s}) },
	} {
		func() {
			defer func() { require.Contains(t, recover(), want) }()
			call()
		}()
	}
	require.NoError(t, other.Err())
}

// TestRoomOfRelations gives a relation the room that it had: the loaded world refuses what the
// saved one refuses, and is saved as the same bytes when both have done the same.
func TestRoomOfRelations(t *testing.T) {
	for _, tree := range []hierarchy.Memory{{}, {ManualGrowth: true, Reserve: hierarchy.Room{Entities: 1000, Parents: 15, Buckets: []int{30, 10, 10}}}} {
		mk := func() (*world.World, *hierarchy.Relation, *world.Bundle[Small]) {
			w, b := bowl(world.Options{})
			return w, hierarchy.New(w, "kin", hierarchy.Options{Memory: tree}), b
		}
		w, kin, b := mk()
		hs, err := b.AppendN(nil, w, 200, nil)
		require.NoError(t, err)
		dice, refused := rand.New(rand.NewPCG(1, 1)), 0
		change := func(w *world.World, kin *hierarchy.Relation, parent, child int) error {
			err := kin.AddChild(w, hs[parent], hs[child])
			if errors.Is(err, hierarchy.ErrRoom) {
				refused++
			} else if err != nil {
				return kin.RemoveChild(w, hs[child], hierarchy.Close)
			}
			return err
		}
		for range 100 {
			_ = change(w, kin, dice.IntN(20), 20+dice.IntN(180))
		}
		x, other, _ := mk()
		require.NoError(t, snapshot.Load(bytes.NewReader(saved(t, w, snapshot.Options{})), x, snapshot.Options{}))
		for range 300 {
			p, c := dice.IntN(20), 20+dice.IntN(180)
			require.Equal(t, change(w, kin, p, c), change(x, other, p, c))
		}
		require.Equal(t, saved(t, w, snapshot.Options{}), saved(t, x, snapshot.Options{}))
		require.Equal(t, tree.ManualGrowth, refused > 0)
	}
}
