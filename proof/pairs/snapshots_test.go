package pairs_test

import (
	"bytes"
	"io"

	"github.com/atoll-sim/atoll/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// snapshots goes on with another world, between any two ticks: one that was loaded from what the
// world before it was saved as, or with frames a fork of it. The model knows nothing of it.
func snapshots() *feature {
	return &feature{name: "snapshots", options: func(_ randomNumbers, o *world.Options) {
		if o.VersionMax == 0 { // each world that was loaded may be the next incarnation
			o.VersionsEach = 1 << 16
		}
	}}
}

// mayReload reports whether the world is to be exchanged before a tick. Owners are of one world, a
// log begins with a new one, and no snapshot has what is in the queue of a port.
func (s *scene) mayReload(tick int) bool {
	return tick > 0 && s.plan.has("snapshots") && !s.plan.has("references") && !s.plan.has("inputs") && !s.plan.has("during") && s.n(3) > 0
}

// reload makes a world of what this one is saved as, and takes its place.
func (s *scene) reload() {
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

// load makes a world of what another was saved as.
func (s *scene) load(image []byte) *objects {
	o := newObjects(s.plan, s.workers, s.chaos)
	err := snapshot.Load(bytes.NewReader(image), o.World, snapshot.Options{Codecs: o.codecs, Scheduler: o.ticks, Workers: s.workers})
	s.must(err == nil, "loading: %v", err)
	return o
}

// chained saves the world to a chain, too: what it makes is what was saved.
func (s *scene) chained(x *heldFrame) {
	var b bytes.Buffer
	err := s.chain.Save(&b, x.Captured)
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
	err := snapshot.Save(&b, o.World, snapshot.Options{Codecs: o.codecs, Scheduler: o.ticks, Compression: snapshot.None})
	s.must(err == nil, "saving: %v", err)
	return b.Bytes()
}
