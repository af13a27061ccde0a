package snapshot_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// The components of lake, in two forms.
type (
	Depth struct {
		Metres float64
		Salty  bool
	}
	Fish struct{ Name string }
	Wave struct{ N int32 }
	Sky  struct{ Clouds []int }
	Boat struct {
		Depth
		Fish
	}
)

// lake is a world whose parts are made one by one.
type lake struct {
	*world.World
	boats *world.Bundle[Boat]
	o     snapshot.Options
}

// steps make a lake; tests leave some out, or take others.
var steps = []func(l *lake){
	func(l *lake) { world.Register[Depth](l.World, "depth") },
	func(l *lake) { world.Register[Fish](l.World, "fish") },
	func(l *lake) { world.RegisterMessage[Wave](l.World, "wave") },
	func(l *lake) { world.RegisterResource(l.World, "sky", Sky{}) },
	func(l *lake) { hierarchy.New(l.World, "tow", hierarchy.Options{}) },
	func(l *lake) { l.boats = world.NewBundle[Boat](l.World) },
	func(l *lake) {
		l.Observe("seen", world.OnSet, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
			return func(*world.Context, world.Event, []handle.Handle) {}
		}, l.boats)
	},
	func(l *lake) { l.o.Scheduler = newScheduler(l.World, "row", "sail") },
	func(l *lake) {
		l.o.Extras = []snapshot.Extra{{Name: "moon", Append: func(dst []byte) []byte { return append(dst, 7) }, Read: func([]byte) error { return nil }}}
	},
}

func newScheduler(w *world.World, systems ...string) *scheduler.Scheduler {
	s := scheduler.New(w, scheduler.Options{})
	for _, name := range systems {
		s.MustAdd(name, func(*world.Build) func(*world.Context) { return func(*world.Context) {} })
	}
	return s
}

func newLake(o world.Options, steps ...func(l *lake)) *lake {
	l := &lake{World: world.MustNew(o)}
	for _, f := range steps {
		f(l)
	}
	return l
}

// other returns the steps with one replaced; nil leaves it out.
func other(at int, by func(l *lake)) []func(l *lake) {
	all := append([]func(l *lake){}, steps...)
	if all[at] = by; by == nil {
		all[at] = func(*lake) {}
	}
	return all
}

// TestOtherWorld names what a world lacks, and leaves it as it was.
func TestOtherWorld(t *testing.T) {
	one := newLake(world.Options{}, steps...)
	h, err := one.boats.Create(one.World, Boat{Fish: Fish{"cod"}})
	require.NoError(t, err)
	var image bytes.Buffer
	require.NoError(t, snapshot.Write(&image, one.World, one.o))
	type Depth struct {
		Metres float32
		Salty  bool
	}
	type Fish struct{ Age int8 }
	for want, x := range map[string]*lake{
		`component "depth": is not in this world`: newLake(world.Options{}, steps[2:5]...),
		`component "depth", field Metres (float64 → float32): does not hold each of its values: give a Migrated; Dropped("depth", "Metres") LOSES IT IN 1 ENTITY`:            newLake(world.Options{}, other(0, func(l *lake) { world.Register[Depth](l.World, "depth") })[:1]...),
		`component "fish", field Name (string): is not in this world: say RenamedField("fish", "Name", …), or give a Migrated; Dropped("fish", "Name") LOSES IT IN 1 ENTITY`: newLake(world.Options{}, steps[0], func(l *lake) { world.Register[Fish](l.World, "fish") }),
		`message "wave": is not in this world: say Renamed("wave", …), or register it until they are delivered; Dropped("wave") loses nothing`:                               newLake(world.Options{}, other(2, nil)...),
		`resource "sky": is not in this world: say Renamed("sky", …), or register it; Dropped("sky") LOSES ITS VALUE`:                                                        newLake(world.Options{}, other(3, nil)...),
		`extension "tow": is not in this world: say Renamed("tow", …), or make it beside the new one until it is empty; Dropped("tow") loses nothing`:                        newLake(world.Options{}, other(4, nil)...),
		`hook "seen": is not in this world: say Renamed("seen", …), or make it; Dropped("seen") LOSES WHERE IT IS OFF`:                                                       newLake(world.Options{}, other(6, nil)...),
		`pass one in Options.Scheduler`: newLake(world.Options{}, other(7, nil)...),
		`extra "moon": is not in this world: say Renamed("moon", …), or pass it; Dropped("moon") LOSES ITS STATE`: newLake(world.Options{}, other(8, nil)...),
		`option "IndexMax" (16777215 → 5): shapes handles`:                                                        newLake(world.Options{IndexMax: 5}, steps...),
		`option "Seed" (0 → 1): decides what happens next: make the world with`:                                   newLake(world.Options{Seed: 1}, steps...),
	} {
		err := snapshot.Load(bytes.NewReader(image.Bytes()), x.World, x.o)
		require.ErrorIs(t, err, snapshot.ErrOtherWorld, want)
		require.ErrorContains(t, err, want)
		require.NoError(t, x.Err(), "the world is as it was")
	}
	const want = `system "sail": is not in`
	for _, systems := range [][]string{{"row", "swim"}, {"row"}} {
		x := newLake(world.Options{}, other(7, func(l *lake) { l.o.Scheduler = newScheduler(l.World, systems...) })...)
		err := snapshot.Load(bytes.NewReader(image.Bytes()), x.World, x.o)
		require.ErrorIs(t, err, snapshot.ErrOtherWorld, want)
		require.ErrorContains(t, err, want)
		require.NoError(t, x.Err())
		require.False(t, x.Alive(h))
	}

	x := newLake(world.Options{}, other(8, func(l *lake) {
		l.o.Extras = []snapshot.Extra{{Name: "moon", Append: func(dst []byte) []byte { return dst }, Read: func([]byte) error { return errFull }}}
	})...)
	err = snapshot.Load(bytes.NewReader(image.Bytes()), x.World, x.o)
	require.ErrorIs(t, err, errFull)
	require.ErrorContains(t, err, `Extra "moon"`)

	x = newLake(world.Options{Seed: 1, KeepOrder: true, ChunkRowsFirst: 2}, steps...)
	x.o.OtherOptions = true
	require.NoError(t, snapshot.Load(bytes.NewReader(image.Bytes()), x.World, x.o))
	require.True(t, x.Alive(h))
	require.Equal(t, uint64(1), x.Options().Seed)
}

// TestOtherOrder loads into a world that has the same, and more, in another order.
func TestOtherOrder(t *testing.T) {
	one := newLake(world.Options{}, steps...)
	h, err := one.boats.Create(one.World, Boat{Depth{3, true}, Fish{"cod"}})
	require.NoError(t, err)
	one.Refresh()
	var image bytes.Buffer
	require.NoError(t, snapshot.Write(&image, one.World, one.o))
	x := newLake(world.Options{},
		func(l *lake) { hierarchy.New(l.World, "new", hierarchy.Options{}) }, steps[4], func(l *lake) { world.Register[Wave](l.World, "new") },
		steps[3], steps[2], steps[1], steps[0], steps[5], steps[6], steps[7], steps[8])
	require.NoError(t, snapshot.Load(&image, x.World, x.o))
	require.Equal(t, Depth{3, true}, *world.Read[Depth](x.World).Get(h))
	require.Equal(t, Fish{"cod"}, *world.Read[Fish](x.World).Get(h))
	before, err := x.boats.Create(x.World, Boat{})
	require.NoError(t, err)
	after, err := one.boats.Create(one.World, Boat{})
	require.NoError(t, err)
	require.Equal(t, after, before, "the same handles are given")
	require.NoError(t, x.o.Scheduler.Step(t.Context()))
}

// TestShards saves and loads worlds of one shard and of many.
func TestShards(t *testing.T) {
	for _, n := range []int{1, 2, 100} {
		one, x := newLake(world.Options{Shards: n}, steps...), newLake(world.Options{Shards: n}, steps...)
		require.NoError(t, one.boats.CreateN(one.World, 3, nil))
		_, err := one.boats.Create(one.World, Boat{})
		require.NoError(t, err)
		var image bytes.Buffer
		require.NoError(t, snapshot.Write(&image, one.World, one.o))
		require.NoError(t, snapshot.Load(&image, x.World, x.o))
		for range 5000 {
			a, err := one.boats.Create(one.World, Boat{})
			require.NoError(t, err)
			b, err := x.boats.Create(x.World, Boat{})
			require.NoError(t, err)
			require.Equal(t, a, b)
		}
	}
}

// TestNotNew refuses worlds that were used.
func TestNotNew(t *testing.T) {
	one := newLake(world.Options{}, steps...)
	var image bytes.Buffer
	require.NoError(t, snapshot.Write(&image, one.World, one.o))
	for want, use := range map[string]func(x *lake){
		"handles were given": func(x *lake) { _ = x.boats.CreateN(x.World, 1, nil) },
		"it is at tick 1":    func(x *lake) { x.Refresh() },
		"has sent something": func(x *lake) { p, _ := x.OpenPort(); _, _ = x.boats.Create(p, Boat{}) },
	} {
		x := newLake(world.Options{}, steps...)
		use(x)
		err := snapshot.Load(bytes.NewReader(image.Bytes()), x.World, x.o)
		require.ErrorIs(t, err, snapshot.ErrNotNew, want)
		require.ErrorContains(t, err, want)
		require.NoError(t, x.Err())
	}
	one.Close()
	require.ErrorIs(t, snapshot.Write(io.Discard, one.World, one.o), world.ErrClosed)
	require.ErrorIs(t, snapshot.Load(&image, one.World, one.o), world.ErrClosed)
	require.Panics(t, func() { _ = snapshot.Write(io.Discard, nil, snapshot.Options{}) })
	require.Panics(t, func() { _ = snapshot.Load(&image, nil, snapshot.Options{}) })
	require.Panics(t, func() { _ = snapshot.Write(io.Discard, newPond().World, snapshot.Options{Workers: -1}) })
	require.Panics(t, func() {
		_ = snapshot.Write(io.Discard, newPond().World, snapshot.Options{Extras: make([]snapshot.Extra, 1)})
	})
}

// failing is a writer that takes so many bytes.
type failing int

var errFull = errors.New("full")

func (f *failing) Write(p []byte) (int, error) {
	if *f -= failing(len(p)); *f < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// Spoiled is a component whose method fails.
type Spoiled struct{ Text string }

func (Spoiled) MarshalBinary() ([]byte, error)  { return nil, errFull }
func (*Spoiled) UnmarshalBinary(_ []byte) error { return errFull }

// TestSaveFails returns the errors of writers and of the user's code, and repeats its panics.
func TestSaveFails(t *testing.T) {
	x := newSea(t, options(), 3)
	whole := len(x.save())
	for _, n := range []int{0, 11, 100, whole / 2, whole - 1} {
		to := failing(n)
		require.ErrorIs(t, snapshot.Write(&to, x.World, x.options), errFull)
	}
	w := world.MustNew(world.Options{})
	world.Register[func()](w, "do")
	require.ErrorIs(t, snapshot.Write(io.Discard, w, snapshot.Options{}), state.ErrNoCodec)

	w = world.MustNew(world.Options{})
	world.Register[Spoiled](w, "spoiled")
	require.NoError(t, world.NewBundle[struct{ Spoiled }](w).CreateN(w, 1, nil))
	require.ErrorIs(t, snapshot.Write(io.Discard, w, snapshot.Options{}), errFull)

	half := new(state.Codecs)
	state.Register(half, state.Codec[Code]{Append: func(dst []byte, _ *Code) []byte { return dst }})
	require.ErrorContains(t, snapshot.Write(io.Discard, newPond().World, snapshot.Options{Codecs: half}), "has no Read")

	bad := new(state.Codecs)
	state.Register(bad, state.Codec[Code]{Append: func([]byte, *Code) []byte { panic("no") }, Read: func([]byte, *Code) error { panic("no") }})
	live := newPond().live()
	require.NoError(t, world.NewBundle[struct{ Code }](live.World).CreateN(live.World, 1, nil))
	require.PanicsWithValue(t, "no", func() { _ = snapshot.Write(io.Discard, live.World, snapshot.Options{Codecs: bad}) })
	image := live.save(t, snapshot.None)
	y := newPond()
	world.NewBundle[struct{ Code }](y.World)
	require.PanicsWithValue(t, "no", func() { _ = snapshot.Load(bytes.NewReader(image), y.World, snapshot.Options{Codecs: bad}) })
	require.ErrorIs(t, y.Err(), world.ErrBroken)
}

// TestCodecEnds saves and loads by codecs that end their goroutine: that is an error.
func TestCodecEnds(t *testing.T) {
	type list struct{ Items []int }
	appends, reads := math.MaxInt, math.MaxInt // until one ends its goroutine
	o := snapshot.Options{Codecs: new(state.Codecs), Workers: 1}
	state.Register(o.Codecs, state.Codec[list]{
		Append: func(dst []byte, _ *list) []byte {
			if appends--; appends < 0 {
				runtime.Goexit()
			}
			return dst
		},
		Read: func(_ []byte, _ *list) error {
			if reads--; reads < 0 {
				runtime.Goexit()
			}
			return nil
		},
	})
	newWorld := func() *world.World {
		w := world.MustNew(world.Options{})
		world.Register[list](w, "list")
		return w
	}
	w := newWorld()
	require.NoError(t, world.NewBundle[struct{ list }](w).CreateN(w, 100, nil))
	var file bytes.Buffer
	require.NoError(t, snapshot.Write(&file, w, o))
	const ended = "a function has ended its goroutine, by runtime.Goexit"
	appends = 101 // the hash has 100
	require.ErrorContains(t, snapshot.Write(io.Discard, w, o), ended)
	appends, reads = math.MaxInt, 1
	x := newWorld()
	require.ErrorContains(t, snapshot.Load(bytes.NewReader(file.Bytes()), x, o), ended)
	reads = math.MaxInt
	require.NoError(t, snapshot.Load(bytes.NewReader(file.Bytes()), x, o), "the world is new again")
}

// Tale is read by a codec.
type Tale struct{ text string }

// TestLoadPorts has a port create while the world is loaded: it cannot, and what is loaded stays
// whole.
func TestLoadPorts(t *testing.T) {
	type teller struct{ Tale }
	during := func() {}
	codecs := new(state.Codecs)
	state.Register(codecs, state.Codec[Tale]{
		Append: func(dst []byte, v *Tale) []byte { return append(dst, v.text...) },
		Read:   func(src []byte, v *Tale) error { v.text = string(src); during(); return nil },
	})
	fresh := func() (*world.World, *world.Bundle[teller], *world.Port) {
		w := world.MustNew(world.Options{Shards: 1})
		world.Register[Tale](w, "tale")
		p, err := w.OpenPort()
		require.NoError(t, err)
		return w, world.NewBundle[teller](w), p
	}
	given := map[handle.Handle]bool{}
	create := func(w *world.World, b *world.Bundle[teller], p *world.Port) {
		for range 100 {
			h, err := b.Create(p, teller{Tale{"once"}})
			require.NoError(t, err)
			require.False(t, given[h], "%v is given twice", h)
			given[h] = true
		}
		w.Refresh()
	}
	w, b, p := fresh()
	create(w, b, p)
	var image bytes.Buffer
	o := snapshot.Options{Codecs: codecs, Workers: 1}
	require.NoError(t, snapshot.Write(&image, w, o))

	w, b, p = fresh()
	refused := 0
	during = func() {
		_, err := b.Create(p, teller{})
		require.ErrorIs(t, err, world.ErrIndexes)
		require.ErrorContains(t, err, "create when snapshot.Load has returned")
		refused++
	}
	require.NoError(t, snapshot.Load(&image, w, o))
	require.Equal(t, 100, refused)
	create(w, b, p)
	require.Equal(t, len(given), w.Count())
	for h := range given {
		require.True(t, w.Alive(h))
	}
}
