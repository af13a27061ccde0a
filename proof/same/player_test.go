package same_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// The components, bundles and messages.
type (
	Key    struct{ N int64 } // what an entity is known by
	Score  struct{ N int64 }
	Note   struct{ Text string }
	Life   struct{ Ticks, Pushed, Seen, Told int64 }
	Friend struct{ To handle.Handle }

	Push struct{ N int64 }

	person struct {
		Key
		Score
		Life
		Friend
	}
	noted struct {
		Note
		Score
	}
)

// player gives a log to a world of a shape.
type player struct {
	t       *testing.T
	w       *world.World
	ticks   *scheduler.Scheduler
	port    *world.Port
	persons *world.Bundle[person]
	noted   *world.Bundle[noted]
	score   *world.Component[Score]
	note    *world.Component[Note]
	push    *world.Message[Push]

	// Of worlds with systems: what becomes of these requests depends on when refreshes are.
	tree  *hierarchy.Relation
	names *names.Names[string]

	now   map[int64]handle.Handle // by key, the newest; none once the log has destroyed it
	all   []handle.Handle
	keyOf map[handle.Handle]int64
}

// play returns what became of each key, as text.
func play(t *testing.T, s shape, log []entry, systems bool) map[int64]string {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(s.procs))
	p := newPlayer(t, s)
	if systems {
		p.addSystems()
	}
	for i, e := range log {
		p.do(e)
		if due := e.tick; s.every == 0 && due || s.every > 0 && i%s.every == 0 {
			p.tick()
		}
	}
	for range 3 { // the last messages
		p.tick()
	}
	return p.entities()
}

func newPlayer(t *testing.T, s shape) *player {
	w, err := world.New(s.options)
	require.NoError(t, err)
	p := &player{t: t, w: w, now: map[int64]handle.Handle{}, keyOf: map[handle.Handle]int64{}}
	world.Register[Key](w, "key")
	world.Register[Life](w, "life")
	world.Register[Friend](w, "friend")
	p.score, p.note = world.Register[Score](w, "score"), world.Register[Note](w, "note")
	p.push = world.RegisterMessage[Push](w, "push")
	p.persons, p.noted = world.NewBundle[person](w), world.NewBundle[noted](w)
	if shards := int64(w.Shards()); s.placed {
		p.persons.PlaceBy(func(v person) int { return int(v.Key.N % shards) })
	}
	require.NoError(t, p.persons.Reserve(w, s.reserve))
	p.ticks = scheduler.New(w, scheduler.Options{Workers: s.workers})
	p.port, err = w.OpenPort()
	require.NoError(t, err)
	return p
}

// do sends an entry's request. An entry on a key that has no entity is passed over.
func (p *player) do(e entry) {
	h := p.now[e.key]
	if (e.verb == create) != h.IsNone() {
		return
	}
	var err error
	switch e.verb {
	case create:
		v := person{Key{e.key}, Score{e.value}, Life{}, Friend{p.now[(e.key+1)/2]}}
		h, err = p.persons.Create(p.port, v)
		p.now[e.key], p.keyOf[h] = h, e.key
		p.all = append(p.all, h)
	case destroy:
		err = p.port.Destroy(h)
		delete(p.now, e.key)
	case set:
		err = p.score.Set(p.port, h, Score{e.value})
	case add:
		err = p.note.Add(p.port, h, Note{strconv.FormatInt(e.value, 10)})
	case remove:
		err = p.note.Remove(p.port, h)
	case exchange:
		err = p.noted.Add(p.port, h, noted{Note{"x"}, Score{e.value}})
		if e.value%2 == 0 {
			err = p.noted.Add(p.port, h, noted{Note{"y"}, Score{e.value}}, p.note)
		}
	case hide:
		err = world.AddFlags(p.port, h, hidden)
	case show:
		err = world.RemoveFlags(p.port, h, hidden)
	case push:
		err = p.push.Send(p.port, h, Push{e.value})
	case move:
		err = world.Move(p.port, h, int(e.value)%p.w.Shards())
	default:
		err = p.relate(e, h)
	}
	require.NoError(p.t, err, "queues are large enough here")
}

// relate sends a request on names, or on who is whose child.
func (p *player) relate(e entry, h handle.Handle) error {
	parent := p.now[e.value%32]
	switch {
	case p.tree == nil:
	case e.verb == bind && e.value%5 == 0:
		return p.names.Unbind(p.port, h)
	case e.verb == bind:
		return p.names.Bind(p.port, h, strconv.FormatInt(e.value%64, 10))
	case e.verb == detach:
		return p.tree.RemoveChild(p.port, h, hierarchy.Close)
	case parent.IsNone():
	case e.value%3 == 0:
		return p.tree.Move(p.port, h, parent)
	default:
		return p.tree.AddChildAt(p.port, parent, h, int(e.value)%4)
	}
	return nil
}

// relations describes what relate has done for an entity.
func (p *player) relations(read *hierarchy.Reader, h handle.Handle) string {
	if p.tree == nil {
		return ""
	}
	var children []int64
	for child := range read.Each(h) {
		children = append(children, p.keyOf[child])
	}
	name, _ := p.names.NameOf(h)
	return fmt.Sprintf(", child of %d, parent of %v, called %q", p.keyOf[read.Parent(h)], children, name)
}

func (p *player) tick() { require.NoError(p.t, p.ticks.Step(context.Background())) }

// entities describes all that are alive, by key.
func (p *player) entities() map[int64]string {
	keys, scores, lives := world.Read[Key](p.w), world.Read[Score](p.w), world.Read[Life](p.w)
	friends, notes := world.Read[Friend](p.w), world.Read[Note](p.w)
	var tree *hierarchy.Reader
	if p.tree != nil {
		tree = p.tree.Read(p.w)
	}
	found := map[int64]string{}
	for ch := range p.w.Query(keys, scores, lives, friends, world.Optional(notes)).Chunks() {
		for i, h := range ch.Handles() {
			key := keys.Slice(ch)[i].N
			text := fmt.Sprintf("%+v %+v, flags %08b, friend of %d, who is alive %t", scores.Slice(ch)[i], lives.Slice(ch)[i],
				world.FlagsOf(p.w, h), p.keyOf[friends.Slice(ch)[i].To], p.w.Alive(friends.Slice(ch)[i].To))
			text += p.relations(tree, h)
			if s := notes.Slice(ch); s != nil {
				text += ", " + s[i].Text
			}
			require.Empty(p.t, found[key], "two entities of key %d", key)
			found[key] = text
		}
	}
	require.Len(p.t, found, p.w.Count())
	return found
}
