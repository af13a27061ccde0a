package inputlog_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestTaken records arguments with a number that is no constant, in all places that an argument has. A
// program in which the number is a constant refuses the log, as snapshots with it are; and plays it if
// the number is elsewhere, or the type of a number without names.
func TestTaken(t *testing.T) {
	type slot int16
	type plain int16
	type pair struct{ A, B slot }
	type hidden struct{ a, b slot }
	type all struct {
		Name  string
		Of    [2]hidden
		List  []pair
		By    map[slot]int
		To    map[string]slot
		At    *slot
		Plain []plain
		Bytes []byte
		Twice [][]slot
	}
	scene := func(names map[slot]string, more map[plain]string) (*world.World, *state.Codecs, *world.Transaction[all, bool], *scheduler.Scheduler) {
		w, c := world.MustNew(options()), new(state.Codecs)
		state.RegisterEnum(c, names)
		if more != nil {
			state.RegisterEnum(c, more)
		}
		return w, c, world.RegisterTransaction(w, "all", func(*world.Tx, all) (bool, error) { return true, nil }), scheduler.New(w, scheduler.Options{})
	}
	minus := slot(-3)
	for name, test := range map[string]struct {
		value   all
		refused bool
	}{
		"nothing":        {value: all{Name: "-3", Bytes: []byte{253, 255}, Plain: []plain{-3}}},
		"another number": {value: all{List: []pair{{B: 3}}, To: map[string]slot{"": 5}}},
		"array":          {all{Of: [2]hidden{{}, {b: minus}}}, true},
		"list":           {all{List: []pair{{}, {B: minus}}}, true},
		"key":            {all{By: map[slot]int{0: 1, minus: 2}}, true},
		"value":          {all{To: map[string]slot{"": 0, "x": minus}}, true},
		"pointer":        {all{At: &minus}, true},
		"list of lists":  {all{Twice: [][]slot{nil, {0, minus}}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			w, c, sends, s := scene(map[slot]string{1: "one"}, nil)
			r, err := inputlog.NewRecorder(w, &log, inputlog.Options{Codecs: c})
			require.NoError(t, err)
			p, err := w.OpenPort()
			require.NoError(t, err)
			require.NoError(t, sends.Call(p, test.value))
			require.NoError(t, s.Step(t.Context()))
			require.NoError(t, r.Close())

			w, c, _, s = scene(map[slot]string{1: "one", minus: "minus"}, map[plain]string{-3: "plain"})
			l, err := inputlog.Open(&log)
			require.NoError(t, err)
			play, err := l.Play(w, c)
			require.NoError(t, err)
			for play.Next() {
				require.NoError(t, play.Make(func() error { return s.Step(t.Context()) }))
			}
			if !test.refused {
				require.NoError(t, play.Err())
				require.Equal(t, uint64(1), w.Tick())
				return
			}
			require.ErrorIs(t, play.Err(), inputlog.ErrOtherWorld)
			require.ErrorContains(t, play.Err(), `has the number -3, which was no constant of inputlog_test.slot, and is "minus" here`)
			require.Zero(t, w.Tick())
			play.Close()
		})
	}
}
