package world

import (
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/internal/slots"
)

// ErrVersions is returned by World.Reincarnate when no versions are left for that incarnation: it
// would begin above Options.VersionMax.
var ErrVersions = slots.ErrVersions

// Incarnation returns the number of the world's incarnation, from 1. It is saved and restored with
// the world. Only a goroutine that may use the idle World may call it.
func (w *World) Incarnation() uint32 { return w.space.Incarnation() }

// Reincarnate makes the world its n-th incarnation: from now on it gives handles of the n-th
// Options.VersionsEach versions. It is for a world that was restored after a crash. What happened
// between saving the state and the crash is lost, but clients or databases may still have handles
// from that time. If no process has used the number n before, none of these handles is ever given
// again: they are stale, and stay so. So write the number to a file, and sync it, before
// Reincarnate, whatever the snapshot says. Package durable does that, also
// for this call while it keeps the world.
//
// Living entities keep their handles. Slots that were retired are used again. The number must not
// be lower than Incarnation. If Reincarnate returns ErrVersions, ErrClosed, or an error because
// ports are open, or of the disk of a durable.Store, it has changed nothing. It looks at each slot
// that was ever used. The world must be idle.
func (w *World) Reincarnate(n uint32) error {
	if err := w.idle("World.Reincarnate"); err != nil {
		return err
	}
	if w.engine.Replay != nil {
		return errors.New("world: Reincarnate while a log is played; call it before, or when the Player is closed")
	}
	open, err := w.engine.Ports.Alone(func() error {
		now := w.Incarnation()
		if n < now {
			return fmt.Errorf("world: Reincarnate with %d, while the world is incarnation %d; take a higher number", n, now)
		}
		err := w.engine.PortSlots.Reincarnate(n, w.keepNumber)
		w.touched = w.touched || err == nil && n > now
		return err
	})
	if open > 0 {
		return fmt.Errorf("world: Reincarnate while %d ports are open; open ports when it has returned", open)
	}
	return err
}
