package transit_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/world"
)

// BenchmarkMail sends messages from one world to another and settles them, 1,000 at a time: the
// ticks of both worlds, and of durable ones the disk.
func BenchmarkMail(b *testing.B) {
	for _, kind := range []string{"plain", "durable", "sync"} {
		b.Run("worlds="+kind, func(b *testing.B) {
			const each = 1000
			x, y := newTown(1, 1, transit.Options{}), newTown(2, 1, transit.Options{})
			var anna, bert handle.Handle
			open := func(x *town, born func(*world.World) error) {
				if kind == "plain" {
					require.NoError(b, born(x.World))
					return
				}
				store, err := durable.Open(context.Background(), b.TempDir(), x.World, x.s, durable.Options{Interval: -1, Sync: kind == "sync", New: born})
				require.NoError(b, err)
				b.Cleanup(func() { _ = store.Close() })
			}
			open(x, func(*world.World) error { anna = x.born(b, 1<<50); return nil })
			open(y, func(*world.World) error { bert = y.born(b, 0); return nil })
			x.openPort(b)
			a := known(b, y, 1)
			b.ReportAllocs()
			for b.Loop() {
				for n := range uint64(each) {
					require.NoError(b, x.asks.Send(x.port, anna, order{anna, transit.RefOf(2, bert), 1, n}))
				}
				x.step(b)
				p := turned(b, x, a)
				a = arrived(b, y, p)
			}
			b.StopTimer()
			a = arrived(b, y, turned(b, x, a)) // what was in the boxes at the end
			turned(b, x, a)
			y.step(b)
			require.EqualValues(b, b.N*each, y.gold(bert))
			perMail(b, each)
		})
	}
}

func (x *town) openPort(t testing.TB) {
	if x.port == nil {
		port, err := x.OpenPort()
		require.NoError(t, err)
		x.port = port
	}
}

// turned and arrived are what a carrier does.
func turned(t testing.TB, x *town, a transit.Answers) transit.Packet {
	var p world.Answer[transit.Packet]
	x.openPort(t)
	require.NoError(t, x.roads.Turning().Send(x.port, a, &p))
	x.step(t)
	v, err := transit.Turned(x.roads, &p)
	require.NoError(t, err)
	return v
}

func arrived(t testing.TB, x *town, p transit.Packet) transit.Answers {
	var a world.Answer[transit.Answers]
	x.openPort(t)
	require.NoError(t, x.roads.Arriving().Send(x.port, p, &a))
	x.step(t)
	v, err := transit.HasArrived(x.roads, &a)
	require.NoError(t, err)
	return v
}

func perMail(b *testing.B, each int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(each), "ns/message")
}

// BenchmarkIdle makes ticks of a world with roads in which nothing travels, and of one with 1,000
// messages under way.
func BenchmarkIdle(b *testing.B) {
	for _, items := range []int{0, 1000} {
		b.Run(map[int]string{0: "nothing", 1000: "waiting"}[items], func(b *testing.B) {
			x := newTown(1, 1, transit.Options{})
			anna := x.born(b, 0)
			for range items {
				require.NoError(b, x.coins.Tell(x.World, anna, transit.RefOf(2, anna), Coins{}))
			}
			x.step(b)
			b.ReportAllocs()
			for b.Loop() {
				x.step(b)
			}
		})
	}
}

// TestIdleAllocates nothing in ticks without travel.
func TestIdleAllocates(t *testing.T) {
	x := newTown(1, 1, transit.Options{})
	anna := x.born(t, 0)
	require.NoError(t, x.coins.Tell(x.World, anna, transit.RefOf(2, anna), Coins{}))
	for range 100 {
		x.step(t)
	}
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = x.s.Step(context.Background()) }))
}

// BenchmarkTravel sends ships from one world to the other and settles that: 500 of one entity, and
// one of 200. The ticks of both worlds are in it, and of durable ones the disk.
func BenchmarkTravel(b *testing.B) {
	for _, kind := range []string{"plain", "durable", "sync"} {
		for _, tree := range []int{1, 200} {
			b.Run(fmt.Sprintf("worlds=%s/tree=%d", kind, tree), func(b *testing.B) {
				n := 500 / tree
				bellsMost = 1000
				x, y := newTown(1, 1, transit.Options{}), newTown(2, 1, transit.Options{})
				bellsMost = 24
				fill := func(*world.World) error {
					for i := range max(n, 1) {
						if _, err := x.launch(uint64(1+i*1000), 0, tree-1, false); err != nil {
							return err
						}
					}
					return nil
				}
				open := func(x *town, born func(*world.World) error) {
					if kind == "plain" {
						require.NoError(b, born(x.World))
						return
					}
					store, err := durable.Open(context.Background(), b.TempDir(), x.World, x.s, durable.Options{Interval: -1, Sync: kind == "sync", New: born})
					require.NoError(b, err)
					b.Cleanup(func() { _ = store.Close() })
				}
				open(x, fill)
				open(y, func(*world.World) error { return nil })
				x.openPort(b)
				y.openPort(b)
				var leave, come time.Duration
				ships := func(x *town) (all []handle.Handle) {
					holds := world.Read[Hold](x.World)
					for ch := range x.Query(holds).Chunks() {
						for i, h := range ch.Handles() {
							if holds.Slice(ch)[i].Parent == 0 {
								all = append(all, h)
							}
						}
					}
					return all
				}
				b.ReportAllocs()
				travels := 0
				for b.Loop() {
					b.StopTimer()
					all := ships(x)
					b.StartTimer()
					for _, h := range all {
						require.NoError(b, x.gate.Send(x.port, h, y.roads.World(), Pass{}))
					}
					began := time.Now()
					x.step(b)
					leave += time.Since(began)
					a := known(b, y, x.roads.World())
					for len(all) > 0 {
						p := turned(b, x, a)
						began := time.Now()
						a = arrived(b, y, p)
						come += time.Since(began)
						if p.Items == "" {
							break
						}
					}
					travels += len(all)
					x, y = y, x
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(travels), "ns/traveller")
				b.ReportMetric(float64(leave.Nanoseconds())/float64(travels), "ns/departure")
				b.ReportMetric(float64(come.Nanoseconds())/float64(travels), "ns/arrival")
			})
		}
	}
}
