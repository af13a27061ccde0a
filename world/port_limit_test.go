package world_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// TestPortFull fills a queue by number and by bytes: the sender is told, it costs
// no slot, it is counted, and the refresh makes room.
func TestPortFull(t *testing.T) {
	for name, options := range map[string]world.Options{
		"requests": {Shards: 2, QueueRequests: 10, IndexMax: 49},
		"bytes":    {Shards: 2, QueueBytes: 976, IndexMax: 49},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, options)
			p := f.port()
			rejected, room := uint64(0), 0
			for round := range 5 {
				var made []handle.Handle
				var done, refused world.Completion
				for {
					h, err := f.creature.Create(p.Notify(&done), Creature{Health: Health{7}})
					if err != nil {
						require.ErrorIs(t, err, world.ErrFull)
						require.Equal(t, handle.None, h)
						require.Equal(t, world.Undecided, done.Outcome(), "let go of")
						rejected++
						break
					}
					done = world.Completion{} // one that nobody waits for
					made = append(made, h)
				}
				if round == 0 {
					room = len(made)
					require.Positive(t, room)
				}
				require.Len(t, made, room, "round %d: refused creates cost no room", round)
				require.Equal(t, room, p.Waiting())
				for range 100 { // costs no slot: the world has no more than one for each
					_, err := f.creature.Create(p, Creature{})
					require.ErrorIs(t, err, world.ErrFull)
				}
				require.ErrorIs(t, f.creature.CreateN(p, 3, nil), world.ErrFull)
				require.ErrorIs(t, f.name.Set(p.Notify(&refused), made[0], Name{}), world.ErrFull)
				rejected += 104
				require.Equal(t, rejected, p.Rejected())
				require.Equal(t, rejected, f.stats().Rejected)
				f.Refresh()
				require.Zero(t, p.Waiting())
				require.Equal(t, room, f.Count())
				for _, h := range made {
					require.Equal(t, Health{7}, *world.Read[Health](f.World).Get(h))
					require.True(t, f.Destroy(h))
				}
				f.Refresh()
			}
		})
	}
}

// TestPortOptions tests limits of one port, above and below the limits of other ports.
func TestPortOptions(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2, QueueRequests: 10, QueueBytes: 4096})
	for _, c := range []struct {
		options []world.PortOptions
		most    int
	}{
		{nil, 10},
		{[]world.PortOptions{{}}, 10},
		{[]world.PortOptions{{QueueRequests: 3}}, 3},
		{[]world.PortOptions{{QueueRequests: 50, QueueBytes: 1 << 20}}, 50},
		{[]world.PortOptions{{QueueRequests: 50, QueueBytes: 160}}, 10},
	} {
		p, err := f.OpenPort(c.options...)
		require.NoError(t, err)
		h := f.newUnit(1)
		for range c.most {
			require.NoError(t, p.Destroy(h), "%+v", c.options)
		}
		require.ErrorIs(t, p.Destroy(h), world.ErrFull, "%+v", c.options)
		f.Refresh()
		require.False(t, f.Alive(h))
		p.Close()
	}
	p, err := f.OpenPort(world.PortOptions{QueueRequests: -1, QueueBytes: 15})
	require.Nil(t, p)
	require.EqualError(t, err, "world: PortOptions.QueueRequests is -1, want 1 to 16777216\nworld: PortOptions.QueueBytes is 15, want 16 to 4294967296")
	require.Panics(t, func() { _, _ = f.OpenPort(world.PortOptions{}, world.PortOptions{}) })
	f.Refresh()
	require.Zero(t, f.stats().Ports)
}

// TestPortFullKeepsHandles is refused again and again with handles in hand: it keeps
// them, and gives them back when it is closed.
func TestPortFullKeepsHandles(t *testing.T) {
	const indexMax = 15
	f := newFixture(t, world.Options{Shards: 1, QueueRequests: 1, IndexMax: indexMax})
	p := f.port()
	_, err := f.unit.Create(p, Unit{})
	require.NoError(t, err)
	for range 20 {
		_, err = f.unit.Create(p, Unit{})
		require.ErrorIs(t, err, world.ErrFull)
	}
	p.Close()
	f.Refresh()
	p = f.port()
	for range indexMax {
		_, err = f.unit.Create(p, Unit{})
		require.NoError(t, err, "all but that of the one entity")
		f.Refresh()
	}
	_, err = f.unit.Create(p, Unit{})
	require.ErrorIs(t, err, world.ErrIndexes)
}

// TestPortVersions uses all versions of all slots up: so many entities there can be,
// and no more.
func TestPortVersions(t *testing.T) {
	const indexMax, versionMax = 10, 3
	f := newFixture(t, world.Options{Shards: 1, IndexMax: indexMax, VersionMax: versionMax})
	p := f.port()
	made := 0
	for refused := 0; refused < 5; f.Refresh() {
		h, err := f.unit.Create(p, Unit{})
		if err != nil {
			require.ErrorIs(t, err, world.ErrIndexes)
			refused++ // the refresh gives used ones
			continue
		}
		made++
		require.NoError(t, p.Destroy(h))
	}
	require.Equal(t, (indexMax+1)*versionMax, made)
	require.Equal(t, indexMax+1, f.stats().Retired)
}

// TestPortNumbers opens and closes ports: numbers are used again, the lowest
// limit is PortsMax.
func TestPortNumbers(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1, PortsMax: 65})
	var open []*world.Port
	for i := range 65 {
		open = append(open, f.port())
		require.Equal(t, i, open[i].Number())
	}
	_, err := f.OpenPort()
	require.ErrorIs(t, err, world.ErrPorts)
	require.ErrorContains(t, err, "PortsMax is 65")
	open[64].Close()
	open[3].Close()
	open[3].Close() // closing twice is no error, and frees one number
	f.Refresh()     // numbers are free after the refresh
	a, b := f.port(), f.port()
	require.ElementsMatch(t, []int{3, 64}, []int{a.Number(), b.Number()})
	_, err = f.OpenPort()
	require.ErrorIs(t, err, world.ErrPorts)

	var h handle.Handle
	for _, p := range []*world.Port{open[0], a, b} {
		h, err = f.unit.Create(p, Unit{Health{int64(p.Number())}})
		require.NoError(t, err)
		f.Refresh()
		require.Equal(t, int64(p.Number()), world.Read[Health](f.World).Get(h).Points)
	}
}

// TestPortClosed uses a closed port: it answers checks, and nothing else. What
// it had sent is applied.
func TestPortClosed(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	p := f.port()
	there := f.newUnit(1)
	h, err := f.unit.Create(p, Unit{Health{2}})
	require.NoError(t, err)
	require.NoError(t, f.setTo(3)(p, there))
	p.Close()
	for range 2 {
		var done world.Completion
		_, err = f.unit.Create(p.Notify(&done), Unit{})
		require.ErrorIs(t, err, world.ErrClosed)
		require.ErrorIs(t, p.Notify(&done).Destroy(there), world.ErrClosed)
		require.ErrorIs(t, f.setTo(4)(p, there), world.ErrClosed)
		require.ErrorIs(t, f.hit.Send(p, there, Hit{}), world.ErrClosed)
		require.ErrorIs(t, f.unit.CreateN(p, 5, nil), world.ErrClosed)
		require.Equal(t, world.Undecided, done.Outcome())
		require.True(t, p.Alive(there))
		f.Refresh()
		f.mustHave(3)(there)
		f.mustHave(2)(h)
	}
	require.Equal(t, 2, f.Count())
}

// TestPortHandlesReturn opens ports that use one handle each and close: what they
// had in hand goes to others, up to the last index of the world.
func TestPortHandlesReturn(t *testing.T) {
	const indexMax = 40
	f := newFixture(t, world.Options{Shards: 1, IndexMax: indexMax})
	create := func() (h handle.Handle, err error) {
		p := f.port()
		defer p.Close()
		for range 3 { // what a port lacks it is given at the refresh after it asked
			if h, err = f.unit.Create(p, Unit{}); err == nil {
				break
			}
			require.ErrorIs(t, err, world.ErrIndexes)
			f.Refresh()
		}
		return h, err
	}
	ever := map[handle.Handle]bool{}
	for range 4 {
		var all []handle.Handle
		for n := range indexMax + 1 {
			h, err := create()
			require.NoError(t, err, "after %d", n)
			require.False(t, ever[h])
			ever[h] = true
			all = append(all, h)
			f.Refresh()
		}
		_, err := create()
		require.ErrorIs(t, err, world.ErrIndexes)
		for _, h := range all {
			require.True(t, f.Destroy(h))
		}
		f.Refresh()
	}
}

// TestPortGivenHandlesReturn closes ports that refreshes gave used handles, of
// which there are more than are kept ready for everybody: they go to others, so
// that in the end no fresh index is needed.
func TestPortGivenHandlesReturn(t *testing.T) {
	const n = 5000
	f := newFixture(t, world.Options{Shards: 2, QueueRequests: n})
	indexes := map[uint32]bool{}
	create := func(p *world.Port, n int) {
		all, err := f.unit.AppendN(nil, p, n, nil)
		require.NoError(t, err)
		for _, h := range all {
			indexes[h.Index()] = true
		}
	}
	create(f.port(), n)
	f.Clear()
	for range 30 {
		p := f.port()
		create(p, 100)
		f.Refresh() // gives as many again, and some ahead
		p.Close()
		f.Clear()
	}
	p := f.port()
	for range n / 100 {
		create(p, 100)
		f.Refresh()
	}
	require.LessOrEqual(t, len(indexes), n+200)
}

// TestPortClosedWithinRefresh closes a port in the middle of a refresh, after
// its queue was read, with its bit set: the next refresh looks for it.
func TestPortClosedWithinRefresh(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2, IndexMax: 1023})
	p, other := f.port(), f.port()
	require.NoError(t, f.unit.CreateN(other, 1024, nil)) // all there are, and enough work for the refresh to share
	done := false
	engine.Of(f.World).BeginTick().End(func(n int, do func(int)) {
		if !done {
			done = true
			_, err := f.unit.Create(p, Unit{}) // asks the refresh for handles
			require.ErrorIs(t, err, world.ErrIndexes)
			p.Close()
		}
		serial(n, do)
	})
	require.True(t, done)
	f.Refresh()
	f.Refresh()
	require.Equal(t, 1024, f.Count())
}

// TestPortSendsAndCloses closes a port in the middle of a refresh, with a
// request that came too late for it: the next refresh applies that.
func TestPortSendsAndCloses(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	p, other := f.port(), f.port()
	h := f.newUnit(1)
	require.NoError(t, f.unit.CreateN(other, 1000, nil))
	closed := false
	engine.Of(f.World).BeginTick().End(func(n int, do func(int)) {
		if !closed {
			closed = true
			require.NoError(t, p.Destroy(h))
			p.Close()
		}
		serial(n, do)
	})
	require.True(t, closed)
	require.True(t, f.Alive(h))
	f.Refresh()
	f.mustBeStale(h)
	require.Equal(t, 1000, f.Count())
	f.Refresh()
	require.Equal(t, p.Number(), f.port().Number(), "and then the number is free")
}

// TestPortSendsWithinRefresh sends while a refresh runs: it is the next one's.
func TestPortSendsWithinRefresh(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	p, other := f.port(), f.port()
	h := f.newUnit(1)
	require.NoError(t, f.unit.CreateN(other, 1000, nil))
	require.NoError(t, f.setTo(2)(p, h))
	var late handle.Handle
	engine.Of(f.World).BeginTick().End(func(n int, do func(int)) {
		if late.IsNone() {
			var err error
			late, err = f.unit.Create(p, Unit{Health{9}})
			require.NoError(t, err)
			require.NoError(t, f.setTo(3)(p, h))
			require.NoError(t, p.Destroy(late))
		}
		serial(n, do)
	})
	f.mustHave(2)(h)
	require.Equal(t, world.Pending, f.Status(late))
	require.Equal(t, 3, p.Waiting())
	f.Refresh()
	f.mustHave(3)(h)
	f.mustBeStale(late)
	require.Zero(t, p.Waiting())
}

// TestPortsDrawAll lets many goroutines create at once, from their first, in a
// world with just enough indexes: none is lost and none given twice.
func TestPortsDrawAll(t *testing.T) {
	const ports = 16
	for range iterations(50) {
		f := newFixture(t, world.Options{Shards: 1, IndexMax: 1023})
		given := make([][]handle.Handle, ports)
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range given {
			p := f.port()
			wg.Go(func() {
				<-start
				for {
					h, err := f.unit.Create(p, Unit{})
					if err != nil {
						return // as many as there are
					}
					given[i] = append(given[i], h)
				}
			})
		}
		close(start)
		wg.Wait()
		all := map[handle.Handle]bool{}
		for _, hs := range given {
			for _, h := range hs {
				require.False(t, all[h], "%v was given twice", h)
				all[h] = true
			}
		}
		require.Equal(t, 1024, len(all))
		f.Refresh()
		require.Equal(t, 1024, f.Count())
	}
}

// TestPortIdleIsNotLookedAt has thousands of ports send once, and then a few: a
// refresh looks at those few.
func TestPortIdleIsNotLookedAt(t *testing.T) {
	f := newFixture(t, world.Options{})
	ports := make([]*world.Port, 5000)
	for i := range ports {
		ports[i] = f.port()
	}
	f.Refresh()
	require.Zero(t, f.LookedAt(), "opened, and never used")
	for _, n := range []int{len(ports), 3, 0} {
		for _, p := range ports[len(ports)-n:] {
			_, err := f.unit.Create(p, Unit{})
			require.NoError(t, err)
		}
		f.Refresh()
		require.Equal(t, n, f.LookedAt())
	}
	require.Equal(t, len(ports)+3, f.Count())
}

// TestTooLargeSays asks for more than a queue ever takes: the error has the size and the limits,
// of a port, of a batch in it and of a system. The least queue takes the smallest request.
func TestTooLargeSays(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1, QueueRequests: 3, QueueBytes: 16, OutboxRequests: 5, OutboxBytes: 16})
	h := f.newUnit(1)
	p := f.port()
	mustSay := func(err error, said string) {
		t.Helper()
		require.ErrorIs(t, err, world.ErrTooLarge)
		require.ErrorIs(t, err, world.ErrFull)
		require.ErrorContains(t, err, said)
	}
	mustSay(f.health.Set(p, h, Health{}), "requests: 1, with QueueRequests = 3; bytes: 32, with QueueBytes = 16")
	mustSay(f.unit.CreateN(p, 4, nil), "requests: 4, with QueueRequests = 3; bytes: ")
	mustSay(p.Batch(func() error {
		require.NoError(t, p.Destroy(h))
		return p.Destroy(h)
	}), "requests: 2, with QueueRequests = 3; bytes: 32, with QueueBytes = 16")
	f.tick(func(b *world.Build) func(*world.Context) {
		return func(c *world.Context) {
			mustSay(f.name.Add(c, h, Name{}), "requests: 1, with OutboxRequests = 5; bytes: ")
			require.NoError(t, world.Move(c, h, 0))
		}
	})
	require.NoError(t, p.Destroy(h))
	require.ErrorIs(t, p.Destroy(h), world.ErrFull)
	f.Refresh()
	f.mustBeStale(h)
}
