package main

import (
	"time"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// Marked is a tag: it takes no memory in rows.
type Marked struct{}

var markCosts = &section{
	name:  "marks",
	title: "What comes and goes: a component, a tag, a flag",
	text: `Each of N entities with 1 component is given a mark and loses it: nanoseconds for both together. A component moves the entity to another table and back, and so does a tag, which
has no memory. A flag is one of the eight bits that each entity has, and moves nothing. "idle" is one by one between ticks; "system" is one by one by a system, in two ticks with their
refreshes, which apply the requests for components and tags; "query" is all at once by a query. "sparse set" is written by hand beside the world, for the decision about
sparse components: a dense list of handles and values, and for each index of a handle the place in it. "loop" is a loop that finds the half of the entities that have the mark, for each of these.`,
	quick: 16_000, full: 16_000, weight: 1, cost: 3,
	columns: []column{{"idle", "idle, ns"}, {"system", "system, ns"}, {"query", "query, ns"}, {"loop", "loop over half, ns"}},
	alone:   true,
	run:     runMarks,
}

// marking is a way to mark entities.
type marking struct {
	name   string
	set    func(by world.Actor, h handle.Handle, on bool) error
	all    func(of *world.Query, on bool) error // nil: no query does
	term   func(b world.Binder) world.Term      // nil: it is beside the world
	beside *sparseSet
}

const markedFlag = world.Flags(1)

func newMarkings() (*atollWorld, []marking) {
	w := newAtollWorld(world.Options{})
	tag := world.Register[Marked](w.World, "marked")
	return w, []marking{
		{"component", func(by world.Actor, h handle.Handle, on bool) error {
			if on {
				return w.velocity.Add(by, h, Velocity{})
			}
			return w.velocity.Remove(by, h)
		}, func(of *world.Query, on bool) error {
			if on {
				return w.velocity.AddTo(of, nil)
			}
			return of.Remove(w.velocity)
		}, func(b world.Binder) world.Term { return world.With[Velocity](b) }, nil},
		{"tag", func(by world.Actor, h handle.Handle, on bool) error {
			if on {
				return tag.Add(by, h, Marked{})
			}
			return tag.Remove(by, h)
		}, func(of *world.Query, on bool) error {
			if on {
				return tag.AddTo(of, nil)
			}
			return of.Remove(tag)
		}, func(b world.Binder) world.Term { return world.With[Marked](b) }, nil},
		{"flag", func(by world.Actor, h handle.Handle, on bool) error {
			if on {
				return world.Flag(by, h, markedFlag)
			}
			return world.Unflag(by, h, markedFlag)
		}, nil, func(b world.Binder) world.Term { return world.WithFlags(b, markedFlag) }, nil},
		newSparseMarking(),
	}
}

// sparseSet keeps values of entities of one world, whose handles have small homes and indexes.
type sparseSet struct {
	places  [8][]int32 // by home and index: 1 + the place in the list, or 0
	handles []handle.Handle
	values  []Velocity
}

func newSparseMarking() marking {
	x := new(sparseSet)
	return marking{name: "sparse set", beside: x, set: func(by world.Actor, h handle.Handle, on bool) error {
		if !by.Alive(h) {
			return world.ErrStale
		}
		x.set(h, on)
		return nil
	}}
}

// set puts an entity into the set, or takes it out.
func (x *sparseSet) set(h handle.Handle, on bool) {
	home := &x.places[h.Home()]
	for int(h.Index()) >= len(*home) {
		*home = append(*home, make([]int32, 1024)...)
	}
	at := &(*home)[h.Index()]
	switch {
	case on && *at == 0:
		x.handles, x.values = append(x.handles, h), append(x.values, Velocity{})
		*at = int32(len(x.handles))
	case !on && *at > 0:
		last := len(x.handles) - 1
		moved := x.handles[last]
		x.handles[*at-1], x.values[*at-1] = moved, x.values[last]
		x.places[moved.Home()][moved.Index()] = *at
		x.handles, x.values, *at = x.handles[:last], x.values[:last], 0
	}
}

func runMarks(n int, s settings) []finding {
	var found []finding
	_, list := newMarkings()
	for i := range list {
		f := find(contender{name: list[i].name}, func() map[string]float64 {
			w, list := newMarkings()
			defer w.Close()
			return list[i].measure(w, n, s)
		})
		f.Rounds = s.plan.roundsMin
		found = append(found, f)
	}
	return found
}

// measure returns medians.
func (m *marking) measure(w *atollWorld, n int, s settings) map[string]float64 {
	pos := world.Read[Position](w.World)
	handles := w.place(position, n)
	all := w.Query(pos)
	marked, count := all, func() int { return len(m.beside.handles) }
	if m.term != nil {
		marked = w.Query(pos, m.term(w.World))
		count = marked.Count
	}
	values := map[string]float64{}
	timed := func(key string, f func(on bool)) {
		var took []float64
		for range s.plan.roundsMin + 1 {
			start := time.Now()
			f(true)
			half := time.Since(start)
			check(same("number of marked entities", count(), n))
			start = time.Now()
			f(false)
			took = append(took, float64(half+time.Since(start))/float64(n))
			check(same("number of marked entities", count(), 0))
		}
		values[key] = median(took[1:])
	}
	timed("idle", func(on bool) {
		for _, h := range handles {
			check(m.set(w.World, h, on))
		}
		w.Refresh()
	})
	add := w.system(func(c *world.Context, h handle.Handle) error { return m.set(c, h, true) }, nil)
	remove := w.system(func(c *world.Context, h handle.Handle) error { return m.set(c, h, false) }, nil)
	timed("system", func(on bool) {
		if on {
			add()
		} else {
			remove()
		}
	})
	if m.all != nil {
		timed("query", func(on bool) {
			if on {
				check(m.all(all, true))
			} else {
				check(m.all(marked, false))
			}
		})
	}
	values["loop"] = m.loop(w, handles, s)
	return values
}

// loop returns how long a loop over the marked half of the entities takes, for each of them.
func (m *marking) loop(w *atollWorld, handles []handle.Handle, s settings) float64 {
	for i, h := range handles {
		if i%2 == 0 {
			check(m.set(w.World, h, true))
		}
	}
	w.Refresh()
	pos := world.Write[Position](w.World)
	pass := func() {
		for _, h := range m.beside.handles {
			pos.Get(h).X++
		}
	}
	if m.term != nil {
		half := w.Query(pos, m.term(w.World))
		check(same("number of marked entities", half.Count(), (len(handles)+1)/2))
		pass = func() {
			for ch := range half.Chunks() {
				for i := range pos.Slice(ch) {
					pos.Slice(ch)[i].X++
				}
			}
		}
	}
	var took []float64
	for range s.plan.roundsMin + 1 {
		start := time.Now()
		for range 16 {
			pass()
		}
		took = append(took, float64(time.Since(start))/16/float64(len(handles)/2))
	}
	return median(took[1:])
}
