package durable

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/internal/marks"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
)

// restoring is what Open knows of a directory. An error of a method ends Open.
//
// Ownership: the goroutine of Open.
type restoring struct {
	*Store
	said   statement
	all    []*segment    // since the snapshot, also those that cannot be used
	used   int           // how many of them the log consists of
	passed []*passedOver // the snapshots that were skipped
	copied bool          // Follow has made the directory
	cut    error         // which segment at the end of the log is not there
	left   error         // what DiscardOther leaves out
}

// restore restores the world from the directory. After an error the world must not be used.
func (r *restoring) restore(ctx context.Context) error {
	x := &r.recovered
	said, wrong := readStatement(r.files)
	if wrong != nil && !errors.Is(wrong, errAltered) {
		return fmt.Errorf("durable: %s: %w", incarnationName, wrong)
	}
	loaded, err := r.dir.Load(r.w, r.o.Snapshot)
	x.Snapshot = loaded
	none := errors.Is(err, snapshot.ErrNone)
	if err != nil && !none {
		if stack := aside.Stack(err); stack != nil {
			r.warn("a function that a load calls has panicked", stack...)
		}
		return fmt.Errorf("durable: %w", err)
	}
	all, err := segments(r.files, r.o.Content)
	if err == nil {
		r.copied, err = isCopy(r.files)
	}
	if err != nil {
		return err
	}
	r.said, r.all = said, all
	switch {
	case none && r.copied:
		return fmt.Errorf("%w: Follow has not copied a snapshot yet, and so there is no world; let it go on, or begin with an empty directory", ErrDamaged)
	case none && len(loaded.Passed)+len(all) == 0:
		return r.fresh(wrong)
	case none:
		return r.noSnapshot(loaded.Passed)
	}
	if !said.written && wrong == nil && len(all) == 0 {
		if err = r.backup(); err != nil {
			return err
		}
	}
	if err = r.believe(wrong); err != nil {
		return err
	}
	r.all = r.mark.since(r.all)
	x.Clean = r.mark.clean && len(r.all) == 0 && r.said.written && r.said.segment < r.mark.number && x.Incarnation <= r.w.Incarnation()
	if err = r.pass(); err != nil {
		return err
	}
	if r.o.NoLog { // a log would make up for them
		for _, e := range x.Snapshot.Passed {
			if err := r.lose(e); err != nil {
				return err
			}
		}
	}
	used, err := r.chain()
	if err != nil {
		return err
	}
	if err = r.playAll(ctx, used); err != nil {
		return err
	}
	r.tellDiscarded()
	if x.Torn == nil && len(x.Lost) == 0 {
		x.Torn = r.cut
	}
	x.Clean = x.Clean && len(x.Lost) == 0
	if n := len(x.Lost); n > 0 {
		x.Lost[n-1] = fmt.Errorf("%w; %s", x.Lost[n-1], r.missing())
	}
	x.Incarnation = max(x.Incarnation, r.w.Incarnation())
	if r.copied { // the source may have gone on
		x.Clean = false
		x.Incarnation += r.beyondCopy()
	}
	if !x.Clean {
		x.Incarnation++
	}
	return nil
}

// backup refuses a directory that has snapshots and nothing else.
func (r *restoring) backup() error {
	x := &r.recovered
	const remedy = "to restore a backup, begin with an empty directory, load it in Options.New, and call World.Reincarnate there"
	switch {
	case r.mark.number == 0:
		return fmt.Errorf("%w: %s was saved without a Store; %s", ErrDamaged, x.Snapshot.Path, remedy)
	case !r.o.AcceptLoss:
		return fmt.Errorf("%w: there are snapshots alone, as in a backup, without the file %s and a log; %s; if this is no backup, restore the other files, or set AcceptLoss to go on from %s", ErrDamaged, incarnationName, remedy, x.Snapshot.Path)
	}
	return nil
}

// noSnapshot returns the error of Open for a directory that has files of a world, and no snapshot
// that can be loaded. passed says why.
func (r *restoring) noSnapshot(passed []error) error {
	if len(passed) == 0 {
		name := "the snapshot"
		if n := r.said.snapshot; n > 0 {
			name = nameOf(n, snapshotEnd) + ", or the increment of that number,"
		}
		passed = []error{fmt.Errorf("%s is missing", name)}
	}
	return fmt.Errorf("%w: there is a log, or part of a snapshot, and no snapshot that is whole: %w; restore one, or begin with an empty directory and load a backup in Options.New",
		ErrDamaged, errors.Join(passed...))
}

// fresh fills a world that the directory does not have yet. wrong is what is wrong with the
// statement. If Options.New returns an error the directory has no world yet, and the next start
// calls it again.
func (r *restoring) fresh(wrong error) error {
	x, said := &r.recovered, &r.said
	unknown := uint32(0)
	if wrong != nil {
		unknown = r.beyond()
	}
	if wrong == nil && said.snapshot > 0 || said.old {
		wrong = errors.New("the directory had a world, and its snapshots are missing")
	}
	if wrong != nil {
		if err := r.lose(wrong); err != nil {
			return err
		}
	}
	x.New = true
	if r.o.New != nil {
		if err := r.o.New(r.w); err != nil {
			return err
		}
	}
	x.Incarnation = r.w.Incarnation()
	n := said.incarnation
	if n > 0 && said.first > 0 { // otherwise the process died before it gave handles
		n++ // no handle of the other world is given again
	}
	x.Incarnation = max(x.Incarnation, n)
	if err := r.w.Reincarnate(x.Incarnation); err != nil { // changes nothing if it fails
		return fmt.Errorf("durable: after Options.New: %w", err)
	}
	if r.w.Tick() > 0 { // New has loaded another world
		x.Incarnation++
	}
	x.Incarnation += unknown
	return nil
}

// believe takes in the statement, or notes as a loss what is wrong with it. Incarnation is the last
// that gave handles, from then on, or one above that. An error is a loss that is not accepted.
func (r *restoring) believe(wrong error) error {
	x, said := &r.recovered, &r.said
	if wrong == nil && !said.written {
		wrong = fmt.Errorf("%s is missing", incarnationName)
	}
	if wrong == nil && said.old && !r.mark.old {
		wrong = fmt.Errorf("%w: %s is older than what is beside it", errAltered, incarnationName)
	}
	r.number, x.Incarnation = max(r.mark.number-1, said.segment), said.incarnation
	known := r.mark.number - 1 // the last segment whose incarnation is known
	for _, s := range r.all {
		r.number = max(r.number, s.number)
		if s.wrong == nil {
			x.Incarnation, known = max(x.Incarnation, s.Incarnation), max(known, s.number)
		}
	}
	if wrong == nil {
		r.stated.statement = *said
		return nil
	}
	*said = statement{}
	if err := r.lose(fmt.Errorf("%w: it has the last incarnation, and which files there were", wrong)); err != nil {
		return err
	}
	x.Incarnation = max(x.Incarnation, r.w.Incarnation()) + uint32(r.number-known) + r.beyond()
	return nil
}

// beyond is by how much a number of an incarnation that nobody knows is put above those that are
// known. All processes since the newest snapshot can have ended without a trace: the one that saved
// it, and segmentsMost before one saves again. A sixteenth of all numbers is more, mostly: callers of
// World.Reincarnate may have left some out. If so many are not left, Open returns ErrVersions.
func (r *restoring) beyond() uint32 {
	o := r.w.Options()
	return max(segmentsMost+2, o.VersionMax/o.VersionsEach/16)
}

// beyondCopy is by how much the number of the incarnation of a copy is put above what it says: the
// source may have been started so often since, or be started again.
func (r *restoring) beyondCopy() uint32 {
	o := r.w.Options()
	return max(segmentsMost+2, o.VersionMax/o.VersionsEach/256)
}

// lose returns an error for lost data, unless AcceptLoss is set. Whoever finds a loss calls it, and
// goes on if it returns nil.
func (r *restoring) lose(err error) error {
	if !r.o.AcceptLoss {
		remedy := "restore the file, or set AcceptLoss to go on from what is whole before it"
		if errors.Is(err, inputlog.ErrDiffers) && len(r.recovered.Snapshot.Passed) == 0 {
			remedy = r.whyDiffers() + "set NoLog if the systems cannot be deterministic, and AcceptLoss to go on from what they have made"
		}
		return fmt.Errorf("%w: %w; %s", ErrDamaged, err, remedy)
	}
	r.recovered.Lost = append(r.recovered.Lost, err)
	r.warn("accepted a loss", "of", err)
	return nil
}

// whyDiffers says in what the world is made otherwise than in the snapshot: that may be why a replay by
// the same program differs. It changes nothing.
func (r *restoring) whyDiffers() string {
	in, err := r.dir.Open(filepath.Base(r.recovered.Snapshot.Path))
	if err != nil {
		return "" // there is no snapshot yet, or it is gone
	}
	defer in.Close()
	p, err := snapshot.PlanLoad(in, r.w, r.o.Snapshot)
	if err != nil || len(p.Differences) == 0 {
		return ""
	}
	return fmt.Sprintf("the world is not made as in the snapshot: %v; if the log is from before that was changed, start the program as it was, and stop it by Close; else ", p.Differences)
}

// Open plays the segments since the snapshot that follow one another: each names the one before it.
// A segment that nobody names may be left out. Its process died before the head was on disk, or
// AcceptLoss has done without it.
//
// Whatever was on disk and is not there is a loss, and all else is a tear. Open knows what was on
// disk by the file incarnation, by what a later segment or snapshot says, and by marks.

// chain returns the segments from the snapshot on that follow one another, and syncs them: a
// process that died may have left some that were not. It changes no file. An error is a loss that
// is not accepted, or the file system's.
func (r *restoring) chain() ([]*segment, error) {
	if len(r.all) == 0 && !r.mark.early {
		r.cut = fmt.Errorf("%s is missing, with which the log goes on", segmentName(r.mark.number))
	}
	used, err := r.follow()
	if err == nil {
		err = r.mustEndWith(used)
	}
	if err != nil {
		return nil, err
	}
	for _, s := range used {
		if err := r.files.SyncFile(s.name); err != nil {
			return nil, fmt.Errorf("durable: %w", err)
		}
	}
	used, err = r.other(used)
	r.used = len(used)
	return used, err
}

// follow returns the segments that follow one another, up to a loss. before is the id of the last
// of them from then on. An error is a loss that is not accepted.
func (r *restoring) follow() ([]*segment, error) {
	l := r.mark.line(r.all)
	r.before = l.before
	switch {
	case l.newer != nil:
		return l.used, r.cannotPlay(l.newer, l.newer.wrong)
	case l.lost != nil:
		return l.used, r.lose(l.lost)
	}
	r.cut = l.torn // unless it was on disk: see mustEndWith
	return l.used, nil
}

// mustEndWith notes a loss if the log has a segment that is not used, and whose head was on disk.
// An error is a loss that is not accepted.
func (r *restoring) mustEndWith(used []*segment) error {
	said := &r.said
	if !said.logs || said.segment < r.mark.number || len(r.recovered.Lost) > 0 {
		return nil
	}
	for _, s := range r.all {
		switch {
		case s.number != said.segment || errors.Is(s.wrong, inputlog.ErrTruncated):
		case s.wrong != nil:
			return r.lose(fmt.Errorf("%s: %w", s.name, s.wrong))
		case s.ID != said.id && !said.old:
			return r.lose(fmt.Errorf("%s: %w: it is not the last that was written", s.name, errForeign))
		case slices.Contains(used, s):
			return nil
		}
	}
	return r.lose(fmt.Errorf("%s, whose beginning was on disk, is missing or cut off there", segmentName(said.segment)))
}

// told returns the tick up to which a segment proves that all was on disk, or 0. What cannot be
// read proves nothing.
func (r *restoring) told(s *segment) uint64 {
	if s.wrong != nil && s.number == r.said.segment {
		return told(r.files, s, r.said.id)
	}
	return told(r.files, s, s.ID)
}

// told returns the tick up to which the marks of a segment with that id prove that all was on disk.
func told(f files.Files, s *segment, id uint64) uint64 {
	in, err := f.Open(s.name)
	if err != nil {
		return s.tick
	}
	defer in.Close()
	tick, _, _ := marks.Last(in, id) // as far as it can be read
	return max(tick, s.tick)
}

// missing says how much was on disk behind the tick of the world, and in which files.
func (r *restoring) missing() string { return r.missingSince(r.w.Tick()) }

// missingSince says how much was on disk behind a tick, and in which files.
func (r *restoring) missingSince(now uint64) string {
	last := r.said.tick
	var in []string
	for _, s := range r.all {
		if tick := r.told(s); tick > now {
			in, last = append(in, s.name), max(last, tick)
		}
	}
	for _, p := range r.passed {
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

// playAll plays segments that follow one another, and looks whether they make up for the snapshots
// passed over. An error ends Open.
func (r *restoring) playAll(ctx context.Context, all []*segment) error {
	x := &r.recovered
	if n := len(all); n > 0 && r.cut == nil && (r.said.logs && all[n-1].number >= r.said.first || r.passedAfter(all[n-1].number)) {
		// counts if the log leads there: the next file was made before the end mark was written
		r.cut = fmt.Errorf("%s has its end mark, and no snapshot was saved behind it: the world was closed or broken before Store.Close, or the process died in Store.Close or Options.Upgrade", all[n-1].name)
	}
	for lost := len(x.Lost); len(all) > 0 && len(x.Lost) == lost; {
		n := 1
		for n < len(all) && (!all[n].First || all[n].Incarnation == all[n-1].Incarnation) {
			n++ // the next process continues one that was closed
		}
		if err := r.play(ctx, all[:n]); err != nil {
			return err
		}
		all = all[n:]
	}
	for _, p := range r.passed {
		if len(x.Lost) > 0 {
			break // what it had was lost before
		}
		if err := r.missed(p); err != nil {
			if err = r.lose(err); err != nil {
				return err
			}
		}
	}
	return nil
}

// play plays the segments that one process wrote, from the snapshot on. Only the last may be cut
// off. An error ends Open, with the world in the middle of the log.
func (r *restoring) play(ctx context.Context, all []*segment) error {
	x := &r.recovered
	x.Torn = nil
	first := all[0]
	if first.tick != r.w.Tick() {
		return r.lose(fmt.Errorf("%s begins at tick %d, and what is before it ends at %d", first.name, first.tick, r.w.Tick()))
	}
	if first.First && first.Incarnation > r.w.Incarnation() {
		if err := r.w.Reincarnate(first.Incarnation); err != nil {
			return fmt.Errorf("durable: %w", err)
		}
	}
	var p *inputlog.Player
	for _, s := range all {
		o, err := s.open(r.files)
		if err != nil {
			return fmt.Errorf("durable: %s: %w", s.name, err)
		}
		defer o.Close()
		o.SetContent(r.o.Content)
		if p != nil {
			p.Then(o.Log)
			continue
		}
		if r.o.OtherProgram == ReplayOther {
			o.AcceptOther()
		}
		p, err = o.Play(r.w, r.o.Snapshot.Codecs)
		if err == nil && p.Differences().Ticks > 0 && len(x.Snapshot.Passed) > 0 { // that may be why
			p.Close()
			err = fmt.Errorf("%w: %w: where it begins", inputlog.ErrOtherProgram, inputlog.ErrDiffers)
		}
		if r.isMadeOtherwise(err) && !slices.ContainsFunc(all, r.hadTicks) {
			if len(x.Snapshot.Passed) == 0 { // else what was passed over must be there
				x.Torn = fmt.Errorf("%s, which has no ticks: %w", s.name, err)
			}
			return nil
		}
		if err != nil {
			return r.cannotPlay(s, err)
		}
		defer p.Close()
	}
	r.meet()
	for told := time.Now(); p.Next(); x.Ticks++ {
		if err := p.Make(func() error { return r.step(ctx) }); err != nil {
			return err
		}
		r.meet()
		if time.Since(told) > tellEvery {
			told = time.Now()
			r.info("playing the log", "ticks", x.Ticks)
		}
	}
	r.meet() // the next process begins here
	err := p.Err()
	at := all[len(all)-1-p.Left()]
	if errors.Is(err, inputlog.ErrOtherProgram) && len(x.Snapshot.Passed) == 0 {
		return r.cannotPlay(at, err)
	}
	r.playedOther(all, p)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, inputlog.ErrDiffers), errors.Is(err, inputlog.ErrChanged) && len(x.Snapshot.Passed) > 0:
		return r.lose(fmt.Errorf("%s: %w", at.name, err))
	case errors.Is(err, inputlog.ErrChanged): // the process died before the change was saved
	case !errors.Is(err, inputlog.ErrTruncated) && !errors.Is(err, inputlog.ErrAltered):
		return r.cannotPlay(at, err)
	case p.Left() > 0:
		return r.lose(fmt.Errorf("%s: %w", at.name, err))
	}
	for _, s := range all[slices.Index(all, at):] {
		if r.told(s) > r.w.Tick() { // then this is no tear
			return r.lose(fmt.Errorf("%s: %w", at.name, err))
		}
	}
	x.Torn = fmt.Errorf("%s: %w", at.name, err)
	return nil
}

// isMadeOtherwise reports whether an error of a log may be because this program, or the world, is
// another than the one that wrote it.
func (r *restoring) isMadeOtherwise(err error) bool {
	return errors.Is(err, inputlog.ErrOtherWorld) || errors.Is(err, inputlog.ErrOtherProgram) || errors.Is(err, inputlog.ErrDiffers) && r.whyDiffers() != ""
}

// hadTicks reports whether a segment has ticks behind the world's, or had some on disk.
func (r *restoring) hadTicks(s *segment) bool { return !s.empty(r.files) || r.told(s) > r.w.Tick() }

// cannotPlay makes an error of a log the error of Open: it says which file, and what to do. If it
// is a loss that is accepted, it returns nil.
func (r *restoring) cannotPlay(s *segment, err error) error {
	err = fmt.Errorf("%s: %w", s.name, err)
	foreign := errors.Is(err, inputlog.ErrOtherWorld) || errors.Is(err, inputlog.ErrVersion) || errors.Is(err, inputlog.ErrOtherProgram) && len(r.recovered.Snapshot.Passed) == 0
	switch {
	case foreign && r.o.OtherProgram == DiscardOther: // which program wrote it, its head does not say
		if s.wrong == nil && r.w.Tick() == s.tick {
			r.before = s.Before // nothing of it was played, and what comes next does not follow it
		}
		r.discarded(s, err)
		return nil
	case errors.Is(err, inputlog.ErrOtherWorld) && r.resharded():
		from := r.recovered.Snapshot.Info
		left := unplayedOf(r.files, r.mark.line(r.all), from, r.w, r.o)
		return fmt.Errorf("durable: %s: %w; %s%s", s.name, &ShardsError{from.Options.Shards}, r.discards(&left), r.alsoPassed())
	case foreign:
		return r.refuseOther(s, err)
	case errors.Is(err, inputlog.ErrDiffers): // ticks before it are missing
		return r.lose(err)
	}
	return fmt.Errorf("durable: %w", err)
}

// resharded reports whether the snapshot was loaded into another number of shards.
func (r *restoring) resharded() bool {
	return !r.recovered.New && r.recovered.Snapshot.Info.Options.Shards != r.w.Shards()
}

// by names the program that wrote a segment, if its head could be read.
func (s *segment) by() string {
	if s.wrong != nil {
		return ""
	}
	return ", " + s.program.String()
}

// tellEvery is how often the Logger gets how far the log was played.
const tellEvery = 5 * time.Second

// step makes a tick that was recorded, on a goroutine of its own. It is over, and counts, if the
// world is whole and has the next number, whatever the user's code did in it: systems, OnTick or a
// Logger may panic, or end their goroutine, as when the tick was recorded. Otherwise it returns an
// error, which ends Open.
func (r *restoring) step(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	tick := r.w.Tick()
	err := aside.Do("what a tick calls", func() error { return r.scheduler.Step(context.WithoutCancel(ctx)) })
	if err != nil && (r.w.Err() != nil || r.w.Tick() == tick) {
		return fmt.Errorf("durable: tick %d of the log: %w", tick, err)
	}
	if x := (*aside.Error)(nil); errors.As(err, &x) { // not in Step's error, so no one else has told
		r.warn("a tick of the log is over, and what it calls has panicked", append(aside.Stack(err), "number", tick, "panic", x.Value)...)
	}
	return nil
}

// The log makes up for a damaged snapshot, unless the world was changed between two ticks just
// before that was saved: by a write through a pointer before Store.Save, or by Options.Upgrade. The
// head of a snapshot has the hash of the state, so Open checks whether the log leads to it.

// passedOver is a snapshot that Open skipped.
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
// there. An error is the file system's.
func (r *restoring) pass() error {
	from, all, said := &r.recovered.Snapshot, r.all, &r.said
	loaded, last := snapshotNumber(filepath.Base(from.Path)), uint64(0)
	names, err := r.files.List()
	if err != nil {
		return fmt.Errorf("durable: %w", err)
	}
	byUser := len(all) > 0 && slices.ContainsFunc(all[1:], func(s *segment) bool { return s.Saved })
	for _, name := range names {
		number := snapshotNumber(name)
		if last = max(last, number); number <= loaded {
			continue
		}
		x := &passedOver{name: name, byUser: byUser, last: number == said.snapshot}
		if info, err := inspect(r.files, name); err == nil {
			x.tick, x.hash = info.Tick, info.Hash
		} else if x.err = err; number == said.snapshot {
			x.tick, x.hash, x.err = said.tick, said.hash, nil
		}
		r.passed = append(r.passed, x)
	}
	if said.snapshot > last {
		x := &passedOver{name: nameOf(said.snapshot, snapshotEnd), tick: said.tick, hash: said.hash, last: true}
		from.Passed = append(from.Passed, fmt.Errorf("%s, or the increment of that number, is missing", x.name))
		r.passed = append(r.passed, x)
	}
	return nil
}

// passedAfter reports whether one of them was saved after a segment: then another segment followed.
func (r *restoring) passedAfter(segment uint64) bool {
	return slices.ContainsFunc(r.passed, func(x *passedOver) bool { return snapshotNumber(x.name) > segment })
}

// meet checks whether the world is now in the state of a snapshot that was passed over. Between two
// ticks of the log.
func (r *restoring) meet() {
	tick := r.w.Tick()
	for _, x := range r.passed {
		if !x.met && x.err == nil && x.tick == tick {
			hash, err := state.StateHash(r.w, r.o.Snapshot.Codecs)
			x.met = err == nil && hash == x.hash
			if x.met && x.last {
				sum, err := r.besideNow()
				x.same = err == nil && sum == r.said.beside
			}
		}
	}
}

// missed returns an error if the log, which was played, does not make up for a snapshot that was
// passed over.
func (r *restoring) missed(x *passedOver) error {
	closed := r.recovered.Torn == nil // then the log leads to all that was saved
	switch {
	case x.met && x.last && !x.same:
		return fmt.Errorf("%s: the log leads to the world that was saved there, but not to what was saved beside it: Options.Snapshot.Extras, or which systems are enabled", x.name)
	case x.met || x.err != nil && !x.byUser && !closed:
		return nil
	case x.err != nil:
		return fmt.Errorf("%s, whose head cannot be read, and there may be changes in it that the log does not have: %w", x.name, x.err)
	case x.tick > r.w.Tick():
		return fmt.Errorf("%s is of tick %d, and the log ends at %d", x.name, x.tick, r.w.Tick())
	case r.recovered.Other != nil:
		return fmt.Errorf("%s: by the rules of this program the log leads to tick %d, and not to the state that was saved there: start the program that wrote it, %v, which may make up for the snapshot", x.name, x.tick, r.recovered.Other.Program)
	}
	return fmt.Errorf("%s: the log leads to tick %d, and not to the state that was saved there: the world was changed between ticks", x.name, x.tick)
}

// segmentsMost is how many segments without ticks are tolerated. Processes that died early leave
// them.
const segmentsMost = 8

// saves returns why Open saves a snapshot, or "": so that the same ticks are not played again if the
// process keeps dying, and so that a log has a snapshot with as many shards.
func (r *restoring) saves() string {
	switch x := &r.recovered; {
	case x.New:
		return "the world is new"
	case len(x.Lost) > 0:
		return "a loss was accepted"
	case x.Ticks > 0:
		return "the log was played"
	case r.used > segmentsMost:
		return "processes have ended without a tick"
	case r.resharded():
		return "the number of shards is another"
	}
	return ""
}

// begin begins the segment that this process writes, at the end of Open. The number of the
// incarnation is on disk before it is used. After an error Open returns it, and there may be an
// empty segment.
func (r *restoring) begin() error {
	x := &r.recovered
	r.number++
	if said := &r.said; x.New || !said.written || said.old { // a snapshot without such a file is damaged
		if err := r.state(func(s *statement) {
			if x.New {
				*s = statement{}
			}
			if s.world == 0 {
				s.world = rand.Uint64()
			}
			s.incarnation = max(s.incarnation, x.Incarnation)
		}); err != nil {
			return err
		}
	}
	if why := r.saves(); why != "" {
		r.mark = mark{number: r.number, before: r.before, early: true}
		if err := r.saved(why, r.saveIdle); err != nil {
			return fmt.Errorf("durable: %w", err)
		}
	}
	file, err := r.create(r.number)
	if err != nil {
		return err
	}
	n := note{Incarnation: x.Incarnation, First: true, Number: r.number, ID: rand.Uint64(), Before: r.before}
	r.before = n.ID
	r.log = newLog(r.o.LogBytes, target{n, file}, r.w.Tick(), r.tell, r.begun)
	if err = r.w.Reincarnate(x.Incarnation); err == nil { // no caller gets a handle before Open returns
		engine.Of(r.w).KeepIncarnation(func(n uint32) error {
			return r.state(func(s *statement) { s.incarnation = max(s.incarnation, n) })
		})
		err = r.record(n, !r.o.NoLog)
	}
	if err == nil {
		if r.o.NoLog { // the segment has the number of the incarnation and nothing else
			err = errors.Join(r.recorder.Close(), r.log.close())
		} else {
			err = r.log.flushed()
		}
		if err != nil {
			_ = r.recorder.Close() // an earlier error counts
		}
	}
	if err == nil && r.copied { // its number is on disk: from now on it is a world like others
		err = errors.Join(r.files.Remove(copyName), r.files.Sync())
	}
	if err != nil {
		_ = r.log.close() // as above
		return fmt.Errorf("durable: %w", err)
	}
	return nil
}
