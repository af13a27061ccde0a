package hierarchy_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// crowd is a world in which everybody acts on the relations at once.
type crowd struct {
	*fixture
	guild *hierarchy.Relation
	all   [4][]handle.Handle // by actor, of which each moves anybody's
	stop  atomic.Bool
	full  atomic.Int64
	t     *testing.T
}

// thief is a port's goroutine: it makes bags and items, and moves, trades, destroys
// and drops whatever it knows of, and moves it to other shards.
func (c *crowd) thief(number int) {
	r := rand.New(rand.NewPCG(uint64(number), 1))
	p := c.port()
	defer p.Close()
	mine := c.all[number]
	for n := 0; !c.stop.Load(); n++ {
		any := func() handle.Handle { return mine[r.IntN(len(mine))] }
		var err error
		switch r.IntN(10) {
		case 0, 1:
			if len(mine) < 3000 {
				var h handle.Handle
				if h, err = c.things.Create(p, Thing{ID{n}}); err == nil {
					mine = append(mine, h)
					err = c.rel.AddChild(p, any(), h)
				}
			}
		case 2:
			err = p.Destroy(any())
		case 3:
			err = c.rel.Swap(p, any(), any())
		case 4:
			err = c.rel.PutFrom(p, any(), any(), any(), hierarchy.Free)
		case 5:
			err = c.guild.Move(p, any(), any())
		case 6:
			err = c.rel.RemoveChild(p, any(), hierarchy.Gap(r.IntN(3)))
		case 7:
			err = world.Move(p, any(), r.IntN(c.Shards()))
		default:
			var done world.Completion
			if err = c.rel.Move(p.Notify(&done), any(), any()); err == nil {
				if _, err := done.Wait(context.Background()); err != nil {
					panic(err)
				}
			}
		}
		if errors.Is(err, world.ErrFull) {
			c.full.Add(1)
		} else if err != nil {
			panic(err)
		}
	}
}

// reader is a system that walks everything that is anywhere, on every shard.
func (c *crowd) reader(b *world.Build) func(*world.Context) {
	bags, guild, ids := c.rel.Read(b), c.guild.Read(b), world.Read[ID](b)
	everyone := b.Query(ids)
	return func(*world.Context) {
		for ch := range everyone.Chunks() {
			for _, h := range ch.Handles() {
				n := 0
				for child := range bags.Each(h) {
					if bags.Parent(child) != h {
						panic("a child's parent is another")
					}
					n++
				}
				if n != bags.Count(h) {
					panic("a list that has other than it says")
				}
				if bags.Depth(h) > 0 && bags.Root(h) == h {
					panic("a root that has a parent")
				}
				for range guild.BreadthFirst(h) {
				}
			}
		}
	}
}

// shuffler is a system that moves what it finds to other shards' bags.
func (c *crowd) shuffler(b *world.Build) func(*world.Context) {
	ids, bags := world.Read[ID](b), c.rel.Read(b)
	everyone := b.Query(ids)
	return func(ctx *world.Context) {
		var last handle.Handle
		for ch := range everyone.Chunks() {
			for i, h := range ch.Handles() {
				if i%7 != 0 {
					continue
				}
				if last != none {
					_ = c.rel.Move(ctx, h, last)
					_ = c.guild.Move(ctx, last, h)
				}
				if i%35 == 0 && bags.Count(h) > 30 {
					_ = ctx.Destroy(h)
				}
				last = h
			}
		}
	}
}

// TestRaceCrowd lets ports and systems act on two relations at once. After each
// tick everything is sound, and every item is in one place.
func TestRaceCrowd(t *testing.T) {
	f := newFixture(t, 4, hierarchy.Options{OnParentDeath: hierarchy.Grandparent, Memory: hierarchy.Memory{Buckets: []int{2, 4}}})
	c := &crowd{fixture: f, t: t}
	c.guild = hierarchy.New(f.World, "guild", hierarchy.Options{OnParentDeath: hierarchy.Destroy, OnChildDeath: hierarchy.Swap})
	for i := range c.all {
		c.all[i] = f.make(200)
	}
	s := scheduler.New(f.World, scheduler.Options{})
	s.MustAdd("read", c.reader)
	s.MustAdd("shuffle", c.shuffler)
	s.MustAdd("read again", c.reader)
	var thieves sync.WaitGroup
	for i := range c.all {
		thieves.Go(func() { c.thief(i) })
	}
	for range iterations(200) {
		require.NoError(t, s.Step(context.Background()))
		require.NoError(t, c.rel.Verify())
		require.NoError(t, c.guild.Verify())
	}
	c.stop.Store(true)
	done := make(chan struct{})
	go func() { thieves.Wait(); close(done) }()
	for waiting := true; waiting; { // they may be waiting for outcomes
		require.NoError(t, s.Step(context.Background()))
		select {
		case <-done:
			waiting = false
		default:
		}
	}
	var stats world.Stats
	f.Stats(&stats)
	require.NotZero(t, c.rel.Links())
	t.Logf("%d entities, %d and %d links, %d moves, queues full %d times", f.Count(), c.rel.Links(), c.guild.Links(), stats.Moved, c.full.Load())
}
