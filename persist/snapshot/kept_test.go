package snapshot_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/async"
	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/snapshot/text"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// What a mill keeps, in an old form and a new one: a field is added, one renamed, two are retyped.
type (
	grind struct {
		Sacks int16
		Grain string
	}
	grindNow struct {
		Fine   bool
		Sacks  int64
		Cereal string
	}
	order struct {
		Miller string
		Pounds float32
		Paid   bool
	}
	orderNow struct {
		Pounds float64
		Who    string
		Rush   bool
		Paid   bool
	}
	wheat    struct{ Tons int32 }
	wheatNow struct {
		Tons, Wet int64
	}
	damp struct{ Share float64 } // new
)

// mill has timers, messages, asks, functions and transactions of the types that a program has. A
// system writes down what comes of them.
type mill[G, O, W any] struct {
	t testing.TB
	*world.World
	s        *scheduler.Scheduler
	grinds   *world.Message[G]
	timers   *timer.Timers[G]
	asks     *async.Call[O, int]
	ran      chan O
	function *world.Func[O]
	sale     *world.Transaction[O, int]
	heard    [][]string // by shard
	sold     []string
	stores   *world.Bundle[struct{ Store W }]
}

func newMill[G, O, W any](t testing.TB, workers int, also ...func(*world.World)) *mill[G, O, W] {
	return newMillOf[G, O, W](t, 3, workers, also...)
}

func newMillOf[G, O, W any](t testing.TB, shards, workers int, also ...func(*world.World)) *mill[G, O, W] {
	w := world.MustNew(world.Options{Shards: shards})
	m := &mill[G, O, W]{t: t, World: w, heard: make([][]string, shards), ran: make(chan O, 100)}
	world.Register[W](w, "wheat")
	for _, f := range also {
		f(w)
	}
	m.stores = world.NewBundle[struct{ Store W }](w)
	m.grinds = world.RegisterMessage[G](w, "grind")
	m.timers = timer.New(w, "stones", m.grinds, timer.Options{})
	done := world.RegisterMessage[async.Result[int]](w, "done")
	m.asks = async.New(w, "orders", done, func(_ context.Context, o O) (int, error) { m.ran <- o; return 1, nil }, async.Options{Rerun: true})
	m.function = world.RegisterFunc(w, "note", func(self *world.EntityContext, o O) {
		m.heard[self.Shard()] = append(m.heard[self.Shard()], fmt.Sprintf("note %+v", o))
	})
	m.sale = world.RegisterTransaction(w, "sale", func(_ *world.Tx, o O) (int, error) {
		m.sold = append(m.sold, fmt.Sprintf("sale %+v", o))
		return 0, nil
	})
	m.s = scheduler.New(w, scheduler.Options{Workers: workers})
	m.s.MustAdd("hear", func(b *world.Build) func(*world.Context) {
		in := world.Receive[G](b)
		return func(c *world.Context) {
			for _, e := range in.All() {
				m.heard[c.Shard()] = append(m.heard[c.Shard()], fmt.Sprintf("%d %v %+v", c.Tick(), e.To, e.Body))
			}
		}
	})
	return m
}

// fill has everything pending: in each entity a timer that repeats, one that does not, and a
// message; an ask for every third; and what a hook has sent.
func (m *mill[G, O, W]) fill(grain func(i int) G, ordered func(i int) O, stored func(i int) W) (hs []handle.Handle) {
	t := m.t
	var all []handle.Handle
	n := 0
	m.stores.PlaceBy(func(struct{ Store W }) int {
		n++
		return n % 3
	})
	m.Observe("left", world.OnSet, func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
		return func(c *world.Context, _ world.Event, hs []handle.Handle) {
			for i, h := range hs {
				require.NoError(t, m.function.Call(c, h, ordered(100+i)))
				require.NoError(t, m.sale.Call(c, ordered(200+i)))
				if c.Shard() != 2 {
					require.NoError(t, m.stores.Set(c, all[19], struct{ Store W }{stored(300 + i)})) // which is in shard 2
				}
			}
		}
	}, m.stores)
	for i := range 20 {
		h, err := m.stores.Create(m.World, struct{ Store W }{stored(i)})
		require.NoError(t, err)
		hs = append(hs, h)
		_, err = m.timers.Every(m.World, h, 2+i%3, grain(i))
		require.NoError(t, err)
		_, err = m.timers.After(m.World, h, 1+i%7, grain(i+50))
		require.NoError(t, err)
		require.NoError(t, m.grinds.Send(m.World, h, grain(i)))
		if i%3 == 0 {
			_, err = m.asks.Go(m.World, h, ordered(i))
			require.NoError(t, err)
		}
	}
	all = hs
	require.NoError(t, m.s.Step(t.Context()))
	for i, h := range hs[:5] { // its hook is called by the refresh, and sends requests for the next one
		require.NoError(t, m.stores.Set(m.World, h, struct{ Store W }{stored(i)}))
	}
	m.Refresh()
	return hs
}

func oldMill(t testing.TB) (*mill[grind, order, wheat], []handle.Handle) {
	m := newMill[grind, order, wheat](t, 1)
	return m, m.fill(func(i int) grind { return grind{int16(-i), strings.Repeat("x", i%4)} },
		func(i int) order { return order{fmt.Sprint("m", i), float32(i) / 2, i%2 == 0} },
		func(i int) wheat { return wheat{int32(i)} })
}

func newerMill(t testing.TB, workers int) *mill[grindNow, orderNow, wheatNow] {
	m := newMill[grindNow, orderNow, wheatNow](t, workers, func(w *world.World) { world.Register[damp](w, "damp") })
	m.Observe("left", world.OnSet, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
		return func(*world.Context, world.Event, []handle.Handle) {}
	}, m.stores)
	return m
}

// asNow writes what the old mill hears as the new one does.
var asNow = strings.NewReplacer("{Sacks:", "{Fine:false Sacks:", "Grain:", "Cereal:")

// sortedOut returns the messages and the notes of what was heard.
func sortedOut(lines []string) (of [2][]string) {
	for _, line := range lines {
		if strings.HasPrefix(line, "note") {
			of[1] = append(of[1], line)
		} else {
			of[0] = append(of[0], line)
		}
	}
	return of
}

// changesOfMill are those from the old mill to the new.
func changesOfMill() []snapshot.Change {
	return []snapshot.Change{
		snapshot.RenamedField("grind", "Grain", "Cereal"), // of the message, and so of its timers
		snapshot.RenamedField("orders", "Miller", "Who"), snapshot.RenamedField("note", "Miller", "Who"), snapshot.RenamedField("sale", "Miller", "Who"),
		snapshot.Renamed("struct { Store snapshot_test.wheat }", "struct { Store snapshot_test.wheatNow }"),
	}
}

// TestKept loads a world into a program in which all that is pending has another form, on some
// numbers of workers, and again from what that saves.
func TestKept(t *testing.T) {
	old, hs := oldMill(t)
	var file bytes.Buffer
	require.NoError(t, snapshot.Write(&file, old.World, snapshot.Options{Scheduler: old.s}))
	image := file.Bytes()
	x := newerMill(t, 1)
	plan, err := snapshot.PlanLoad(bytes.NewReader(image), x.World, snapshot.Options{Scheduler: x.s})
	require.NoError(t, err)
	for _, want := range []string{
		`refuses  payload "stones", field Grain (string): is not in this world: say RenamedField("grind", "Grain", …), or give a Migrated; Dropped("grind", "Grain") LOSES IT IN 34 TIMERS`,
		`loads    payload "stones", field Sacks (int16 → int64): is converted`,
		`loads    payload "stones", field Fine (bool): is new, and begins at zero`,
		`refuses  payload "orders", field Miller (string): is not in this world: say RenamedField("orders", "Miller", …), or give a Migrated; Dropped("orders", "Miller") LOSES IT IN 7 ASKS`,
		`refuses  request "transaction \"sale\"", field Miller (string)`,
		`Dropped("note", "Miller") LOSES IT IN 5 REQUESTS`,
	} {
		require.Contains(t, plan.String(), want)
	}
	require.ErrorIs(t, snapshot.Load(bytes.NewReader(image), x.World, snapshot.Options{Scheduler: x.s}), snapshot.ErrOtherWorld)

	for range 12 {
		require.NoError(t, old.s.Step(t.Context()))
	}
	var first []byte
	for _, workers := range []int{1, 2, 5} {
		x := newerMill(t, workers)
		o := snapshot.Options{Scheduler: x.s, Changes: changesOfMill(), Workers: workers}
		plan, err := snapshot.PlanLoad(bytes.NewReader(image), x.World, o)
		require.NoError(t, err)
		require.Empty(t, plan.Blocking(), plan)
		require.NoError(t, snapshot.Load(bytes.NewReader(image), x.World, o))
		var again bytes.Buffer
		require.NoError(t, snapshot.Write(&again, x.World, snapshot.Options{Scheduler: x.s}))
		if first == nil {
			first = again.Bytes()
		}
		require.Equal(t, first, again.Bytes())
		y := newerMill(t, workers)
		require.NoError(t, snapshot.Load(&again, y.World, snapshot.Options{Scheduler: y.s, Changes: changesOfMill()}))
		for _, m := range []*mill[grindNow, orderNow, wheatNow]{x, y} {
			require.Equal(t, 7, m.asks.Len())
			p, err := async.Attach(m.World, async.PoolOptions{})
			require.NoError(t, err)
			for range 12 {
				require.NoError(t, m.s.Step(t.Context()))
			}
			for range 7 {
				got := <-m.ran
				require.NotEmpty(t, got.Who)
				require.False(t, got.Rush)
			}
			require.NoError(t, p.Close(t.Context()))
			heard, notes := 0, 0
			for shard := range old.heard {
				was, is := sortedOut(old.heard[shard]), sortedOut(m.heard[shard])
				for i, line := range is[0] { // what the old one heard in its first tick is not among them
					require.Equal(t, asNow.Replace(was[0][len(was[0])-len(is[0])+i]), line)
				}
				for _, line := range is[1] {
					require.Contains(t, line, "Rush:false")
				}
				heard, notes = heard+len(is[0]), notes+len(is[1])
			}
			require.Equal(t, 5, notes)
			require.Greater(t, heard, 80)
			require.Len(t, m.sold, 5)
			require.Contains(t, m.sold[0], "{Pounds:100 Who:m200 Rush:false Paid:true}")
			for i, h := range hs[:19] {
				require.Equal(t, wheatNow{Tons: int64(i)}, *world.Read[wheatNow](m.World).Get(h))
			}
			require.GreaterOrEqual(t, world.Read[wheatNow](m.World).Get(hs[19]).Tons, int64(300))
		}
	}
}

// TestKeptMigrated makes the messages of timers, and all that is like them, by a function.
func TestKeptMigrated(t *testing.T) {
	old, _ := oldMill(t)
	var file bytes.Buffer
	require.NoError(t, snapshot.Write(&file, old.World, snapshot.Options{Scheduler: old.s}))
	type grindNow struct{ Bags string }
	type orderNow struct{ Text string }
	x := newMill[grindNow, orderNow, wheat](t, 2)
	o := snapshot.Options{Scheduler: x.s, Changes: []snapshot.Change{
		snapshot.Migrated(func(was grind) grindNow { return grindNow{fmt.Sprint(was.Sacks, was.Grain)} }),
		snapshot.Migrated(func(was order) orderNow { return orderNow{was.Miller + "!"} }),
		snapshot.Dropped("left"),
	}}
	plan, err := snapshot.PlanLoad(bytes.NewReader(file.Bytes()), x.World, o)
	require.NoError(t, err)
	require.Contains(t, plan.String(), `loads    payload "stones" (snapshot_test.grind → snapshot_test.grindNow): is made by a function`)
	require.Contains(t, plan.String(), `loads    payload "orders" (snapshot_test.order → snapshot_test.orderNow): is made by a function`)
	require.NoError(t, snapshot.Load(&file, x.World, o))
	for range 7 {
		require.NoError(t, x.s.Step(t.Context()))
	}
	require.Contains(t, fmt.Sprint(x.heard), "{Bags:-3xxx}")
	require.Contains(t, fmt.Sprint(x.heard), "note {Text:m100!}")
	require.Contains(t, fmt.Sprint(x.sold), "sale {Text:m200!}")
}

// TestKeptBundles makes components by a function, also in requests about bundles that are under way,
// beside others that change by themselves, and with what the requests take away.
func TestKeptBundles(t *testing.T) {
	type (
		oats    struct{ Tons int32 }
		oatsNow struct{ Text string }
		rye     struct{ Tons int16 }
		ryeNow  struct {
			New  bool
			Tons int64
		}
	)
	old, was, hs := scene2[oats, rye](t, true, func(i int32) oats { return oats{i} }, func(i int32) rye { return rye{int16(i)} })
	var file bytes.Buffer
	require.NoError(t, snapshot.Write(&file, old, snapshot.Options{}))
	for _, workers := range []int{1, 2, 5} {
		x, is, _ := scene2[oatsNow, ryeNow](t, false, nil, nil)
		o := snapshot.Options{Workers: workers, Changes: []snapshot.Change{snapshot.Renamed(was, is), snapshot.Migrated(func(was oats) oatsNow { return oatsNow{fmt.Sprint(was.Tons, " t")} })}}
		plan, err := snapshot.PlanLoad(bytes.NewReader(file.Bytes()), x, o)
		require.NoError(t, err)
		require.Contains(t, plan.String(), fmt.Sprintf("loads    request %q: has components that are made by a function", "exchange of bundle "+strconv.Quote(was)))
		require.Contains(t, plan.String(), fmt.Sprintf("loads    request %q, field value.Rye.Tons (int16 → int64): is converted", "exchange of bundle "+strconv.Quote(was)))
		require.NoError(t, snapshot.Load(bytes.NewReader(file.Bytes()), x, o))
		x.Refresh()
		oat, r := world.Read[oatsNow](x), world.Read[ryeNow](x)
		require.Equal(t, oatsNow{"10 t"}, *oat.Get(hs[0]), "set at once")
		require.Equal(t, ryeNow{Tons: 11}, *r.Get(hs[0]))
		require.Equal(t, oatsNow{"20 t"}, *oat.Get(hs[1]), "exchanged")
		require.Equal(t, ryeNow{Tons: 21}, *r.Get(hs[1]))
		require.Nil(t, world.Read[Tag](x).Get(hs[1]))
		require.Equal(t, oatsNow{"1 t"}, *oat.Get(hs[2]), "as it was")
	}
	// Without the function the error says what to do, in the requests, too.
	x, is, _ := scene2[oatsNow, ryeNow](t, false, nil, nil)
	err := snapshot.Load(bytes.NewReader(file.Bytes()), x, snapshot.Options{Changes: []snapshot.Change{snapshot.Renamed(was, is)}})
	require.ErrorContains(t, err, fmt.Sprintf("request %q, field value.Oats.Tons (int32): is not in this world: say RenamedField(%q, \"value.Oats.Tons\", …), or give a Migrated", "exchange of bundle "+strconv.Quote(was), is))
}

// scene2 has three entities. If fill is set, a function has set the first, and a request adds a
// bundle to the second and takes its Tag away.
func scene2[A, B any](t testing.TB, fill bool, a func(i int32) A, b func(i int32) B) (_ *world.World, bundle string, _ []handle.Handle) {
	type both struct {
		Oats A
		Rye  B
	}
	w := world.MustNew(world.Options{Shards: 1})
	world.Register[A](w, "oats")
	world.Register[B](w, "rye")
	tag := world.Register[Tag](w, "tag")
	all := world.NewBundle[both](w)
	plain := world.NewBundle[struct{ Tag }](w)
	swap := world.RegisterFunc(w, "swap", func(self *world.EntityContext, set bool) {
		if set {
			require.NoError(t, all.Set(self, self.Handle(), both{a(10), b(11)}))
		} else {
			require.NoError(t, all.Add(self, self.Handle(), both{a(20), b(21)}, tag))
		}
	})
	h, bundle := make([]handle.Handle, 3), fmt.Sprintf("%T", both{})
	if !fill {
		return w, bundle, nil
	}
	h[0], _ = all.Create(w, both{a(1), b(2)})
	h[1], _ = plain.Create(w, struct{ Tag }{})
	h[2], _ = all.Create(w, both{a(1), b(2)})
	w.Refresh()
	require.NoError(t, swap.Call(w, h[0], true))
	require.NoError(t, swap.Call(w, h[1], false))
	return w, bundle, h
}

// TestKeptDropped says how much is lost with timers, and how not to lose them.
func TestKeptDropped(t *testing.T) {
	old, _ := oldMill(t)
	var file bytes.Buffer
	require.NoError(t, snapshot.Write(&file, old.World, snapshot.Options{Scheduler: old.s}))
	image := file.Bytes()
	w := world.MustNew(world.Options{Shards: 3})
	s := scheduler.New(w, scheduler.Options{})
	plan, err := snapshot.PlanLoad(bytes.NewReader(image), w, snapshot.Options{Scheduler: s})
	require.NoError(t, err)
	n := old.timers.Len()
	require.Greater(t, n, 30)
	for _, want := range []string{
		fmt.Sprintf(`refuses  extension "stones": is not in this world: say Renamed("stones", …), or make it beside the new one until it is empty; Dropped("stones") LOSES %d TIMERS`, n),
		`extension "orders"`, `Dropped("orders") LOSES 7 ASKS`, `register it beside the new one until no entity has it; Dropped("wheat") LOSES IT IN 20 ENTITIES`,
		`request "call of function \"note\""`, `Dropped("note") LOSES 5 REQUESTS`, `Dropped("sale") LOSES 5 REQUESTS`,
	} {
		require.Contains(t, plan.String(), want)
	}
	o := snapshot.Options{Scheduler: s}
	for _, name := range []string{"stones", "orders", "wheat", "note", "sale", "grind", "done", "left", "hear", "struct { Store snapshot_test.wheat }"} {
		o.Changes = append(o.Changes, snapshot.Dropped(name))
	}
	plan, err = snapshot.PlanLoad(bytes.NewReader(image), w, o)
	require.NoError(t, err)
	require.Empty(t, plan.Blocking(), plan)
	require.Contains(t, plan.String(), fmt.Sprintf(`is dropped, WHICH LOSES %d TIMERS`, n))
	require.NoError(t, snapshot.Load(bytes.NewReader(image), w, o))
	require.Equal(t, 20, w.Count())

	var lines, back bytes.Buffer
	_, err = text.Export(bytes.NewReader(image), &lines, snapshot.Options{})
	require.NoError(t, err)
	require.Contains(t, lines.String(), `{"registered":"payload","name":"stones","type":"snapshot_test.grind"`)
	_, err = text.Import(&lines, &back, snapshot.Options{})
	require.NoError(t, err)
	require.Equal(t, image, back.Bytes())
}

// bags has a relation whose lists have some places, with children at these places of a bag each.
func bags(t testing.TB, places int, taken ...int) (w *world.World, in *hierarchy.Relation, hs []handle.Handle) {
	w = world.MustNew(world.Options{Shards: 2})
	world.Register[Extra](w, "extra")
	in = hierarchy.New(w, "in", hierarchy.Options{Places: places, Memory: hierarchy.Memory{ManualGrowth: false}})
	plain := world.NewBundle[struct{ Extra }](w)
	for _, place := range taken {
		two, err := plain.AppendN(nil, w, 2, nil)
		require.NoError(t, err)
		require.NoError(t, in.Put(w, two[1], two[0], place))
		hs = append(hs, two...)
	}
	return w, in, hs
}

// TestPlaces loads bags of another size: with all that is in them, or not at all.
func TestPlaces(t *testing.T) {
	for _, test := range []struct {
		was, now int
		want     int // places afterwards
		refused  string
	}{
		{was: 12, now: 16, want: 16},
		{was: 16, now: 12, want: 12},
		{was: 12, now: 12, want: 12},
		{was: 12, now: 0, want: 12},
		{was: 16, now: 11, refused: `relation "in" had Places 16, and has 11: at the places from 11 on are children: 1, of parents: 1. Move these before the save, or keep Places 16`},
		{was: 16, now: 4, refused: `at the places from 4 on are children: 2, of parents: 2`},
	} {
		w, in, hs := bags(t, test.was, 0, 11, 5, 3)
		require.NoError(t, in.SetPlaces(w, hs[6], 7)) // not by the option: it keeps its size
		var file bytes.Buffer
		require.NoError(t, snapshot.Write(&file, w, snapshot.Options{}))
		x, now, _ := bags(t, test.now)
		plan, err := snapshot.PlanLoad(bytes.NewReader(file.Bytes()), x, snapshot.Options{})
		require.NoError(t, err)
		err = snapshot.Load(bytes.NewReader(file.Bytes()), x, snapshot.Options{})
		if test.refused != "" {
			require.ErrorIs(t, err, snapshot.ErrOtherWorld)
			require.ErrorContains(t, err, test.refused)
			require.Len(t, plan.Blocking(), 1)
			require.Contains(t, plan.String(), test.refused)
			require.NoError(t, x.Err())
			require.Zero(t, now.Links())
			continue
		}
		require.NoError(t, err)
		require.Empty(t, plan.Blocking())
		for i, place := range []int{0, 11, 5, 3} {
			require.Equal(t, hs[2*i+1], now.Read(x).At(hs[2*i], place))
		}
		require.Len(t, now.Read(x).Children(hs[0]), test.want)
		require.Len(t, now.Read(x).Children(hs[6]), 7)
		var again bytes.Buffer
		require.NoError(t, snapshot.Write(&again, x, snapshot.Options{}))
		y, _, _ := bags(t, test.now)
		require.NoError(t, snapshot.Load(&again, y, snapshot.Options{}), "and its hash is that of the world it was")
	}
}

// The forms of what a mill keeps through four versions of a program.
type (
	load0 struct {
		A int16
		B string
	}
	load1 struct {
		A int16
		B string
		C bool
	}
	load2 struct {
		Name string
		C    bool
		A    int64
	}
	load3 struct {
		Text string
		C    bool
	}
	ware0 struct{ Tons int32 }
	ware1 struct {
		Note string
		Tons int32
	}
	ware2 struct {
		Weight int64
		Note   string
	}
)

// history are the changes of all versions.
var history = []snapshot.Change{
	snapshot.RenamedField("grind", "B", "Name"), snapshot.RenamedField("orders", "B", "Name"), snapshot.RenamedField("note", "B", "Name"), snapshot.RenamedField("sale", "B", "Name"),
	snapshot.RenamedField("wheat", "Tons", "Weight"),
	snapshot.Migrated(func(was load2) load3 { return load3{fmt.Sprint(was.Name, was.A), was.C} }),
	snapshot.Migrated(func(was load1) load3 { return load3{fmt.Sprint(was.B, was.A), was.C} }),
	snapshot.Migrated(func(was load0) load3 { return load3{fmt.Sprint(was.B, was.A), false} }),
	snapshot.Renamed("struct { Store snapshot_test.ware0 }", "struct { Store snapshot_test.ware1 }"),
	snapshot.Renamed("struct { Store snapshot_test.ware1 }", "struct { Store snapshot_test.ware2 }"),
}

// version is a version of the program: it loads what others have saved, saves that, and tells what
// comes of it.
type version struct {
	fill func(dice *rand.Rand) []byte
	load func(t *testing.T, image []byte, workers int) (again []byte)
	tell func(t *testing.T, image []byte, workers int) string
}

func versionOf[L, W any](t *testing.T, of func(a int16, b string, c bool) L, ware func(n int32) W) version {
	loaded := func(t *testing.T, image []byte, workers int) *mill[L, L, W] {
		m := newMill[L, L, W](t, workers)
		m.Observe("left", world.OnSet, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
			return func(*world.Context, world.Event, []handle.Handle) {}
		}, m.stores)
		o := snapshot.Options{Scheduler: m.s, Changes: history, Workers: workers}
		plan, err := snapshot.PlanLoad(bytes.NewReader(image), m.World, o)
		require.NoError(t, err)
		require.NoError(t, snapshot.Load(bytes.NewReader(image), m.World, o), plan)
		return m
	}
	saved := func(t *testing.T, m *mill[L, L, W]) []byte {
		var file bytes.Buffer
		require.NoError(t, snapshot.Write(&file, m.World, snapshot.Options{Scheduler: m.s}))
		return file.Bytes()
	}
	return version{
		fill: func(dice *rand.Rand) []byte {
			m := newMill[L, L, W](t, 1)
			some := func(int) L { return of(int16(dice.Uint32()), strings.Repeat("y", dice.IntN(4)), dice.IntN(2) == 0) }
			m.fill(some, some, func(int) W { return ware(int32(dice.Uint32())) })
			return saved(t, m)
		},
		load: func(t *testing.T, image []byte, workers int) []byte { return saved(t, loaded(t, image, workers)) },
		tell: func(t *testing.T, image []byte, workers int) string {
			m := loaded(t, image, workers)
			pool, err := async.Attach(m.World, async.PoolOptions{})
			require.NoError(t, err)
			for range 12 {
				require.NoError(t, m.s.Step(t.Context()))
			}
			text := fmt.Sprint(m.heard, m.sold)
			var ran []string
			for range 7 {
				ran = append(ran, fmt.Sprint(<-m.ran))
			}
			slices.Sort(ran)
			text += fmt.Sprint(ran)
			require.NoError(t, pool.Close(t.Context()))
			for rows := range m.Query(world.With[W](m.World)).Chunks() {
				text += fmt.Sprintln(rows.Handles(), world.Read[W](m.World).Slice(rows))
			}
			return text
		},
	}
}

// TestKeptHistory loads what each version of a program has saved into each later one, at once and
// by way of those between, on some numbers of workers: all come to the same, byte for byte.
func TestKeptHistory(t *testing.T) {
	versions := []version{
		versionOf(t, func(a int16, b string, _ bool) load0 { return load0{a, b} }, func(n int32) ware0 { return ware0{n} }),
		versionOf(t, func(a int16, b string, c bool) load1 { return load1{a, b, c} }, func(n int32) ware1 { return ware1{"", n} }),
		versionOf(t, func(a int16, b string, c bool) load2 { return load2{b, c, int64(a)} }, func(n int32) ware2 { return ware2{int64(n), ""} }),
		versionOf(t, func(a int16, b string, c bool) load3 { return load3{fmt.Sprint(b, a), c} }, func(n int32) ware2 { return ware2{int64(n), ""} }),
	}
	first := seed.Of(t)
	for i, workers := range []int{1, 2, 5} {
		seed := first + uint64(i)
		for from := range versions {
			image := versions[from].fill(rand.New(rand.NewPCG(seed, uint64(from))))
			for to := from; to < len(versions); to++ {
				direct := versions[to].load(t, image, workers)
				require.Equal(t, versions[to].tell(t, image, 1), versions[to].tell(t, direct, workers))
				if to == len(versions)-1 || from == to {
					continue
				}
				require.Equal(t, versions[to+1].tell(t, image, workers), versions[to+1].tell(t, direct, workers), "%d → %d → %d", from, to, to+1)
			}
			// What was saved has the values that a world filled by the newest version has.
			last := versions[len(versions)-1]
			if from > 0 {
				require.Equal(t, last.tell(t, last.fill(rand.New(rand.NewPCG(seed, uint64(from)))), 1), last.tell(t, image, workers))
			}
		}
	}
}

// TestKeptNone loads numbers in another form of which there are none.
func TestKeptNone(t *testing.T) {
	type one struct{ A, B int32 }
	type oneNow struct {
		New  int64
		A, B int64
	}
	w := world.MustNew(world.Options{})
	timer.New(w, "ones", world.RegisterMessage[one](w, "one"), timer.Options{})
	var file bytes.Buffer
	require.NoError(t, snapshot.Write(&file, w, snapshot.Options{}))
	x := world.MustNew(world.Options{})
	timer.New(x, "ones", world.RegisterMessage[oneNow](x, "one"), timer.Options{})
	require.NoError(t, snapshot.Load(&file, x, snapshot.Options{}))
}

// TestKeptForged loads files that tell other things of what timers hold than they have.
func TestKeptForged(t *testing.T) {
	old, _ := oldMill(t)
	var file bytes.Buffer
	require.NoError(t, snapshot.Write(&file, old.World, snapshot.Options{Scheduler: old.s, Compression: snapshot.None}))
	try := func(forge func(*snapshot.Catalogue)) error {
		x := newerMill(t, 1)
		o := snapshot.Options{Scheduler: x.s, Changes: changesOfMill()}
		image := snapshot.ForgeNames(file.Bytes(), forge)
		_, err := snapshot.PlanLoad(bytes.NewReader(image), x.World, o)
		if e := snapshot.Load(bytes.NewReader(image), x.World, o); e != nil {
			require.NoError(t, x.Err())
			require.NoError(t, snapshot.Load(bytes.NewReader(file.Bytes()), x.World, o), "the world is new again")
			return e
		}
		return err
	}
	require.NoError(t, try(func(*snapshot.Catalogue) {}))
	require.ErrorIs(t, try(func(x *snapshot.Catalogue) { x.Payloads = nil }), snapshot.ErrAltered)
	require.ErrorContains(t, try(func(x *snapshot.Catalogue) { x.Payloads[0].Name = "?" }), `extension "stones": it does not say in which form its values are`)
	require.ErrorIs(t, try(func(x *snapshot.Catalogue) { x.Payloads[0].Parts = x.Payloads[1].Parts }), snapshot.ErrOtherWorld)
	require.ErrorIs(t, try(func(x *snapshot.Catalogue) { x.Payloads[0].Hash, x.Payloads[0].Parts = 1, nil }), snapshot.ErrAltered)
	require.ErrorContains(t, try(func(x *snapshot.Catalogue) { x.Payloads = append(x.Payloads, x.Payloads...) }), "it says twice in which form")
	require.NoError(t, try(func(x *snapshot.Catalogue) { x.Payloads[0].Count, x.Components[0].Count = 1<<30, 1<<30 }))
	dice := rand.New(rand.NewPCG(seed.Of(t), 1))
	for range 300 {
		_ = try(func(x *snapshot.Catalogue) { // an error or a world, and no panic
			n := &x.Payloads[dice.IntN(len(x.Payloads))]
			n.Hash++
			for i := range n.Parts {
				switch p := &n.Parts[i]; dice.IntN(6) {
				case 0:
					p.Size += dice.IntN(9)
				case 1:
					p.Offset += dice.IntN(9)
				case 2:
					p.ByCodec = !p.ByCodec
				case 3:
					p.Fields = p.Fields[:dice.IntN(len(p.Fields)+1)]
				case 4:
					p.Fields[dice.IntN(len(p.Fields))].Type = []string{"bool", "int64", "float32", "string", "[]int8, as CBOR"}[dice.IntN(5)]
				}
			}
		})
	}
}
