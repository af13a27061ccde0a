package pairs_test

import (
	"bytes"
	"maps"
	"slices"

	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// heldFrame is a frame of the world, with the rest of a snapshot, and what it was written as when
// it was made; and one of relations and names, with what the world's readers said.
type heldFrame struct {
	*snapshot.Captured
	want  []byte
	of    *objects
	frame *world.Frame
	whom  []handle.Handle
	said  []handle.Handle
}

func (x *heldFrame) release() {
	x.Release()
	x.frame.Release()
}

// said returns what readers of relations and names say of entities.
func (o *objects) said(from world.Binder, hs []handle.Handle) (all []handle.Handle) {
	if p, ok := o.made["policy"].(policy); ok {
		r := p.Read(from)
		for _, h := range hs {
			place, _ := r.Place(h)
			all = append(append(all, r.Parent(h), handle.Handle(place)), r.Children(h)...)
			all = slices.AppendSeq(all, r.BreadthFirst(h))
		}
		for _, f := range r.Conflicts() {
			all = append(append(all, f.Entity, f.Other), f.Path...)
		}
	}
	if x, ok := o.made["places"].(*near.Index); ok {
		for _, h := range x.Read(from).AppendBox(nil, anywhere.Min, anywhere.Max) {
			all = append(all, h.Handle, handle.Handle(h.At.X))
		}
	}
	if n, ok := o.made["names"].(*names.Names[int64]); ok {
		r := n.Read(from)
		for name := range int64(nameMax) {
			h, _ := r.Lookup(name)
			all = append(all, h)
		}
		for _, h := range hs {
			name, _ := r.NameOf(h)
			all = append(all, handle.Handle(name))
		}
		for h := range r.All() {
			all = append(all, h)
		}
		all = append(all, handle.Handle(r.Len()))
	}
	return all
}

// frames holds frames for some ticks: whatever the world does meanwhile, they are written as the
// same bytes, and forks of them too. With snapshots the world goes on from such bytes, or as a
// fork, now and then.
func frames() *feature {
	more := func(_ randomNumbers, o *world.Options) { o.FramesMax = 6 }
	return &feature{name: "frames", options: more, check: func(s *scene) {
		held, _ := s.made["frames"].([]*heldFrame)
		for i := len(held) - 1; i >= 0; i-- {
			var b bytes.Buffer
			err := held[i].Write(&b)
			s.must(err == nil && bytes.Equal(held[i].want, b.Bytes()), "a frame that was held is another: %v", err)
			x := held[i]
			s.must(slices.Equal(x.said, x.of.said(x.frame, x.whom)), "the relations or names of a frame are others")
			if s.n(3) == 0 {
				fork := s.captured(s.fork(held[i].Captured))
				s.must(bytes.Equal(held[i].want, fork.want), "a fork of a frame that was held is another world")
				fork.Release()
				x.release()
				held = append(held[:i], held[i+1:]...)
			}
		}
		if len(held) < 2 && s.n(2) == 0 {
			x := s.captured(s.objects)
			var of []world.Viewable
			if p, ok := s.made["policy"].(policy); ok {
				of = append(of, p.Relation)
			}
			if n, ok := s.made["names"].(*names.Names[int64]); ok {
				of = append(of, n)
			}
			if x, ok := s.made["places"].(*near.Index); ok {
				of = append(of, x)
			}
			if of == nil {
				of = append(of, s.parts[0].component)
			}
			view, err := s.NewView(of...)
			s.must(err == nil, "NewView: %v", err)
			x.frame, err = view.Now()
			s.must(err == nil, "Now: %v", err)
			x.of, x.whom = s.objects, slices.Sorted(maps.Keys(s.model.entities))
			x.said = s.said(s.World, x.whom)
			s.must(slices.Equal(x.said, s.said(x.frame, x.whom)), "a frame has other relations or names than the world")
			held = append(held, x)
		}
		s.made["frames"] = held
	}}
}

// fork makes a world of what was captured.
func (s *scene) fork(c *snapshot.Captured) *objects {
	o := newProgram(s.plan, s.workers, s.chaos, s.more)
	err := c.Load(o.World, snapshot.Options{Codecs: o.codecs, Scheduler: o.ticks, Workers: s.workers})
	s.must(err == nil, "forking: %v", err)
	return o
}

func (s *scene) captured(o *objects) *heldFrame {
	c, err := snapshot.Capture(o.World, snapshot.Options{Codecs: o.codecs, Scheduler: o.ticks, Compression: snapshot.None})
	s.must(err == nil, "Capture: %v", err)
	var b bytes.Buffer
	err = c.Write(&b)
	s.must(err == nil, "saving what was captured: %v", err)
	return &heldFrame{Captured: c, want: b.Bytes()}
}
