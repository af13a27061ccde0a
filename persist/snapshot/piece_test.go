package snapshot_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/ext/reference"
	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Fuse is the message of a timer.
type Fuse struct {
	By   handle.Handle
	Text string
}

// keep is a world with timers, a relation and names.
type keep struct {
	*world.World
	t      testing.TB
	s      *scheduler.Scheduler
	links  *world.Component[Link]
	timers *timer.Timers[Fuse]
	kin    *hierarchy.Relation
	names  *names.Names[string]
	heard  [][]world.Envelope[Fuse] // by shard, in this tick
	tries  *world.Transaction[job, int]
}

func newKeep(t testing.TB, shards, most int) *keep {
	x := &keep{World: world.MustNew(world.Options{Shards: shards}), t: t, heard: make([][]world.Envelope[Fuse], shards)}
	x.links = world.Register[Link](x.World, "link")
	world.Register[Body](x.World, "body")
	fuse := world.RegisterMessage[Fuse](x.World, "fuse")
	x.timers = timer.New(x.World, "fuses", fuse, timer.Options{Max: most})
	x.kin = hierarchy.New(x.World, "kin", hierarchy.Options{})
	x.names = names.New[string](x.World, "names", names.Options{})
	x.tries = world.RegisterTransaction(x.World, "try", func(tx *world.Tx, f job) (int, error) { return 0, f(tx) })
	x.s = scheduler.New(x.World, scheduler.Options{})
	x.s.MustAdd("hear", func(b *world.Build) func(c *world.Context) {
		in := world.Receive[Fuse](b)
		return func(c *world.Context) { x.heard[c.Shard()] = slices.Clone(in.All()) }
	})
	t.Cleanup(x.Close)
	return x
}

// job is what a transaction of a test does.
type job func(tx *world.Tx) error

// try has a transaction do a job, by the idle world.
func (x *keep) try(f job) error { return x.tries.Call(x.World, f) }

// ticks runs some ticks, and returns what timers have delivered, by tick from 1 on.
func (x *keep) ticks(n int) map[int][]world.Envelope[Fuse] {
	all := map[int][]world.Envelope[Fuse]{}
	for i := range n {
		require.NoError(x.t, x.s.Step(x.t.Context()))
		for _, heard := range x.heard {
			all[i+1] = append(all[i+1], heard...)
		}
		if all[i+1] == nil {
			delete(all, i+1)
		}
	}
	return all
}

// TestPieceTimers takes timers along: with the ticks that are left, in their order, with periods, and
// with the handles in their messages.
func TestPieceTimers(t *testing.T) {
	for _, shards := range [][2]int{{1, 1}, {2, 5}, {5, 2}} {
		x, y := newKeep(t, shards[0], 0), newKeep(t, shards[1], 0)
		y.ticks(30)
		parent := create(x.World, Link{})
		child := create(x.World, Link{parent})
		other := create(x.World, Link{child})
		require.NoError(t, x.kin.AddChild(x.World, parent, child))
		set := func(h handle.Handle, ticks int, m Fuse) timer.ID { return must(x.timers.After(x.World, h, ticks, m)) }
		set(parent, 9, Fuse{child, "last"})
		set(other, 5, Fuse{parent, "stays"})
		x.ticks(2)
		set(parent, 3, Fuse{parent, "a"})
		set(parent, 3, Fuse{other, "b"})
		must(x.timers.Every(x.World, child, 2, Fuse{parent, "often"}))
		require.NoError(t, x.timers.Cancel(x.World, set(child, 3, Fuse{})))
		made, err := insert(y.World, x.World, snapshot.InsertOptions{}, parent)
		require.NoError(t, err)
		require.Equal(t, 5, x.timers.Len())
		require.Equal(t, 4, y.timers.Len())
		require.Equal(t, 1, made.Cut, "other, in a message")
		p, c := made.Handle(parent), made.Handle(child)
		often := world.Envelope[Fuse]{To: c, Body: Fuse{p, "often"}}
		require.Equal(t, map[int][]world.Envelope[Fuse]{
			3: {often}, 5: {often}, 7: {often},
			4: {{To: p, Body: Fuse{p, "a"}}, {To: p, Body: Fuse{handle.None, "b"}}},
			8: {{To: p, Body: Fuse{c, "last"}}},
		}, y.ticks(8))
		for i, heard := range x.ticks(8) { // at the same time
			require.Equal(t, map[int]int{3: 1, 4: 3, 5: 1, 7: 1, 8: 1}[i], len(heard), i)
		}
	}
}

// mustStay checks that a call fails and changes nothing.
func (x *keep) mustStay(is error, text string, call func() error) {
	x.t.Helper()
	before := (&mortal{World: x.World}).save(x.t.(*testing.T))
	err := call()
	require.ErrorContains(x.t, err, text)
	if is != nil {
		require.ErrorIs(x.t, err, is)
	}
	require.Equal(x.t, before, (&mortal{World: x.World}).save(x.t.(*testing.T)))
}

// TestPieceRefused looks at pieces for which there is no room.
func TestPieceRefused(t *testing.T) {
	x, y := newKeep(t, 1, 0), newKeep(t, 1, 2)
	h := create(x.World, Link{})
	for range 3 {
		must(x.timers.After(x.World, h, 3, Fuse{}))
	}
	piece := must(snapshot.Extract(x.World, snapshot.ExtractOptions{}, h))
	put := func(o snapshot.InsertOptions) func() error {
		return func() error { _, err := snapshot.Insert(y.World, piece, o); return err }
	}
	y.mustStay(timer.ErrMax, `snapshot: Insert: "fuses": `, put(snapshot.InsertOptions{}))
	y.mustStay(snapshot.ErrTooLarge, "InsertOptions.BytesMax = 7", put(snapshot.InsertOptions{BytesMax: 7}))
	other := world.MustNew(world.Options{})
	world.Register[Link](other, "link")
	_, err := snapshot.Insert(other, piece, snapshot.InsertOptions{})
	require.ErrorIs(t, err, snapshot.ErrOtherWorld)
	require.ErrorContains(t, err, `extension "fuses": is not in this world: say Renamed("fuses", …), or make it beside the new one until it is empty; Dropped("fuses") LOSES 3 TIMERS`)
	made, err := snapshot.Insert(other, piece, snapshot.InsertOptions{Changes: []snapshot.Change{snapshot.Dropped("fuses")}})
	require.NoError(t, err)
	require.Equal(t, 1, made.Len())
	y.Close()
	require.ErrorIs(t, put(snapshot.InsertOptions{})(), world.ErrClosed)
	x.Close()
	_, err = snapshot.Extract(x.World, snapshot.ExtractOptions{}, h)
	require.ErrorIs(t, err, world.ErrClosed)
}

// TestExtractRelations follows only the relations that it is told to: in the others children that stay
// behind leave no place, unless the list is fixed.
func TestExtractRelations(t *testing.T) {
	pair := func() (w *world.World, kin, refs *hierarchy.Relation) {
		w = world.MustNew(world.Options{})
		world.Register[Link](w, "link")
		return w, hierarchy.New(w, "kin", hierarchy.Options{}), hierarchy.New(w, "refs", hierarchy.Options{OnParentDeath: hierarchy.Orphan})
	}
	w, kin, refs := pair()
	top := create(w, Link{})
	var all []handle.Handle
	for i := range 6 {
		h := create(w, Link{})
		all = append(all, h)
		require.NoError(t, refs.AddChild(w, top, h))
		if i%2 == 1 {
			require.NoError(t, kin.AddChild(w, top, h))
		}
	}
	for _, fixed := range []bool{false, true} {
		if fixed {
			require.NoError(t, refs.SetPlaces(w, top, 8))
		}
		to, kin2, refs2 := pair()
		piece, err := snapshot.Extract(w, snapshot.ExtractOptions{Relations: []string{"kin"}}, top)
		require.NoError(t, err)
		require.Equal(t, 4, piece.Len())
		made, err := snapshot.Insert(to, piece, snapshot.InsertOptions{})
		require.NoError(t, err)
		require.Equal(t, handle.None, made.Handle(all[0]))
		now := []handle.Handle{made.Handle(all[1]), made.Handle(all[3]), made.Handle(all[5])}
		require.Equal(t, now, kin2.Read(to).Children(made.Handle(top)))
		if fixed {
			now = []handle.Handle{0, now[0], 0, now[1], 0, now[2], 0, 0}
		}
		require.Equal(t, now, refs2.Read(to).Children(made.Handle(top)))
	}
}

// TestPieceReferences binds a reference to the world that it comes to.
func TestPieceReferences(t *testing.T) {
	type hunt struct{ Prey, Lost, Empty reference.Weak }
	c := new(state.Codecs)
	state.Register(c, state.Codec[reference.Weak]{
		Append: func(dst []byte, v *reference.Weak) []byte { return append(dst, must(v.MarshalText())...) },
		Read:   func(src []byte, v *reference.Weak) error { return v.UnmarshalText(src) },
	})
	from, to := world.MustNew(world.Options{}), world.MustNew(world.Options{})
	for _, w := range []*world.World{from, to} {
		world.Register[Link](w, "link")
		world.Register[hunt](w, "hunt")
	}
	create(to, Link{})
	prey, other := create(from, Link{}), create(from, Link{})
	h := create(from, hunt{reference.To(from, prey), reference.To(from, other), reference.Weak{}})
	made, err := insert(to, from, snapshot.InsertOptions{Codecs: c}, h, prey)
	require.NoError(t, err)
	require.Equal(t, 1, made.Cut)
	got := world.Read[hunt](to).Get(made.Handle(h))
	require.Equal(t, hunt{Prey: reference.To(to, made.Handle(prey))}, *got)
}

// What a piece has, in a later version of the program.
type (
	gearNow struct {
		Slot  slotB
		Count int64
		New   float32
	}
	gearThen struct {
		Slot  slotA
		N     int16
		Paint string
	}
	fuseNow struct {
		Who  handle.Handle
		Text string
		More int
	}
)

// TestPieceVersions inserts pieces of an older program: nothing is lost unless the newer one says so.
func TestPieceVersions(t *testing.T) {
	then, now := new(state.Codecs), new(state.Codecs)
	state.RegisterEnum(then, slotsA)
	state.RegisterEnum(now, slotsB)
	from := world.MustNew(world.Options{})
	world.Register[gearThen](from, "gear")
	world.Register[Extra](from, "extra")
	world.Register[Link](from, "unused")
	fuses := timer.New(from, "fuses", world.RegisterMessage[Fuse](from, "fuse"), timer.Options{})
	a := create(from, gearThen{2, 7, "red"})
	b := create(from, Extra{3})
	must(fuses.After(from, a, 4, Fuse{b, "boom"}))
	piece := must(snapshot.Extract(from, snapshot.ExtractOptions{Codecs: then}, a, b))

	var heard []world.Envelope[fuseNow]
	to := world.MustNew(world.Options{})
	world.Register[gearNow](to, "gear")
	timer.New(to, "timers", world.RegisterMessage[fuseNow](to, "lunte"), timer.Options{})
	s := scheduler.New(to, scheduler.Options{Workers: 1})
	s.MustAdd("hear", func(b *world.Build) func(c *world.Context) {
		in := world.Receive[fuseNow](b)
		return func(*world.Context) { heard = append(heard, in.All()...) }
	})
	put := func(changes ...snapshot.Change) (*snapshot.Inserted, error) {
		again, err := snapshot.ReadPiece(piece.Bytes())
		require.NoError(t, err)
		return snapshot.Insert(to, again, snapshot.InsertOptions{Codecs: now, Changes: changes})
	}
	_, err := put()
	require.ErrorIs(t, err, snapshot.ErrOtherWorld)
	for _, line := range []string{
		`component "extra": is not in this world: say Renamed("extra", …), or register it beside the new one until no entity has it; Dropped("extra") LOSES IT IN 1 ENTITY`,
		`component "gear", field Paint (string): is not in this world: say RenamedField("gear", "Paint", …), or give a Migrated; Dropped("gear", "Paint") LOSES IT IN 1 ENTITY`,
		`extension "fuses": is not in this world: say Renamed("fuses", …)`,
	} {
		require.ErrorContains(t, err, line)
	}
	require.NotContains(t, err.Error(), "unused")
	changes := []snapshot.Change{
		snapshot.Dropped("extra"), snapshot.Dropped("gear", "Paint"), snapshot.RenamedField("gear", "N", "Count"),
		snapshot.Renamed("fuses", "timers"), snapshot.Renamed("fuse", "lunte"),
	}
	_, err = put(changes...)
	require.ErrorContains(t, err, `payload "fuses", field By (handle): is not in this world: say RenamedField("lunte", "By", …)`)
	require.Zero(t, to.Count())
	changes = append(changes, snapshot.RenamedField("lunte", "By", "Who"))
	for range 2 { // the second time it is known how
		made, err := put(changes...)
		require.NoError(t, err)
		require.Equal(t, gearNow{3, 7, 0}, *world.Read[gearNow](to).Get(made.Handle(a)))
		require.True(t, to.Alive(made.Handle(b)), "without a component")
		heard = nil
		for range 5 {
			require.NoError(t, s.Step(t.Context()))
		}
		require.Equal(t, []world.Envelope[fuseNow]{{To: made.Handle(a), Body: fuseNow{made.Handle(b), "boom", 0}}}, heard)
	}
	_, err = put(changes[1:]...)
	require.ErrorContains(t, err, `component "extra"`, "what is known is of other changes")
	made, err := put(append(changes, snapshot.Migrated(func(g gearThen) gearNow { return gearNow{Count: int64(g.N) * 100} }))...)
	require.NoError(t, err)
	require.Equal(t, int64(700), world.Read[gearNow](to).Get(made.Handle(a)).Count)
}

// TestPieceOldName reads a component whose name another one has in its program, as a snapshot would.
func TestPieceOldName(t *testing.T) {
	w := world.MustNew(world.Options{})
	world.Register[Link](w, "old")
	world.Register[Extra](w, "new")
	h := create(w, Link{})
	made, err := insert(w, w, snapshot.InsertOptions{Changes: []snapshot.Change{snapshot.Renamed("old", "new")}}, h)
	require.NoError(t, err)
	require.NotNil(t, world.Read[Link](w).Get(made.Handle(h)))
}

// TestPieceCodecMeddles has a codec that changes the world meanwhile, in a component and in the message
// of a timer.
func TestPieceCodecMeddles(t *testing.T) {
	x, y := newKeep(t, 2, 0), newKeep(t, 2, 0)
	h := create(x.World, Link{})
	for range 4 {
		create(x.World, Link{h})
	}
	must(x.timers.After(x.World, h, 3, Fuse{h, "boom"}))
	meddle := func() {
		create(y.World, Link{})
		create(y.World, Body{})
	}
	c := new(state.Codecs)
	state.Register(c, state.Codec[Link]{
		Append: func(dst []byte, v *Link) []byte { return binary.LittleEndian.AppendUint64(dst, uint64(v.To)) },
		Read: func(src []byte, v *Link) error {
			meddle()
			v.To = handle.Handle(binary.LittleEndian.Uint64(src))
			return nil
		},
	})
	state.Register(c, state.Codec[string]{
		Append: func(dst []byte, v *string) []byte { return append(dst, *v...) },
		Read: func(src []byte, v *string) error {
			meddle()
			*v = string(src)
			return nil
		},
	})
	made, err := insert(y.World, x.World, snapshot.InsertOptions{Codecs: c})
	require.NoError(t, err)
	require.Equal(t, 5, made.Len())
	require.Equal(t, 5+2*6, y.Count())
	for old := range made.All() {
		if old != h {
			require.Equal(t, made.Handle(h), world.Read[Link](y.World).Get(made.Handle(old)).To)
		}
	}
	require.Len(t, y.ticks(4), 1)

	piece := must(snapshot.Extract(x.World, snapshot.ExtractOptions{Codecs: c}, h))
	meddle = y.Close
	_, err = snapshot.Insert(y.World, piece, snapshot.InsertOptions{Codecs: c})
	require.ErrorIs(t, err, world.ErrClosed)
}

// TestExtractCodecMeddles has a codec of an Extract that changes the world.
func TestExtractCodecMeddles(t *testing.T) {
	for name, meddle := range map[string]func(w *world.World, all []handle.Handle){
		"Refresh": func(w *world.World, _ []handle.Handle) { w.Refresh() },
		"Clear":   func(w *world.World, _ []handle.Handle) { w.Clear() },
		"Close":   func(w *world.World, _ []handle.Handle) { w.Close() },
		"Add": func(w *world.World, all []handle.Handle) {
			_ = world.NewBundle[struct{ Extra }](w).Add(w, all[0], struct{ Extra }{})
		},
	} {
		x := newKeep(t, 1, 0)
		world.Register[Extra](x.World, "extra")
		all := []handle.Handle{create(x.World, Link{}), create(x.World, Link{}), create(x.World, Link{})}
		c := new(state.Codecs)
		state.Register(c, state.Codec[Link]{
			Append: func(dst []byte, _ *Link) []byte { meddle(x.World, all); return dst },
			Read:   func([]byte, *Link) error { return nil },
		})
		require.Panics(t, func() { _, _ = snapshot.ExtractAll(x.World, snapshot.ExtractOptions{Codecs: c}) }, name)
		require.Panics(t, func() { _, _ = snapshot.Extract(x.World, snapshot.ExtractOptions{Codecs: c}, all...) }, name)
		x.ticks(1)
		require.True(t, x.Alive(all[2]))
	}
}

// TestPieceAtOnce inserts a piece into several worlds at once.
func TestPieceAtOnce(t *testing.T) {
	x := newKeep(t, 2, 0)
	for range 20 {
		create(x.World, Link{})
	}
	piece := must(snapshot.ExtractAll(x.World, snapshot.ExtractOptions{}))
	var all sync.WaitGroup
	for range 4 {
		y := newKeep(t, 1, 0)
		all.Go(func() {
			made, err := snapshot.Insert(y.World, piece, snapshot.InsertOptions{})
			if err != nil || made.Len() != piece.Len() {
				t.Errorf("%v", err)
			}
		})
	}
	all.Wait()
}

// fullPiece is a piece with something of everything.
func fullPiece(t testing.TB) []byte {
	x := newKeep(t, 2, 0)
	top := create(x.World, Link{})
	for i := range 3 {
		h := create(x.World, Body{Target: top, Small: uint8(i)})
		require.NoError(t, x.kin.Put(x.World, h, top, 2*i))
		must(x.timers.After(x.World, h, 3+i, Fuse{top, "boom"}))
	}
	require.NoError(t, world.AddFlags(x.World, top, 3))
	require.NoError(t, x.names.Bind(x.World, top, "top"))
	return must(snapshot.Extract(x.World, snapshot.ExtractOptions{}, top)).Bytes()
}

// resum gives bytes the checksum that they should have.
func resum(b []byte) []byte {
	if n := len(b) - 8; n >= 0 {
		binary.LittleEndian.PutUint64(b[n:], xxh3.Hash(b[:n]))
	}
	return b
}

// mustBeSound inserts what may be a piece, on the idle world and by transactions, and checks that the
// world is sound: as it was after an error.
func (x *keep) mustBeSound(b []byte) (inserted bool) {
	x.t.Helper()
	before, err := state.StateHash(x.World, nil)
	require.NoError(x.t, err)
	o := snapshot.InsertOptions{BytesMax: 1 << 20}
	piece, err := snapshot.ReadPiece(b)
	if err == nil {
		_, err = snapshot.Insert(x.World, piece, o)
	}
	if err != nil {
		after, failed := state.StateHash(x.World, nil)
		require.NoError(x.t, failed)
		require.Equal(x.t, before, after, "after %v", err)
		if piece != nil {
			again := x.try(func(tx *world.Tx) error { _, err := snapshot.Insert(tx, piece, o); return err })
			require.Equal(x.t, err.Error(), again.Error())
		}
		return false
	}
	x.mustLoad()
	require.NoError(x.t, x.s.Step(x.t.Context()))
	x.Clear()
	require.NoError(x.t, x.try(func(tx *world.Tx) error {
		in, err := snapshot.Insert(tx, piece, o)
		for _, h := range in.All() {
			require.True(x.t, tx.Alive(h))
		}
		return err
	}))
	x.mustLoad()
	require.NoError(x.t, x.s.Step(x.t.Context()))
	x.Clear()
	return true
}

// mustLoad saves and loads the world, which verifies relations and names.
func (x *keep) mustLoad() {
	x.t.Helper()
	var image bytes.Buffer
	require.NoError(x.t, snapshot.Write(&image, x.World, snapshot.Options{}))
	require.NoError(x.t, snapshot.Load(&image, newKeep(x.t, x.Shards(), 0).World, snapshot.Options{}))
}

// TestPieceHostile changes the bytes of a piece, and gives them the right checksum.
func TestPieceHostile(t *testing.T) {
	whole := fullPiece(t)
	x := newKeep(t, 3, 0)
	require.True(t, x.mustBeSound(whole))
	tries, step := 3_000, 1
	if check.Enabled && testing.Short() { // one goroutine does this
		tries, step = 600, 7
	}
	for n := 0; n < len(whole); n += step {
		require.False(t, x.mustBeSound(whole[:n]))
		require.False(t, x.mustBeSound(resum(slices.Clone(whole[:n]))))
		wrong := slices.Clone(whole)
		wrong[n] ^= 1
		require.False(t, x.mustBeSound(wrong), "the checksum is wrong")
	}
	dice := rand.New(rand.NewPCG(seed.Of(t), 1))
	sound := 0
	for range tries {
		b := slices.Clone(whole)
		for range 1 + dice.IntN(3) {
			switch at := dice.IntN(len(b)); dice.IntN(4) {
			case 0:
				b[at] = byte(dice.Uint32())
			case 1:
				b[at] ^= 1 << dice.IntN(8)
			case 2:
				b[at]++
			default:
				b = slices.Insert(b, at, byte(dice.IntN(4)))
			}
		}
		if x.mustBeSound(resum(b)) {
			sound++
		}
	}
	require.Greater(t, sound, tries/150)
}

// FuzzPiece inserts what may be a piece.
func FuzzPiece(f *testing.F) {
	whole := fullPiece(f)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Fuzz(func(t *testing.T, b []byte) { newKeep(t, 2, 0).mustBeSound(resum(slices.Clone(b))) })
}

// BenchmarkPiece takes an entity of three components, and a tree of 200, from a world to another.
func BenchmarkPiece(b *testing.B) {
	for _, n := range []int{1, 200} {
		from, agents := newAgents(b)
		kin := hierarchy.New(from, "kin", hierarchy.Options{})
		to, _ := newAgents(b)
		hierarchy.New(to, "kin", hierarchy.Options{})
		all := must(agents.AppendN(nil, from, n, nil))
		for i, h := range all[1:] {
			require.NoError(b, kin.AddChild(from, all[i/8], h))
			world.Write[Life](from).Get(h).Owner = all[0]
		}
		from.Refresh()
		name := map[int]string{1: "one", 200: "200"}[n]
		var piece *snapshot.Piece
		b.Run("extract/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				piece = must(snapshot.Extract(from, snapshot.ExtractOptions{}, all[0]))
			}
			b.ReportMetric(float64(len(piece.Bytes())), "bytes")
		})
		b.Run("read/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				must(snapshot.ReadPiece(piece.Bytes()))
			}
		})
		b.Run("insert/"+name, func(b *testing.B) {
			b.ReportAllocs()
			made := 0
			for b.Loop() {
				made += must(snapshot.Insert(to, piece, snapshot.InsertOptions{})).Len()
				if made > 20_000 {
					b.StopTimer()
					to.Clear()
					made = 0
					b.StartTimer()
				}
			}
		})
	}
}
