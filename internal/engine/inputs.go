package engine

import (
	"errors"
	"fmt"
	"math"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/refresh"
)

// RecordInputs sets the Recorder that receives the inputs of the idle world; nil removes it. A
// world without a Recorder pays nothing for this. It returns an error, and changes nothing, if
// another Recorder is set. changed, if not nil, is called when the idle world was changed by
// something that is no input. It is called on the goroutine that uses the world: before a tick of a
// scheduler or a refresh, or after functions between ticks. It may set another Recorder.
func (w *World) RecordInputs(to extend.Recorder, changed func()) error {
	w.mustIdle("recording inputs")
	if to != nil && w.engine.Recorded() {
		return errors.New("world: the world's inputs are recorded already, by another Recorder or a durable.Store; close that first")
	}
	w.engine.Record(to)
	_, seals := to.(extend.Sealer)
	if w.refuseChanges(seals); seals && !w.lenient {
		changed = w.changedSealed
	}
	w.logged.Store(to != nil || w.engine.Replay != nil)
	w.changed = nil
	if to != nil {
		w.changed = changed
		w.leave()
	}
	return nil
}

// leave forgets the changes of the idle world until now, if a Recorder wants to know of changes.
// The world's goroutine calls it, and the coordinator at the end of a refresh.
func (w *World) leave() {
	if w.changed != nil {
		w.space.Handed()
		w.touched = false
		if check.Enabled {
			w.digest()
		}
	}
}

// LookForChanges calls the function of RecordInputs if the idle world may have changed since leave:
// a call that changes it has set touched, or rows were handed out for writing. So a change counts
// whatever it was, and nothing is compared.
func (w *World) LookForChanges() {
	if w.phase.Load() != phaseIdle {
		return // not idle: the call that goes on says why
	}
	switch {
	case w.changed == nil || w.open > 0:
		return
	case !w.space.Handed() && !w.touched:
		if check.Enabled {
			w.mustBeAsLeft()
		}
		return
	}
	w.leave()
	w.changed()
}

// Unrecorded calls f, which may do everything with the idle world, without the Recorder. It reports
// whether f may have changed the world, as LookForChanges finds out. If not, the Recorder goes on
// where it was; otherwise, and after an error or a panic, there is none any more.
func (w *World) Unrecorded(f func() error) (changed bool, err error) {
	to, notify, tick := w.engine.Recorder(), w.changed, w.engine.Tick.Load()
	if err := w.RecordInputs(nil, nil); err != nil {
		return false, err
	}
	w.space.Handed()
	w.touched = false
	if err := f(); err != nil {
		return true, err
	}
	open, _ := w.engine.Ports.Alone(func() error { return nil })
	if w.space.Handed() || w.touched || open > 0 || w.engine.Tick.Load() != tick {
		return true, nil
	}
	if to != nil {
		err = w.RecordInputs(to, notify)
	}
	return err != nil, err
}

// Replayer takes the place of a world's ports: it gives the world the inputs again that a Recorder
// received. A tick's refresh applies the inputs that came before that tick. The methods return
// ErrClosed when the world or the Replayer is closed.
//
// Ownership: the world's goroutine, while the world is idle.
type Replayer struct {
	refresh.Replay
	w    *World
	used map[handle.Handle]bool // by creates and recalls since the last Publish
}

// ReplayInputs begins to replay inputs, which Replayer.Close ends. The world must be idle, and no
// port may be open. After an error nothing has changed.
func (w *World) ReplayInputs() (*Replayer, error) {
	if err := w.ready("replaying inputs"); err != nil {
		return nil, err
	}
	if w.engine.Replay != nil {
		return nil, fmt.Errorf("%w: a log is replayed already; close that Replayer", refresh.ErrReplaying)
	}
	if n := w.engine.Ports.Shut(); n > 0 {
		return nil, fmt.Errorf("%w: %d ports are open; close them, and refresh the world", refresh.ErrReplaying, n)
	}
	r := &Replayer{w: w, used: map[handle.Handle]bool{}}
	r.Queue = queue.New(w.space.Registry, min(1<<31, math.MaxInt), min(1<<35, math.MaxInt))
	w.engine.Replay = &r.Replay
	w.logged.Store(true)
	return r, nil
}

// Close allows ports to be opened again. Handles that ports of the recorded world had in their
// cache are stale afterwards: free slots continue with their next version, so the hash of the state
// changes. It does nothing if the Replayer or the world is closed.
func (r *Replayer) Close() {
	if r.ready("replaying inputs") != nil {
		return
	}
	r.w.engine.Replay = nil
	r.w.refuseChanges(r.w.engine.Sealing())
	r.w.logged.Store(r.w.engine.Recorded())
	r.w.engine.Ports.Reopen()
}

// ready returns ErrClosed if the replayer or its world is closed, and panics while a tick runs.
func (r *Replayer) ready(call string) error {
	if err := r.w.ready(call); err != nil {
		return err
	}
	if r.w.engine.Replay != &r.Replay {
		return ErrClosed
	}
	return nil
}

// OnSettled sets a function that each refresh calls when it would call Settled of a Recorder.
// It must not panic.
func (r *Replayer) OnSettled(do func()) { r.Settled = do }

// Draw makes the ports draw as many indexes as had been drawn. It returns an error if the world is
// not in the state that was recorded; so do Recall and Shift. After an error the replay cannot go
// on.
func (r *Replayer) Draw(drawn uint32) error {
	if err := r.ready("replaying inputs"); err != nil {
		return err
	}
	return r.w.engine.PortSlots.Follow(drawn)
}

// Drawn returns how many indexes are drawn.
func (r *Replayer) Drawn() uint32 { return r.w.engine.PortSlots.Drawn() }

// Recall takes back a handle that a port gave out and took back. It returns ErrForged for one that
// was never drawn.
func (r *Replayer) Recall(h handle.Handle) error {
	if err := r.ready("replaying inputs"); err != nil {
		return err
	}
	if err := r.use(h); err != nil {
		return err
	}
	r.w.engine.PortSlots.Recall(h)
	return nil
}

// Release has the next refresh destroy an entity that references released.
func (r *Replayer) Release(h handle.Handle) { r.w.Liveness().Release(h) }

// Shift makes the next refresh carry out decisions to balance the shards. After an error it carries
// out none.
func (r *Replayer) Shift(shifts []extend.Shift) error {
	if err := r.ready("replaying inputs"); err != nil {
		return err
	}
	for _, x := range shifts {
		if n := len(r.w.shards); x.From < 0 || x.From >= n || x.To < 0 || x.To >= n || x.From == x.To || x.Entities < 1 {
			return fmt.Errorf("world: a recorded shift of %d entities from shard %d to %d cannot be", x.Entities, x.From, x.To)
		}
	}
	r.Shifts = append(r.Shifts[:0], shifts...)
	return nil
}

// Rung sets the rung of the next tick.
func (r *Replayer) Rung(n uint8) { r.Replay.Rung = n }

// Seal says whether the next tick was sealed. If so, OnTick is refused what it was refused then.
func (r *Replayer) Seal(sealed bool) {
	r.Sealed = sealed
	if sealed != r.w.seals {
		r.w.refuseChanges(sealed)
	}
}

// Switch sets which systems are switched before the next tick. They are good until then.
func (r *Replayer) Switch(switches []extend.Switch) { r.Switches = switches }

// Request sends a recorded request again. It returns the cells of the request's payload, for
// the caller to fill in; there is no payload if their Type is nil. It returns an error if
// the world has no such requests.
func (r *Replayer) Request(kind int, flags queue.Flags, h handle.Handle) (mem.Cells, error) {
	if err := r.ready("replaying inputs"); err != nil {
		return mem.Cells{}, err
	}
	if flags&queue.Create != 0 {
		if err := r.use(h); err != nil {
			return mem.Cells{}, err
		}
	}
	return r.w.space.Kinds().Resend(r.Queue, kind, flags, h, r.w.engine.Epoch.Load())
}

// Fail sends a recorded request that fails: its value could not be recorded, or this world cannot
// create what it creates. A create whose value could not be recorded is among those to Recall. It
// returns what Request returns.
func (r *Replayer) Fail(kind int, flags queue.Flags, h handle.Handle) (mem.Cells, error) {
	if err := r.ready("replaying inputs"); err != nil {
		return mem.Cells{}, err
	}
	return r.w.space.Kinds().Resend(r.Queue, kind, flags, h, queue.FailedEpoch(r.w.engine.Epoch.Load()))
}

// use records that a handle is no longer in a port's cache. It returns an error, and records
// nothing, if the handle cannot have been there.
func (r *Replayer) use(h handle.Handle) error {
	if !r.w.space.IsPorts(h) || h.Index() >= r.w.engine.PortSlots.Drawn() || r.used[h] {
		return fmt.Errorf("%w: handle %v is created or recalled twice, or no port has drawn it", extend.ErrForged, h)
	}
	if !r.w.engine.PortSlots.Pending(h) {
		return fmt.Errorf("world: handle %v is created or recalled, and is not one that a port can have in hand", h)
	}
	r.used[h] = true
	return nil
}

// Port begins the requests of the next port: Request sends them.
func (r *Replayer) Port() {
	if n := r.Queue.Pushed(); len(r.Begins) == 0 || r.Begins[len(r.Begins)-1] != n {
		r.Begins = append(r.Begins, n)
	}
}

// Publish publishes what was sent, for the next refresh.
func (r *Replayer) Publish() {
	if r.ready("replaying inputs") != nil {
		return // the world is closed, or has ports
	}
	clear(r.used)
	r.Queue.Publish()
}
