package durable

import (
	"fmt"
	"path/filepath"

	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// Plan compares the newest intact snapshot of a directory with the world. It returns what Open
// would do about each difference, and what Open would refuse. It changes neither: use it before
// another version of a program is started. It does not read the log, which only the program that
// wrote it can play. So a directory that was not closed, as after a crash, is a difference too, of
// the Kind "directory". It is refused if there are other differences: then start the program that
// wrote the log, and stop it by Close. Plan returns snapshot.ErrNone if there is no snapshot, and
// the errors of snapshot.PlanLoad.
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
	all, err := segments(files.Of(path))
	if err != nil {
		return snapshot.Plan{}, err
	}
	if last := len(all) - 1; last >= 0 && all[last].number >= snapshotNumber(filepath.Base(found.Path)) {
		p.Differences = append(p.Differences, snapshot.Difference{Kind: "directory", Refused: len(p.Differences) > 0,
			Text: "was not closed, so it has a log, which only the program that wrote it can play: start that program, and stop it by Close, before another version"})
	}
	return p, nil
}
