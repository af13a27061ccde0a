package pairs_test

import (
	"bytes"
	"io"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// snapshots goes on with another world, between any two ticks: one that was loaded from what the
// world before it was saved as, or with frames a fork of it. Sometimes it is the world of another
// program, with one more of each kind of thing. The model knows nothing of it.
func snapshots() *feature {
	return &feature{name: "snapshots", options: func(_ randomNumbers, o *world.Options) {
		if o.VersionMax == 0 { // each world that was loaded may be the next incarnation
			o.VersionsEach = 1 << 16
		}
	}}
}

// mayReload reports whether the world is to be exchanged before a tick. Who goes on in another program
// stays there.
func (s *scene) mayReload(tick int) bool {
	return tick > 0 && !s.more && s.plan.has("snapshots") && !s.keepsWorld() && s.n(3) > 0
}

// mayReshard reports whether that is to be done with another number of shards.
func (s *scene) mayReshard(tick int) bool {
	return tick > 0 && s.plan.has("reshards") && !s.keepsWorld() && !(s.plan.has("snapshots") && s.coin())
}

// keepsWorld reports whether the world cannot be exchanged: Owners are of one world, and no snapshot
// has what is in the queue of a port.
func (s *scene) keepsWorld() bool { return s.plan.has("references") || s.plan.has("during") }

// reload makes a world of what this one is saved as, and takes its place.
func (s *scene) reload() {
	s.stopTape()
	image, way := s.saved(s.objects), 0
	if s.plan.has("frames") {
		way = s.n(3)
	}
	var o *objects
	if way == 0 {
		o = s.load(image)
	} else {
		x := s.captured(s.objects)
		s.must(bytes.Equal(image, x.want), "what was captured is saved as other bytes than the world")
		s.chained(x)
		if way == 1 {
			o = s.load(x.want)
		} else {
			o = s.fork(x.Captured)
		}
		x.Release()
	}
	before, err := s.hasher.StateHash()
	s.must(err == nil, "StateHash: %v", err)
	after, err := o.hasher.StateHash()
	s.must(err == nil && before == after, "the hash is %v, was %v: %v", after, before, err)
	again := s.saved(o)
	s.must(bytes.Equal(image, again), "the loaded world is saved as other bytes")
	if o.Options().VersionsEach == 1<<16 && s.n(2) == 0 {
		err := o.Reincarnate(o.Incarnation() + 1)
		s.must(err == nil, "Reincarnate: %v", err)
	}
	if way == 0 && s.n(3) == 0 {
		o = s.loadInto(newProgram(s.plan, s.workers, s.chaos, true), image)
		s.more = true
	}
	s.moveTo(o)
	s.startTape()
}

// More is what another program has.
type (
	More   struct{ N int64 }
	Other  struct{ N int64 }
	larger struct {
		More
		Other
	}
)

// more registers one more of each kind of thing that does nothing.
func (o *objects) more() {
	w := o.World
	of := world.Register[More](w, "more")
	world.Register[Other](w, "other")
	world.NewBundle[larger](w)
	world.NewBundle[struct{ More }](w)
	m := world.RegisterMessage[More](w, "more")
	world.RegisterResource(w, "more", More{1})
	world.RegisterAccumulator(w, "other", func(total, part *Other) { total.N += part.N })
	world.RegisterFunc(w, "more", func(*world.EntityContext, More) {})
	world.RegisterQuestion(w, "other", func(*world.EntityContext, More) int { return 0 })
	timer.New(w, "more timers", m, timer.Options{})
	names.New[string](w, "more names", names.Options{})
	hierarchy.New(w, "more relation", hierarchy.Options{})
	prefab.New(w, "more", prefab.With(of, More{}))
	w.Observe("more", anything, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
		return func(*world.Context, world.Event, []handle.Handle) {}
	}, of)
	o.ticks.MustAdd("more", func(b *world.Build) func(*world.Context) {
		world.Write[More](b)
		return func(*world.Context) {}
	})
	w.Pin(of)
}

// load makes a world of what another was saved as.
func (s *scene) load(image []byte) *objects {
	return s.loadInto(newProgram(s.plan, s.workers, s.chaos, s.more), image)
}

// loadInto loads into a new world.
func (s *scene) loadInto(o *objects, image []byte) *objects {
	err := snapshot.Load(bytes.NewReader(image), o.World, snapshot.Options{Codecs: o.codecs, Scheduler: o.ticks, Workers: s.workers})
	s.must(err == nil, "loading: %v", err)
	return o
}

// chained saves the world to a chain, too: what it makes is what was saved.
func (s *scene) chained(x *heldFrame) {
	var b bytes.Buffer
	err := s.chain.Write(&b, x.Captured)
	s.must(err == nil, "saving to a chain: %v", err)
	s.links = append(s.links, b.Bytes())
	var all []io.Reader
	for _, l := range s.links {
		all = append(all, bytes.NewReader(l))
	}
	image, err := io.ReadAll(snapshot.Merge(all[0], all[1:]...))
	s.must(err == nil && bytes.Equal(image, x.want), "a chain of %d makes other bytes than were saved: %v", len(s.links), err)
}

func (s *scene) saved(o *objects) []byte {
	var b bytes.Buffer
	err := snapshot.Write(&b, o.World, snapshot.Options{Codecs: o.codecs, Scheduler: o.ticks, Compression: snapshot.None})
	s.must(err == nil, "saving: %v", err)
	return b.Bytes()
}
