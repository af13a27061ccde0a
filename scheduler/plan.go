package scheduler

import (
	"slices"

	"github.com/atoll-sim/atoll/internal/driver"
	"github.com/atoll-sim/atoll/world"
)

// Plan is what a tick will do: the systems in order, and the fences between them.
// String prints it, DOT draws it.
type Plan struct {
	Systems []PlannedSystem
	Fences  []Fence // by System, then After, in the order of the systems
}

// PlannedSystem is one system of a Plan.
type PlannedSystem struct {
	Name          string
	Stage         Stage
	Global        bool
	Every, Offset int
	Conditions    int  // how many When options it has
	Enabled       bool // not disabled by name or by a panic
	Before, After []string
	// Merge says that the scheduler added the system, to merge an accumulator after the last system
	// that adds to it.
	Merge bool
}

// Plan returns what a tick will do. It returns an error if Before or After names a system that was
// not added.
func (s *Scheduler) Plan() (*Plan, error) {
	s.mustRest("Plan")
	if err := s.prepare(); err != nil {
		return nil, err
	}
	p := &Plan{}
	for _, x := range s.tick.systems {
		p.Systems = append(p.Systems, PlannedSystem{
			Name: x.name, Stage: x.stage, Global: x.global, Every: x.every, Offset: x.offset,
			Conditions: len(x.when), Enabled: x.enabled.Load(), Merge: x.merges,
			Before: slices.Clone(x.before), After: slices.Clone(x.after),
		})
	}
	for _, f := range fencesOf(s.tick.driver, s.tick.systems) {
		p.Fences = append(p.Fences, f.public(s.tick.systems))
	}
	return p, nil
}

// fence is a Fence by the systems' places in the order.
type fence struct {
	system, after int
	near          bool
	reasons       []Reason
}

func (f *fence) public(systems []*system) Fence {
	return Fence{System: systems[f.system].name, After: systems[f.after].name, Near: f.near, Reasons: f.reasons}
}

// fencesOf finds the fences that systems need, in order.
//
// Shards pass systems in order, so a fence behind the last system that clashes stands for those
// behind all earlier ones. The same holds for global systems among themselves. So a system has at
// most one fence behind a system of the shards and one behind a global one. It may have more fences
// that only neighbours wait at, behind systems that come later than the first of these.
func fencesOf(d driver.World, systems []*system) (fences []fence) {
	users := newUsers()
	for i, s := range systems {
		for _, k := range users.before(s) {
			switch far, near := reasons(d, systems[k], s); {
			case len(far) > 0:
				fences = append(fences, fence{i, k, false, far})
			case len(near) > 0:
				fences = append(fences, fence{i, k, true, near})
			}
		}
		users.add(i, s)
	}
	return fences
}

// withMerges puts the merge of each accumulator behind the last system that adds
// to it. Accumulators are in the order of their numbers where there are several.
func withMerges(w *world.World, sorted []*system, made map[int]*system) []*system {
	last := map[int]*system{} // by accumulator
	for _, s := range sorted {
		for id := range s.access[0].ResourceParts.All {
			last[id] = s
		}
	}
	all := make([]*system, 0, len(sorted)+len(last))
	for _, s := range sorted {
		all = append(all, s)
		for id := range s.access[0].ResourceParts.All {
			if last[id] != s {
				continue
			}
			if made[id] == nil {
				made[id] = newMerge(w, id, s)
			}
			made[id].stage = s.stage
			all = append(all, made[id])
		}
	}
	return all
}
