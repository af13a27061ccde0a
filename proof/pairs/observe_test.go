package pairs_test

import (
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// fact is something that can be seen of a world after a tick.
type fact struct {
	what string
	h    handle.Handle
	v    uint64
}

func (f fact) String() string {
	if f.h.IsNone() {
		return fmt.Sprintf("%s: %#x", f.what, f.v)
	}
	return fmt.Sprintf("%s of %v: %#x", f.what, f.h, f.v)
}

// see adds a fact.
func (s *scene) see(what string, h handle.Handle, v uint64) {
	s.facts = append(s.facts, fact{what, h, v})
}

// difference returns the first fact in which two worlds differ, or "".
func difference(want, got []fact) string {
	for i := range max(len(want), len(got)) {
		switch {
		case i == len(want):
			return fmt.Sprintf("there is one more fact, %v", got[i])
		case i == len(got):
			return fmt.Sprintf("there is no %v", want[i])
		case want[i] != got[i]:
			return fmt.Sprintf("%v, and it should be %v", got[i], want[i])
		}
	}
	return ""
}

// mix adds a number to a hash.
func mix(hash, v uint64) uint64 { return (hash ^ v) * 0x9e3779b97f4a7c15 >> 1 }

// sampled says of how many entities one is looked at closely in the check build, which is for what
// happens at once: there each look takes ten times as long.
const sampled = 4

// compare compares the world with the model, all of it, and notes what can be seen.
func (s *scene) compare() {
	m := s.model
	s.facts = s.facts[:0]
	s.must(s.Tick() == m.tick, "the tick is %d", s.Tick())
	for i := range s.Shards() {
		marks := engine.Of(s.World).Survey().Image(i).Marked
		s.must(len(marks) == 0, "shard %d has marked rows after the refresh: %v", i, marks)
	}
	all := make([]handle.Handle, 0, len(m.entities))
	for h := range m.entities {
		all = append(all, h)
	}
	slices.Sort(all)
	shifted := map[[2]int]int{}
	s.must(s.Count() == len(all), "Count is %d, by the model %d", s.Count(), len(all))
	gets := s.getters()
	port := s.ports[0]
	for i, h := range all {
		e := m.entities[h]
		s.mustBeAt(e, shifted)
		if s.quiet || check.Enabled && (i+int(m.tick))%sampled != 0 {
			continue
		}
		if s.Status(h) != world.Alive || !s.Alive(h) || port.Status(h) != world.Alive {
			s.fail("%v is %v, by the model it is alive", h, s.Status(h))
		}
		if f := world.FlagsOf(port, h); f != e.flags || f != world.FlagsOf(s.World, h) {
			s.fail("published flags of %v are %b and %b, by the model %b", h, f, world.FlagsOf(s.World, h), e.flags)
		}
		s.mustHave(e, gets)
	}
	for _, shift := range m.shifts {
		shifted[[2]int{shift.From, shift.To}] -= shift.Entities
	}
	for way, n := range shifted {
		s.must(n <= 0, "the balancer moved %d too many from shard %d to %d", n, way[0], way[1])
	}
	for _, h := range m.dead {
		if s.Alive(h) || s.Status(h) != world.Stale || world.FlagsOf(port, h) != 0 || s.Locate(h) != 0 {
			s.fail("%v is dead by the model, and %v", h, s.Status(h))
		}
		s.see("dead", h, 1)
	}
	s.mustKeepPromises()
	for i, notes := range s.notes {
		for _, n := range notes {
			s.facts = append(s.facts, fact{n.what, n.h, mix(uint64(n.v), uint64(i))})
		}
	}
	for _, err := range s.failing {
		s.must(expected(err), "in the tick: %v", err)
	}
	for _, f := range s.plan.features {
		if f.check != nil {
			f.check(s)
		}
	}
	if !s.quiet {
		s.facts = append(s.facts, s.sections()...)
	}
}

// sections are the hashes of the state.
func (o *objects) sections() (all []fact) {
	sections, err := o.hasher.Sections()
	if err != nil {
		panic(err)
	}
	for _, x := range sections {
		all = append(all, fact{what: x.Name, v: uint64(x.Hash)})
	}
	return all
}

// mustBeAt checks that an entity is in the shard where it should be. Of one that the
// balancer may have taken, it is noted where it is.
func (s *scene) mustBeAt(e *entity, shifted map[[2]int]int) {
	shard, ok := s.Owner(e.h)
	if !ok {
		s.fail("%v has no owner", e.h)
	}
	s.see("shard", e.h, uint64(shard))
	if e.shard == shard {
		return
	}
	way := [2]int{e.shard, shard}
	may := e.shard == nowhere || !e.moved && slices.ContainsFunc(s.model.shifts, func(x scheduler.Shift) bool {
		return (x.From == e.shard || e.born) && x.To == shard
	})
	s.must(may, "%v is in shard %d, by the model in %d", e.h, shard, e.shard)
	if e.shard != nowhere {
		shifted[way]++
	}
	e.shard = shard
}

// getter reads a component on the idle world.
type getter func(handle.Handle) (int64, bool)

func (o *objects) getters() (all [partsN]getter) {
	for i, p := range o.parts {
		all[i] = p.reader(o.World)
	}
	return all
}

// mustHave compares components.
func (s *scene) mustHave(e *entity, gets [partsN]getter) {
	hash := uint64(0)
	for i, p := range s.parts {
		v, ok := gets[i](e.h)
		if ok != e.has.has(i) {
			s.fail("%v has %s: %t, and should not be so", e.h, p.name, ok)
		}
		if !ok {
			continue
		}
		if v != e.value[i] {
			s.fail("%s of %v is %d, by the model %d", p.name, e.h, v, e.value[i])
		}
		hash = mix(hash, uint64(v))
	}
	s.see("components", e.h, mix(hash, uint64(e.has)))
	if e.flags != 0 {
		s.see("flags", e.h, uint64(e.flags))
	}
}

// mustKeepPromises checks the outcomes and answers that ports wait for.
func (s *scene) mustKeepPromises() {
	for i, p := range s.waiting {
		got := p.done.Outcome()
		if got != p.want {
			s.fail("outcome %d is %v, by the model %v", i, got, p.want)
		}
		v := int64(0)
		if p.value != nil {
			var ok bool
			v, ok = p.value()
			s.must(ok == (p.want == world.Applied) && (!ok || v == p.answer), "answer %d is %d, by the model %d", i, v, p.answer)
		}
		s.see("outcome", 0, mix(uint64(got), uint64(v)))
	}
	s.waiting = s.waiting[:0]
	var stats world.Stats
	s.Stats(&stats)
	m := s.model
	got := [...]uint64{stats.Applied, stats.Gone, stats.Missing, stats.Refused, stats.Failed}
	want := [...]uint64{m.outcomes[world.Applied], m.outcomes[world.Gone], m.outcomes[world.Missing], m.outcomes[world.Refused], m.outcomes[world.Failed]}
	s.must(got == want, "requests applied, gone, missing, refused, failed: %d, by the model %d", got, want)
	s.must(stats.Entities == s.Count() && stats.Created-stats.Destroyed == uint64(s.Count()), "%d created, %d destroyed, %d there", stats.Created, stats.Destroyed, s.Count())
}

// text hashes text.
func text(b []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(b)
	return h.Sum64()
}
