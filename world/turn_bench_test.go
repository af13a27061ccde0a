package world_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/world"
)

// BenchmarkTurns looks at 100,000 entities, of which it is the turn of one in 8, beside a loop that
// looks at a phase in a component of each, as one writes it by hand. It is per entity looked at. In
// "mixed" the rows are in no order of handles, as behind deaths; "asleep" is of entities that all
// sleep.
func BenchmarkTurns(b *testing.B) {
	const n = 100_000
	type phase struct{ N uint64 }
	for _, mixed := range []bool{false, true} {
		f := newFixture(b, world.Options{Shards: 1})
		phases := world.Register[phase](f.World, "phase")
		all, err := f.mover.AppendN(nil, f.World, n, nil)
		require.NoError(b, err)
		require.NoError(b, phases.AddTo(f.Query(), nil))
		if mixed {
			rand.Shuffle(n, func(i, k int) { all[i], all[k] = all[k], all[i] })
			for _, h := range all[:n/2] {
				require.NoError(b, f.velocity.Remove(f.World, h))
			}
			for _, h := range all[:n/2] {
				require.NoError(b, f.velocity.Add(f.World, h, Velocity{}))
			}
		}
		for i, h := range all {
			world.Write[phase](f.World).Get(h).N = uint64(i)
		}
		pos, vel, ph := world.Write[Position](f.World), world.Read[Velocity](f.World), world.Read[phase](f.World)
		loop := func(name string, q *world.Query, by func(ch world.Chunk)) {
			b.Run(fmt.Sprintf("%s/mixed=%v", name, mixed), func(b *testing.B) {
				for b.Loop() {
					for ch := range q.Chunks() {
						by(ch)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
			})
		}
		move := func(ch world.Chunk) {
			p, v := pos.Slice(ch), vel.Slice(ch)
			for i := range p {
				p[i].X += v[i].X
			}
		}
		loop("turns=1024", f.Query(pos, vel, world.Turns(f.World, 1024)), move)
		loop("turns", f.Query(pos, vel, world.Turns(f.World, 8)), move)
		loop("phases", f.Query(pos, vel, ph), func(ch world.Chunk) {
			p, v, ph := pos.Slice(ch), vel.Slice(ch), ph.Slice(ch)
			for i := range p {
				if ph[i].N%8 == 3 {
					p[i].X += v[i].X
				}
			}
		})
		for _, h := range all {
			require.NoError(b, world.AddFlags(f.World, h, hidden))
		}
		loop("asleep", f.Query(pos, vel, world.WithoutFlags(f.World, hidden)), move)
	}
}
