package durable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
)

// restore restores the world from the directory.
func (d *Store) restore(ctx context.Context) error {
	x := &d.recovered
	said, wrong := readStatement(d.files)
	if wrong != nil && !errors.Is(wrong, errAltered) {
		return fmt.Errorf("durable: %s: %w", incarnationName, wrong)
	}
	loaded, err := d.dir.Load(d.w, d.o.Snapshot)
	x.Snapshot = loaded
	none := errors.Is(err, snapshot.ErrNone)
	if err != nil && !none {
		return fmt.Errorf("durable: %w", err)
	}
	all, err := segments(d.files)
	if err != nil {
		return err
	}
	d.found.said, d.found.all = said, all
	switch {
	case none && len(loaded.Passed)+len(all) == 0:
		return d.fresh(wrong)
	case none:
		return d.noSnapshot(loaded.Passed)
	}
	if !said.written && wrong == nil && len(all) == 0 {
		if err = d.backup(); err != nil {
			return err
		}
	}
	if err = d.believe(wrong); err != nil {
		return err
	}
	d.found.all = d.mark.since(d.found.all)
	x.Clean = d.mark.clean && len(d.found.all) == 0 && d.found.said.written && d.found.said.segment < d.mark.number && x.Incarnation <= d.w.Incarnation()
	d.found.passed = d.pass()
	if d.o.NoLog { // a log would make up for them
		for _, e := range x.Snapshot.Passed {
			if err := d.lose(e); err != nil {
				return err
			}
		}
	}
	used, err := d.chain()
	if err != nil {
		return err
	}
	if err = d.playAll(ctx, used); err != nil {
		return err
	}
	if x.Torn == nil && len(x.Lost) == 0 {
		x.Torn = d.found.cut
	}
	x.Clean = x.Clean && len(x.Lost) == 0
	if n := len(x.Lost); n > 0 {
		x.Lost[n-1] = fmt.Errorf("%w; %s", x.Lost[n-1], d.missing())
	}
	x.Incarnation = max(x.Incarnation, d.w.Incarnation())
	if !x.Clean {
		x.Incarnation++
	}
	return nil
}

// backup refuses a directory that has snapshots and nothing else.
func (d *Store) backup() error {
	x := &d.recovered
	const remedy = "to restore a backup, begin with an empty directory, load it in Options.New, and call World.Reincarnate there"
	switch {
	case d.mark.number == 0:
		return fmt.Errorf("%w: %s was saved without a Store; %s", ErrDamaged, x.Snapshot.Path, remedy)
	case !d.o.AcceptLoss:
		return fmt.Errorf("%w: there are snapshots alone, as in a backup, without the file %s and a log; %s; if this is no backup, restore the other files, or set AcceptLoss to go on from %s", ErrDamaged, incarnationName, remedy, x.Snapshot.Path)
	}
	return nil
}

// noSnapshot is for a directory that has files of a world, and no snapshot that can be loaded. passed
// says why.
func (d *Store) noSnapshot(passed []error) error {
	if len(passed) == 0 {
		name := "the snapshot"
		if n := d.found.said.snapshot; n > 0 {
			name = nameOf(n, snapshotEnd) + ", or the increment of that number,"
		}
		passed = []error{fmt.Errorf("%s is missing", name)}
	}
	return fmt.Errorf("%w: there is a log, or part of a snapshot, and no snapshot that is whole: %w; restore one, or begin with an empty directory and load a backup in Options.New",
		ErrDamaged, errors.Join(passed...))
}

// believe takes in the statement, or notes as a loss what is wrong with it. Incarnation is the last
// that gave handles, from then on, or one above that.
func (d *Store) believe(wrong error) error {
	x, said := &d.recovered, &d.found.said
	if wrong == nil && !said.written {
		wrong = fmt.Errorf("%s is missing", incarnationName)
	}
	if wrong == nil && said.old && !d.mark.old {
		wrong = fmt.Errorf("%w: %s is older than what is beside it", errAltered, incarnationName)
	}
	d.number, x.Incarnation = max(d.mark.number-1, said.segment), said.incarnation
	known := d.mark.number - 1 // the last segment whose incarnation is known
	for _, s := range d.found.all {
		d.number = max(d.number, s.number)
		if s.wrong == nil {
			x.Incarnation, known = max(x.Incarnation, s.Incarnation), max(known, s.number)
		}
	}
	if wrong == nil {
		d.stated.statement = *said
		return nil
	}
	*said = statement{}
	if err := d.lose(fmt.Errorf("%w: it has the last incarnation, and which files there were", wrong)); err != nil {
		return err
	}
	x.Incarnation = max(x.Incarnation, d.w.Incarnation()) + uint32(d.number-known) + d.beyond()
	return nil
}

// beyond is by how much a number of an incarnation that nobody knows is put above those that are
// known. All processes since the newest snapshot can have ended without a trace: the one that saved
// it, and segmentsMost before one saves again. A sixteenth of all numbers is more, mostly: callers of
// World.Reincarnate may have left some out. If so many are not left, Open returns ErrVersions.
func (d *Store) beyond() uint32 {
	o := d.w.Options()
	return max(segmentsMost+2, o.VersionMax/o.VersionsEach/16)
}

// playAll plays segments that follow one another, and looks whether they make up for the snapshots
// passed over.
func (d *Store) playAll(ctx context.Context, all []*segment) error {
	x := &d.recovered
	if n := len(all); n > 0 && d.found.cut == nil && (d.found.said.logs && all[n-1].number >= d.found.said.first || d.found.passed.after(all[n-1].number)) {
		// counts if the log leads there: the next file was made before the end mark was written
		d.found.cut = fmt.Errorf("%s has its end mark, and no snapshot was saved behind it: the world was closed or broken before Store.Close, or the process died in Store.Close or Options.Upgrade", all[n-1].name)
	}
	for lost := len(x.Lost); len(all) > 0 && len(x.Lost) == lost; {
		n := 1
		for n < len(all) && (!all[n].First || all[n].Incarnation == all[n-1].Incarnation) {
			n++ // the next process continues one that was closed
		}
		if err := d.play(ctx, all[:n]); err != nil {
			return err
		}
		all = all[n:]
	}
	for _, p := range d.found.passed {
		if len(x.Lost) > 0 {
			break // what it had was lost before
		}
		if err := p.missed(d); err != nil {
			if err = d.lose(err); err != nil {
				return err
			}
		}
	}
	return nil
}

// fresh fills a world that the directory does not have yet. wrong is what is wrong with the
// statement.
func (d *Store) fresh(wrong error) error {
	x, said := &d.recovered, &d.found.said
	unknown := uint32(0)
	if wrong != nil {
		unknown = d.beyond()
	}
	if wrong == nil && said.snapshot > 0 || said.old {
		wrong = errors.New("the directory had a world, and its snapshots are missing")
	}
	if wrong != nil {
		if err := d.lose(wrong); err != nil {
			return err
		}
	}
	x.New = true
	if d.o.New != nil {
		if err := d.o.New(d.w); err != nil {
			return err
		}
	}
	x.Incarnation = d.w.Incarnation()
	if n := said.incarnation; n > 0 && said.first > 0 { // no handle of the other world is given again
		n++
		x.Incarnation = max(x.Incarnation, n)
	} else {
		x.Incarnation = max(x.Incarnation, n) // a process that died before it gave handles
	}
	if err := d.w.Reincarnate(x.Incarnation); err != nil { // changes nothing if it fails
		return fmt.Errorf("durable: after Options.New: %w", err)
	}
	if d.w.Tick() > 0 { // New has loaded another world
		x.Incarnation++
	}
	x.Incarnation += unknown
	return nil
}

// lose returns an error for lost data, unless AcceptLoss is set.
func (d *Store) lose(err error) error {
	if !d.o.AcceptLoss {
		remedy := "restore the file, or set AcceptLoss to go on from what is whole before it"
		if errors.Is(err, inputlog.ErrDiffers) && len(d.recovered.Snapshot.Passed) == 0 {
			remedy = "start the program that wrote it, without a change, if this is another; set NoLog if the systems cannot be deterministic, and AcceptLoss to go on from what they have made"
		}
		return fmt.Errorf("%w: %w; %s", ErrDamaged, err, remedy)
	}
	d.recovered.Lost = append(d.recovered.Lost, err)
	d.warn("accepted a loss", "of", err)
	return nil
}

// play plays the segments that one process wrote, from the snapshot on. Only the last
// may be cut off.
func (d *Store) play(ctx context.Context, all []*segment) error {
	x := &d.recovered
	x.Torn = nil
	first := all[0]
	if first.tick != d.w.Tick() {
		return d.lose(fmt.Errorf("%s begins at tick %d, and what is before it ends at %d", first.name, first.tick, d.w.Tick()))
	}
	if first.First && first.Incarnation > d.w.Incarnation() {
		if err := d.w.Reincarnate(first.Incarnation); err != nil {
			return fmt.Errorf("durable: %w", err)
		}
	}
	var p *inputlog.Player
	for _, s := range all {
		o, err := s.open(d.files)
		if err != nil {
			return fmt.Errorf("durable: %s: %w", s.name, err)
		}
		defer o.Close()
		if p != nil {
			p.Then(o.Log)
			continue
		}
		if p, err = o.Play(d.w, d.o.Snapshot.Codecs); err != nil {
			return d.cannotPlay(s, err)
		}
		defer p.Close()
	}
	d.found.passed.meet(d)
	for told := time.Now(); p.Next(); x.Ticks++ {
		if err := p.Make(func() error { return d.step(ctx) }); err != nil {
			return err
		}
		d.found.passed.meet(d)
		if time.Since(told) > tellEvery {
			told = time.Now()
			d.info("playing the log", "ticks", x.Ticks)
		}
	}
	d.found.passed.meet(d) // the next process begins here
	err := p.Err()
	at := all[len(all)-1-p.Left()]
	switch {
	case err == nil:
		return nil
	case errors.Is(err, inputlog.ErrDiffers), errors.Is(err, inputlog.ErrChanged) && len(x.Snapshot.Passed) > 0:
		return d.lose(fmt.Errorf("%s: %w", at.name, err))
	case errors.Is(err, inputlog.ErrChanged): // the process died before the change was saved
	case !errors.Is(err, inputlog.ErrTruncated) && !errors.Is(err, inputlog.ErrAltered):
		return d.cannotPlay(at, err)
	case p.Left() > 0:
		return d.lose(fmt.Errorf("%s: %w", at.name, err))
	}
	for _, s := range all[slices.Index(all, at):] {
		if d.told(s) > d.w.Tick() { // then this is no tear
			return d.lose(fmt.Errorf("%s: %w", at.name, err))
		}
	}
	x.Torn = fmt.Errorf("%s: %w", at.name, err)
	return nil
}

// cannotPlay says why a segment cannot be played.
func (d *Store) cannotPlay(s *segment, err error) error {
	switch {
	case errors.Is(err, inputlog.ErrDiffers): // ticks before it are missing
		return d.lose(fmt.Errorf("%s: %w", s.name, err))
	case (errors.Is(err, inputlog.ErrOtherWorld) || errors.Is(err, inputlog.ErrVersion)) && d.o.AcceptLoss:
		return d.lose(fmt.Errorf("%s: %w", s.name, err))
	case errors.Is(err, inputlog.ErrOtherWorld), errors.Is(err, inputlog.ErrVersion):
		return fmt.Errorf("durable: %s: %w; start the program that wrote it, and stop it by Close before you start another version, or set AcceptLoss to go on from what is before it", s.name, err)
	}
	return fmt.Errorf("durable: %s: %w", s.name, err)
}

// tellEvery is how often the Logger gets how far the log was played.
const tellEvery = 5 * time.Second
