package pairs_test

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// foreign has systems read entities of other shards, while others write.
func foreign() *feature {
	return &feature{
		name: "foreign",
		prepare: func(o *objects) {
			o.ticks.MustAdd("look", func(b *world.Build) func(*world.Context) {
				all, last := b.Query(world.With[Alpha](b)), []handle.Handle(nil)
				get := o.parts[0].foreign(b)
				return func(c *world.Context) {
					for _, h := range last { // of the last tick: by now anywhere, or dead
						v, ok := get(h)
						if ok != c.Alive(h) {
							v = -1 // it may have lost the component
						}
						o.note(c, "foreign", h, v)
					}
					last = last[:0]
					for ch := range all.Chunks() {
						last = append(last, ch.Handles()...)
					}
				}
			})
		},
	}
}

// deferred has systems ask for what is done to entities of other shards.
func deferred() *feature { return &feature{name: "deferred"} }

// globals has a system of the world act on all shards.
func globals() *feature {
	return &feature{
		name: "globals",
		prepare: func(o *objects) {
			o.ticks.MustAdd("act everywhere", o.act, scheduler.Global(), scheduler.In(scheduler.PostUpdate))
		},
	}
}

// Tally is an accumulator, Rule a resource.
type (
	Tally struct{ Entities, Sum int64 }
	Rule  struct{ Last Tally }
)

// accumulators has an accumulator to which all shards add, and a resource.
func accumulators() *feature {
	return &feature{
		name: "accumulators",
		prepare: func(o *objects) {
			tally := world.RegisterAccumulator(o.World, "tally", func(total, part *Tally) {
				total.Entities += part.Entities
				total.Sum = total.Sum*31 + part.Sum
			})
			rule := world.RegisterResource(o.World, "rule", Rule{})
			o.made["tally"], o.made["rule"] = tally, rule
			o.ticks.MustAdd("tally", func(b *world.Build) func(*world.Context) {
				part, alpha := world.Accumulate[Tally](b), world.Read[Alpha](b)
				all := b.Query(alpha)
				return func(*world.Context) {
					for ch := range all.Chunks() {
						part.Entities += int64(ch.Len())
						for _, v := range alpha.Slice(ch) {
							part.Sum = part.Sum*7 + v.N
						}
					}
				}
			}, scheduler.In(scheduler.PreUpdate)) // before anybody acts
			o.ticks.MustAdd("rule", func(b *world.Build) func(*world.Context) {
				rule, tally := world.WriteResource[Rule](b), world.ReadResource[Tally](b)
				return func(c *world.Context) {
					rule.Last = tally.Get()
					o.note(c, "tally", 0, rule.Last.Sum^rule.Last.Entities<<32)
				}
			}, scheduler.Global(), scheduler.In(scheduler.PostUpdate))
		},
		between: func(s *scene) { s.made["expected"] = nil },
		check: func(s *scene) {
			got, again := s.made["tally"].(*world.Resource[Tally]).Get(), s.made["rule"].(*world.Resource[Rule]).Get()
			s.must(got == again.Last, "the accumulator is %v, and a system read %v", got, again.Last)
			s.see("tally", 0, uint64(got.Sum))
		},
	}
}
