package names_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// town is a world in which some have a name for good, and others take names, trade
// them and die.
type town struct {
	*fixture
	settled []handle.Handle // "settled 0" …, who never change
	stop    atomic.Bool
	looked  atomic.Int64
}

// clerk looks the settled up, who must be found whatever happens around them.
func (c *town) clerk() {
	for n := 0; !c.stop.Load(); n++ {
		i := n % len(c.settled)
		if h, ok := c.names.Lookup(fmt.Sprint("settled ", i)); !ok || h != c.settled[i] {
			panic(fmt.Sprintf("settled %d is lost", i))
		}
		if name, ok := c.names.NameOf(c.settled[i]); !ok || name != fmt.Sprint("settled ", i) {
			panic(fmt.Sprintf("the name of settled %d is lost", i))
		}
		c.looked.Add(1)
	}
}

// nosy looks others up, and finds what was asked for if anything.
func (c *town) nosy(r *rand.Rand) {
	for !c.stop.Load() {
		if h, ok := c.names.Lookup(fmt.Sprint("n", r.IntN(3000))); ok && h == handle.None {
			panic("a name that finds none")
		}
	}
}

// citizen is a port's goroutine that creates, names and destroys.
func (c *town) citizen(r *rand.Rand) {
	p := c.port()
	defer p.Close()
	var mine []handle.Handle
	for !c.stop.Load() {
		var err error
		switch {
		case len(mine) < 200 || r.IntN(5) == 0 && len(mine) < 2000:
			var h handle.Handle
			if h, err = c.things.Create(p, Thing{}); err == nil {
				mine = append(mine, h)
			}
		case r.IntN(6) == 0:
			last := len(mine) - 1
			if err = p.Destroy(mine[last]); err == nil {
				mine = mine[:last]
			}
		case r.IntN(6) == 0:
			err = c.names.Unbind(p, mine[r.IntN(len(mine))])
		default:
			err = c.names.Bind(p, mine[r.IntN(len(mine))], fmt.Sprint("n", r.IntN(3000)))
		}
		if err != nil && !errors.Is(err, world.ErrFull) {
			panic(err)
		}
	}
}

// census is a system that finds everybody by name, twice the same.
func (c *town) census(b *world.Build) func(*world.Context) {
	everyone := b.Query(world.Read[ID](b))
	return func(ctx *world.Context) {
		for ch := range everyone.Chunks() {
			for _, h := range ch.Handles() {
				name, ok := c.names.NameOf(h)
				if !ok {
					continue
				}
				if found, ok := c.names.Lookup(name); !ok || found != h {
					panic("who has a name is not found by it")
				}
				if h%64 == 0 && name[0] == 'n' {
					_ = c.names.Bind(ctx, h, name+"'")
				}
			}
		}
	}
}

// TestRace has readers of all kinds at work while names come and go.
func TestRace(t *testing.T) {
	c := &town{fixture: newFixture(t, 3, names.Options{})}
	c.settled = c.make(300)
	for i, h := range c.settled {
		require.NoError(t, c.names.Bind(c.World, h, fmt.Sprint("settled ", i)))
	}
	s := scheduler.New(c.World, scheduler.Options{Workers: 2})
	s.MustAdd("census", c.census)
	var all sync.WaitGroup
	for i := range 2 {
		all.Go(c.clerk)
		all.Go(func() { c.nosy(rand.New(rand.NewPCG(1, uint64(i)))) })
		all.Go(func() { c.citizen(rand.New(rand.NewPCG(2, uint64(i)))) })
	}
	for n := 0; n < iterations(200) || c.looked.Load() < int64(iterations(1000)) || c.names.Len() < 400; n++ {
		require.NoError(t, s.Step(t.Context()))
	}
	c.stop.Store(true)
	all.Wait()
	c.Refresh()
	for h, name := range c.names.All() {
		require.True(t, c.Alive(h))
		c.finds(name, h)
	}
}
