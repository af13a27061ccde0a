package scheduler

import (
	"fmt"
	"slices"
	"strings"
)

// Schedule is what a tick will do: the systems in order, and the fences between them.
// String prints it, DOT draws it.
type Schedule struct {
	Systems []ScheduledSystem
	Fences  []Fence // by System, then After, in the order of the systems
}

// ScheduledSystem is one system of a Schedule.
type ScheduledSystem struct {
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

// Schedule returns what a tick will do. It returns an error if Before or After names a system that
// was not added.
func (s *Scheduler) Schedule() (*Schedule, error) {
	s.mustRest("Schedule")
	if err := s.prepare(); err != nil {
		return nil, err
	}
	p := &Schedule{}
	for _, x := range s.tick.systems {
		p.Systems = append(p.Systems, ScheduledSystem{
			Name: x.name, Stage: x.stage, Global: x.global, Every: x.every, Offset: x.offset,
			Conditions: len(x.when), Enabled: x.enabled.Load(), Merge: x.merges,
			Before: slices.Clone(x.before), After: slices.Clone(x.after),
		})
	}
	for _, f := range fencesOf(s.tick.engine, s.tick.systems) {
		p.Fences = append(p.Fences, f.public(s.tick.systems))
	}
	return p, nil
}

// String prints the schedule: a line for each system, and below it one for each fence
// it waits at, with the reasons.
func (p *Schedule) String() string {
	var b strings.Builder
	for i := range p.Systems {
		s := &p.Systems[i]
		fmt.Fprintf(&b, "%d. %s%s\n", i+1, s.Name, s.remarks())
		for k := range p.Fences {
			f := &p.Fences[k]
			if f.System != s.Name {
				continue
			}
			fmt.Fprintf(&b, "   waits for %s to pass %s\n", p.waitsForText(f), f.After)
			for _, r := range f.Reasons {
				fmt.Fprintf(&b, "      %v\n", r)
			}
		}
	}
	return b.String()
}

// waitsForText says what a fence waits for, as Schedule prints it.
func (p *Schedule) waitsForText(f *Fence) string {
	for i := range p.Systems {
		if s := &p.Systems[i]; s.Name == f.After && s.Global {
			return "the world"
		}
	}
	if f.Near {
		return "its neighbours"
	}
	return "all shards"
}

// remarks returns what the schedule says of a system in addition to its name.
func (p *ScheduledSystem) remarks() string {
	var all []string
	if p.Stage != Update {
		all = append(all, p.Stage.String())
	}
	if p.Global {
		all = append(all, "once per tick")
	}
	if p.Every > 1 {
		all = append(all, fmt.Sprintf("every %d ticks, from %d on", p.Every, p.Offset))
	}
	if p.Conditions > 0 {
		all = append(all, "on a condition")
	}
	if !p.Enabled {
		all = append(all, "disabled")
	}
	if len(all) == 0 {
		return ""
	}
	return " (" + strings.Join(all, "; ") + ")"
}

// DOT draws the schedule in the language of Graphviz: grey arrows for the order,
// dashed ones for Before and After, and bold ones, with their reasons,
// for the fences.
func (p *Schedule) DOT() string {
	var b strings.Builder
	b.WriteString("digraph schedule {\n\trankdir=LR;\n\tnode [shape=box];\n")
	for i := range p.Systems {
		s := &p.Systems[i]
		style := ""
		if s.Global {
			style = ", shape=octagon"
		}
		if !s.Enabled {
			style += ", style=dotted"
		}
		fmt.Fprintf(&b, "\t%q [label=%q%s];\n", s.Name, s.Name+strings.Replace(s.remarks(), " (", "\n(", 1), style)
	}
	for i := 1; i < len(p.Systems); i++ {
		fmt.Fprintf(&b, "\t%q -> %q [color=grey];\n", p.Systems[i-1].Name, p.Systems[i].Name)
	}
	for i := range p.Systems {
		s := &p.Systems[i]
		for _, name := range s.Before {
			fmt.Fprintf(&b, "\t%q -> %q [style=dashed];\n", s.Name, name)
		}
		for _, name := range s.After {
			fmt.Fprintf(&b, "\t%q -> %q [style=dashed];\n", name, s.Name)
		}
	}
	for i := range p.Fences {
		f := &p.Fences[i]
		var why []string
		for _, r := range f.Reasons {
			why = append(why, r.String())
		}
		style := "bold"
		if f.Near {
			style = "bold,dotted"
		}
		fmt.Fprintf(&b, "\t%q -> %q [style=%q, label=%q];\n", f.After, f.System, style, strings.Join(why, "\n"))
	}
	b.WriteString("}\n")
	return b.String()
}
