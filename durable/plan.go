package durable

import (
	"fmt"
	"path/filepath"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// Plan compares the newest intact snapshot of a directory with the world. It returns what Open
// would do about each difference, and what Open would refuse. It changes neither: use it before
// another version of a program is started. It does not read the log. Open refuses the log of
// another version, so stop the program by Close first. Errors are snapshot.ErrNone and those of
// snapshot.PlanLoad.
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
