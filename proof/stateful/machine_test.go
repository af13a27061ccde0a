package stateful_test

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

var operations = flag.Int("operations", 1_000_000, "operations to do, a tenth of that under -short")

// stepsInARow is how many steps are done on one world, on average, and operationsOnOne
// how many operations that is, with those of systems.
const stepsInARow, operationsOnOne = 4000, 7500

// TestWorld does random operations on worlds of random shape.
func TestWorld(t *testing.T) {
	n := *operations
	if testing.Short() {
		n /= 10
	}
	rapidFlag(t, "rapid.steps", stepsInARow)
	rapidFlag(t, "rapid.checks", max(1, n/operationsOnOne))
	require.NoError(t, flag.Set("rapid.nofailfile", "true")) // the seed is enough
	total := totals{retired: map[int]int{}}
	began := time.Now()
	rapid.Check(t, func(r *rapid.T) {
		m := newMachine(r, &total)
		r.Repeat(m.actions())
		m.end()
	})
	took := time.Since(began)
	t.Logf("%d operations in %v, %.2f µs each, on %d worlds; %d ticks, %d entities destroyed, %d requests refused by full queues, %d by full worlds",
		total.operations, took.Round(time.Millisecond), took.Seconds()*1e6/float64(total.operations),
		total.worlds, total.ticks, total.destroyed, total.rejected, total.full)
	t.Logf("%d transactions, %d of them applied", total.deals[0], total.deals[1])
	t.Logf("slots retired, by bits of version: %v", total.retired)
	if n < 500_000 {
		return // too few to see everything happen
	}
	for bits := bitsMin; bits <= bitsMax; bits++ {
		require.NotZero(t, total.retired[bits], "slots retire in this test, with versions of %d bits", bits)
	}
	require.NotZero(t, total.rejected)
	require.NotZero(t, total.full)
	require.NotZero(t, total.deals[1])
	require.Greater(t, total.deals[0], total.deals[1], "transactions that fail")
}

// totals is what was done, over all worlds.
type totals struct {
	worlds, operations, ticks, destroyed, rejected, full int
	deals                                                [2]int // run, and applied

	retired map[int]int // by bits of version
}

const bitsMin, bitsMax = 3, 8

// rapidFlag sets a flag of rapid unless the command line does. Under -short rapid
// does less: here it is the operations that are fewer.
func rapidFlag(t *testing.T, name string, n int) {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if given {
		return
	}
	if testing.Short() {
		n *= map[string]int{"rapid.steps": 2, "rapid.checks": 5}[name]
	}
	require.NoError(t, flag.Set(name, strconv.Itoa(n)))
}

// machine is a world and the naive one.
type machine struct {
	t *rapid.T
	*world.World
	naive   *naive
	total   *totals
	most    int // entities at which creating stops
	options world.Options
	parts   [partsN]*part
	bundles []*bundle
	hit     *world.Message[Hit]
	ticks   *scheduler.Scheduler
	ports   []*world.Port
	act     *world.Func[int64]
	sum     *world.Question[int64, int64]
	deal    *world.Transaction[Deal, int64]
	dealt   map[int64]*dealt // what each was told, until the naive world has done the same
	all     *world.Query     // finds all
	lookers []looker         // queries that are used again and again
	known   []handle.Handle  // to operate on; dead ones, too
	number  int64            // a value that no component had

	promised []*promise
	script   [][]order // what systems are to do in the next tick, by shard
	heard    map[handle.Handle][]int64
	told     []tale // what hooks were told since it was compared
	closing  bool
	stats    world.Stats
	checked  int // dead that were found to be so
}

func newMachine(t *rapid.T, total *totals) *machine {
	m := &machine{t: t, total: total, heard: map[handle.Handle][]int64{}}
	m.most = []int{15, 40, 40, 200}[m.n(4)] // few, so that slots are used again, or enough for several chunks
	m.options = world.Options{
		Shards:     1 + m.n(4),
		VersionMax: 1<<(bitsMin+m.n(bitsMax-bitsMin+1)) - 1,
		KeepOrder:  m.n(4) == 0,
		PortsMax:   8,
	}
	if m.n(3) == 0 {
		m.options.IndexMax = 2000/m.options.VersionMax + 10
	}
	if m.n(3) == 0 {
		m.options.QueueRequests, m.options.OutboxRequests = 1+m.n(3), 1+m.n(2)
	}
	var err error
	m.World, err = world.New(m.options)
	require.NoError(t, err)
	engine.Of(m.World).Scatter(4)
	m.options = m.Options()
	m.naive = newNaive(m.options.PortsMax, m.options.VersionMax)
	m.parts, m.bundles = newParts(m.World), newBundles(m.World)
	m.hit = world.RegisterMessage[Hit](m.World, "hit")
	chaos := uint64(0) // the shards by number
	if m.n(2) == 0 {
		chaos = 1 + uint64(m.n(1000))
	}
	m.ticks = scheduler.New(m.World, scheduler.Options{Workers: 1, Chaos: chaos}).MustAdd("act", m.doScript).MustAdd("watch", m.watch)
	m.script = make([][]order, m.options.Shards)
	m.registerFunctions()
	m.registerDeals()
	m.observe()
	for range 1 + m.n(3) {
		m.openPort()
	}
	m.all = m.Query()
	m.lookers = []looker{m.newLooker(), m.newLooker(), m.reading(0), m.reading(1 << m.n(partsN)), m.reading(allParts)}
	total.worlds++
	return m
}

// actions are the operations that are drawn from, and what is checked after each.
func (m *machine) actions() map[string]func(*rapid.T) {
	all := map[string]func(){
		"create": m.create, "create some": m.createSome, "create rows": m.createRows, "copy": m.copy, "reserve": m.reserve,
		"destroy": m.destroy, "destroy two": func() { m.destroy(); m.destroy() }, "destroy query": m.destroyQuery, "wear": m.wear, "wear more": m.wear,
		"set": m.set, "add": m.add, "remove": m.remove, "exchange": m.exchange,
		"add to": m.addTo, "remove from": m.removeFrom, "send": m.send,
		"ask": m.ask, "look": m.look, "look again": m.lookAgain, "since": m.since, "loop": m.loop,
		"port": m.byPort, "port once more": m.byPort, "port again": m.byPort, "reopen": m.reopen,
		"batch": m.batch, "create many": m.createMany, "change many": m.changeMany,
		"flag": m.flag, "call": m.call, "deal": m.dealNow, "move": m.move,
		"tick": m.tick, "refresh": m.refresh, "clear": m.clear,
	}
	actions := map[string]func(*rapid.T){}
	for name, do := range all {
		actions[name] = func(*rapid.T) {
			m.total.operations++
			do()
		}
	}
	return actions
}

// n draws a number below k.
func (m *machine) n(k int) int { return below[k].Draw(m.t, "n") }

var below = func() (all [1024]*rapid.Generator[int]) {
	var numbers [len(all)]int
	for k := range all {
		numbers[k] = k
		if k > 0 {
			all[k] = rapid.SampledFrom(numbers[:k:k])
		}
	}
	return all
}()

// next returns a value that no component had.
func (m *machine) next() int64 {
	m.number++
	return m.number
}

// any picks a handle: mostly of the living, at times of the dead, and now and then one
// that was never given.
func (m *machine) any() handle.Handle {
	i := m.n(len(m.known) + 2)
	if i < len(m.known) {
		return m.known[i]
	}
	return m.forged(i - len(m.known))
}

func (m *machine) forged(i int) handle.Handle {
	if i == 0 || len(m.known) == 0 {
		return handle.None
	}
	return m.known[0] | handle.VersionMax
}

// fail ends the run. Within a system it panics, and the tick returns that.
func (m *machine) fail(format string, args ...any) {
	panic(failure(fmt.Sprintf(format, args...)))
}

type failure string

// mustBe compares what was said of a handle.
func mustBe[T comparable](m *machine, got, want T, what string, h handle.Handle) {
	if got != want {
		m.fail("%s of %v: got %v, want %v", what, h, got, want)
	}
}

func mustErr(m *machine, got, want error, what string, h handle.Handle) {
	if got != want && !errors.Is(got, want) {
		m.fail("%s of %v: got %v, want %v", what, h, got, want)
	}
}

// fullIndexes reports whether a create was refused for want of an index, which can
// only be in a small world.
func (m *machine) fullIndexes(err error) bool {
	if err == nil {
		return false
	}
	if !errors.Is(err, world.ErrIndexes) || m.options.IndexMax == handle.IndexMax {
		m.fail("creating: %v", err)
	}
	m.total.full++
	return true
}

// born takes note of an entity.
func (m *machine) born(h handle.Handle, has parts, v values, pending bool) {
	if !m.naive.create(h, has, v, pending) {
		m.fail("%v was given before", h)
	}
	m.known = append(m.known, h)
}

// forget keeps the known handles few, so that the living are picked often.
func (m *machine) forget() {
	if len(m.known) < max(100, 2*len(m.naive.entities)) {
		return
	}
	m.known = m.known[:0]
	for h := range m.naive.entities {
		m.known = append(m.known, h)
	}
	slices.Sort(m.known) // maps have no order
	dead := m.naive.dead
	m.known = append(m.known, dead[max(0, len(dead)-20):]...)
}
