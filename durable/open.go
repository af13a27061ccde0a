package durable

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/atoll-sim/atoll/inputlog"
	"github.com/atoll-sim/atoll/internal/driver"
	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// Open restores the world of a directory into a new world, and keeps that there from now on. The
// world must be new, as for snapshot.Load, with the scheduler that makes its ticks and all systems;
// no port may be open. Everything must be registered: from Open on, and in Options.New, registering
// panics, because the next start could not read it back. Open makes the ticks of the log by s.Step,
// which calls the systems and OnTick. If those panic, as they did when the tick was recorded, Open
// goes on, as the world did. The world needs Options.VersionsEach, such as 10,000, so that there are
// incarnations for crashes.
//
// It returns ErrInUse, ErrDamaged, world.ErrVersions when no incarnation is left, the errors of
// snapshot.Load, inputlog.Log.Play, Options.New and Options.Upgrade, or that of ctx. Then the world
// must not be used. The files are unchanged, but there may be an empty segment of the log, and a
// snapshot of what was restored. A log that is cut off at its end is no error; see Recovered.Torn.
func Open(ctx context.Context, path string, w *world.World, s *scheduler.Scheduler, o Options) (_ *Store, err error) {
	if w == nil || s == nil {
		panic("durable: Open with a nil World or Scheduler; pass those of world.New and scheduler.New")
	}
	if o.LogBytes < 0 || o.Keep < 0 || o.Increments < 0 {
		panic(fmt.Sprintf("durable: Open with LogBytes = %d, Keep = %d and Increments = %d; want more than 0, or 0 for the default", o.LogBytes, o.Keep, o.Increments))
	}
	if path == "" {
		return nil, errNoPath
	}
	if wo := w.Options(); wo.VersionsEach > wo.VersionMax/2 {
		return nil, fmt.Errorf("durable: VersionsEach is %d of VersionMax = %d, so there is one incarnation; make the world with world.Options{VersionsEach: 10_000}", wo.VersionsEach, wo.VersionMax)
	}
	var now world.Stats
	if w.Stats(&now); now.Ports > 0 {
		return nil, fmt.Errorf("durable: %d ports are open; open ports, and attach a Pool of package async, after Open", now.Ports)
	}
	began := time.Now()
	d := &Store{w: w, s: s, o: o, dir: snapshot.Dir{Path: path, Keep: o.Keep, Increments: o.Increments}, files: files.Of(path), saving: make(chan struct{}, 1), captures: make(chan *capture), again: make(chan struct{}, 1), marks: map[string]uint64{}}
	d.o.Snapshot = o.snapshot(s, &d.mark)
	if o.Every == 0 {
		d.o.Every = everyDefault
	}
	if o.LogBytes == 0 {
		d.o.LogBytes = logBytesDefault
	}
	if err := d.files.Make(); err != nil {
		return nil, fmt.Errorf("durable: %w", err)
	}
	if d.lock, err = lock(filepath.Join(path, lockName)); err != nil {
		return nil, err
	}
	opened := false
	defer func() {
		if !opened { // because of an error, or a panic in the user's code
			_ = d.lock.Close() // an earlier error counts
		}
	}()
	driver.Of(w).Seal("durable.Open") // the next start restores before it could register anything later
	if err := d.restore(ctx); err != nil {
		return nil, err
	}
	if err := d.begin(); err != nil {
		return nil, err
	}
	if !d.recovered.New && o.Upgrade != nil {
		if err := d.upgrade(); err != nil {
			return nil, err
		}
	}
	d.saves.Store(d.recovered.Snapshot.Info.Tick)
	x := &d.recovered
	x.Took = time.Since(began)
	for _, err := range x.Snapshot.Passed {
		d.warn("passed over a snapshot", "because", err)
	}
	d.info("restored", "snapshot", x.Snapshot.Path, "ticks", x.Ticks, "incarnation", x.Incarnation, "took", x.Took)
	wo := w.Options()
	if all := wo.VersionMax / wo.VersionsEach; x.Incarnation > all-all/10 {
		d.warn("few incarnations are left; begin a new world, with fewer versions each", "incarnation", x.Incarnation, "of", all)
	}
	d.ends, d.stop = context.WithCancel(context.WithoutCancel(ctx))
	driver.Of(w).AddMeasured(measured{d})
	d.stopped.Go(d.keep)
	opened = true
	return d, nil
}

// restore restores the world from the directory.
func (d *Store) restore(ctx context.Context) error {
	x := &d.recovered
	found, err := d.dir.Load(d.w, d.o.Snapshot)
	x.Snapshot = found
	none := errors.Is(err, snapshot.ErrNone)
	if err != nil && !none {
		return fmt.Errorf("durable: %w", err)
	}
	all, err := segments(d.files)
	if err != nil {
		return err
	}
	switch {
	case none && len(found.Passed)+len(all) == 0:
		return d.fresh()
	case none:
		return fmt.Errorf("%w: there is a log, or part of a snapshot, and no snapshot that is whole: %w", ErrDamaged, errors.Join(found.Passed...))
	}
	if d.o.NoLog { // a log would make up for them
		for _, e := range found.Passed {
			if err := d.lose(e); err != nil {
				return err
			}
		}
	}
	last := d.lastBegun()
	d.number, x.Incarnation = d.mark.number-1, last.incarnation
	unread := uint32(0) // segments after the last whose incarnation is known
	for _, s := range all {
		d.number = max(d.number, s.number)
		switch {
		case s.wrong == nil:
			x.Incarnation, unread = max(x.Incarnation, s.Incarnation), 0
		case !errors.Is(s.wrong, inputlog.ErrTruncated): // it may have been the first segment of a process
			unread++
		}
	}
	x.Incarnation += unread
	for len(all) > 0 && all[0].number < d.mark.number {
		all = all[1:]
	}
	x.Clean = d.mark.clean && len(all) == 0 && last.segment < d.mark.number && x.Incarnation <= d.w.Incarnation()
	if all, err = d.chain(all, last); err != nil {
		return err
	}
	if len(found.Passed) > 0 {
		d.passed = d.pass(found, all)
	}
	if n := len(all); n > 0 && d.cut == nil && (last.logs && all[n-1].number >= last.segment || d.passed.after(all[n-1].number)) {
		// counts if the log leads there: the next file was made before the end mark was written
		d.cut = fmt.Errorf("%s has its end mark, and %s is missing: the process died in Store.Close or Options.Upgrade, or the file is lost", all[n-1].name, segmentName(all[n-1].number+1))
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
	for _, p := range d.passed {
		if len(x.Lost) > 0 {
			break // what it had was lost before
		}
		if err := p.missed(d); err != nil {
			if err = d.lose(err); err != nil {
				return err
			}
		}
	}
	if x.Torn == nil && len(x.Lost) == 0 {
		x.Torn = d.cut
	}
	x.Incarnation = max(x.Incarnation, d.w.Incarnation())
	if !x.Clean {
		x.Incarnation++
	}
	return nil
}

// fresh fills a world that the directory does not have yet.
func (d *Store) fresh() error {
	x := &d.recovered
	n := d.lastBegun().incarnation
	if n > 0 { // a snapshot was on disk before that
		if err := d.lose(errors.New("the directory had a world, and its snapshots are missing")); err != nil {
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
	if n > 0 { // no handle of the other world is given again
		x.Incarnation = max(x.Incarnation, n+1)
	}
	if err := d.w.Reincarnate(x.Incarnation); err != nil { // changes nothing if it fails
		return fmt.Errorf("durable: after Options.New: %w", err)
	}
	if d.w.Tick() > 0 { // New has loaded another world
		x.Incarnation++
	}
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
	readable := slices.IndexFunc(all, func(s *segment) bool { return s.wrong != nil })
	if readable >= 0 {
		if err := d.lose(fmt.Errorf("%s: %w", all[readable].name, all[readable].wrong)); err != nil {
			return err
		}
		all = all[:readable]
	}
	if len(all) == 0 {
		return nil
	}
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
	d.passed.meet(d)
	for told := time.Now(); p.Next(); x.Ticks++ {
		if err := p.Make(func() error { return d.step(ctx) }); err != nil {
			return err
		}
		d.passed.meet(d)
		if time.Since(told) > tellEvery {
			told = time.Now()
			d.info("playing the log", "ticks", x.Ticks)
		}
	}
	d.passed.meet(d) // the next process begins here
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
	x.Torn = fmt.Errorf("%s: %w", at.name, err)
	return nil
}

// cannotPlay says why a segment cannot be played.
func (d *Store) cannotPlay(s *segment, err error) error {
	switch {
	case errors.Is(err, inputlog.ErrDiffers): // ticks before it are missing
		return d.lose(fmt.Errorf("%s: %w", s.name, err))
	case errors.Is(err, inputlog.ErrOtherWorld) && d.o.AcceptLoss:
		return d.lose(fmt.Errorf("%s: %w", s.name, err))
	case errors.Is(err, inputlog.ErrOtherWorld):
		return fmt.Errorf("durable: %s: %w; start the program that wrote it, and stop it by Close before you start another version, or set AcceptLoss to go on from what is before it", s.name, err)
	}
	return fmt.Errorf("durable: %s: %w", s.name, err)
}

// tellEvery is how often the Logger gets how far the log was played.
const tellEvery = 5 * time.Second

// upgrade calls Options.Upgrade, which may create entities of this incarnation, and saves the
// result. No log has it: if the process dies during the call, the next one calls it again.
func (d *Store) upgrade() (err error) {
	done := false
	defer func() {
		if !done { // also if the function panics
			_ = d.log.close()
		}
	}()
	if err = d.recorder.Close(); err != nil {
		return fmt.Errorf("durable: %w", err)
	}
	if err = d.o.Upgrade(d.w); err != nil {
		return fmt.Errorf("durable: Options.Upgrade: %w", err)
	}
	x := &capture{store: d, hash: true}
	d.log.changed(d.w.Tick())
	if x.err = d.prepare(); x.err == nil {
		x.take()
	}
	done = x.write() == nil
	return x.err
}

// segmentsMost is how many segments without ticks are tolerated. Processes that died early leave
// them.
const segmentsMost = 8

// begin begins a segment of the log. The number of the incarnation is on disk before it is used.
func (d *Store) begin() error {
	x := &d.recovered
	d.number++
	if x.New || len(x.Lost) > 0 || x.Ticks > 0 || x.segments > segmentsMost { // a snapshot, so that the same ticks are not played again if the process keeps dying
		d.mark = mark{number: d.number, early: true}
		if err := d.saved(d.saveIdle); err != nil {
			return fmt.Errorf("durable: %w", err)
		}
	}
	file, err := d.create(d.number)
	if err != nil {
		return err
	}
	d.log = newLog(d.o.LogBytes, file, d.w.Tick, d.tell)
	if err = d.w.Reincarnate(x.Incarnation); err == nil { // no caller gets a handle before Open returns
		err = d.record(note{Incarnation: x.Incarnation, First: true}, !d.o.NoLog)
	}
	if err == nil {
		if d.o.NoLog { // the segment has the number of the incarnation and nothing else
			err = errors.Join(d.recorder.Close(), d.log.close())
		} else {
			err = d.log.flushed()
		}
		if err == nil {
			err = d.keepBegun(begun{x.Incarnation, d.number, !d.o.NoLog})
		}
		if err != nil {
			_ = d.recorder.Close() // an earlier error counts
		}
	}
	if err != nil {
		_ = d.log.close() // as above
		return fmt.Errorf("durable: %w", err)
	}
	return nil
}
