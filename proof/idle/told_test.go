package idle_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// segment is a log, and the snapshot that it begins with.
type segment struct {
	image, log bytes.Buffer
	recorder   *inputlog.Recorder
}

// TestTold changes the idle world between ticks: in functions of Scheduler.Between, several in one
// pause, outside of them, and in OnTick, which a replay calls, too. Each time its Recorder tells of
// a change, the world is saved, and another log begins. Every log must replay.
func TestTold(t *testing.T) {
	programs(t, func(seed uint64) error {
		dice := rand.New(rand.NewPCG(seed, 6))
		h := newHouse(seed, shape{workers: 1})
		defer h.close()
		h.draws = h.onTick
		for range 10 {
			h.act(dice)
		}
		var all []*segment
		var failed error
		var begin func()
		end := func() {
			if s := all[len(all)-1]; failed == nil {
				failed = s.recorder.Close()
			}
		}
		begin = func() {
			s := &segment{}
			if all = append(all, s); failed != nil {
				return
			}
			failed = snapshot.Write(&s.image, h.World, h.options(1))
			if failed == nil {
				s.recorder, failed = inputlog.NewRecorder(h.World, &s.log, inputlog.Options{OnChange: func() { end(); begin() }})
			}
		}
		begin()
		history := []string{}
		for range deedsOf / 5 {
			for range dice.IntN(4) {
				x := dice.Uint64()
				h.ticks.Between(func(*world.World) {
					d := rand.New(rand.NewPCG(x, 7))
					for range d.IntN(3) {
						history = append(history, "between: "+h.act(d).String())
					}
				})
			}
			for range max(0, dice.IntN(4)-2) {
				history = append(history, h.act(dice).String())
			}
			history = append(history, h.pass(dice, creates).String())
			if failed != nil {
				return fmt.Errorf("%w after %s", failed, last(history))
			}
			if err := all[len(all)-1].recorder.Hash(h.hasher); err != nil {
				return err
			}
		}
		end()
		if failed != nil {
			return failed
		}
		for i, s := range all {
			if err := s.replay(seed, dice); err != nil {
				return fmt.Errorf("log %d of %d: %w; before the end of the last was%s", i, len(all), err, last(history))
			}
		}
		return nil
	})
}

// onTick does deeds that are drawn from the tick alone.
func (h *house) onTick(tick uint64) {
	if dice := rand.New(rand.NewPCG(h.seed, tick)); dice.IntN(3) == 0 {
		h.act(dice)
	}
}

// replay plays the log in another world.
func (s *segment) replay(seed uint64, dice *rand.Rand) error {
	h := newHouse(seed, shape{workers: []int{1, 2, 5}[dice.IntN(3)], chaos: dice.Uint64()})
	defer h.close()
	if err := snapshot.Load(&s.image, h.World, h.options(1)); err != nil {
		return err
	}
	log, err := inputlog.Open(&s.log)
	if err != nil {
		return err
	}
	p, err := log.Play(h.World, nil)
	if err != nil {
		return err
	}
	defer p.Close()
	h.draws = h.onTick
	for p.Next() {
		if err := p.Make(h.step); err != nil {
			return err
		}
		if _, err := p.Verify(h.hasher); err != nil {
			return fmt.Errorf("after %d ticks: %w", p.Ticks(), err)
		}
	}
	if err := p.Err(); err != nil && !errors.Is(err, inputlog.ErrChanged) {
		return fmt.Errorf("after %d ticks: %w", p.Ticks(), err)
	}
	return nil
}
