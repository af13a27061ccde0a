package demo_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/demo"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/world"
)

// nth delivers the nth command of a verb so often, and all others once.
func nth(n uint32, v realm.Verb, times int) func(realm.Command) int {
	var seen atomic.Uint32
	return func(c realm.Command) int {
		if c.Verb == v && seen.Inc() == n {
			return times
		}
		return 1
	}
}

// anyOf returns an entity that has the component.
func anyOf[T any](r *realm.Realm) handle.Handle {
	found := handle.None
	for ch := range r.World.Query(world.Read[T](r.World)).Chunks() {
		if ch.Len() > 0 {
			found = ch.Handle(0)
		}
	}
	if found == handle.None {
		panic(fmt.Sprintf("nobody has a %T", *new(T)))
	}
	return found
}

// leaked creates entities that no book has.
func leaked[B any](r *realm.Realm) {
	var none B
	if _, err := world.NewBundle[B](r.World).Create(r.World, none); err != nil {
		panic(err)
	}
}

// vanished destroys an entity behind the books' back.
func vanished[T any](r *realm.Realm) {
	r.World.Destroy(anyOf[T](r))
	r.World.Refresh()
}

// lying returns an item on the ground.
func lying(r *realm.Realm) handle.Handle {
	bags := r.Inventory.Read(r.World)
	for ch := range r.World.Query(world.With[realm.Item](r.World)).Chunks() {
		for _, h := range ch.Handles() {
			if bags.Parent(h) == handle.None {
				return h
			}
		}
	}
	panic("all items are carried")
}

// carrying returns a creature that has an item, and the item.
func carrying(r *realm.Realm) (who, it handle.Handle) {
	bags := r.Inventory.Read(r.World)
	for ch := range r.World.Query(world.With[realm.Creature](r.World)).Chunks() {
		for _, h := range ch.Handles() {
			for it := range bags.Each(h) {
				return h, it
			}
		}
	}
	panic("no creature has an item")
}

// anyCreatureBut returns a creature other than one.
func anyCreatureBut(r *realm.Realm, one handle.Handle) handle.Handle {
	for ch := range r.World.Query(world.With[realm.Creature](r.World)).Chunks() {
		for _, h := range ch.Handles() {
			if h != one {
				return h
			}
		}
	}
	panic("there is one creature alone")
}

// try panics if a fault cannot be injected.
func try(err error) {
	if err != nil {
		panic(err)
	}
}

// change changes a component of some entity.
func change[T any](to func(*T)) func(*realm.Realm) {
	return func(r *realm.Realm) { to(world.Write[T](r.World).Get(anyOf[T](r))) }
}

// TestFaults injects one fault at a time. The audit must find it, in the line
// that is for it and in no other. In the check build it is one fault for each line.
func TestFaults(t *testing.T) {
	noLeaks(t)
	type (
		creature struct{ realm.Creature }
		item     struct{ realm.Item }
		avatar   struct{ realm.Avatar }
		den      struct{ realm.Den }
		other    struct{ realm.Health }
	)
	before := func(f func(*realm.Realm)) func(*demo.Config) {
		return func(c *demo.Config) { c.BeforeAudit(f) }
	}
	// littered has a crowd fight until some died and dropped something.
	littered := func(f func(*realm.Realm)) func(*demo.Config) {
		return func(c *demo.Config) {
			c.Creatures, c.Shards, c.Hz, c.Duration = 3000, 1, 100, 1200*time.Millisecond
			c.BeforeAudit(f)
		}
	}
	// first changes what the audit sees in the first inventory that has something.
	first := func(change func([]handle.Handle) []handle.Handle) func(handle.Handle, []handle.Handle) []handle.Handle {
		done := false
		return func(_ handle.Handle, carries []handle.Handle) []handle.Handle {
			if done || len(carries) == 0 || carries[0] == handle.None {
				return carries
			}
			done = true
			return change(carries)
		}
	}
	seen := func(change func([]handle.Handle) []handle.Handle) func(*demo.Config) {
		return func(c *demo.Config) { c.View(first(change)) }
	}
	// living is a handle that is alive, to stand among the dead.
	var living handle.Handle
	tried := map[string]bool{}
	find := before(func(r *realm.Realm) { living = anyOf[realm.Creature](r) })
	for _, test := range []struct {
		name   string
		inject func(*demo.Config)
		line   string
		want   string
	}{
		{"leaked creature", before(leaked[creature]), "entities", "creatures: "},
		{"leaked item", before(leaked[item]), "entities", "items: "},
		{"leaked avatar", before(leaked[avatar]), "entities", "avatars: "},
		{"leaked den", before(leaked[den]), "entities", "dens: "},
		{"entity of no kind", before(leaked[other]), "entities", "entities of no kind: 1, want 0"},
		{"vanished creature", before(vanished[realm.Creature]), "entities", "creatures: "},
		{"vanished item", littered(func(r *realm.Realm) {
			r.World.Destroy(lying(r))
			r.World.Refresh()
		}), "entities", "items: "},

		{"item lost by a creature", before(func(r *realm.Realm) {
			_, it := carrying(r)
			try(r.Inventory.RemoveChild(r.World, it, hierarchy.Hole))
		}), "items", "was given 1 items and carries 0"},
		{"item given to a creature", littered(func(r *realm.Realm) {
			who, _ := carrying(r)
			try(r.Inventory.AddChild(r.World, who, lying(r)))
		}), "items", "was given 1 items and carries 2"},
		{"item where nobody can find it", littered(func(r *realm.Realm) {
			try(r.Inventory.AddChild(r.World, anyOf[realm.Den](r), lying(r)))
		}), "items", "is in 0 inventories, want 1"},
		{"creature in an inventory", before(func(r *realm.Realm) {
			who, it := carrying(r)
			try(r.Inventory.AddChild(r.World, it, anyCreatureBut(r, who)))
		}), "items", "which is no item"},
		{"item on one of another sort", littered(func(r *realm.Realm) {
			_, base := carrying(r)
			it, items := lying(r), world.Write[realm.Item](r.World)
			items.Get(it).Sort = items.Get(base).Sort + 1
			try(r.Inventory.AddChild(r.World, base, it))
		}), "items", "is stacked on"},
		{"doubled item", seen(func(carries []handle.Handle) []handle.Handle {
			return append(slices.Clone(carries), carries[0])
		}), "items", "is in 2 inventories, want 1"},
		{"lost item", seen(func(carries []handle.Handle) []handle.Handle { return carries[1:] }), "items", "is in 0 inventories, want 1"},
		{"dead item", seen(func(carries []handle.Handle) []handle.Handle {
			return append(slices.Clone(carries), handle.New(0, 0, 99))
		}), "items", "which is no item"},
		{"another's item", func(c *demo.Config) {
			var all []handle.Handle
			c.View(func(_ handle.Handle, carries []handle.Handle) []handle.Handle {
				if len(carries) > 0 && carries[0] != handle.None {
					all = append(all, carries[0])
				}
				if len(all) == 2 && len(carries) > 0 && carries[0] == all[1] {
					return all[:1]
				}
				return carries
			})
		}, "items", "which is in the inventory of"},
		{"item on the ground and in an inventory", func(c *demo.Config) {
			var it handle.Handle
			littered(func(r *realm.Realm) { it = lying(r) })(c)
			c.View(first(func(carries []handle.Handle) []handle.Handle { return append(slices.Clone(carries), it) }))
		}, "items", "is in 1 inventories, want 0"},

		{"command the bot does not know of", before(change(func(a *realm.Avatar) { a.Obeyed++ })), "bots", "applied"},
		{"another command than the bot knows of", before(change(func(a *realm.Avatar) { a.Sum++ })), "bots", "of sum"},
		{"item the bot does not know of", littered(func(r *realm.Realm) {
			try(r.Inventory.AddChild(r.World, anyOf[realm.Avatar](r), lying(r)))
		}), "bots", "items, the bot knows of"},
		{"another's avatar", before(change(func(a *realm.Avatar) { a.Client += 1000 })), "bots", "is that of client"},
		{"another stance", before(change(func(s *realm.Stance) { s.Fierce = !s.Fierce })), "bots", "is fierce"},

		{"lost command", func(c *demo.Config) {
			c.Deliver(nth(5, realm.Steer, 0))
			c.OutcomeWaitMax(200 * time.Millisecond)
		}, "commands", "commands without an outcome in time: 1, want 0"},
		{"doubled command", func(c *demo.Config) { c.Deliver(nth(5, realm.Steer, 2)) }, "commands", "commands that arrived twice: 1, want 0"},
		{"doubled attack", func(c *demo.Config) { c.Deliver(nth(3, realm.Attack, 3)) }, "commands", "commands that arrived twice: 2, want 0"},

		{"false alive at the end", func(c *demo.Config) {
			find(c)
			c.Dead(func(dead []handle.Handle) []handle.Handle { return append(dead, living) }, nil)
		}, "handles", "is alive"},
		{"false alive on the way", func(c *demo.Config) {
			// The first den, which is never destroyed.
			c.Dead(nil, func(dead []handle.Handle) []handle.Handle { return append(dead, handle.New(0, 0, 1)) })
		}, "handles", "was alive while ticks ran"},
		{"forged handle among the dead", func(c *demo.Config) {
			c.Dead(func(dead []handle.Handle) []handle.Handle { return append(dead, handle.New(0, 1, 1<<20)) }, nil)
		}, "handles", "is forged"},
	} {
		if check.Enabled {
			if tried[test.line] {
				continue
			}
			tried[test.line] = true
		}
		t.Run(test.name, func(t *testing.T) {
			t.Parallel() // each waits more than it works
			c := demo.Default()
			c.Duration, c.Creatures, c.Bots, c.Hz, c.Shards = 300*time.Millisecond, 500, 10, 50, 2
			c.PauseMax(10 * time.Millisecond)
			if strings.Contains(test.want, "while ticks ran") {
				c.Duration = 1100 * time.Millisecond // dead handles are checked each second
			}
			if test.line == "commands" || test.line == "bots" {
				c.Duration = time.Second // so many that one of them is hit on a busy machine, too
			}
			test.inject(&c)
			// A run ends by its number of ticks, and not before its time.
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			began, least, ticks := time.Now(), c.Duration, uint64(c.Duration.Seconds()*float64(c.Hz))
			c.Duration = 0
			c.System(func(*world.Build) func(*world.Context) {
				return func(c *world.Context) {
					if c.Tick() >= ticks && time.Since(began) >= least {
						cancel()
					}
				}
			})
			s, err := demo.Run(ctx, c, &bytes.Buffer{})
			require.NoError(t, err)
			require.False(t, s.OK())
			all, ok := s.Audit.([]string)
			require.True(t, ok)
			require.Contains(t, strings.Join(all, "\n"), test.want)
			for _, violation := range all {
				require.True(t, strings.HasPrefix(violation, test.line+": "), violation)
			}

			var text bytes.Buffer
			s.Write(&text)
			for _, name := range []string{"entities", "items", "bots", "commands", "handles"} {
				if name == test.line {
					require.Regexp(t, `\naudit  `+name+` +FAIL `, text.String())
				} else {
					require.Regexp(t, `\naudit  `+name+` +ok `, text.String())
				}
			}
		})
	}
}
