package durable

import (
	"fmt"
	"path/filepath"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// Plan returns what Open would do about all in which the newest snapshot of a directory that is whole
// and the world differ, and what it would refuse. It changes neither: look at it before another
// version of a program is started. The log is not looked at; Open refuses that of another version, so
// stop the program by Close first. Errors are snapshot.ErrNone and those of snapshot.PlanLoad.
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
	return snapshot.PlanLoad(in, w, o.snapshot(s, new(mark)))
}
