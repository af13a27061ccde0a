package durable_test

import (
	"flag"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/internal/files/faulty"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/world"
)

// newRuled makes a bank of a build of the program: ships that ports have created die at each tick
// that culls divides, and each tick pays a bonus.
func newRuled(build string, culls, bonus uint64) *bank {
	x := newBank(2)
	x.s.MustAdd("rule", func(b *world.Build) func(*world.Context) {
		accounts, ships := world.Write[Account](b), world.Read[Ship](b)
		paid, sailing := b.Query(accounts), b.Query(ships)
		return func(c *world.Context) {
			for ch := range paid.Chunks() {
				for i := range accounts.Slice(ch) {
					accounts.Slice(ch)[i].Sum += bonus
				}
			}
			for ch := range sailing.Chunks() {
				for i, h := range ch.Handles() {
					if ships.Slice(ch)[i].N < 1<<63 && c.Tick()%culls == 0 {
						_ = c.Destroy(h)
					}
				}
			}
		}
	})
	x.options.Content = []byte(build) // another build in all that Open can see
	return x
}

// died returns the disk of a build that was saved, made some 40 ticks more and died, how much each
// client had then, and the ships that ports were given.
func died(t *testing.T) (path string, disk *faulty.Disk, sum uint64, given map[handle.Handle]bool) {
	path, disk = useDisk(t)
	x := newRuled("the old rules", 7, 1)
	st, err := x.open(path)
	require.NoError(t, err)
	port, err := x.OpenPort()
	require.NoError(t, err)
	given = map[handle.Handle]bool{}
	for tick := range uint64(60) {
		for range 3 {
			h, err := x.ships.Create(port, fleet{Ship{tick}})
			require.NoError(t, err)
			given[h] = true
		}
		for _, h := range x.accounts() {
			require.NoError(t, x.pays.Call(port, h, pay{tick + 1, 10}))
		}
		x.step(t)
		if tick == 19 {
			save := make(chan error, 1)
			go func() { save <- st.Save(t.Context()) }()
			for len(save) == 0 {
				x.step(t)
			}
			require.NoError(t, <-save)
		}
	}
	require.NoError(t, st.Wait(t.Context()))
	sum = x.account.Get(x.accounts()[0]).Sum
	st.Crash()
	return path, disk, sum, given
}

// TestHotfix starts builds with other rules after a crash: the trial of an operator.
func TestHotfix(t *testing.T) {
	path, disk, sum, given := died(t)
	var told tale
	start := func(t *testing.T, build string, culls, bonus uint64, o durable.OtherProgram) (*bank, *durable.Store, error) {
		copied := disk.Clone()
		useAs(t, path, func() files.Files { return copied })
		x := newRuled(build, culls, bonus)
		x.options.OtherProgram = o
		told.lines()
		x.options.Logger = slog.New(slog.NewTextHandler(&told, nil))
		st, err := x.open(path)
		return x, st, err
	}

	t.Run("refused, and then the old one is started", func(t *testing.T) {
		copied := disk.Clone()
		useAs(t, path, func() files.Files { return copied })
		x := newRuled("the new rules", 7, 2)
		_, err := x.open(path)
		require.ErrorIs(t, err, inputlog.ErrOtherProgram)
		require.NotErrorIs(t, err, durable.ErrDamaged)
		require.ErrorContains(t, err, "start the program that wrote it")
		require.ErrorContains(t, err, "ReplayOther")
		require.ErrorContains(t, err, "DiscardOther, to go back to the snapshot of tick ")
		require.Regexp(t, `ticks \d+ to \d+ were on disk`, err.Error())

		x = newRuled("the old rules", 7, 1)
		st, err := x.open(path)
		require.NoError(t, err)
		require.Nil(t, st.Recovered().Other)
		require.Equal(t, sum, x.account.Get(x.accounts()[0]).Sum)
		x.step(t)
		require.NoError(t, st.Close())
		x = newRuled("the new rules", 7, 2)
		st, err = x.open(path)
		require.NoError(t, err)
		require.Nil(t, st.Recovered().Other)
		st.Crash()
	})

	t.Run("replayed by the new rules", func(t *testing.T) {
		x, st, err := start(t, "the new rules", 1000, 2, durable.ReplayOther)
		require.NoError(t, err)
		o := st.Recovered().Other
		require.NotNil(t, o)
		require.False(t, o.Discarded)
		require.Equal(t, st.Recovered().Ticks, o.Ticks)
		require.Positive(t, o.Differences.Ticks)
		require.Positive(t, o.Differences.Requests, "ships that did not die keep their slots")
		require.GreaterOrEqual(t, o.Differences.First, st.Recovered().Snapshot.Info.Tick)
		require.Empty(t, st.Recovered().Lost)
		require.Regexp(t, `"ticks that differ"=\d+ "first tick that differs"=\d+ "requests that failed"=\d+`, told.String())
		played := st.Recovered().Ticks
		require.Equal(t, sum+played, x.account.Get(x.accounts()[0]).Sum, "the new rule pays one more in each of the ticks")
		port, err := x.OpenPort()
		require.NoError(t, err)
		for range 100 {
			h, err := x.ships.Create(port, fleet{Ship{1}})
			require.NoError(t, err)
			require.NotContains(t, given, h, "no handle is given twice")
		}
		x.step(t)
		port.Close()
		x.step(t)
		require.NoError(t, st.Close())
	})

	t.Run("back to the snapshot", func(t *testing.T) {
		x, st, err := start(t, "the new rules", 1000, 2, durable.DiscardOther)
		require.NoError(t, err)
		r := st.Recovered()
		require.True(t, r.Other.Discarded)
		require.Len(t, r.Lost, 1)
		require.Regexp(t, `"durable: discarded what another program has logged" of=.* lost="ticks \d+ to \d+ were on disk, \d+ of them`, told.String())
		require.Regexp(t, `discarded, because another program wrote it.*ticks \d+ to \d+ were on disk`, r.Lost[0].Error())
		require.Zero(t, r.Ticks)
		require.Equal(t, r.Snapshot.Info.Tick, x.Tick())
		port, err := x.OpenPort()
		require.NoError(t, err)
		for range 200 {
			h, err := x.ships.Create(port, fleet{Ship{1}})
			require.NoError(t, err)
			require.NotContains(t, given, h, "no handle is given twice")
		}
		x.step(t)
		require.NoError(t, st.Wait(t.Context()))
		was := x.observe()
		st.Crash() // the discarded segments do not come back
		y := newRuled("the new rules", 1000, 2)
		st, err = y.open(path)
		require.NoError(t, err)
		require.Nil(t, st.Recovered().Other)
		require.Equal(t, was, y.observe())
		st.Crash()
	})

	t.Run("a build that does the same", func(t *testing.T) {
		_, _, err := start(t, "built again", 7, 1, durable.RefuseOther)
		require.ErrorIs(t, err, inputlog.ErrOtherProgram, "nobody can know")
		x, st, err := start(t, "built again", 7, 1, durable.ReplayOther)
		require.NoError(t, err)
		require.Equal(t, durable.Other{Program: st.Recovered().Other.Program, Ticks: st.Recovered().Ticks}, *st.Recovered().Other, "it is told")
		require.Equal(t, sum, x.account.Get(x.accounts()[0]).Sum)
		st.Crash()
	})

	t.Run("closed, and its last snapshot is damaged", func(t *testing.T) {
		copied := disk.Clone()
		useAs(t, path, func() files.Files { return copied })
		x := newRuled("the old rules", 7, 1)
		st, err := x.open(path)
		require.NoError(t, err)
		x.step(t)
		require.NoError(t, st.Close())
		names, err := copied.List()
		require.NoError(t, err)
		slices.Sort(names)
		last := ""
		for _, name := range names {
			if strings.HasSuffix(name, ".snapshot") {
				last = name
			}
		}
		require.NoError(t, copied.Remove(last))
		_, err = newRuled("the new rules", 7, 2).open(path)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "nothing is damaged")
		require.Contains(t, err.Error(), last)
	})

	t.Run("a build that died before its first tick", func(t *testing.T) {
		copied := disk.Clone()
		useAs(t, path, func() files.Files { return copied })
		x := newRuled("the old rules", 7, 1)
		st, err := x.open(path)
		require.NoError(t, err)
		require.NoError(t, st.Close())
		x = newRuled("a hotfix that panics at once", 7, 1)
		st, err = x.open(path)
		require.NoError(t, err)
		st.Crash()
		x = newRuled("the next hotfix", 7, 2)
		plan, err := durable.Plan(path, x.World, x.s, x.options)
		require.NoError(t, err)
		require.Empty(t, plan.Blocking())
		st, err = x.open(path)
		require.NoError(t, err, "it has logged no ticks")
		require.Nil(t, st.Recovered().Other)
		x.step(t)
		require.NoError(t, st.Wait(t.Context()))
		st.Crash()

		x = newRuled("the old rules", 7, 1)
		_, err = x.open(path)
		require.ErrorIs(t, err, inputlog.ErrOtherProgram, "one tick")
		require.ErrorContains(t, err, "000000000005.log")
	})

	t.Run("the same build is played, whatever is set", func(t *testing.T) {
		for _, o := range []durable.OtherProgram{durable.ReplayOther, durable.DiscardOther} {
			x, st, err := start(t, "the old rules", 7, 1, o)
			require.NoError(t, err)
			require.Nil(t, st.Recovered().Other)
			require.Equal(t, sum, x.account.Get(x.accounts()[0]).Sum)
			st.Crash()

			_, _, err = start(t, "the old rules", 7, 2, o)
			require.ErrorIs(t, err, durable.ErrDamaged, "it is not deterministic")
		}
	})

	t.Run("registered otherwise", func(t *testing.T) {
		more := func(o durable.OtherProgram) (*bank, *durable.Store, error) {
			copied := disk.Clone()
			useAs(t, path, func() files.Files { return copied })
			x := newRuled("the new rules", 7, 1)
			world.Register[struct{ Left int }](x.World, "fuel")
			x.options.OtherProgram = o
			plan, err := durable.Plan(path, x.World, x.s, x.options)
			require.NoError(t, err)
			require.Equal(t, o != durable.DiscardOther, len(plan.Blocking()) > 0, "%v", plan)
			if o != durable.DiscardOther {
				require.NotContains(t, plan.String(), "ReplayOther")
				require.Contains(t, plan.String(), `it cannot be played here: inputlog: the log is of another world: component "fuel" registered here alone; or set OtherProgram to DiscardOther`)
			}
			st, err := x.open(path)
			return x, st, err
		}
		for _, o := range []durable.OtherProgram{durable.RefuseOther, durable.ReplayOther} {
			_, _, err := more(o)
			require.ErrorContains(t, err, "start the program that wrote it")
			if o == durable.RefuseOther {
				require.ErrorIs(t, err, inputlog.ErrOtherProgram)
				continue
			}
			require.ErrorIs(t, err, inputlog.ErrOtherWorld)
			require.NotContains(t, err.Error(), "ReplayOther", "it cannot")
		}
		_, st, err := more(durable.DiscardOther)
		require.NoError(t, err)
		require.True(t, st.Recovered().Other.Discarded)
		st.Crash()
	})

	t.Run("planned", func(t *testing.T) {
		for o, says := range map[durable.OtherProgram]string{
			durable.RefuseOther:  "is for the program that wrote it, a build without version",
			durable.ReplayOther:  "is played by the rules of this program",
			durable.DiscardOther: "is discarded",
		} {
			copied := disk.Clone()
			useAs(t, path, func() files.Files { return copied })
			x := newRuled("the new rules", 7, 2)
			x.options.OtherProgram = o
			plan, err := durable.Plan(path, x.World, x.s, x.options)
			require.NoError(t, err)
			require.Equal(t, o == durable.RefuseOther, len(plan.Blocking()) > 0, "%v", plan)
			if o == durable.RefuseOther {
				require.Regexp(t, `; or set OtherProgram to ReplayOther, .*; or set OtherProgram to DiscardOther, to go back to the snapshot of tick \d+`, plan.String())
			}
			require.Regexp(t, `was not closed: its log, with at least \d+ ticks from tick \d+ on, `+says, plan.String())
		}
	})
}

// TestOtherProgramFlag reads it from a command line.
func TestOtherProgramFlag(t *testing.T) {
	for _, want := range []durable.OtherProgram{durable.RefuseOther, durable.ReplayOther, durable.DiscardOther} {
		var o durable.OtherProgram
		set := flag.NewFlagSet("", flag.ContinueOnError)
		set.SetOutput(io.Discard)
		set.TextVar(&o, "log", durable.RefuseOther, "")
		require.NoError(t, set.Parse([]string{"-log", want.String()}))
		require.Equal(t, want, o)
		require.ErrorContains(t, set.Parse([]string{"-log", "lose"}), "want refuse, replay or discard")
		require.Equal(t, want, o)
	}
	require.Equal(t, "OtherProgram(3)", durable.OtherProgram(3).String())
}
