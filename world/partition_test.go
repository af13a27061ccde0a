package world_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// parallels are ways in which the steps of a refresh may be run. Which one must
// not show.
var parallels = map[string]extend.Parallel{
	"in order": serial,
	"backwards": func(n int, f func(int)) {
		for i := n - 1; i >= 0; i-- {
			f(i)
		}
	},
	"all at once": func(n int, f func(int)) {
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() { f(i) })
		}
		all.Wait()
	},
}

// TestShares sends so much, by many ports and all shards, that it is read in many
// shares, and compares what the shards get with the requests sorted by hand: by
// port, then by shard, then as they were sent. Most concern entities that are
// created in the same refresh, by ports before and behind.
func TestShares(t *testing.T) {
	for name, parallel := range parallels {
		for seed := range uint64(iterations(10)) {
			t.Run(fmt.Sprintf("%s, seed %d", name, seed), func(t *testing.T) {
				newSharing(t, seed).run(parallel)
			})
		}
	}
}

const (
	sharingShards = 4
	sharingPorts  = 40
)

// sharing is a world under the requests of many senders, and the same requests in
// lists.
type sharing struct {
	*fixture
	ports  []*world.Port
	all    []handle.Handle
	owner  map[handle.Handle]int
	sent   [sharingPorts + sharingShards][]func(alive func(handle.Handle) bool)
	marked map[handle.Handle]bool
	want   [sharingShards][]world.Envelope[Hit]
}

func newSharing(t *testing.T, seed uint64) *sharing {
	s := &sharing{
		fixture: newFixture(t, world.Options{Shards: sharingShards}),
		owner:   map[handle.Handle]int{}, marked: map[handle.Handle]bool{},
	}
	s.unit.PlaceBy(func(u Unit) int { return int(u.Points) % sharingShards })
	for range sharingPorts {
		s.ports = append(s.ports, s.port())
	}
	for i := range 100 {
		s.create(s.World, int64(i))
	}
	r := newRand(t, seed)
	for i := range 12_000 {
		p := r.IntN(sharingPorts)
		if h := s.all[r.IntN(len(s.all))]; i%5 == 0 {
			s.create(s.ports[p], int64(i))
		} else {
			s.request(s.ports[p], p, r.IntN(20) == 0, h, int64(i))
		}
	}
	return s
}

func (s *sharing) create(by world.Actor, points int64) {
	h, err := s.unit.Create(by, Unit{Health{points}})
	require.NoError(s.t, err)
	s.all = append(s.all, h)
	s.owner[h] = int(points) % sharingShards
}

// request sends a message, or now and then destroys.
func (s *sharing) request(by world.Actor, sender int, destroy bool, h handle.Handle, damage int64) {
	var err error
	switch by := by.(type) {
	case *world.Port:
		if destroy {
			err = by.Destroy(h)
		}
	case *world.Context:
		if destroy {
			err = by.Destroy(h)
		}
	}
	if !destroy {
		err = s.hit.Send(by, h, Hit{damage})
	}
	require.NoError(s.t, err)
	s.sent[sender] = append(s.sent[sender], func(alive func(handle.Handle) bool) {
		switch {
		case !alive(h):
		case destroy:
			s.marked[h] = true
		default:
			owner := s.owner[h]
			s.want[owner] = append(s.want[owner], world.Envelope[Hit]{To: h, Body: Hit{damage}})
		}
	})
}

func (s *sharing) run(parallel extend.Parallel) {
	made := s.all[:100]
	systems := s.build(func(b *world.Build) func(*world.Context) {
		return func(c *world.Context) {
			for i, h := range made {
				s.request(c, sharingPorts+c.Shard(), i%10 == 0 && !c.Owns(h), h, int64(i))
			}
		}
	})
	t := engine.Of(s.World).BeginTick()
	for i, x := range systems {
		c := (*world.Context)(engine.Of(s.World).Context(i))
		(*engine.Context)(c).Acting().Start("test", x.access)
		x.run(c)
		(*engine.Context)(c).Acting().Stop()
	}
	t.End(parallel)

	for _, requests := range s.sent {
		for _, do := range requests {
			do(func(h handle.Handle) bool { return !s.marked[h] })
		}
	}
	s.tick(func(b *world.Build) func(*world.Context) {
		hits := world.Receive[Hit](b)
		return func(c *world.Context) { require.Equal(s.t, s.want[c.Shard()], hits.All()) }
	})
	for _, h := range s.all {
		require.Equal(s.t, !s.marked[h], s.Alive(h))
	}
	require.Equal(s.t, len(s.all)-len(s.marked), s.Count())
}
