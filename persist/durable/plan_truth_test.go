package durable_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// The forms that a component had.
type (
	cargo1 struct{ Tons int32 }
	cargo2 struct {
		Tons int32
		Kind uint8
	}
)

// port is a program: what a bank registers besides, and its build.
type port struct {
	shards int
	build  string
	more   func(x *bank)
}

func (p port) make(o durable.OtherProgram) *bank {
	x := newBankOf(1, func(wo *world.Options, _ *scheduler.Options) { wo.Shards = p.shards })
	if p.more != nil {
		p.more(x)
	}
	x.options.Content, x.options.OtherProgram = []byte(p.build), o
	return x
}

// fuel registers something, cargo a component in a form, with an entity that New creates.
func fuel(x *bank) { world.Register[struct{ Left int }](x.World, "fuel") }

func cargo[T any](x *bank) {
	world.Register[T](x.World, "cargo")
	b := world.NewBundle[struct{ C T }](x.World)
	fill := x.options.New
	x.options.New = func(w *world.World) error {
		_, err := b.Create(w, struct{ C T }{})
		if err != nil {
			return err
		}
		return fill(w)
	}
}

// TestPlanTruth lets programs run in turn on a directory: each is closed, or dies after some ticks or
// before the first. Then it plans for another one, and opens the directory by it. What Plan does not
// refuse, Open does not, and the other way round; and the world goes back to where both say.
func TestPlanTruth(t *testing.T) {
	const closes, dies, early, lost = "closes", "dies", "dies early", "closes, and its last snapshot is damaged later"
	a := port{3, "a", nil}
	for name, test := range map[string]struct {
		run    []port
		ends   []string
		then   port
		other  durable.OtherProgram
		refuse error    // what Open returns
		says   []string // Plan, and Open if it refuses
		never  []string
	}{
		"other program and shards": {
			[]port{a}, []string{dies}, port{7, "b", nil}, durable.RefuseOther, inputlog.ErrOtherProgram,
			[]string{", and stop it by Close, before", "; it had 3 shards", "DiscardOther, to go back to the snapshot of tick 0"}, []string{"ReplayOther"},
		},
		"own ticks, then another program's": {
			[]port{a, {3, "b", nil}}, []string{lost, dies}, a, durable.DiscardOther, nil,
			[]string{"is played up to tick 5, and discarded from there on: another program wrote it"}, nil,
		},
		"own ticks, then another program's, refused": {
			[]port{a, {3, "b", nil}}, []string{lost, dies}, a, durable.RefuseOther, inputlog.ErrOtherProgram,
			[]string{"ReplayOther", "DiscardOther, to go back to tick 5, up to which this program plays the log"}, nil,
		},
		"changed forms, and a crash before the first snapshot": {
			[]port{{3, "a", cargo[cargo1]}, {3, "a", cargo[cargo2]}}, []string{closes, dies}, port{3, "a", cargo[cargo2]}, durable.RefuseOther, nil,
			[]string{"is played: this program wrote it"}, nil,
		},
		"changed forms after a crash": {
			[]port{{3, "a", cargo[cargo1]}}, []string{dies}, port{3, "a", cargo[cargo2]}, durable.RefuseOther, inputlog.ErrOtherWorld,
			[]string{`component "cargo" is`, "in the log, ", "DiscardOther, to go back to the snapshot of tick 0"}, []string{"ReplayOther", "deterministic", "durable: damaged"},
		},
		"changed forms after a crash, discarded": {
			[]port{{3, "a", cargo[cargo1]}}, []string{dies}, port{3, "a", cargo[cargo2]}, durable.DiscardOther, nil,
			[]string{"is discarded: ", `component "cargo" is`}, nil,
		},
		"registered otherwise, discarded": {
			[]port{a}, []string{dies}, port{3, "a", fuel}, durable.DiscardOther, nil,
			[]string{`is discarded: it cannot be played here: `, `component "fuel" registered here alone`}, nil,
		},
		"registered otherwise, and dead before the first tick": {
			[]port{a, {3, "b", fuel}}, []string{closes, early}, a, durable.RefuseOther, nil,
			[]string{"is played"}, nil,
		},
		"shards, and dead before the first tick": {
			[]port{a}, []string{early}, port{7, "b", nil}, durable.RefuseOther, nil,
			[]string{"is played"}, nil,
		},
		"shards": {
			[]port{a}, []string{dies}, port{7, "a", nil}, durable.RefuseOther, inputlog.ErrOtherWorld,
			[]string{"with a world.Options.Shards = 3"}, []string{"ReplayOther"},
		},
		"shards, discarded": {
			[]port{a}, []string{dies}, port{7, "a", nil}, durable.DiscardOther, nil,
			[]string{"is discarded: a world with 3 shards wrote it"}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			path, disk := useDisk(t)
			forms := func(x *bank) {
				x.options.Snapshot.Changes = []snapshot.Change{snapshot.Renamed("struct { C durable_test.cargo1 }", "struct { C durable_test.cargo2 }")}
			}
			for i, p := range test.run {
				x := p.make(durable.ReplayOther)
				forms(x)
				st, err := x.open(path)
				require.NoError(t, err)
				for range map[bool]int{true: 5}[test.ends[i] != early] {
					x.step(t)
				}
				if test.ends[i] == closes || test.ends[i] == lost {
					require.NoError(t, st.Close())
					continue
				}
				require.NoError(t, st.Wait(t.Context()))
				st.Crash()
			}
			if test.ends[0] == lost {
				damage(t, 99)(disk)
			}
			copied := disk.Clone()
			useAs(t, path, func() files.Files { return copied })
			x := test.then.make(test.other)
			forms(x)
			plan, err := durable.Plan(path, x.World, x.s, x.options)
			require.NoError(t, err)
			require.Equal(t, test.refuse != nil, len(plan.Blocking()) > 0, "%v", plan)
			texts := []string{plan.String()}
			st, err := x.open(path)
			if test.refuse != nil {
				require.Error(t, err)
				if !strings.Contains(name, "shards") {
					require.ErrorIs(t, err, test.refuse)
				}
				texts = append(texts, err.Error())
			} else {
				require.NoError(t, err)
				st.Crash()
			}
			t.Logf("%s", strings.Join(texts, "\n"))
			for _, text := range texts {
				for _, says := range test.says {
					require.Contains(t, strings.ReplaceAll(text, "with Shards = ", "with a world.Options.Shards = "), says)
				}
				for _, never := range test.never {
					require.NotContains(t, text, never)
				}
			}
		})
	}
}

// TestDiffersByDesign starts the same program with another system after a crash. Plan says what may be
// wrong, and the error of Open does, before it advises anything else.
func TestDiffersByDesign(t *testing.T) {
	path, _ := useDisk(t)
	x := newRuled("a", 7, 1)
	st, err := x.open(path)
	require.NoError(t, err)
	for range 5 {
		x.step(t)
	}
	require.NoError(t, st.Wait(t.Context()))
	st.Crash()
	y := newRuled("a", 7, 1)
	y.s.MustAdd("tax", func(b *world.Build) func(*world.Context) {
		accounts := world.Write[Account](b)
		paid := b.Query(accounts)
		return func(c *world.Context) {
			for ch := range paid.Chunks() {
				accounts.Slice(ch)[0].Sum--
			}
		}
	})
	plan, err := durable.Plan(path, y.World, y.s, y.options)
	require.NoError(t, err)
	require.Contains(t, plan.String(), "if it was not made as it is here, as the other differences say, start it so once")
	_, err = y.open(path)
	require.ErrorIs(t, err, durable.ErrDamaged)
	require.ErrorContains(t, err, "the world is not made as in the snapshot: ")
	require.ErrorContains(t, err, "start the program as it was, and stop it by Close; else set NoLog")
}
