package durable_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// bankOf makes a bank with so many shards.
func bankOf(shards, workers int) *bank {
	return newBankOf(workers, func(o *world.Options, _ *scheduler.Options) { o.Shards = shards })
}

// pay lets clients pay and create for some ticks, by a port.
func (x *bank) pay(t *testing.T, ticks int) {
	t.Helper()
	p, err := x.OpenPort()
	require.NoError(t, err)
	for i := range ticks {
		for client, h := range x.accounts() {
			require.NoError(t, x.pays.Call(p, h, pay{x.account.Get(h).Seq + 1, uint64(client + i)}))
		}
		_, err = x.ships.Create(p, fleet{Ship{x.Tick()}})
		require.NoError(t, err)
		x.step(t)
	}
	p.Close()
	x.step(t) // then it is closed
}

// TestReshard opens a directory with other numbers of shards: after Close at once, and after a crash
// with a log, which is played again on any number of workers. A log of another number is refused, and
// the error says what to do, which loses nothing.
func TestReshard(t *testing.T) {
	for _, counts := range [][]int{{4, 16}, {4, 2}, {16, 4, 1, 7}} {
		t.Run(fmt.Sprint(counts), func(t *testing.T) {
			path, _ := useDisk(t)
			x := bankOf(counts[0], 1)
			st, err := x.open(path)
			require.NoError(t, err)
			accounts := x.accounts()
			for _, n := range counts[1:] {
				x.pay(t, 20)
				require.NoError(t, st.Close())
				want := x.observe()
				y := bankOf(n, 2)
				plan, err := durable.Plan(path, y.World, y.s, y.options)
				require.NoError(t, err)
				require.Len(t, plan.Differences, 1)
				require.Contains(t, plan.String(), `loads    option "Shards"`)
				st, err = y.open(path)
				require.NoError(t, err)
				require.True(t, st.Recovered().Clean)
				require.Equal(t, want, y.observe())
				y.pay(t, 10)
				require.NoError(t, st.Wait(context.Background()))
				want = y.observe()
				st.Crash()

				other := bankOf(n+1, 1) // it has the log of n
				plan, err = durable.Plan(path, other.World, other.s, other.options)
				require.NoError(t, err)
				require.NotEmpty(t, plan.Blocking())
				require.Contains(t, plan.String(), fmt.Sprintf("open the directory with Shards = %d", n))
				_, err = other.open(path)
				var wrong *durable.ShardsError
				require.ErrorAs(t, err, &wrong)
				require.Equal(t, n, wrong.Shards)

				x = bankOf(n, 5)
				st, err = x.open(path)
				require.NoError(t, err)
				require.EqualValues(t, 11, st.Recovered().Ticks)
				require.Equal(t, want, x.observe())
				require.Equal(t, accounts, x.accounts(), "the handles of the first day")
			}
			x.step(t)
			require.NoError(t, st.Wait(context.Background()))
			st.Crash()
			again := bankOf(3, 1)
			_, err = again.open(path)
			var wrong *durable.ShardsError
			require.ErrorAs(t, err, &wrong)
			old := bankOf(wrong.Shards, 1)
			st, err = old.open(path)
			require.NoError(t, err)
			want := old.observe()
			require.NoError(t, st.Close())
			again = bankOf(3, 1)
			st, err = again.open(path)
			require.NoError(t, err)
			require.Equal(t, want, again.observe())
			require.Equal(t, [clientsMax]handle.Handle(accounts), again.accounts())
			require.NoError(t, st.Close())
		})
	}
}

// TestReshardDiscards goes back to the snapshot, because the log is of another number of shards.
func TestReshardDiscards(t *testing.T) {
	path, _ := useDisk(t)
	x := bankOf(4, 1)
	st, err := x.open(path)
	require.NoError(t, err)
	x.pay(t, 10)
	require.NoError(t, st.Close())
	saved := x.observe()
	x = bankOf(4, 1)
	st, err = x.open(path)
	require.NoError(t, err)
	x.pay(t, 10)
	require.NoError(t, st.Wait(t.Context()))
	st.Crash()

	y := bankOf(7, 2)
	_, err = y.open(path)
	require.ErrorContains(t, err, "DiscardOther")
	require.Regexp(t, `ticks \d+ to \d+ were on disk`, err.Error())
	y = bankOf(7, 2)
	y.options.OtherProgram = durable.ReplayOther
	_, err = y.open(path)
	var wrong *durable.ShardsError
	require.ErrorAs(t, err, &wrong, "it cannot be played")

	y = bankOf(7, 2)
	y.options.OtherProgram = durable.DiscardOther
	plan, err := durable.Plan(path, y.World, y.s, y.options)
	require.NoError(t, err)
	require.Empty(t, plan.Blocking(), "%v", plan)
	st, err = y.open(path)
	require.NoError(t, err)
	r := st.Recovered()
	require.True(t, r.Other.Discarded)
	require.False(t, r.Clean)
	require.Len(t, r.Lost, 1)
	require.Regexp(t, `ticks \d+ to \d+ were on disk`, r.Lost[0].Error())
	require.Equal(t, saved, y.observe())
	y.pay(t, 5)
	require.NoError(t, st.Wait(t.Context()))
	was := y.observe()
	st.Crash() // the discarded segments do not come back

	y = bankOf(7, 1)
	st, err = y.open(path)
	require.NoError(t, err)
	require.Nil(t, st.Recovered().Other)
	require.Equal(t, was, y.observe())
	require.NoError(t, st.Close())
}

// TestReshardCopy opens a copy that Follow has made as a world with another number of shards: of a
// directory that was closed at once, and of one that was not after it was opened with as many.
func TestReshardCopy(t *testing.T) {
	path, _ := useDisk(t)
	x := bankOf(4, 1)
	st, err := x.open(path)
	require.NoError(t, err)
	accounts := x.accounts()
	x.pay(t, 10)
	require.NoError(t, st.Wait(t.Context()))
	copied, again := t.TempDir(), t.TempDir()
	require.NoError(t, durable.Follow(t.Context(), path, copied, durable.FollowOptions{Once: true}))
	want := x.observe()
	x.pay(t, 5)
	require.NoError(t, st.Close())
	require.NoError(t, durable.Follow(t.Context(), path, again, durable.FollowOptions{Once: true}))

	_, err = bankOf(16, 2).open(copied)
	var wrong *durable.ShardsError
	require.ErrorAs(t, err, &wrong)
	y := bankOf(wrong.Shards, 2)
	st, err = y.open(copied)
	require.NoError(t, err)
	require.Equal(t, want, y.observe())
	require.NoError(t, st.Close())
	for dir, want := range map[string]any{copied: want, again: x.observe()} {
		y := bankOf(16, 2)
		st, err = y.open(dir)
		require.NoError(t, err)
		require.Equal(t, want, y.observe())
		require.Equal(t, accounts, y.accounts())
		y.pay(t, 5)
		require.NoError(t, st.Close())
	}
}

// TestReshardFails opens a directory with another number of shards, and a PlaceBy that fails or has
// no such shard. No file is damaged, and none older is taken instead: the error names the function,
// and the mended program opens all.
func TestReshardFails(t *testing.T) {
	path, disk := useDisk(t)
	x := bankOf(4, 1)
	st, err := x.open(path)
	require.NoError(t, err)
	x.pay(t, 10)
	require.NoError(t, st.Close())
	want := x.observe()
	names, err := disk.List()
	require.NoError(t, err)
	for _, place := range []func(fleet) int{
		func(fleet) int { return -7 },
		func(fleet) int { panic("no place") },
		func(f fleet) int { // only what is in the newest snapshot has no place
			return map[bool]int{true: 99}[f.N < 1<<63]
		},
	} {
		y := bankOf(7, 1)
		y.ships.PlaceBy(place)
		_, err = y.open(path)
		require.ErrorIs(t, err, world.ErrFailed)
		require.NotErrorIs(t, err, durable.ErrDamaged)
		after, err := disk.List()
		require.NoError(t, err)
		require.ElementsMatch(t, names, after)
	}
	y := bankOf(7, 1)
	st, err = y.open(path)
	require.NoError(t, err)
	require.Equal(t, want, y.observe())
	require.NoError(t, st.Close())
}

// TestReshardHomes changes the number of shards again and again, to more than a small world has homes
// for, and back: that is refused, with what to do, and changes nothing. As many shards open it.
func TestReshardHomes(t *testing.T) {
	path, disk := useDisk(t)
	want := ""
	for _, n := range []int{4, 200, 3, 150, 3, 300} {
		x := bankOf(n, 1)
		st, err := x.open(path)
		require.NoError(t, err)
		if want != "" {
			require.Equal(t, want, x.observe())
		}
		x.pay(t, 3)
		want = x.observe()
		require.NoError(t, st.Close())
	}
	before, err := disk.List()
	require.NoError(t, err)
	x := bankOf(4, 1)
	plan, err := durable.Plan(path, x.World, x.s, x.options)
	require.NoError(t, err)
	require.Len(t, plan.Blocking(), 1)
	require.Contains(t, plan.String(), "homes (301)")
	_, err = x.open(path)
	require.ErrorIs(t, err, snapshot.ErrOtherWorld)
	require.ErrorContains(t, err, "make it with at least 256")
	after, err := disk.List()
	require.NoError(t, err)
	require.ElementsMatch(t, before, after)
	x = bankOf(256, 1)
	st, err := x.open(path)
	require.NoError(t, err)
	require.Equal(t, want, x.observe())
	require.NoError(t, st.Close())
}

// TestIdleProcessors has the first record of a start name the processors that shards leave idle.
func TestIdleProcessors(t *testing.T) {
	before := runtime.GOMAXPROCS(8)
	defer runtime.GOMAXPROCS(before)
	for shards, want := range map[int]string{4: `shards=4 "idle processors"=4`, 8: ""} {
		path, _ := useDisk(t)
		var log bytes.Buffer
		x := bankOf(shards, 1)
		x.options.Logger = slog.New(slog.NewTextHandler(&log, nil))
		st, err := x.open(path)
		require.NoError(t, err)
		require.NoError(t, st.Close())
		require.Contains(t, log.String(), want)
		require.Equal(t, want != "", strings.Contains(log.String(), "idle"))
	}
}
