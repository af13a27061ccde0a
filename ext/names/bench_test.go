package names_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
)

// BenchmarkLookup looks names up from as many goroutines as there are processors,
// while another binds and gives up a hundred names a millisecond, or does not; beside
// a sync.Map.
func BenchmarkLookup(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		if testing.Short() && n > 10_000 {
			continue
		}
		words := make([]string, n)
		for i := range words {
			words[i] = fmt.Sprint("player ", i)
		}
		f := newFixture(b, 4, names.Options{})
		hs := f.make(n)
		var peer sync.Map
		for i, h := range hs {
			require.NoError(b, f.names.Bind(f.World, h, words[i]))
			peer.Store(words[i], h)
		}
		for _, written := range []bool{false, true} {
			b.Run(fmt.Sprintf("names=%d/written=%v/by=names", n, written), func(b *testing.B) {
				lookup(b, words, written, func(word string) bool {
					_, ok := f.names.Lookup(word)
					return ok
				}, func(i int) {
					_ = f.names.Unbind(f.World, hs[i])
					_ = f.names.Bind(f.World, hs[i], words[i])
				})
			})
			b.Run(fmt.Sprintf("names=%d/written=%v/by=sync.Map", n, written), func(b *testing.B) {
				lookup(b, words, written, func(word string) bool {
					h, ok := peer.Load(word)
					return ok && h.(handle.Handle) != handle.None
				}, func(i int) {
					peer.Delete(words[i])
					peer.Store(words[i], hs[i])
				})
			})
		}
	}
}

func lookup(b *testing.B, words []string, written bool, look func(string) bool, write func(i int)) {
	var stop atomic.Bool
	var writer sync.WaitGroup
	if written {
		writer.Go(func() {
			for i := 0; !stop.Load(); time.Sleep(time.Millisecond) {
				for range 100 {
					write(i % len(words))
					i++
				}
			}
		})
	}
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		i, missed := 0, 0
		for pb.Next() {
			if !look(words[i]) {
				missed++
			}
			if i += 7919; i >= len(words) {
				i %= len(words)
			}
		}
		runtime.KeepAlive(missed)
	})
	b.StopTimer()
	stop.Store(true)
	writer.Wait()
}

// BenchmarkBind gives up and binds a name.
func BenchmarkBind(b *testing.B) {
	f := newFixture(b, 4, names.Options{})
	hs := f.make(100_000)
	words := make([]string, len(hs))
	for i, h := range hs {
		words[i] = fmt.Sprint("player ", i)
		require.NoError(b, f.names.Bind(f.World, h, words[i]))
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		_ = f.names.Unbind(f.World, hs[i])
		_ = f.names.Bind(f.World, hs[i], words[i])
		if i++; i == len(hs) {
			i = 0
		}
	}
}
