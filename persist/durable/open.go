package durable

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/atoll-sim/atoll/internal/driver"
	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/scheduler"
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
// The log is for the program that wrote it, and for machines that compute the same floats; see
// docs/determinism.md. After Close there is no log to play.
//
// It returns ErrInUse, ErrDamaged, snapshot.ErrNotNew, world.ErrVersions when no incarnation is
// left, the errors of snapshot.Load, inputlog.Log.Play, Options.New and Options.Upgrade, or that of
// ctx. Then the world must not be used. The files are unchanged, but there may be an empty segment
// of the log, and a snapshot of what was restored. A log whose end was never told durable is no
// error; see Recovered.Torn.
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
	if w.Err() == nil { // also if the directory is new: the next start would be refused
		if err := driver.Of(w).MayLoad("durable.Open"); err != nil {
			return nil, fmt.Errorf("durable: %w: %w; fill it in Options.New, which Open calls if the directory has no world yet", snapshot.ErrNotNew, err)
		}
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
	if said := &d.found.said; x.New || !said.written || said.old { // a snapshot without such a file is damaged
		if err := d.state(func(s *statement) {
			if x.New {
				*s = statement{}
			}
			s.incarnation = max(s.incarnation, x.Incarnation)
		}); err != nil {
			return err
		}
	}
	if x.New || len(x.Lost) > 0 || x.Ticks > 0 || x.segments > segmentsMost { // a snapshot, so that the same ticks are not played again if the process keeps dying
		d.mark = mark{number: d.number, before: d.before, early: true}
		if err := d.saved(d.saveIdle); err != nil {
			return fmt.Errorf("durable: %w", err)
		}
	}
	file, err := d.create(d.number)
	if err != nil {
		return err
	}
	n := note{Incarnation: x.Incarnation, First: true, Number: d.number, ID: rand.Uint64(), Before: d.before}
	d.before = n.ID
	d.log = newLog(d.o.LogBytes, n.target(file), d.w.Tick(), d.tell, d.begun)
	if err = d.w.Reincarnate(x.Incarnation); err == nil { // no caller gets a handle before Open returns
		driver.Of(d.w).KeepIncarnation(func(n uint32) error {
			return d.state(func(s *statement) { s.incarnation = max(s.incarnation, n) })
		})
		err = d.record(n, !d.o.NoLog)
	}
	if err == nil {
		if d.o.NoLog { // the segment has the number of the incarnation and nothing else
			err = errors.Join(d.recorder.Close(), d.log.close())
		} else {
			err = d.log.flushed()
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
