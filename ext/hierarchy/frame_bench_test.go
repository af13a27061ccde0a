package hierarchy_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/world"
)

// linked makes a world with so many children, ten to a parent, and returns them behind the parents.
func linked(b *testing.B, links int) (f *fixture, all []handle.Handle) {
	if testing.Short() || check.Enabled {
		links /= 100
	}
	f = newFixtureOf(b, world.Options{Shards: 2}, hierarchy.Options{OnChildDeath: hierarchy.Swap})
	parents := links / 10
	all = f.make(parents + links)
	for i, child := range all[parents:] {
		f.add(all[i%parents], child)
	}
	f.Refresh()
	return f, all
}

// BenchmarkFrame captures a relation of 100,000 links of which none, one, or all have changed since
// the last frame: ns/frame is what View.Now and Release take. "copy" is a plain copy of as many
// bytes in place of the frame, where all have changed.
func BenchmarkFrame(b *testing.B) {
	for _, x := range []struct {
		name    string
		changed int // children
	}{{"unchanged", 0}, {"one", 1}, {"all", 1 << 30}, {"copy", 1 << 30}} {
		b.Run(x.name, func(b *testing.B) {
			f, all := linked(b, 100_000)
			parents := len(all) / 11
			view, err := f.NewView(f.rel)
			require.NoError(b, err)
			f.now(f.rel).Release()
			from := slices.Repeat([]uint64{1}, int(f.rel.CopySize()/8))
			to := slices.Clone(from)
			var took time.Duration
			for n := 0; b.Loop(); n++ {
				for i := range min(x.changed, len(all)-parents) {
					child := all[parents+(i+n*977)%(len(all)-parents)]
					_ = f.rel.Move(f.World, child, f.read.Parent(child))
				}
				f.Refresh()
				at := time.Now()
				if x.name == "copy" {
					copy(to, from)
				} else {
					frame, err := view.Now()
					if err != nil {
						b.Fatal(err)
					}
					frame.Release()
				}
				took += time.Since(at)
			}
			b.ReportMetric(float64(took.Nanoseconds())/float64(b.N), "ns/frame")
		})
	}
}

// BenchmarkFrameWalk adds up the children of all parents, of the world and of a frame.
func BenchmarkFrameWalk(b *testing.B) {
	for _, of := range []string{"world", "frame"} {
		b.Run(of, func(b *testing.B) {
			f, all := linked(b, 100_000)
			read := f.read
			if of == "frame" {
				read = f.rel.Read(f.now(f.rel))
			}
			var sum handle.Handle
			for b.Loop() {
				for _, h := range all[:len(all)/11] {
					for _, child := range read.Children(h) {
						sum += child
					}
				}
			}
			sink = sum
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(all)*10/11), "ns/child")
		})
	}
}

var sink handle.Handle
