package durable

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/atoll-sim/atoll/persist/state"
)

// The log makes up for a damaged snapshot, unless the world was changed between two ticks just
// before that was saved: by a write through a pointer before Store.Save, or by Options.Upgrade. The
// head of a snapshot has the hash of the state, so Open checks whether the log leads to it.

// passed are the snapshots that Open skipped.
type passed []*passedOver

// passedOver is one of them.
type passedOver struct {
	name   string
	err    error // why its head cannot be read
	tick   uint64
	hash   state.Hash
	byUser bool // Store.Save was called for one of them, so the log may not lead there
	met    bool // the log led to its state
	last   bool // the statement names it, with a checksum of what it has beside the world
	same   bool // and the log led to that, too
}

// pass lists the snapshots that are newer than the loaded one, and the missing one, if one should be
// there.
func (d *Store) pass() (p passed) {
	from, all, said := &d.recovered.Snapshot, d.found.all, &d.found.said
	loaded, last := snapshotNumber(filepath.Base(from.Path)), uint64(0)
	names, _ := d.files.List() // no error: the list was read before
	byUser := len(all) > 0 && slices.ContainsFunc(all[1:], func(s *segment) bool { return s.Saved })
	for _, name := range names {
		number := snapshotNumber(name)
		if last = max(last, number); number <= loaded {
			continue
		}
		x := &passedOver{name: name, byUser: byUser, last: number == said.snapshot}
		if info, err := d.inspect(name); err == nil {
			x.tick, x.hash = info.Tick, info.Hash
		} else if x.err = err; number == said.snapshot {
			x.tick, x.hash, x.err = said.tick, said.hash, nil
		}
		p = append(p, x)
	}
	if said.snapshot > last {
		x := &passedOver{name: nameOf(said.snapshot, snapshotEnd), tick: said.tick, hash: said.hash, last: true}
		from.Passed = append(from.Passed, fmt.Errorf("%s, or the increment of that number, is missing", x.name))
		p = append(p, x)
	}
	return p
}

// after reports whether one of them was saved after a segment: then another segment followed.
func (p passed) after(segment uint64) bool {
	return slices.ContainsFunc(p, func(x *passedOver) bool { return snapshotNumber(x.name) > segment })
}

// meet checks whether the world is now in the state of one of them.
func (p passed) meet(d *Store) {
	tick := d.w.Tick()
	for _, x := range p {
		if !x.met && x.err == nil && x.tick == tick {
			hash, err := state.StateHash(d.w, d.o.Snapshot.Codecs)
			x.met = err == nil && hash == x.hash
			if x.met && x.last {
				sum, err := d.besideNow()
				x.same = err == nil && sum == d.found.said.beside
			}
		}
	}
}

// missed returns an error if the log does not make up for a snapshot.
func (x *passedOver) missed(d *Store) error {
	closed := d.recovered.Torn == nil // then the log leads to all that was saved
	switch {
	case x.met && x.last && !x.same:
		return fmt.Errorf("%s: the log leads to the world that was saved there, but not to what was saved beside it: Options.Snapshot.Also, or which systems are enabled", x.name)
	case x.met || x.err != nil && !x.byUser && !closed:
		return nil
	case x.err != nil:
		return fmt.Errorf("%s, whose head cannot be read, and there may be changes in it that the log does not have: %w", x.name, x.err)
	case x.tick > d.w.Tick():
		return fmt.Errorf("%s is of tick %d, and the log ends at %d", x.name, x.tick, d.w.Tick())
	}
	return fmt.Errorf("%s: the log leads to tick %d, and not to the state that was saved there: the world was changed between ticks", x.name, x.tick)
}
