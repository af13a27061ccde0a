package scheduler

import (
	"context"
	"fmt"
	"runtime/pprof"
	"slices"

	"github.com/atoll-sim/atoll/world"
)

// compile makes the programs of a list of systems. It keeps what was measured so far.
func (t *tick) compile(w *world.World, systems []*system, labels bool) {
	t.systems = systems
	t.due = make([]bool, len(systems))
	t.ran = make([]bool, len(systems))
	for _, s := range systems {
		if s.times == nil {
			s.times = make([]ofWorker, len(t.workers))
		}
	}
	for i := range t.programs {
		t.programs[i].compile(systems, labels)
	}
	t.raise()
}

// compile gives the program its steps, without fences.
func (p *program) compile(systems []*system, labels bool) {
	meters, spreads := p.stepTimes, p.spreads
	was := make(map[*system]int, len(p.steps))
	for k := range p.steps {
		was[p.steps[k].system] = k
	}
	p.steps, p.stepTimes, p.spreads = nil, nil, nil
	for at, s := range systems {
		if s.global != (p.shard == world.AllShards) {
			continue
		}
		i := max(0, p.shard)
		x := step{
			run: s.run[i], access: s.access[i], system: s, off: s.off[i],
			at: int32(at), shard: int32(p.shard), waits: [2]int32{none, none}, signal: none,
		}
		if labels {
			x.labels = pprof.WithLabels(context.Background(), pprof.Labels(labelsOf(s.name, p.shard)...))
		}
		m, took := stepTime{}, spread{}
		if k, ok := was[s]; ok {
			m, took = meters[k], spreads[k]
		}
		p.steps, p.stepTimes, p.spreads = append(p.steps, x), append(p.stepTimes, m), append(p.spreads, took)
	}
}

// labelsOf returns the labels of a step in profiles. The watchdog finds the step's stack by
// them.
func labelsOf(system string, shard int) []string {
	where := "all"
	if shard != world.AllShards {
		where = fmt.Sprint(shard)
	}
	return []string{"shard", where, "system", system}
}

// find returns the number of the program's step of the system at a place in the
// order.
func (p *program) find(at int) int {
	i, ok := slices.BinarySearchFunc(p.steps, int32(at), func(s step, at int32) int { return int(s.at - at) })
	if !ok {
		panic(fmt.Sprintf("scheduler: shard %d has no step %d", p.shard, at))
	}
	return i
}

// raise puts the fences into the programs. Each system that all shards wait for has one
// countdown.
func (t *tick) raise() {
	t.fences = t.fences[:0]
	number := map[int]int32{} // by the place of the system that is waited for
	for _, f := range fencesOf(t.driver, t.systems) {
		if f.near {
			t.raiseNear(f)
			continue
		}
		n, ok := number[f.after]
		if !ok {
			n = int32(len(t.fences))
			number[f.after] = n
			t.fences = append(t.fences, countdown{})
			t.fences[n].from = int32(t.each(f.after, func(_ int, s *step) { s.signal = n }))
		}
		t.each(f.system, func(_ int, s *step) {
			if s.waits[0] == none {
				s.waits[0] = n
			} else {
				s.waits[1] = n
			}
		})
	}
}

// each calls f with the steps of the system at a place in the order, by program,
// and returns how many there are.
func (t *tick) each(at int, f func(program int, s *step)) (n int) {
	for i := range t.programs {
		if p := &t.programs[i]; t.systems[at].global == (p.shard == world.AllShards) {
			f(i, &p.steps[p.find(at)])
			n++
		}
	}
	return n
}

// raiseNear makes shards wait for the neighbours that they read from, and for those that
// read from them.
func (t *tick) raiseNear(f fence) {
	first, then := t.systems[f.after].access, t.systems[f.system].access
	writesFirst, readsFirst := false, false // a writer before its readers, readers before their writer
	both := first[0].Writes.Common(then[0].Neighbour)
	writesFirst = both.Len() > 0
	both = first[0].Neighbour.Common(then[0].Writes)
	readsFirst = both.Len() > 0
	t.each(f.system, func(shard int, s *step) {
		if writesFirst {
			for _, n := range then[shard].Neighbours {
				t.waitFor(s, n, f.after)
			}
		}
		if !readsFirst {
			return
		}
		for n := range first {
			if _, ok := slices.BinarySearch(first[n].Neighbours, shard); ok {
				t.waitFor(s, n, f.after)
			}
		}
	})
}

// waitFor makes a step wait until another shard has passed a system. A wait for a later system
// replaces one for an earlier system.
func (t *tick) waitFor(s *step, shard, after int) {
	other := &t.programs[shard]
	other.steps[other.find(after)].publish = true
	i := slices.IndexFunc(s.near, func(n nearWait) bool { return int(n.shard) == shard })
	if i < 0 {
		s.near = append(s.near, nearWait{int32(shard), int32(after)})
		return
	}
	s.near[i].after = max(s.near[i].after, int32(after))
}
