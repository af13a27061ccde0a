package misuse_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/async"
	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// The table of misuse: what each public call answers at each wrong time. Every cell is
// done in a world of its own, which must work afterwards, or be closed. The answers stand in
// docs/misuse.md, which this test compares, for the release build and for the check build.

var update = flag.Bool("update", false, "write the generated parts of docs")

// hangs is how long a call may take before the test says that it hangs.
const hangs = time.Minute

type (
	misuseHealth struct{ Points int64 }
	misuseName   struct{ Text string }
	misuseUnit   struct{ misuseHealth }
	misusePay    struct{ From, To handle.Handle }
	misuseNamed  struct{ misuseName }
	misuseHit    struct{ Damage int64 }
	misuseBag    struct{ Of map[string]int64 } // what is behind the pointer is written in place
	misuseBagged struct{ misuseBag }
)

// misuseScene is a world with something of everything.
// misuseSpace is that of the scene's index.
var misuseSpace = near.Options{Max: near.Point{X: 10, Y: 10}, Cell: 1}

type misuseScene struct {
	t       testing.TB
	w       *world.World
	s       *scheduler.Scheduler
	health  *world.Component[misuseHealth]
	name    *world.Component[misuseName]
	unit    *world.Bundle[misuseUnit]
	named   *world.Bundle[misuseNamed]
	bag     *world.Component[misuseBag]
	bags    *world.Writer[misuseBag]
	carrier handle.Handle // has a bag
	hit     *world.Message[misuseHit]
	doing   *world.Func[struct{}]
	code    func(*world.EntityContext) // that it runs
	heal    *world.Func[int64]
	points  *world.Question[int, int64]
	pay     *world.Transaction[misusePay, int64]
	acting  func(tx *world.Tx) error // that it runs, once
	said    *world.Output[int]
	saying  func(at world.Moment, v int) // its handler
	weather *world.Resource[int]
	hook    *world.Hook
	names   *names.Names[string]
	timers  *timer.Timers[misuseHit]
	timer   timer.ID
	roads   *transit.Roads
	mail    *transit.Mail[misuseHit]
	gate    *transit.Gate[misusePass]
	done    *world.Message[async.Result[int]]
	calls   *async.Call[int, int]
	pair    *prefab.Prefab
	near    *near.Index
	nearby  *near.Reader
	called  *names.Reader[string]
	kin     *hierarchy.Relation
	kept    *hierarchy.Reader
	read    *world.Reader[misuseHealth]
	write   *world.Writer[misuseHealth]
	view    *world.View
	all     *world.Query
	nobody  *world.Query // that matches no entity
	port    *world.Port
	hs      []handle.Handle
	system  func(c *world.Context) // runs once, on shard 0
	onSet   func(c *world.Context)
	spread  func()
	ticks   uint64
}

// do has code called on the first entity.
func (x *misuseScene) do(by world.Actor, code func(*world.EntityContext)) error {
	x.code = code
	return x.doing.Call(by, x.hs[0], struct{}{})
}

func newMisuseScene(t testing.TB) *misuseScene {
	x := freshMisuseScene(t, scheduler.Options{Workers: 2})
	x.w.Refresh()
	return x
}

// freshMisuseScene is newMisuseScene before the first refresh.
func freshMisuseScene(t testing.TB, o scheduler.Options) *misuseScene {
	x := &misuseScene{t: t, w: world.MustNew(world.Options{Shards: 2})}
	w := x.w
	x.health = world.Register[misuseHealth](w, "health")
	x.name = world.Register[misuseName](w, "name")
	x.bag = world.Register[misuseBag](w, "bag")
	x.bags = world.Write[misuseBag](w)
	x.unit = world.NewBundle[misuseUnit](w)
	x.named = world.NewBundle[misuseNamed](w)
	x.hit = world.RegisterMessage[misuseHit](w, "hit")
	x.doing = world.RegisterFunc(w, "doing", func(self *world.EntityContext, _ struct{}) { x.code(self) })
	x.heal = world.RegisterFunc(w, "heal", func(self *world.EntityContext, n int64) { x.health.Write(self).Points += n })
	x.points = world.RegisterQuestion(w, "points", func(self *world.EntityContext, _ int) int64 { return x.health.Read(self).Points })
	x.pay = world.RegisterTransaction(w, "pay", func(tx *world.Tx, p misusePay) (int64, error) {
		if act := x.acting; act != nil {
			x.acting = nil
			return 0, act(tx)
		}
		from, to := x.health.Edit(tx, p.From), x.health.Edit(tx, p.To)
		from.Points--
		to.Points++
		return from.Points, nil
	})
	x.said = world.RegisterOutput[int](w, "said")
	x.said.Handle(func(at world.Moment, v int) {
		if x.saying != nil {
			x.saying(at, v)
		}
	})
	x.weather = world.RegisterResource(w, "weather", 1)
	x.names = names.New[string](w, "names", names.Options{})
	x.called = x.names.Read(w)
	x.timers = timer.New(w, "timers", x.hit, timer.Options{})
	x.roads = transit.New(w, "roads", transit.Options{World: 1, Codecs: misuseCodecs(), Relations: []string{}})
	x.mail = transit.RegisterMail(x.roads, x.hit)
	x.gate = transit.RegisterGate[misusePass](x.roads, "gate")
	x.done = world.RegisterMessage[async.Result[int]](w, "done")
	x.calls = async.New(w, "calls", x.done, misuseRun, async.Options{})
	x.near = near.New(w, func(h misuseHealth) near.Point { return near.Point{X: float64(h.Points)} }, misuseSpace)
	x.nearby = x.near.Read(w)
	x.kin = hierarchy.New(w, "kin", hierarchy.Options{})
	x.pair = prefab.New(w, "pair", prefab.With(x.health, misuseHealth{}), prefab.Child(x.kin, -1, prefab.With(x.health, misuseHealth{})))

	engine.Of(w).Extend(misuseExtension{x})
	x.hook = w.Observe("hook", world.OnSet, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
		return func(c *world.Context, _ world.Event, _ []handle.Handle) { once(&x.onSet, c) }
	}, x.health)
	x.s = scheduler.New(w, o)
	x.s.MustAdd("system", func(b *world.Build) func(*world.Context) {
		world.Write[misuseHealth](b)
		b.Creates(x.unit)
		return func(c *world.Context) {
			if c.Shard() == 0 {
				once(&x.system, c)
			}
		}
	})
	x.read, x.write, x.kept = world.Read[misuseHealth](w), world.Write[misuseHealth](w), x.kin.Read(w)
	x.all = w.Query(x.read)
	x.view, _ = w.NewView(x.health)
	x.nobody = w.Query(world.With[misuseName](w))
	var err error
	x.hs, err = x.unit.AppendN(nil, w, 100, nil)
	require.NoError(t, err)
	x.carrier, err = world.NewBundle[misuseBagged](w).Create(w, misuseBagged{misuseBag{map[string]int64{"gold": 1}}})
	require.NoError(t, err)
	require.NoError(t, x.kin.AddChild(w, x.hs[10], x.hs[11]))
	require.NoError(t, x.kin.AddChild(w, x.hs[10], x.hs[12]))
	require.NoError(t, x.names.Bind(w, x.hs[20], "twenty"))
	x.timer, err = x.timers.After(w, x.hs[20], 500, misuseHit{})
	require.NoError(t, err)
	x.port, err = w.OpenPort()
	require.NoError(t, err)
	return x
}

func misuseRun(context.Context, int) (int, error) { return 0, nil }

// paying is the argument of the transaction.
func (x *misuseScene) paying() misusePay { return misusePay{x.hs[0], x.hs[1]} }

// once runs what is to run once.
func once(f *func(*world.Context), c *world.Context) {
	if run := *f; run != nil {
		*f = nil
		run(c)
	}
}

// misuseExtension runs what the scene has for it.
type misuseExtension struct{ x *misuseScene }

func (misuseExtension) Name() string { return "misuseExtension" }

func (misuseExtension) Begin()                      {}
func (misuseExtension) Spare(*extend.DyingSet) bool { return false }
func (e misuseExtension) Spread(*extend.DyingSet, int) {
	if e.x.spread != nil {
		run := e.x.spread
		e.x.spread = nil
		run()
	}
}
func (misuseExtension) Settle()                       {}
func (misuseExtension) AppendState(dst []byte) []byte { return dst }
func (misuseExtension) AppendSaved(dst []byte) []byte { return dst }
func (misuseExtension) LoadSaved([]byte) error        { return nil }

// answer is what a call did.
type answer string

// Answers. An error is told by its name.
const (
	panicked answer = "panic"
	returned answer = "returns"
)

// named are the errors that have a name.
var named = []struct {
	err  error
	name answer
}{
	{world.ErrBroken, "ErrBroken"}, {world.ErrClosed, "ErrClosed"}, {world.ErrStale, "ErrStale"}, {world.ErrMissing, "ErrMissing"},
	{hierarchy.ErrPort, "ErrPort"},
}

// misusePanics is what a panic says: the package, the culprit, and behind a semicolon the
// remedy.
var misusePanics = regexp.MustCompile(`(?s)^(world|scheduler|reference|names|hierarchy|timer|async|near|prefab|interest|region|transit|state|inputlog|snapshot|durable|check): .+; .+`)

// did makes a call and returns what it did, and what a panic said.
func did(call func() error) (a answer, said string) {
	defer func() {
		if v := recover(); v != nil {
			a, said = panicked, fmt.Sprint(v)
		}
	}()
	err := call()
	if err == nil {
		return returned, ""
	}
	for _, n := range named {
		if errors.Is(err, n.err) {
			return n.name, ""
		}
	}
	return answer("error"), err.Error()
}

// misuseTime is a column: when a call is made.
type misuseTime struct {
	name string
	run  func(x *misuseScene, call func())
}

// misuseOnce is the column of calls that are their own time.
var misuseOnce = []misuseTime{{"answer", func(_ *misuseScene, call func()) { call() }}}

// misuseTimes are the wrong times, by column. Each has the call made at its time, and
// everything else done that was begun.
var misuseTimes = []misuseTime{
	{"in a system", func(x *misuseScene, call func()) {
		x.system = func(*world.Context) { call() }
		x.step()
	}},
	{"beside a tick", func(x *misuseScene, call func()) {
		x.system = func(*world.Context) {
			done := make(chan struct{})
			go func() { defer close(done); call() }()
			<-done
		}
		x.step()
	}},
	{"in a function of a refresh", func(x *misuseScene, call func()) {
		require.NoError(x.t, x.do(x.port, func(*world.EntityContext) { call() }))
		x.w.Refresh()
		x.ticks++
	}},
	{"in a function by the World", func(x *misuseScene, call func()) {
		require.NoError(x.t, x.do(x.w, func(*world.EntityContext) { call() }))
	}},
	{"in a hook", func(x *misuseScene, call func()) {
		x.onSet = func(*world.Context) { call() }
		require.NoError(x.t, x.health.Set(x.w, x.hs[0], misuseHealth{}))
		x.w.Refresh()
		x.ticks++
	}},
	{"in an extension", func(x *misuseScene, call func()) {
		x.spread = call
		x.w.Destroy(x.hs[99])
		x.w.Refresh()
		x.ticks++
	}},
	{"in a query loop", func(x *misuseScene, call func()) {
		for range x.w.Query(world.Read[misuseHealth](x.w)).Chunks() {
			call()
			break
		}
	}},
	{"closed", func(x *misuseScene, call func()) {
		x.w.Close()
		call()
	}},
	{"broken", func(x *misuseScene, call func()) {
		x.spread = func() { panic("misuse: broken on purpose") }
		x.w.Destroy(x.hs[99])
		func() {
			defer func() { require.IsType(x.t, new(world.BrokenError), recover()) }()
			x.w.Refresh()
		}()
		call()
	}},
}

func (x *misuseScene) step() {
	require.NoError(x.t, x.s.Step(x.t.Context()))
	x.ticks++
}

// mustWork checks that the world still works, or is closed, and that it can be closed.
func (x *misuseScene) mustWork() {
	defer func() {
		x.w.Close()
		require.True(x.t, x.w.Err() != nil)
	}()
	if x.w.Err() != nil {
		return
	}
	require.NoError(x.t, x.w.Failure())
	x.port, _ = x.w.OpenPort() // the first may be closed by now
	var done world.Completion
	h, err := x.unit.Create(x.port.Notify(&done), misuseUnit{misuseHealth{7}})
	require.NoError(x.t, err)
	x.step()
	require.Equal(x.t, world.Applied, done.Outcome())
	require.Equal(x.t, int64(7), world.Read[misuseHealth](x.w).Get(h).Points)
	x.w.Clear()
	require.Zero(x.t, x.w.Count())
	require.Zero(x.t, x.w.Query(world.Read[misuseHealth](x.w)).Count())
	_, err = x.unit.Create(x.w, misuseUnit{})
	require.NoError(x.t, err)
	x.step()
	require.Equal(x.t, 1, x.w.Count())
}

// within fails the test with all stacks if f hangs.
func within(t testing.TB, what string, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(hangs):
		stacks := make([]byte, 1<<20)
		t.Fatalf("%s hangs\n%s", what, stacks[:runtime.Stack(stacks, true)])
	}
}

// TestMisuse makes each call at each wrong time, and compares the answers with the table in
// docs/misuse.md.
func TestMisuse(t *testing.T) {
	var b strings.Builder
	for _, section := range misuseSections {
		times := section.times
		if times == nil {
			times = misuseTimes
		}
		b.WriteString("\n### " + section.title + "\n\n| call |")
		for _, time := range times {
			b.WriteString(" " + time.name + " |")
		}
		b.WriteString(" why, where it returns |\n|---|" + strings.Repeat("---|", len(times)) + "---|\n")
		var groups []misuseGroup
		for _, row := range section.rows {
			cells := row.answers(t, times)
			i := slices.IndexFunc(groups, func(g misuseGroup) bool { return slices.Equal(g.cells, cells) && g.why == row.why })
			if i < 0 {
				i = len(groups)
				groups = append(groups, misuseGroup{cells: cells, why: row.why})
			}
			groups[i].calls = append(groups[i].calls, row.call)
		}
		for _, g := range groups {
			why := g.why
			if !slices.Contains(g.cells, string(returned)) {
				why = ""
			}
			b.WriteString("| " + strings.Join(g.calls, ", ") + " | " + strings.Join(g.cells, " | ") + " | " + why + " |\n")
		}
	}
	b.WriteString("\n")
	compareMisuse(t, b.String())
}

// misuseGroup are calls that answer alike.
type misuseGroup struct {
	calls, cells []string
	why          string
}

// misuseRow is a call.
type misuseRow struct {
	call string
	// why it returns at a time that is not its own: what it does then, or why nobody looks.
	why string
	do  func(x *misuseScene) error
}

// answers makes the call at each time.
func (row misuseRow) answers(t *testing.T, times []misuseTime) (cells []string) {
	for _, time := range times {
		what := row.call + " " + time.name
		var got answer
		t.Run(what, func(t *testing.T) {
			within(t, what, func() {
				x, called := newMisuseScene(t), false
				var said string
				time.run(x, func() {
					called = true
					got, said = did(func() error { return row.do(x) })
				})
				require.True(t, called)
				if got == panicked {
					require.Regexp(t, misusePanics, said)
					require.Empty(t, unknownNames(t, said), said)
					if len(times) > 1 && !check.Enabled { // guards of the check build name what is used
						require.True(t, namesCall(said, row.call), "it does not name the call: %s", said)
					}
				}
				if got == returned {
					require.NotEmpty(t, row.why, "it returns; say why that is right, or what is unchecked")
				}
				x.mustWork()
			})
		})
		cells = append(cells, string(got))
	}
	return cells
}

// unlike returns the rows of a table that are not in a text, under their headings.
func unlike(table, text string) string {
	var b strings.Builder
	for section := range strings.SplitSeq(table, "\n### ") {
		lines := strings.SplitAfter(section, "\n")
		var rows []string
		for _, line := range lines {
			if strings.HasPrefix(line, "| ") && !strings.Contains(text, line) {
				rows = append(rows, line)
			}
		}
		if len(rows) > 0 {
			b.WriteString("\n### " + strings.Join(lines[:4], "") + strings.Join(rows, ""))
		}
	}
	b.WriteString("\n")
	return b.String()
}

// compareMisuse compares a table with the one in docs, that of this build.
func compareMisuse(t *testing.T, table string) {
	if !check.Enabled {
		compareGenerated(t, "release", table)
		return
	}
	data, err := os.ReadFile(docPath)
	require.NoError(t, err)
	released, _, _ := strings.Cut(string(data), "<!-- release:end -->")
	compareGenerated(t, "check", unlike(table, released))
}

const docPath = "../../docs/misuse.md"

// compareGenerated compares a part of docs/misuse.md with what it should be, or writes it.
func compareGenerated(t *testing.T, part, text string) {
	data, err := os.ReadFile(docPath)
	require.NoError(t, err)
	begin, end := "<!-- "+part+":begin -->\n", "<!-- "+part+":end -->\n"
	before, rest, ok := strings.Cut(string(data), begin)
	require.True(t, ok)
	have, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	if *update {
		require.NoError(t, os.WriteFile(docPath, []byte(before+begin+text+end+after), 0o644))
		return
	}
	require.Equal(t, have, text, "go test ./proof/misuse -update writes docs/misuse.md; for the check build add -tags atollcheck")
}
