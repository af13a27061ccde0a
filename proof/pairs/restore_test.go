package pairs_test

import (
	"runtime"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/driver"
	"github.com/atoll-sim/atoll/world"
)

// restore begins with a world that was restored from another, which had lived a while,
// and in the end restores that again.
func restore() *feature {
	return &feature{name: "restore", end: (*scene).saveAndRestore}
}

// saved is a state: who is where, and what slots give next.
type saved struct {
	layout        world.Layout
	souls         []soul
	free, retired []handle.Handle
}

type soul struct {
	h     handle.Handle
	shard int
	kind  int // of the bundles
	n     int64
}

// restored fills the world with who lived in another.
func (s *scene) restored() {
	image := s.past()
	a := &act{name: "restore", born: &creation{has: 0}}
	a.do = func(o *objects, _ world.Actor) ([]handle.Handle, error) {
		return nil, o.Restore(image.layout, func(r *world.Restoration) error { return image.fill(o, r) })
	}
	s.byIdle(a)
	for _, x := range image.souls {
		s.must(s.model.create(x.h, bundleParts[x.kind], alike(x.n), x.shard, false), "%v is restored twice", x.h)
	}
	s.crowd += len(image.souls)
}

func (x saved) fill(o *objects, r *world.Restoration) error {
	for _, soul := range x.souls {
		if err := o.bundles[soul.kind].recreate(r, soul.shard, soul.h, soul.n); err != nil {
			return err
		}
	}
	for _, h := range x.free {
		if err := r.Free(h); err != nil {
			return err
		}
	}
	for _, h := range x.retired {
		if err := r.Retire(h); err != nil {
			return err
		}
	}
	return nil
}

// past makes a world of the same shape, has it live a while, and saves it.
func (s *scene) past() (image saved) {
	o := newObjects(plan{features: onlyOptions(s.plan.features), seed: s.seed()}, 1, 0)
	p, err := o.OpenPort()
	s.must(err == nil, "OpenPort: %v", err)
	kinds := map[handle.Handle]soul{}
	var living []handle.Handle
	for range 3 {
		for range population / 2 {
			by, kind, n := world.Actor(o.World), s.n(len(bundleParts)), s.next()
			if s.coin() {
				by = p
			}
			h, err := o.bundles[kind].create(by, n)
			s.must(err == nil, "creating: %v", err)
			kinds[h] = soul{h: h, kind: kind, n: n}
			living = append(living, h)
		}
		o.Refresh()
		s.dice.Shuffle(len(living), func(i, j int) { living[i], living[j] = living[j], living[i] })
		for _, h := range living[:len(living)/3] {
			o.Destroy(h)
		}
		living = living[len(living)/3:]
		for _, h := range living[:len(living)/3] {
			_ = world.Move(o.World, h, s.n(s.Shards()))
		}
		o.Refresh()
	}
	image.layout = o.Layout()
	image.free, image.retired = o.Vacant()
	for ch := range o.Query().Chunks() {
		for _, h := range ch.Handles() {
			x := kinds[h]
			x.shard, _ = o.Owner(h)
			image.souls = append(image.souls, x)
		}
	}
	runtime.KeepAlive(p) // one that was dropped would give its handles back at a time of the collector's
	return image
}

// onlyOptions are the features without what they add to a world.
func onlyOptions(all []*feature) (some []*feature) {
	for _, f := range all {
		some = append(some, &feature{name: "past " + f.name, options: f.options})
	}
	return some
}

// saveAndRestore restores the world as it is in another, as far as components that a
// bundle has go, and compares who lives where and which handles are given next.
func (s *scene) saveAndRestore() {
	o := newObjects(plan{features: onlyOptions(s.plan.features), seed: s.seed()}, 1, 0)
	image := saved{layout: s.Layout()}
	image.free, image.retired = s.Vacant()
	for i := range s.Shards() {
		for _, t := range driver.Of(s.World).Survey().Shard(i).Tables() {
			for _, c := range t.Chunks() {
				for _, h := range c.Handles() {
					image.souls = append(image.souls, soul{h: h, shard: i})
				}
			}
		}
	}
	err := o.Restore(image.layout, func(r *world.Restoration) error { return image.fill(o, r) })
	s.must(err == nil, "Restore: %v", err)
	s.must(o.Count() == s.Count(), "%d are restored of %d", o.Count(), s.Count())
	for _, x := range image.souls {
		shard, ok := o.Owner(x.h)
		s.must(ok && shard == x.shard, "%v is restored in shard %d instead of %d", x.h, shard, x.shard)
	}
	free, retired := o.Vacant()
	s.must(slices.Equal(free, image.free) && slices.Equal(retired, image.retired), "slots that are free, or used up, differ in a restored world")
}
