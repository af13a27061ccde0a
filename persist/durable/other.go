package durable

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// After a crash the log is for the program that wrote it. Another build may have other rules, and
// its replay then leads elsewhere than clients have seen. Only the operator can say what is right.

// OtherProgram says what Open does, after a crash, with ticks that another program has logged, such
// as the build before a hotfix. Another program is what inputlog.Program tells from this one: another
// executable, processor or Options.Content. After Close there is no log.
//
// It is a flag of a server in a line, by flag.TextVar.
type OtherProgram uint8

const (
	// RefuseOther makes Open return inputlog.ErrOtherProgram or ErrOtherWorld, and change nothing,
	// whatever these ticks do. Start the program that wrote them once, and stop it by Close: then
	// nothing is lost.
	RefuseOther OtherProgram = iota
	// ReplayOther plays them by the rules of this program, which are also what it makes of the
	// snapshot, by a snapshot.Migrated. What clients were told may then be otherwise:
	// Recovered.Other says how much differs. What is registered must be the same.
	ReplayOther
	// DiscardOther goes back to the newest snapshot, or to an older one if that is damaged. What
	// happened since is lost, also what was told durable: Recovered.Lost says which ticks. Handles
	// given in them stay stale. A log of a world with another number of shards, which would be a
	// *ShardsError, is discarded, too.
	DiscardOther
)

var otherNames = [...]string{RefuseOther: "refuse", ReplayOther: "replay", DiscardOther: "discard"}

// String returns "refuse", "replay" or "discard".
func (o OtherProgram) String() string {
	if int(o) < len(otherNames) {
		return otherNames[o]
	}
	return fmt.Sprintf("OtherProgram(%d)", uint8(o))
}

// MarshalText returns the bytes of String.
func (o OtherProgram) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads what MarshalText has written. An error changes nothing.
func (o *OtherProgram) UnmarshalText(text []byte) error {
	i := slices.Index(otherNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("durable: no OtherProgram is %q; want refuse, replay or discard", text)
	}
	*o = OtherProgram(i)
	return nil
}

// Other says what Open did with ticks that another program had logged. That nothing differs proves
// little about the last of them: see inputlog.Differences.
type Other struct {
	Program     inputlog.Program // that wrote the first of them
	Ticks       uint64           // that were played by this program
	Differences inputlog.Differences
	Discarded   bool // they were not played
}

// other looks for segments in which another program has logged ticks. used follow one another.
// RefuseOther makes it return an error, ReplayOther all of them, and DiscardOther those before the
// first.
func (r *restoring) other(used []*segment) ([]*segment, error) {
	i := slices.IndexFunc(used, func(s *segment) bool { return len(s.unlike) > 0 })
	if i < 0 || r.o.OtherProgram == ReplayOther {
		return used, nil
	}
	s := used[i]
	if r.o.OtherProgram != DiscardOther {
		return nil, r.refuseOther(s, fmt.Errorf("%s: %w: %s", s.name, inputlog.ErrOtherProgram, strings.Join(s.unlike, "; ")))
	}
	r.before = r.mark.before
	if i > 0 {
		r.before = used[i-1].ID
	}
	r.discarded(s, fmt.Errorf("%s: discarded, because another program wrote it, %v", s.name, s.program))
	return used[:i], nil
}

// discarded notes a segment that DiscardOther leaves out. When the rest is restored, tellDiscarded
// tells the Logger.
func (r *restoring) discarded(s *segment, err error) {
	x := &r.recovered
	x.Other = &Other{Program: s.program, Discarded: true}
	x.Lost = append(x.Lost, err)
	r.left = err
}

// tellDiscarded tells the Logger what DiscardOther has left out, and which ticks are lost.
func (r *restoring) tellDiscarded() {
	if r.left == nil {
		return
	}
	what := "discarded what another program has logged"
	if r.resharded() {
		what = "discarded what another number of shards has logged"
	}
	r.warn(what, "of", r.left, "lost", r.missing())
}

// playedOther notes what was played of another program's segments. It tells the Logger, whether
// anything has differed or not.
func (r *restoring) playedOther(all []*segment, p *inputlog.Player) {
	i := slices.IndexFunc(all[:len(all)-p.Left()], func(s *segment) bool { return len(s.unlike) > 0 })
	if i < 0 || r.w.Tick() <= all[i].tick {
		return
	}
	x := &r.recovered
	if x.Other == nil {
		x.Other = &Other{Program: all[i].program}
	}
	d := p.Differences()
	x.Other.Ticks += r.w.Tick() - all[i].tick
	if x.Other.Differences.Ticks == 0 {
		x.Other.Differences.First = d.First
	}
	x.Other.Differences.Ticks += d.Ticks
	x.Other.Differences.Requests += d.Requests
	r.warn("played ticks that another program has logged", "program", all[i].program, "ticks", r.w.Tick()-all[i].tick,
		"ticks that differ", d.Ticks, "first tick that differs", d.First, "requests that failed", d.Requests)
}

// refuseOther returns the error of Open for ticks that cannot be played, or are for another program to
// play. It says what there is to do, and which newer snapshots could not be loaded.
func (r *restoring) refuseOther(s *segment, err error) error {
	found := r.recovered.Snapshot
	x := unplayedOf(r.files, r.mark.line(r.all), found.Info, r.w, r.o)
	if x.other == nil && x.misfit == nil {
		x.kept = min(x.kept, r.w.Tick()) // it is played up to where it cannot be
	}
	whole := "nothing is damaged: "
	if len(found.Passed) > 0 {
		whole = ""
	}
	also := ""
	switch is := errors.Is(err, inputlog.ErrOtherProgram); {
	case x.shards > 0:
		also = fmt.Sprintf("; it had %d shards", x.shards)
	case is && x.misfit == nil:
		also = "; or set OtherProgram to ReplayOther, to play it by the rules of this program"
	case is:
		also = fmt.Sprintf("; it cannot be played here: %v", x.why)
	}
	return fmt.Errorf("durable: %w; %sstart the program that wrote it%s, and stop it by Close, before you start another version%s; %s%s", err, whole, s.by(), also, r.discards(&x), r.alsoPassed())
}

// alsoPassed says which newer snapshots could not be loaded, and so may be left out, or "".
func (r *restoring) alsoPassed() string {
	if passed := r.recovered.Snapshot.Passed; len(passed) > 0 {
		return fmt.Sprintf("; a newer snapshot could not be loaded: %v", errors.Join(passed...))
	}
	return ""
}

// discards says what DiscardOther does with a log, and what is lost then.
func (r *restoring) discards(x *unplayed) string {
	return fmt.Sprintf("or set OtherProgram to DiscardOther, to go back to %s: %s", x.back(), r.missingSince(x.kept))
}

// unplayed is the log since a snapshot, as Plan and refuseOther see it.
//
// Ownership: the goroutine of Plan or Open.
type unplayed struct {
	last        *segment // with ticks, or without if none has; nil: there is none
	empty       bool     // none has ticks
	other       *segment // the first that another program wrote, or nil
	misfit      *segment // the first that cannot be played here, or nil
	why         error    // why it cannot
	first, told uint64   // from the tick of the snapshot to the one before told, all was on disk
	kept        uint64   // DiscardOther goes back to this tick
	shards      int      // of the world that wrote it; 0: as many as this one
	lost        error    // why more of the log is there, and not used; or nil
}

// unplayedOf reads the segments since a snapshot that follow one another, and changes nothing.
func unplayedOf(f files.Files, l line, from snapshot.Info, w *world.World, o Options) unplayed {
	x := unplayed{first: from.Tick, kept: from.Tick, empty: true, lost: l.lost}
	if from.Options.Shards != w.Shards() {
		x.shards = from.Options.Shards
	}
	all := l.used
	if l.newer != nil {
		all = append(slices.Clip(all), l.newer)
	}
	for _, s := range all {
		before := x.other == nil && x.misfit == nil
		if x.other == nil && s.isOther() {
			x.other = s
		}
		if empty := s.empty(f); x.last == nil || !empty {
			x.last, x.empty = s, x.empty && empty
		}
		if x.misfit == nil {
			if x.why = s.misfits(f, w, o); x.why != nil {
				x.misfit = s
			}
		}
		upTo := told(f, s, s.ID)
		x.told = max(x.told, upTo)
		switch left := x.other != nil || x.misfit != nil; {
		case !left:
			x.kept = max(x.kept, upTo)
		case before && s.wrong == nil:
			x.kept = max(x.kept, s.tick)
		}
	}
	return x
}

// back says where DiscardOther goes back to.
func (x *unplayed) back() string {
	if x.kept > x.first {
		return fmt.Sprintf("tick %d, up to which this program plays the log", x.kept)
	}
	return fmt.Sprintf("the snapshot of tick %d", x.first)
}

// plan says what Open does with it, and whether it refuses it. differs says that the world differs
// from the snapshot.
func (x *unplayed) plan(o OtherProgram, differs bool) (text string, blocks bool) {
	ticks := "its log, of which no tick is known to have been on disk,"
	if x.told > x.first {
		// the mark of the last sync may be missing, and what was never synced may be whole
		ticks = fmt.Sprintf("its log, with at least %d ticks from tick %d on,", x.told-x.first, x.first)
	}
	by := x.last.by()
	if x.other != nil {
		by = x.other.by()
	}
	what := ""
	switch {
	case o == DiscardOther && (x.other != nil || x.misfit != nil):
		what = x.discarded(by)
	case x.other == nil && x.misfit == nil && x.empty:
		what = "has none, and is in nobody's way"
	case x.other == nil && x.misfit == nil:
		what = "is played: this program wrote it" + by
		if differs {
			what += "; if it was not made as it is here, as the other differences say, start it so once, and stop it by Close, before you change it"
		}
	case o == ReplayOther && x.misfit == nil:
		what = "is played by the rules of this program, not of the program that wrote it" + by
	default:
		blocks = true
		what = x.remedy(by) + "; or set OtherProgram to DiscardOther, to go back to " + x.back()
	}
	return "was not closed: " + ticks + " " + what, blocks
}

// discarded says what DiscardOther leaves out, and why.
func (x *unplayed) discarded(by string) string {
	why := "another program wrote it" + by
	switch {
	case x.shards > 0:
		why = fmt.Sprintf("a world with %d shards wrote it", x.shards)
	case x.other == nil || x.misfit != nil && x.misfit.number < x.other.number:
		why = fmt.Sprintf("it cannot be played here: %v", x.why)
	}
	if x.kept > x.first {
		return fmt.Sprintf("is played up to tick %d, and discarded from there on: %s", x.kept, why)
	}
	return "is discarded: " + why
}

// remedy says what there is to do about a log that is refused, besides to discard it.
func (x *unplayed) remedy(by string) string {
	switch {
	case x.shards > 0 && x.other == nil:
		return fmt.Sprintf("can be played only by as many shards as wrote it%s: open the directory with Shards = %d, Close the Store, and then open it with the new number", by, x.shards)
	case x.other == nil:
		return fmt.Sprintf("is for the options and registrations with which this program wrote it%s: start it with these, and stop it by Close, before you change them; it cannot be played here: %v", by, x.why)
	}
	what := "is for the program that wrote it" + by + ": start that program, and stop it by Close, before another version"
	switch {
	case x.shards > 0:
		return what + fmt.Sprintf("; it had %d shards", x.shards)
	case x.misfit != nil:
		return what + "; it cannot be played here: " + x.why.Error()
	}
	return what + "; or set OtherProgram to ReplayOther, to play it by the rules of this program"
}
