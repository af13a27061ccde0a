package same_test

import (
	"strconv"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// The systems. What each does to an entity depends on that entity alone, and on sums: the
// order in which different shards come is not what this is about.

// childBase keeps the keys of children apart from those of a log.
const childBase = 1 << 32

func (p *player) addSystems() {
	p.tree = hierarchy.New(p.w, "tree", hierarchy.Options{OnParentDeath: hierarchy.Destroy})
	p.names = names.New[string](p.w, "names", names.Options{})
	p.observe()
	p.ticks.
		MustAdd("hear", p.hear).
		MustAdd("age", p.age).
		MustAdd("look", p.look).
		MustAdd("shove", p.shove).
		MustAdd("breed", p.breed)
}

// hear adds up what was pushed.
func (p *player) hear(b *world.Build) func(*world.Context) {
	lives, pushes := world.Write[Life](b), world.Receive[Push](b)
	return func(*world.Context) {
		for _, e := range pushes.All() {
			if l := lives.Get(e.To); l != nil {
				l.Pushed += e.Body.N
			}
		}
	}
}

// hidden is the flag of those that systems pass over.
const hidden world.Flags = 1 << 7

// age changes and flags everybody that is not hidden, destroys the old and makes notes.
func (p *player) age(b *world.Build) func(*world.Context) {
	keys, scores, lives := world.Read[Key](b), world.Write[Score](b), world.Write[Life](b)
	all := b.Query(keys, scores, lives, world.WithoutFlags(b, hidden))
	return func(c *world.Context) {
		for ch := range all.Chunks() {
			k, s, l := keys.Slice(ch), scores.Slice(ch), lives.Slice(ch)
			for i, h := range ch.Handles() {
				l[i].Ticks++
				s[i].N = (s[i].N*31 + 7) % (1 << 40)
				if flag := world.Flags(1) << (l[i].Ticks / 7 % 7); l[i].Ticks%7 == k[i].N%7 {
					must(world.AddFlags(c, h, flag))
					must(world.RemoveFlags(c, h, flag<<3))
				}
				switch {
				case l[i].Ticks > 30+k[i].N%50:
					must(c.Destroy(h))
				case l[i].Ticks%9 == k[i].N%9:
					must(p.note.Add(c, h, Note{strconv.FormatInt(l[i].Ticks, 10)}))
				case l[i].Ticks%13 == k[i].N%13:
					_ = p.note.Remove(c, h) // it may have none
				case l[i].Ticks%11 == k[i].N%11:
					must(world.Move(c, h, int(k[i].N+l[i].Ticks)%p.w.Shards()))
				}
			}
		}
	}
}

// look reads the score of the friend, in whichever shard.
func (p *player) look(b *world.Build) func(*world.Context) {
	lives, friends, scores := world.Write[Life](b), world.Read[Friend](b), world.ReadForeign[Score](b)
	all := b.Query(lives, friends)
	return func(*world.Context) {
		for ch := range all.Chunks() {
			l, f := lives.Slice(ch), friends.Slice(ch)
			for i := range l {
				if s, ok := scores.Get(f[i].To); ok {
					l[i].Seen = (l[i].Seen*3 + s.N) % (1 << 40)
				}
			}
		}
	}
}

// shove pushes the friend.
func (p *player) shove(b *world.Build) func(*world.Context) {
	scores, friends := world.Read[Score](b), world.Read[Friend](b)
	all := b.Query(scores, friends)
	return func(c *world.Context) {
		for ch := range all.Chunks() {
			s, f := scores.Slice(ch), friends.Slice(ch)
			for i := range s {
				if to := f[i].To; s[i].N%3 == 0 && c.Alive(to) {
					must(p.push.Send(c, to, Push{s[i].N % 100}))
				}
			}
		}
	}
}

// breed makes children, which have the same friend.
func (p *player) breed(b *world.Build) func(*world.Context) {
	keys, lives, friends := world.Read[Key](b), world.Read[Life](b), world.Read[Friend](b)
	b.Creates(p.persons)
	all := b.Query(keys, lives, friends)
	return func(c *world.Context) {
		for ch := range all.Chunks() {
			k, l, f := keys.Slice(ch), lives.Slice(ch), friends.Slice(ch)
			for i := range k {
				if k[i].N < childBase && l[i].Ticks == 5+k[i].N%5 {
					key := childBase*(1+int64(c.Tick())) + k[i].N
					_, err := p.persons.Create(c, person{Key{key}, Score{key % 1000}, Life{}, f[i]})
					must(err)
				}
			}
		}
	}
}

// observe makes a hook that counts what it is told, in its order for each entity, and one
// that pushes the friends of the dead.
func (p *player) observe() {
	p.w.Observe("count", world.OnCreate|world.OnRemove|world.OnAdd|world.OnSet, func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
		lives := world.Write[Life](b)
		return func(_ *world.Context, on world.Event, hs []handle.Handle) {
			for _, h := range hs {
				if l := lives.Get(h); l != nil {
					l.Told = (l.Told*31 + int64(on)) % (1 << 40)
				}
			}
		}
	}, p.note)
	p.w.Observe("mourn", world.OnDestroy, func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
		friends := world.Read[Friend](b)
		return func(c *world.Context, _ world.Event, hs []handle.Handle) {
			for _, h := range hs {
				if to := friends.Get(h).To; c.Alive(to) {
					must(p.push.Send(c, to, Push{1000}))
				}
			}
		}
	}, p.persons)
}

// must ends the tick with an error.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
