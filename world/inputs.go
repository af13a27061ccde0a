package world

import (
	"errors"
	"fmt"
	"math"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/refresh"
)

// recordInputs sets the Recorder that receives the world's inputs; nil removes it. A world
// without a Recorder pays nothing for this. changed may be nil.
func (w *World) recordInputs(l drive.Recorder, changed func()) error {
	w.mustIdle("recording inputs")
	if l != nil && w.engine.Recorded() {
		return errors.New("world: the world's inputs are recorded already, by another Recorder or a durable.Store; close that first")
	}
	w.engine.Record(l)
	w.logged.Store(l != nil || w.engine.Replay != nil)
	w.changed = nil
	if l != nil {
		w.changed = changed
		w.leave()
	}
	return nil
}

// leave forgets the changes of the idle world until now, if a Recorder wants to know of changes.
func (w *World) leave() {
	if w.changed != nil {
		w.space.Handed()
		w.touched = false
		if check.Enabled {
			w.digest()
		}
	}
}

// lookForChanges calls the function of recordInputs if the idle world may have changed since leave:
// a call that changes it has set touched, or rows were handed out for writing. So a change counts
// whatever it was, and nothing is compared. A refresh within a function that a replay calls as well
// is a change: the replay would make it without its inputs.
func (w *World) lookForChanges() {
	if w.phase.Load() != phaseIdle {
		return // not idle: the call that goes on says why
	}
	switch {
	case w.changed == nil || w.open > 0:
		return
	case !w.space.Handed() && !w.touched && !w.replayed:
		if check.Enabled {
			w.mustBeAsLeft()
		}
		return
	}
	w.leave()
	w.changed()
}

// replayer is the drive.Replayer of a world.
//
// Ownership: the world's goroutine, while the world is idle.
type replayer struct {
	refresh.Replay
	w    *World
	used map[handle.Handle]bool // by creates and recalls since the last Publish
}

func (w *World) replayInputs() (drive.Replayer, error) {
	if err := w.ready("replaying inputs"); err != nil {
		return nil, err
	}
	if w.engine.Replay != nil {
		return nil, fmt.Errorf("%w: a log is replayed already; close that Replayer", refresh.ErrReplaying)
	}
	if n := w.engine.Ports.Shut(); n > 0 {
		return nil, fmt.Errorf("%w: %d ports are open; close them, and refresh the world", refresh.ErrReplaying, n)
	}
	f := &replayer{w: w, used: map[handle.Handle]bool{}}
	f.Queue = queue.New(w.space.Registry, min(1<<31, math.MaxInt), min(1<<35, math.MaxInt))
	w.engine.Replay = &f.Replay
	w.logged.Store(true)
	return f, nil
}

func (f *replayer) Close() {
	if f.ready("replaying inputs") != nil {
		return
	}
	f.w.engine.Replay = nil
	f.w.logged.Store(f.w.engine.Recorded())
	f.w.engine.Ports.Reopen()
}

// ready returns ErrClosed if the replayer or its world is closed, and panics while a tick runs.
func (f *replayer) ready(call string) error {
	if err := f.w.ready(call); err != nil {
		return err
	}
	if f.w.engine.Replay != &f.Replay {
		return ErrClosed
	}
	return nil
}

func (f *replayer) OnSettled(do func()) { f.Settled = do }

func (f *replayer) Draw(drawn uint32) error {
	if err := f.ready("replaying inputs"); err != nil {
		return err
	}
	return f.w.engine.PortSlots.Follow(drawn)
}

func (f *replayer) Drawn() uint32 { return f.w.engine.PortSlots.Drawn() }

func (f *replayer) Recall(h handle.Handle) error {
	if err := f.ready("replaying inputs"); err != nil {
		return err
	}
	if err := f.use(h); err != nil {
		return err
	}
	f.w.engine.PortSlots.Recall(h)
	return nil
}

func (f *replayer) Release(h handle.Handle) { (*driven)(f.w).Liveness().Release(h) }

func (f *replayer) Transfer(transfers []drive.Transfer) error {
	if err := f.ready("replaying inputs"); err != nil {
		return err
	}
	for _, x := range transfers {
		if n := len(f.w.shards); x.From < 0 || x.From >= n || x.To < 0 || x.To >= n || x.From == x.To || x.Entities < 1 {
			return fmt.Errorf("world: a recorded transfer of %d entities from shard %d to %d cannot be", x.Entities, x.From, x.To)
		}
	}
	f.Transfers = append(f.Transfers[:0], transfers...)
	return nil
}

func (f *replayer) Rung(n uint8) { f.Replay.Rung = n }

func (f *replayer) Request(kind int, flags queue.Flags, h handle.Handle) (mem.Cells, error) {
	if err := f.ready("replaying inputs"); err != nil {
		return mem.Cells{}, err
	}
	if flags&queue.Create != 0 {
		if err := f.use(h); err != nil {
			return mem.Cells{}, err
		}
	}
	return f.w.space.Kinds().Resend(f.Queue, kind, flags, h, f.w.engine.Epoch.Load())
}

// use records that a handle is no longer in a port's cache.
func (f *replayer) use(h handle.Handle) error {
	if int(h.Home()) != len(f.w.shards) || h.Index() >= f.w.engine.PortSlots.Drawn() || f.used[h] {
		return fmt.Errorf("%w: handle %v is created or recalled twice, or no port has drawn it", drive.ErrForged, h)
	}
	if !f.w.engine.PortSlots.Pending(h) {
		return fmt.Errorf("world: handle %v is created or recalled, and is not one that a port can have in hand", h)
	}
	f.used[h] = true
	return nil
}

func (f *replayer) Port() {
	if n := f.Queue.Pushed(); len(f.Begins) == 0 || f.Begins[len(f.Begins)-1] != n {
		f.Begins = append(f.Begins, n)
	}
}

func (f *replayer) Publish() {
	if f.ready("replaying inputs") != nil {
		return // the world is closed, or has ports
	}
	clear(f.used)
	f.Queue.Publish()
}
