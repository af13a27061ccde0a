package pairs_test

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/atoll-sim/atoll/ext/interest"
	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// viewer is a client that sees everybody who has a place.
type viewer struct {
	set  *interest.Clients
	view *world.View
	sees map[handle.Handle]int64 // and what it knows of each
	left map[handle.Handle]bool  // in the last look: whether it is gone
}

// viewers has a client that is told who comes, changes and leaves, after each refresh.
func viewers() *feature {
	return &feature{
		name:    "viewers",
		prepare: func(o *objects) { o.made["viewer"] = newViewer(o) },
		check: func(s *scene) {
			x := s.made["viewer"].(*viewer)
			d := x.look(s.objects)
			s.must(d == "", "a viewer: %s", d)
			want := s.model.matching(1, 0, hidden)
			s.must(len(x.sees) == len(want), "a viewer sees %d, by the model %d", len(x.sees), len(want))
			for _, h := range want {
				v, ok := x.sees[h]
				s.must(ok && v == s.model.entities[h].value[0], "a viewer sees %v: %t, with %d, by the model %d", h, ok, v, s.model.entities[h].value[0])
			}
			for h, gone := range x.left {
				s.must(gone == (s.model.entities[h] == nil), "a viewer was told that %v, which has left, is gone: %t", h, gone)
			}
			for _, h := range slices.Sorted(maps.Keys(x.left)) {
				s.see("left", h, uint64(bit(x.left[h])))
			}
		},
	}
}

func newViewer(o *objects) *viewer {
	index := makePlaces(o)
	x := &viewer{sees: map[handle.Handle]int64{}}
	x.set = interest.New(o.World, index, interest.Options{}, interest.Encode(func(dst []byte, a *Alpha) []byte {
		return binary.AppendVarint(dst, a.N)
	}))
	x.set.Open(interest.ClientOptions{At: near.Point{X: 1, Y: 1}, Radius: math.Inf(1)})
	var err error
	if x.view, err = o.NewView(index, o.parts[0].component.(world.Viewable)); err != nil {
		panic(err)
	}
	return x
}

// look tells the client what there is. It returns what is wrong with that, or "".
func (x *viewer) look(o *objects) (wrong string) {
	frame, err := x.view.Now()
	if err != nil {
		return err.Error()
	}
	defer frame.Release()
	x.left = map[handle.Handle]bool{}
	x.set.Update(frame, 1, func(_ *interest.Client, p *interest.Packet) {
		for _, l := range p.Leaves {
			if _, ok := x.sees[l.Handle]; !ok {
				wrong = l.Handle.String() + " leaves, and was not there"
			}
			delete(x.sees, l.Handle)
			x.left[l.Handle] = l.Gone
		}
		for _, r := range p.Rows {
			if _, ok := x.sees[r.Handle]; ok == r.Enter {
				wrong = r.Handle.String() + " enters twice, or never"
			}
			x.sees[r.Handle], _ = binary.Varint(r.Bytes)
		}
	})
	return wrong
}
