package pairs_test

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/atoll-sim/atoll/ext/async"
	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// reshards goes on with another number of shards, between any two ticks, once or twice in a row: in a
// world that was loaded from what the world before it was saved as. The model is told which shard each
// entity is in; all else must be as it was.
func reshards() *feature {
	return &feature{
		name: "reshards",
		prepare: func(o *objects) {
			world.NewBundle[Rich](o.World).PlaceBy(func(v Rich) int { return richShard(v.Gamma, o.Shards()) })
		},
	}
}

// richShard is where a load into another number of shards puts who is rich.
func richShard(v Gamma, shards int) int { return int(uint32(v[0])) % shards }

// reshard exchanges the world for one with another number of shards.
func (s *scene) reshard() {
	s.stopTape()
	for range 1 + s.n(2) {
		counts := []int{2, 3, 5, 16, 1}
		if s.plan.has("level") {
			counts = counts[:4] // a Balancer has somewhere to move to
		}
		counts = slices.DeleteFunc(counts, func(n int) bool { return n == s.Shards() })
		s.reshardTo(counts[s.n(len(counts))])
	}
	s.startTape()
}

func (s *scene) reshardTo(n int) {
	was, before := s.Shards(), s.lasting(s.objects)
	image := s.saved(s.objects)
	s.plan.shards = n
	o := s.load(image)
	d := difference(before, s.lasting(o))
	s.must(d == "", "with %d shards, after %d: %s", n, was, d)
	image = s.saved(o)
	again := s.load(image)
	s.must(bytes.Equal(image, s.saved(again)), "with %d shards, the loaded world is saved as other bytes", n)
	again.Close()
	if s.plan.has("frames") {
		x := s.captured(s.objects)
		fork := s.fork(x.Captured)
		s.must(bytes.Equal(image, s.saved(fork)), "with %d shards, a fork is another world than what is loaded from a file", n)
		fork.Close()
		x.Release()
	}
	s.moveTo(o)
	s.drawer.shards = n
	ports := s.Options().PortsMax
	for _, r := range s.model.queue { // by functions and hooks
		switch i := r.sender - ports; {
		case i == was:
			r.sender = ports + n
		case i >= 0:
			r.sender = ports + i%n
		}
	}
	s.mustBeHome()
}

// mustBeHome notes where entities are after they were spread over another number of shards: some where
// a PlaceBy says, children who die with their parents with these, and all others evenly.
func (s *scene) mustBeHome() {
	gamma, n := world.Read[Gamma](s.World), s.Shards()
	const rich = parts(0b10110)
	free, places := map[parts][]int{}, 0
	for _, h := range slices.Sorted(maps.Keys(s.model.entities)) {
		e := s.model.entities[h]
		owner, ok := s.Owner(h)
		s.must(ok && !e.pending && e.to == nowhere, "%v has no place", h)
		e.shard, e.misrouted = owner, false
		top := e
		for s.model.policy == hierarchy.Destroy && !(top.has&rich == rich) && top.parent != handle.None {
			top = s.model.entities[top.parent]
		}
		switch {
		case e.marked || top.marked:
		case e.has&rich == rich:
			s.must(owner == richShard(*gamma.Get(h), n), "%v is in shard %d, of %d, and PlaceBy says another", h, owner, n)
		case top != e:
			at, _ := s.Owner(top.h)
			s.must(owner == at, "%v is in shard %d, without %v, which is in %d", h, owner, top.h, at)
		default:
			if free[e.has] == nil {
				free[e.has] = make([]int, n)
			}
			free[e.has][owner]++
			places++
		}
	}
	if s.model.policy != hierarchy.Destroy && !s.plan.has("move") && !s.plan.has("travel") { // then each kind is cut into equal runs
		for has, by := range free {
			s.must(slices.Max(by)-slices.Min(by) <= len(by)+1, "those with parts %b are in shards by %d", has, by)
		}
	}
}

// lasting is what can be seen of a world and does not depend on the number of shards.
func (s *scene) lasting(o *objects) (all []fact) {
	see := func(what string, h handle.Handle, v uint64) { all = append(all, fact{what, h, v}) }
	see("tick", 0, o.Tick())
	see("count", 0, uint64(o.Count()))
	see("incarnation", 0, uint64(o.Incarnation()))
	known := slices.Sorted(maps.Keys(s.model.entities))
	gets, bonds := o.getters(), world.Read[Bond](o.World)
	for _, h := range slices.Concat(known, s.last) {
		see("status", h, uint64(o.Status(h)))
		see("flags", h, uint64(world.FlagsOf(o.World, h)))
		for i, get := range gets {
			if v, ok := get(h); ok {
				see("component "+o.parts[i].name, h, uint64(v))
			}
		}
		if b := bonds.Get(h); b != nil {
			see("bond", h, uint64(b.To))
		}
	}
	places, _ := o.made["places"].(*near.Index)
	if places != nil { // in the order of shards
		found := places.Read(o.World).AppendBox(nil, anywhere.Min, anywhere.Max)
		slices.SortFunc(found, func(a, b near.Hit) int { return cmp.Compare(a.Handle, b.Handle) })
		for _, h := range found {
			see("place", h.Handle, mix(uint64(h.At.X), uint64(h.At.Y)))
		}
		delete(o.made, "places")
	}
	for _, h := range o.said(o.World, known) {
		see("said", h, 0)
	}
	if places != nil {
		o.made["places"] = places
	}
	if x, ok := o.made["timers"].(*timer.Timers[Tock]); ok {
		see("timers", 0, uint64(x.Len()))
	}
	if x, ok := o.made["asks"].(*async.Call[int64, Row]); ok {
		see("asks", 0, uint64(x.Len()))
	}
	if x, ok := o.made["rule"].(*world.Resource[Rule]); ok {
		see("rule", 0, uint64(x.Get().Last.Sum))
	}
	survey := engine.Of(o.World).Survey()
	see("transactions", 0, survey.TxRuns())
	return all
}

// moveTo takes another world in the place of this one.
func (s *scene) moveTo(o *objects) {
	s.objects = o
	clear(s.model.outcomes[:]) // counts are not saved
	for i := range s.ports {
		p, err := o.OpenPort()
		s.must(err == nil, "OpenPort: %v", err)
		s.ports[i] = p
	}
	if h, ok := s.made["hooks"].([]*hook); ok {
		s.model.hooks = h
	}
}

// stopTape ends the log of a world that is to be exchanged, and plays it. startTape begins anew.
func (s *scene) stopTape() {
	if s.made["tapes"] != nil {
		s.replay()
	}
}

func (s *scene) startTape() {
	if s.plan.has("inputs") {
		s.image, s.tape = s.saved(s.objects), nil
	}
}

// begin makes the world of a replay as the log found it.
func (s *scene) begin(workers int) *objects {
	o := newProgram(s.plan, workers, s.seed()+1, s.more)
	if s.image == nil {
		return o
	}
	err := snapshot.Load(bytes.NewReader(s.image), o.World, snapshot.Options{Codecs: o.codecs, Scheduler: o.ticks, Workers: workers})
	s.must(err == nil, "loading for a replay: %v", err)
	return o
}
