package durable

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Plan compares the newest intact snapshot of a directory with the world. It returns what Open
// would do about each difference, and what Open would refuse. It changes neither: use it before
// another version of a program is started. It does not read the log, which is for the program that
// wrote it. So if the directory was not closed, as after a crash, that is a difference too, of the
// Kind "directory". It is refused if there are others: then start the program that wrote the log,
// and stop it by Close. Open itself refuses to play the log if options differ, or something is
// registered differently, except for functions, questions, bundles and prefabs behind the others. If
// only these or systems differ, it plays the log, and returns ErrDamaged where the ticks do something
// else. So Plan cannot tell what Open does with a log if functions or questions differ, nor what
// ticks and damage behind the snapshot lead to. Plan returns snapshot.ErrNone if there is no snapshot, and the errors of snapshot.PlanLoad.
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
	if err != nil || o.NoLog {
		return p, err
	}
	log, err := logSince(&dir, found)
	if err != nil {
		return snapshot.Plan{}, err
	}
	if log {
		p.Differences = append(p.Differences, snapshot.Difference{Kind: "directory", Refused: len(p.Differences) > 0,
			Text: "was not closed, so it has a log, which is for the program that wrote it: start that program, and stop it by Close, before another version"})
	}
	return p, nil
}

// logSince reports whether Open would play a log to a snapshot: whether there are segments since
// the one that its mark names.
func logSince(dir *snapshot.Dir, found snapshot.Found) (bool, error) {
	in, err := dir.Open(filepath.Base(found.Path))
	if err != nil {
		return false, fmt.Errorf("durable: %w", err)
	}
	defer in.Close()
	var m mark
	body, err := extend.ReadAlso(in, markName)
	if err == nil && body != nil {
		also := m.also()
		err = also.Load(body)
	}
	if err != nil {
		return false, fmt.Errorf("durable: %s: %w", found.Path, err)
	}
	all, err := segments(files.Of(dir.Path))
	return slices.ContainsFunc(m.since(all), func(s *segment) bool {
		return s.wrong == nil || errors.Is(s.wrong, inputlog.ErrVersion)
	}), err
}
