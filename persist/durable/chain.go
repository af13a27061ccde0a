package durable

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/atoll-sim/atoll/internal/marks"
	"github.com/atoll-sim/atoll/persist/inputlog"
)

// Open plays the segments since the snapshot that follow one another: each names the one before it.
// A segment that nobody names may be left out. Its process died before the head was on disk, or
// AcceptLoss has done without it.
//
// Whatever was on disk and is not there is a loss, and all else is a tear. Open knows what was on
// disk by the file incarnation, by what a later segment or snapshot says, and by marks.

// found is what Open knows of a directory.
type found struct {
	said   statement
	all    []*segment // since the snapshot, also those that cannot be used
	passed passed
	cut    error // which segment at the end of the log is not there
}

// chain returns the segments from the snapshot on that follow one another, and syncs them: a
// process that died may have left some that were not.
func (d *Store) chain() ([]*segment, error) {
	x := &d.found
	if len(x.all) == 0 && !d.mark.early {
		x.cut = fmt.Errorf("%s is missing, with which the log goes on", segmentName(d.mark.number))
	}
	used, err := d.follow()
	if err == nil {
		err = d.mustEndWith(used)
	}
	if err != nil {
		return nil, err
	}
	for _, s := range used {
		if err := d.files.SyncFile(s.name); err != nil {
			return nil, fmt.Errorf("durable: %w", err)
		}
	}
	d.recovered.segments = len(used)
	return used, nil
}

// follow returns the segments that follow one another, up to a loss. before is the id of the last
// of them from then on.
func (d *Store) follow() (used []*segment, err error) {
	x := &d.found
	d.before = d.mark.before
	want := d.mark.number // the next number, and what is wrong with a segment since the last that is used
	var bad error
	for _, s := range x.all {
		if bad == nil && s.number != want {
			bad = fmt.Errorf("%s is missing", segmentName(want))
		}
		switch follows := s.Before == d.before || d.mark.old && len(used) == 0; {
		case errors.Is(s.wrong, inputlog.ErrVersion):
			return used, d.cannotPlay(s, s.wrong)
		case errors.Is(s.wrong, errForeign):
			return used, d.lose(fmt.Errorf("%s: %w", s.name, s.wrong))
		case s.wrong != nil:
			if bad == nil {
				bad = fmt.Errorf("%s: %w", s.name, s.wrong)
			}
			continue
		case !follows && bad != nil:
			return used, d.lose(bad)
		case !follows:
			return used, d.lose(fmt.Errorf("%s: %w: it does not follow what is before it", s.name, errForeign))
		}
		used, d.before, want, bad = append(used, s), s.ID, s.number+1, nil
	}
	if bad != nil { // a tear, unless it was on disk: see mustEndWith
		x.cut = bad
	}
	return used, nil
}

// mustEndWith notes a loss if the log has a segment that is not used, and whose head was on disk.
func (d *Store) mustEndWith(used []*segment) error {
	said := &d.found.said
	if !said.logs || said.segment < d.mark.number || len(d.recovered.Lost) > 0 {
		return nil
	}
	for _, s := range d.found.all {
		switch {
		case s.number != said.segment || errors.Is(s.wrong, inputlog.ErrTruncated):
		case s.wrong != nil:
			return d.lose(fmt.Errorf("%s: %w", s.name, s.wrong))
		case s.ID != said.id && !said.old:
			return d.lose(fmt.Errorf("%s: %w: it is not the last that was written", s.name, errForeign))
		case slices.Contains(used, s):
			return nil
		}
	}
	return d.lose(fmt.Errorf("%s, whose beginning was on disk, is missing or cut off there", segmentName(said.segment)))
}

// told returns the tick up to which a segment proves that all was on disk, or 0. What cannot be
// read proves nothing.
func (d *Store) told(s *segment) uint64 {
	id := s.ID
	if s.wrong != nil && s.number == d.found.said.segment {
		id = d.found.said.id
	}
	in, err := d.files.Open(s.name)
	if err != nil {
		return s.tick
	}
	defer in.Close()
	tick, _ := marks.Last(in, id) // as far as it can be read
	return max(tick, s.tick)
}

// missing says how much was on disk behind the tick of the world, and in which files.
func (d *Store) missing() string {
	x := &d.found
	now, last := d.w.Tick(), x.said.tick
	var in []string
	for _, s := range x.all {
		if tick := d.told(s); tick > now {
			in, last = append(in, s.name), max(last, tick)
		}
	}
	for _, p := range x.passed {
		if p.tick > now {
			in, last = append(in, p.name), max(last, p.tick)
		}
	}
	where := ""
	if len(in) > 0 {
		where = ", of which there is something in " + strings.Join(in, ", ")
	}
	if last <= now {
		return fmt.Sprintf("no tick behind %d is known to have been on disk%s", now, where)
	}
	return fmt.Sprintf("ticks %d to %d were on disk, %d of them%s", now, last-1, last-now, where)
}
