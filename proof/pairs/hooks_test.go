package pairs_test

import (
	"fmt"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// hook is a hook and what it asks for.
type hook struct {
	number int
	parts  parts
	value  int // the component whose value it looks at, or nowhere
	on     world.Event
}

// tale is what a hook is told of one entity.
type tale struct {
	hook  int
	on    world.Event
	h     handle.Handle
	value int64
}

func (a tale) String() string { return fmt.Sprintf("hook %d, %v, %v, %d", a.hook, a.on, a.h, a.value) }

func (a tale) compare(b tale) int {
	for _, d := range [...]int{a.hook - b.hook, int(a.on) - int(b.on), a.h.Compare(b.h)} {
		if d != 0 {
			return d
		}
	}
	return int(a.value - b.value)
}

const anything = world.OnCreate | world.OnRemove | world.OnAdd | world.OnSet | world.OnDestroy

// hooks has hooks for everybody, each component and two of them, that send, flag, create
// and destroy.
func hooks() *feature {
	return &feature{
		name: "hooks",
		prepare: func(o *objects) {
			all := []*hook{{0, 0, nowhere, world.OnCreate | world.OnDestroy}}
			for i := range partsN {
				all = append(all, &hook{i + 1, 1 << i, i, anything})
			}
			all = append(all, &hook{partsN + 1, 0b00011, 1, anything})
			o.made["hooks"] = all
			for _, x := range all {
				o.observe(x)
			}
		},
		check: func(s *scene) { s.mustTell() },
	}
}

func (o *objects) observe(x *hook) {
	var of []world.ComponentSet
	for i, p := range o.parts {
		if x.parts.has(i) {
			of = append(of, p.component)
		}
	}
	o.Observe(fmt.Sprint("hook ", x.number), x.on, func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
		get := getter(func(handle.Handle) (int64, bool) { return 0, false })
		if x.value != nowhere {
			get = o.parts[x.value].reader(b)
		}
		for _, other := range o.bundles {
			b.Creates(other.part)
		}
		return func(c *world.Context, on world.Event, hs []handle.Handle) {
			for _, h := range hs {
				v, _ := get(h)
				o.note(c, "hook", h, int64(x.number)<<56|int64(on)<<48|v&(1<<48-1))
				o.react(c, x, on, h)
			}
		}
	}, of...)
}

// react is what a hook does.
func (o *objects) react(c *world.Context, x *hook, on world.Event, h handle.Handle) {
	var a *act
	switch {
	case x.number == 1 && on == world.OnAdd:
		a = raise(h, 1<<7)
	case x.number == 2 && on == world.OnSet:
		a = kill(h)
		a.own = false // its own shard's, too, go at the next refresh
	case x.number == 0 && on == world.OnDestroy && (h.Index()+h.Version())%4 == 0:
		n := int64(h) & (1<<40 - 1)
		a = &act{name: "create", born: &creation{has: bundleParts[0], value: func(int) values { return alike(n) }}}
		a.do = func(o *objects, by world.Actor) ([]handle.Handle, error) {
			h, err := o.bundles[0].create(by, n)
			return []handle.Handle{h}, err
		}
	default:
		return
	}
	made, err := a.do(o, c)
	o.late[c.Shard()] = append(o.late[c.Shard()], deed{a, made, err})
}

// tell tells hooks how entities differ from the last refresh. Who is created and
// destroyed by the requests of one refresh was never alive; who dies in it for another
// reason was, and hooks are told both.
func (m *model) tell() {
	m.told = m.told[:0]
	for h, e := range m.entities {
		if e.pending || e.cancelled {
			continue
		}
		for _, x := range m.hooks {
			has, had := e.has&x.parts == x.parts, e.had&x.parts == x.parts
			t := tale{hook: x.number, h: h}
			if x.value != nowhere && e.has.has(x.value) {
				t.value = e.value[x.value]
			}
			for on, is := range map[world.Event]bool{
				world.OnCreate:  e.born && has,
				world.OnRemove:  !e.born && had && !has,
				world.OnAdd:     !e.born && !had && has,
				world.OnSet:     !e.born && has && e.stored&x.parts != 0,
				world.OnDestroy: e.marked && has,
			} {
				if t.on = on; is && x.on&on != 0 {
					m.told = append(m.told, t)
				}
			}
		}
	}
}

// mustTell compares what hooks were told.
func (s *scene) mustTell() {
	var told []tale
	for _, notes := range s.notes {
		for _, n := range notes {
			if n.what == "hook" {
				told = append(told, tale{int(n.v >> 56), world.Event(n.v >> 48), n.h, n.v << 16 >> 16})
			}
		}
	}
	slices.SortFunc(told, tale.compare)
	want := s.model.told
	slices.SortFunc(want, tale.compare)
	for i := range max(len(told), len(want)) {
		s.must(i < len(want), "hooks were told of %v, and should not have been", told[min(i, len(told)-1)])
		s.must(i < len(told), "hooks were not told of %v", want[i])
		s.must(told[i] == want[i], "hooks were told of %v, and should have been of %v", told[i], want[i])
	}
}
