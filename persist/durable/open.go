package durable

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/persist/inputlog"
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
// docs/determinism.md. If another program has logged ticks since the snapshot, Open returns
// inputlog.ErrOtherProgram and names both, unless Options.OtherProgram says what to do. After Close
// there is no log to play.
//
// The world may have another number of shards than the one in the directory, as for snapshot.Load:
// Open saves a snapshot then. If there is a log, it returns a *ShardsError.
//
// It returns ErrInUse, ErrDamaged, inputlog.ErrOtherProgram, a *ShardsError, snapshot.ErrNotNew,
// world.ErrVersions when no incarnation is left, the errors of snapshot.Dir.Load, inputlog.Log.Play,
// Options.New and Options.Upgrade, or the error of ctx. Then the world must not be used. The files
// are unchanged, but there may be an empty segment of the log, and a snapshot of what was restored:
// what AcceptLoss or DiscardOther has left out is lost from then on, and only the Logger was told. A
// log whose end was never told durable is no error; see Recovered.Torn.
func Open(ctx context.Context, path string, w *world.World, s *scheduler.Scheduler, o Options) (_ *Store, err error) {
	if w == nil || s == nil {
		panic("durable: Open with a nil World or Scheduler; pass those of world.New and scheduler.New")
	}
	if o.LogBytes < 0 || o.Keep < 0 || o.Increments < 0 || o.DiskBytes < 0 || o.LockTimeout < 0 {
		panic(fmt.Sprintf("durable: Open with LogBytes = %d, Keep = %d, Increments = %d, DiskBytes = %d and LockTimeout = %v; want more than 0, or 0 for the default", o.LogBytes, o.Keep, o.Increments, o.DiskBytes, o.LockTimeout))
	}
	if o.Sync = o.Sync || syncAlways && !o.NoLog; o.Sync && o.NoLog {
		panic("durable: Open with Sync and NoLog; what a snapshot has is on disk long after it is seen, so leave one of them out")
	}
	if path == "" {
		return nil, errNoPath
	}
	if err := oneIncarnation(w); err != nil {
		return nil, fmt.Errorf("durable: %w", err)
	}
	var now world.Stats
	if w.Stats(&now); now.Ports > 0 {
		return nil, fmt.Errorf("durable: %d ports are open; open ports, and attach a Pool of package async, after Open", now.Ports)
	}
	if w.Err() == nil { // also if the directory is new: the next start would be refused
		if err := engine.Of(w).MayLoad("durable.Open"); err != nil {
			return nil, fmt.Errorf("durable: %w: %w; fill it in Options.New, which Open calls if the directory has no world yet", snapshot.ErrNotNew, err)
		}
	}
	began := time.Now()
	store := &Store{
		w: w, scheduler: s, o: o, dir: snapshot.Dir{Path: path, Keep: o.Keep, Increments: o.Increments}, files: files.Of(path),
		opening: true, saving: make(chan struct{}, 1), captures: make(chan *capture), again: make(chan struct{}, 1), marks: map[string]uint64{},
	}
	store.o.Snapshot = o.snapshot(s, &store.mark)
	if o.Interval == 0 {
		store.o.Interval = everyDefault
	}
	if o.LogBytes == 0 {
		store.o.LogBytes = logBytesDefault
	}
	if err := store.files.Make(); err != nil {
		return nil, fmt.Errorf("durable: %w", err)
	}
	if store.lock, err = lock(ctx, filepath.Join(path, lockName), o.LockTimeout); err != nil {
		return nil, err
	}
	opened := false
	defer func() {
		if !opened { // because of an error, or a panic in the user's code
			_ = store.lock.Close() // an earlier error counts
		}
	}()
	go inputlog.ThisProgram()         // the log names it: it reads a file, while this goroutine restores
	engine.Of(w).Seal("durable.Open") // the next start restores before it could register anything later
	r := &restoring{Store: store}
	if err := r.restore(ctx); err != nil {
		return nil, err
	}
	if err := r.begin(); err != nil {
		return nil, err
	}
	if !store.recovered.New && o.Upgrade != nil {
		if err := store.upgrade(); err != nil {
			return nil, err
		}
	}
	store.saves.Store(store.recovered.Snapshot.Info.Tick)
	found := &store.recovered
	found.Took = time.Since(began)
	for _, err := range found.Snapshot.Passed {
		store.warn("passed over a snapshot", "because", err)
	}
	store.opening = false
	if err := store.measure(filepath.Base(found.Snapshot.Path)); err != nil {
		store.warn("the size of the directory is not known", "because", err)
	}
	what, values := found.record(store.began)
	if idle := runtime.GOMAXPROCS(0) - w.Shards(); idle > 0 {
		values = append(values, "shards", w.Shards(), "idle processors", idle)
	}
	store.info(what, values...)
	wo := w.Options()
	if all := wo.VersionMax / wo.VersionsEach; found.Incarnation > all-all/10 {
		store.warn("few incarnations are left; begin a new world, with fewer versions each", "incarnation", found.Incarnation, "of", all)
	}
	store.ends, store.stop = context.WithCancel(context.WithoutCancel(ctx))
	engine.Of(w).AddMeasured(measured{store})
	engine.Of(w).KeepBy(store.Wait)
	store.stopped.Go(store.keep)
	opened = true
	return store, nil
}

// oneIncarnation returns an error if a world has one incarnation, and so none for a crash.
func oneIncarnation(w *world.World) error {
	if o := w.Options(); o.VersionsEach > o.VersionMax/2 {
		return fmt.Errorf("VersionsEach is %d of VersionMax = %d, so there is one incarnation; make the world with world.Options{VersionsEach: 10_000}, or with as many as its snapshots have", o.VersionsEach, o.VersionMax)
	}
	return nil
}

// record returns what Open logs when all has gone well. began is what it has saved.
func (r *Recovered) record(began []any) (what string, values []any) {
	if what = "restored"; r.New {
		what = "began a new world"
	} else {
		values = append(values, "snapshot", r.Snapshot.Path, "ticks", r.Ticks, "clean", r.Clean)
	}
	values = append(values, "incarnation", r.Incarnation)
	if r.Torn != nil {
		values = append(values, "torn", r.Torn)
	}
	return what, append(append(values, began...), "took", r.Took)
}

// syncAlways sets Options.Sync in each Open, for tests.
var syncAlways bool

// upgrade calls Options.Upgrade, which may create entities of this incarnation, and saves the
// result, unless nothing was changed. Open calls it, on its goroutine, when the log was played. No log
// has the changes: if the process dies during the call, or it returns an error, the next start calls
// it again.
func (s *Store) upgrade() (err error) {
	done := false
	defer func() {
		if !done { // also if the function panics
			_ = s.log.close()
		}
	}()
	before, errBefore := s.besideNow()
	changed, err := engine.Of(s.w).Unrecorded(func() error { return s.o.Upgrade(s.w) })
	if err != nil {
		_ = s.recorder.Close() // the error of Upgrade counts
		return fmt.Errorf("durable: Options.Upgrade: %w", err)
	}
	if beside, err := s.besideNow(); !changed && errBefore == nil && err == nil && beside == before {
		done = true
		return nil
	}
	if err = s.recorder.Close(); err != nil {
		return fmt.Errorf("durable: %w", err)
	}
	x := &capture{store: s, why: "Options.Upgrade", hash: true}
	s.log.changed(s.w.Tick())
	if x.err = s.prepare(); x.err == nil {
		x.take()
	}
	done = x.write() == nil
	return x.err
}

// Plan compares the newest intact snapshot of a directory with the world. It returns what Open
// would do about each difference, and what Open would refuse, such as a file incarnation that is
// missing. It changes neither: use it before
// another version of a program is started. If the directory was not closed, as after a crash, its
// log is a difference too, of the Kind "directory": it says which ticks are there, which program
// logged them, and what Options.OtherProgram does with them. Plan does not play the log, so it cannot
// tell what damage behind the snapshot leads to. Plan returns snapshot.ErrNone if there is no
// snapshot, and the errors of snapshot.PlanLoad.
func Plan(path string, w *world.World, s *scheduler.Scheduler, o Options) (snapshot.Plan, error) {
	if w == nil || s == nil {
		panic("durable: Plan with a nil World or Scheduler; pass those of world.New and scheduler.New")
	}
	if path == "" {
		return snapshot.Plan{}, errNoPath
	}
	dir := snapshot.Dir{Path: path}
	found, err := dir.Newest()
	if err != nil {
		return snapshot.Plan{}, fmt.Errorf("durable: %w", err)
	}
	in, err := dir.Open(filepath.Base(found.Path))
	if err != nil {
		return snapshot.Plan{}, fmt.Errorf("durable: %w", err)
	}
	defer in.Close()
	p, err := snapshot.PlanLoad(in, w, o.snapshot(s, new(mark)))
	if err != nil {
		return p, err
	}
	const each = "VersionsEach"
	if err := oneIncarnation(w); err != nil && !slices.ContainsFunc(p.Differences, func(d snapshot.Difference) bool { return d.Name == each }) {
		p.Differences = append(p.Differences, snapshot.Difference{Kind: "option", Name: each, Text: err.Error(), Blocks: true})
	}
	switch said, err := readStatement(files.Of(path)); {
	case err != nil && !errors.Is(err, errAltered):
		return snapshot.Plan{}, fmt.Errorf("durable: %s: %w", incarnationName, err)
	case err != nil || !said.written:
		why := "is missing"
		if err != nil {
			why = "was altered"
		}
		p.Differences = append(p.Differences, snapshot.Difference{
			Kind: "file", Name: incarnationName, Blocks: !o.AcceptLoss,
			Text: why + ": it has the last incarnation, and which files there were: restore it, or set AcceptLoss to go on from what is whole",
		})
	}
	if o.NoLog {
		return p, nil
	}
	x, err := logSince(&dir, found, w, o)
	if err != nil {
		return snapshot.Plan{}, err
	}
	if x.lost != nil {
		remedy := "restore the file, or set AcceptLoss to go on from what is whole before it"
		if o.AcceptLoss {
			remedy = "what is there from then on is lost"
		}
		p.Differences = append(p.Differences, snapshot.Difference{
			Kind: "directory", Name: "log", Text: fmt.Sprintf("is damaged: %v: %s", x.lost, remedy), Blocks: !o.AcceptLoss,
		})
	}
	if x.last != nil {
		text, blocks := x.plan(o.OtherProgram, len(p.Differences) > 0)
		p.Differences = append(p.Differences, snapshot.Difference{Kind: "directory", Text: text, Blocks: blocks})
	}
	return p, nil
}

// logSince returns the log that Open would play to a snapshot, by the segments since the one that its
// mark names. It reads the directory and changes nothing. An error says which file cannot be read.
func logSince(dir *snapshot.Dir, found snapshot.Found, w *world.World, o Options) (x unplayed, err error) {
	in, err := dir.Open(filepath.Base(found.Path))
	if err != nil {
		return x, fmt.Errorf("durable: %w", err)
	}
	defer in.Close()
	var m mark
	body, err := extend.ReadExtra(in, markName)
	if err == nil && body != nil {
		extra := m.extra()
		err = extra.Read(body)
	}
	if err != nil {
		return x, fmt.Errorf("durable: %s: %w", found.Path, err)
	}
	f := files.Of(dir.Path)
	all, err := segments(f, o.Content)
	if err != nil {
		return x, err
	}
	return unplayedOf(f, m.line(m.since(all)), found.Info, w, o), nil
}
