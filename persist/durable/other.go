package durable

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/atoll-sim/atoll/persist/inputlog"
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
	// ReplayOther plays them by the rules of this program. What clients were told may then be
	// otherwise: Recovered.Other says how much differs. What is registered must be the same.
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

// refuseOther returns the error of Open for ticks that are for another program to play. It says what
// there is to do, and which newer snapshots could not be loaded.
func (r *restoring) refuseOther(s *segment, err error) error {
	replay := "; or set OtherProgram to ReplayOther, to play it by the rules of this program, if what is registered is the same"
	if !errors.Is(err, inputlog.ErrOtherProgram) {
		replay = "" // it cannot be played at all
	}
	found := r.recovered.Snapshot
	from, whole, passed := found.Info.Tick, "nothing is damaged: ", ""
	if len(found.Passed) > 0 {
		whole, passed = "", fmt.Sprintf("; a newer snapshot could not be loaded: %v", errors.Join(found.Passed...))
	}
	return fmt.Errorf("durable: %w; %sstart the program that wrote it%s, and stop it by Close, before you start another version%s; or set OtherProgram to DiscardOther, to go back to the snapshot of tick %d: %s%s",
		err, whole, s.by(), replay, from, r.missingSince(from), passed)
}
