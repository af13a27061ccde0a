package snapshot_test

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

type (
	Place  struct{ X, Y float64 }
	Motion struct{ X, Y float64 }
	Life   struct {
		Points, Most int32
		Owner        handle.Handle
	}
	Agent struct {
		Place
		Motion
		Life
	}
)

const agentsMost = 1_000_000

func newAgents(b testing.TB) (*world.World, *world.Bundle[Agent]) {
	w, err := world.New(world.Options{})
	require.NoError(b, err)
	world.Register[Place](w, "place")
	world.Register[Motion](w, "motion")
	world.Register[Life](w, "life")
	return w, world.NewBundle[Agent](w)
}

// image is what gob writes of the same world.
type image struct {
	Handles []handle.Handle
	Places  []Place
	Motions []Motion
	Lives   []Life
}

// columnsOf returns the rows of all agents, chunk by chunk, and as many bytes more as their slots
// have: all that there is of them.
func columnsOf(w *world.World) (all [][]byte) {
	for ch := range w.Query().Chunks() {
		for _, c := range []mem.Cells{
			mem.CellsOf(ch.Handles()), mem.CellsOf(make([]uint64, ch.Len())), mem.CellsOf(world.Read[Place](w).Slice(ch)),
			mem.CellsOf(world.Read[Motion](w).Slice(ch)), mem.CellsOf(world.Read[Life](w).Slice(ch)),
		} {
			all = append(all, c.Bytes)
		}
	}
	return all
}

// benchCopy copies all rows: the least that a fork can do.
func benchCopy(b *testing.B, w *world.World, fresh bool, workers int) {
	from := columnsOf(w)
	to := make([][]byte, len(from))
	for b.Loop() {
		var next atomic.Int64
		var all sync.WaitGroup
		for range workers {
			all.Go(func() {
				for i := int(next.Add(1)) - 1; i < len(from); i = int(next.Add(1)) - 1 {
					if fresh || to[i] == nil {
						to[i] = make([]byte, len(from[i]))
					}
					copy(to[i], from[i])
				}
			})
		}
		all.Wait()
	}
	bytes := 0
	for _, x := range from {
		bytes += len(x)
	}
	b.SetBytes(int64(bytes))
}

// What has become of them in BenchmarkMigrated: numbers are wider, fields are new or elsewhere, one
// is gone; 64 bytes in all, 56 with what was saved.
type (
	placeNow struct{ Z, Y, X float64 }
	lifeNow  struct {
		Owner        handle.Handle
		Points, Most int64
	}
)

// BenchmarkMigrated loads a world of which two of three components have another form.
func BenchmarkMigrated(b *testing.B) {
	agents := agentsOf()
	w, bundle := newAgents(b)
	require.NoError(b, bundle.CreateN(w, agents, func(i int, a *Agent) {
		*a = Agent{Place{float64(i), float64(i) / 3}, Motion{float64(i % 7), 1}, Life{int32(i % 100), 100, handle.None}}
	}))
	w.Refresh()
	var out bytes.Buffer
	require.NoError(b, snapshot.Write(&out, w, snapshot.Options{Compression: snapshot.None}))
	for name, o := range map[string]snapshot.Options{
		"fields": {}, "dropped": {Changes: []snapshot.Change{snapshot.Dropped("motion")}},
		"function": {Changes: []snapshot.Change{snapshot.Migrated(func(p Place) placeNow { return placeNow{p.X + p.Y, p.Y, p.X} })}},
	} {
		for _, o.Workers = range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/%d", name, o.Workers), func(b *testing.B) {
				b.SetBytes(int64(agents) * 56)
				for b.Loop() {
					b.StopTimer()
					w := world.MustNew(world.Options{})
					world.Register[placeNow](w, "place")
					if name != "dropped" {
						world.Register[Motion](w, "motion")
					}
					world.Register[lifeNow](w, "life")
					b.StartTimer()
					require.NoError(b, snapshot.Load(bytes.NewReader(out.Bytes()), w, o))
				}
			})
		}
	}
}

// agentsOf returns how many agents a benchmark has.
func agentsOf() int {
	if testing.Short() {
		return agentsMost / 100
	}
	return agentsMost
}

func BenchmarkMillion(b *testing.B) {
	agents := agentsOf()
	w, bundle := newAgents(b)
	require.NoError(b, bundle.CreateN(w, agents, func(i int, a *Agent) {
		*a = Agent{Place{float64(i), float64(i) / 3}, Motion{float64(i % 7), 1}, Life{int32(i % 100), 100, handle.None}}
	}))
	w.Refresh()
	var out bytes.Buffer
	for _, how := range []snapshot.Compression{snapshot.None, snapshot.S2, snapshot.Zstd} {
		for _, workers := range []int{1, 2} {
			o := snapshot.Options{Compression: how, Workers: workers}
			b.Run(fmt.Sprintf("save/%v/%d", how, workers), func(b *testing.B) {
				b.SetBytes(int64(agents) * 56)
				for b.Loop() {
					out.Reset()
					require.NoError(b, snapshot.Write(&out, w, o))
				}
				b.ReportMetric(float64(out.Len())/1e6, "MB")
			})
			b.Run(fmt.Sprintf("load/%v/%d", how, workers), func(b *testing.B) {
				b.SetBytes(int64(agents) * 56)
				for b.Loop() {
					b.StopTimer()
					w, _ := newAgents(b)
					b.StartTimer()
					require.NoError(b, snapshot.Load(bytes.NewReader(out.Bytes()), w, o))
				}
			})
		}
	}
	b.Run("capture", func(b *testing.B) {
		b.SetBytes(int64(agents) * 56)
		for b.Loop() {
			for ch := range w.Query().Chunks() { // all of it is to be copied
				world.Write[Place](w).Slice(ch)
				world.Write[Motion](w).Slice(ch)
				world.Write[Life](w).Slice(ch)
			}
			c, err := snapshot.Capture(w, snapshot.Options{})
			require.NoError(b, err)
			c.Release()
		}
	})
	captured, err := snapshot.Capture(w, snapshot.Options{})
	require.NoError(b, err)
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("fork/%d", workers), func(b *testing.B) {
			b.SetBytes(int64(agents) * 56)
			for b.Loop() {
				w, _ := newAgents(b)
				require.NoError(b, captured.Load(w, snapshot.Options{Workers: workers}))
			}
		})
		for _, where := range []string{"new", "old"} {
			b.Run(fmt.Sprintf("copy/%s memory/%d", where, workers), func(b *testing.B) { benchCopy(b, w, where == "new", workers) })
		}
	}
	captured.Release()
	var x image
	for ch := range w.Query().Chunks() {
		x.Handles = append(x.Handles, ch.Handles()...)
		x.Places = append(x.Places, world.Read[Place](w).Slice(ch)...)
		x.Motions = append(x.Motions, world.Read[Motion](w).Slice(ch)...)
		x.Lives = append(x.Lives, world.Read[Life](w).Slice(ch)...)
	}
	b.Run("save/gob", func(b *testing.B) {
		b.SetBytes(int64(agents) * 56)
		for b.Loop() {
			out.Reset()
			require.NoError(b, gob.NewEncoder(&out).Encode(&x))
		}
		b.ReportMetric(float64(out.Len())/1e6, "MB")
	})
	b.Run("load/gob", func(b *testing.B) {
		b.SetBytes(int64(agents) * 56)
		for b.Loop() {
			var y image
			require.NoError(b, gob.NewDecoder(bytes.NewReader(out.Bytes())).Decode(&y))
		}
	})
}

// BenchmarkForks makes forks of a small world, that of World.New included.
func BenchmarkForks(b *testing.B) {
	w, bundle := newAgents(b)
	require.NoError(b, bundle.CreateN(w, 10_000, nil))
	captured, err := snapshot.Capture(w, snapshot.Options{})
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		w, _ := newAgents(b)
		require.NoError(b, captured.Load(w, snapshot.Options{}))
	}
}

// BenchmarkReshard loads a million agents in 4 shards into 4, 16 and 2.
func BenchmarkReshard(b *testing.B) {
	agents := agentsOf()
	w, bundle := newAgents(b)
	require.NoError(b, bundle.CreateN(w, agents, func(i int, a *Agent) {
		*a = Agent{Place{float64(i), float64(i) / 3}, Motion{float64(i % 7), 1}, Life{int32(i % 100), 100, handle.None}}
	}))
	w.Refresh()
	var out bytes.Buffer
	require.NoError(b, snapshot.Write(&out, w, snapshot.Options{Compression: snapshot.None}))
	for _, shards := range []int{4, 16, 2} {
		b.Run(strconv.Itoa(shards), func(b *testing.B) {
			b.SetBytes(int64(agents) * 56)
			for b.Loop() {
				b.StopTimer()
				w := world.MustNew(world.Options{Shards: shards})
				world.Register[Place](w, "place")
				world.Register[Motion](w, "motion")
				world.Register[Life](w, "life")
				world.NewBundle[Agent](w)
				b.StartTimer()
				require.NoError(b, snapshot.Load(bytes.NewReader(out.Bytes()), w, snapshot.Options{}))
			}
		})
	}
}

// BenchmarkIncrement saves a million agents of 48 bytes, of which some have changed in one of three
// components: those that are next to each other, or some everywhere. "MB" is the file; the time is
// behind the ticks, with the hash of the state.
func BenchmarkIncrement(b *testing.B) {
	agents := agentsOf()
	w, bundle := newAgents(b)
	hs, err := bundle.AppendN(nil, w, agents, func(i int, a *Agent) {
		*a = Agent{Place{float64(i), float64(i) / 3}, Motion{float64(i % 7), 1}, Life{int32(i % 100), 100, handle.None}}
	})
	require.NoError(b, err)
	place := world.Write[Place](w)
	dice := rand.New(rand.NewPCG(1, 1))
	touch := map[string]func(){
		"0": func() {},
		"1 of 100, together": func() {
			for _, h := range hs[:agents/100] {
				place.Get(h).X += dice.Float64()
			}
		},
		"1 of 100, scattered": func() {
			for range agents / 100 {
				place.Get(hs[dice.IntN(agents)]).X += dice.Float64()
			}
		},
		"33 of 100, together": func() {
			for _, h := range hs[:agents/3] {
				place.Get(h).X += dice.Float64()
			}
		},
		"all": func() {
			for _, h := range hs {
				place.Get(h).X += dice.Float64()
			}
		},
	}
	captured := func(o snapshot.Options) *snapshot.Captured {
		c, err := snapshot.Capture(w, o)
		require.NoError(b, err)
		return c
	}
	for _, how := range []snapshot.Compression{snapshot.None, snapshot.S2, snapshot.Zstd} {
		o := snapshot.Options{Compression: how}
		var out, whole bytes.Buffer
		for _, name := range append(slices.Sorted(maps.Keys(touch)), "whole") {
			b.Run(fmt.Sprintf("%v/%s", how, name), func(b *testing.B) {
				var chain snapshot.Chain
				c := captured(o)
				whole.Reset()
				require.NoError(b, chain.Write(&whole, c))
				c.Release()
				b.SetBytes(int64(agents) * 56)
				for b.Loop() {
					b.StopTimer()
					if f := touch[name]; f != nil {
						f()
					}
					w.Refresh()
					c := captured(o)
					out.Reset()
					out.Grow(whole.Len())
					b.StartTimer()
					if touch[name] != nil {
						require.NoError(b, chain.Write(&out, c))
					} else {
						require.NoError(b, c.Write(&out))
					}
					b.StopTimer()
					c.Release()
					b.StartTimer()
				}
				b.ReportMetric(float64(out.Len())/1e6, "MB")
			})
		}
		var links []io.Reader
		b.Run(fmt.Sprintf("%v/merge 5", how), func(b *testing.B) {
			var chain snapshot.Chain
			var files [6]bytes.Buffer
			for i := range files {
				touch["1 of 100, scattered"]()
				w.Refresh()
				c := captured(o)
				require.NoError(b, chain.Write(&files[i], c))
				c.Release()
			}
			b.SetBytes(int64(agents) * 56)
			for b.Loop() {
				links = links[:0]
				for i := range files {
					links = append(links, bytes.NewReader(files[i].Bytes()))
				}
				_, err := snapshot.Verify(snapshot.Merge(links[0], links[1:]...))
				require.NoError(b, err)
			}
		})
	}
}
