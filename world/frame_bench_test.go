package world_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// Third is the third component of the entities that BenchmarkFrame captures: 48 bytes each.
type Third struct{ A, B float64 }

// Body is their bundle.
type Body struct {
	Position
	Velocity
	Third
}

// frameRows is how many entities the benchmarks have: a million, or few where they only run once.
func frameRows() int {
	if testing.Short() {
		return 1 << 13
	}
	return 1 << 20
}

// BenchmarkFrame makes a frame of a million entities of 48 bytes in each tick, by two workers. The
// work "written" is a tick in which so many of the three components were handed out for writing,
// and a hundredth of the entities died and were born in "churn". The refresh of the same tick
// without a frame is "refresh", a copy of the same bytes by two goroutines "copy".
func BenchmarkFrame(b *testing.B) {
	n := frameRows()
	for _, written := range []int{0, 1, 3} {
		for _, how := range []string{"refresh", "frame"} {
			b.Run(fmt.Sprintf("written=%d/%s", written, how), func(b *testing.B) {
				w := world.MustNew(world.Options{})
				position, velocity, third := world.Register[Position](w, "position"), world.Register[Velocity](w, "velocity"), world.Register[Third](w, "third")
				require.NoError(b, world.NewBundle[Body](w).CreateN(w, n, nil))
				view, err := w.NewView(position, velocity, third)
				require.NoError(b, err)
				q := w.Query(world.Write[Position](w), world.Write[Velocity](w), world.Write[Third](w))
				frames := make(chan *world.Frame)
				write := func() {
					for ch := range q.Chunks() {
						if written > 0 {
							world.Write[Position](w).Slice(ch)[0].X++
						}
						if written > 1 {
							world.Write[Velocity](w).Slice(ch)[0].X++
							world.Write[Third](w).Slice(ch)[0].A++
						}
					}
				}
				ask := func() {
					go func() {
						f, _ := view.Capture(context.Background())
						frames <- f
					}()
					world.AwaitCaptures(w, 1)
				}
				step := func() {
					engine.Of(w).BeginTick().End(inParallel(2))
				}
				var last *world.Frame
				tick := func(b *testing.B) {
					b.StopTimer()
					write()
					if how == "frame" {
						ask()
					}
					b.StartTimer()
					step()
					b.StopTimer()
					if how == "frame" {
						f := <-frames
						if last != nil {
							last.Release()
						}
						last = f
					}
					b.StartTimer()
				}
				for range 8 {
					write()
					if how == "frame" {
						ask()
						step()
						f := <-frames
						if last != nil {
							last.Release()
						}
						last = f
					} else {
						step()
					}
				}
				b.ReportAllocs()
				b.ResetTimer()
				for range b.N {
					tick(b)
				}
			})
		}
		b.Run(fmt.Sprintf("written=%d/copy", written), func(b *testing.B) {
			const part = 64 << 10
			var parts [3][][]byte // from, and where one frame and the next is
			for i := range parts {
				for range 16 * n * written / part {
					parts[i] = append(parts[i], make([]byte, part))
				}
			}
			parallel := inParallel(2)
			for k := range b.N + 4 {
				if k == 4 {
					b.ResetTimer()
				}
				parallel(len(parts[0]), func(i int) { copy(parts[1+k%2][i], parts[0][i]) })
			}
		})
	}
}

// BenchmarkFrameRead loops over a million entities, and looks all of them up in another order, in
// a world and in a frame of it. "index" is what the first accessor of a frame costs when the
// entities of a thousandth of the rows have changed since the frame before.
func BenchmarkFrameRead(b *testing.B) {
	n := frameRows()
	w := world.MustNew(world.Options{})
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	movers := world.NewBundle[Mover](w)
	hs, err := movers.AppendN(nil, w, n, nil)
	require.NoError(b, err)
	w.Refresh()
	view, err := w.NewView()
	require.NoError(b, err)
	frame, err := view.Now()
	require.NoError(b, err)
	for name, from := range map[string]reader{"world": w, "frame": frame} {
		position, velocity := world.Read[Position](from), world.Read[Velocity](from)
		q := from.Query(position, velocity)
		b.Run("loop/"+name, func(b *testing.B) {
			sum := 0.0
			for b.Loop() {
				for ch := range q.Chunks() {
					p, v := position.Slice(ch), velocity.Slice(ch)
					for i := range p {
						sum += p[i].X * v[i].Y
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/entity")
		})
		b.Run("get/"+name, func(b *testing.B) {
			sum := 0.0
			for b.Loop() {
				at := uint32(1)
				for range n {
					at = at*1664525 + 1013904223
					sum += position.Get(hs[at%uint32(n)]).X
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/entity")
		})
	}
	b.Run("index", func(b *testing.B) {
		for range b.N {
			b.StopTimer()
			for i := range n / 1000 {
				w.Destroy(hs[i*1000])
				hs[i*1000], _ = movers.Create(w, Mover{})
			}
			w.Refresh()
			f, err := view.Now()
			require.NoError(b, err)
			b.StartTimer()
			world.Read[Position](f)
			b.StopTimer()
			f.Release()
			b.StartTimer()
		}
	})
}
