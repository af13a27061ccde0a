package names_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// seen is what a Reader says of names.
type seen struct {
	count int
	of    []string // by entity
	who   []handle.Handle
	all   []string
}

func see(r *names.Reader[string], entities []handle.Handle) (s seen) {
	s.count = r.Len()
	for _, h := range entities {
		name, ok := r.NameOf(h)
		s.of = append(s.of, fmt.Sprint(name, ok))
	}
	for n := range namesMax {
		h, ok := r.Lookup(fmt.Sprint("n", n))
		if ok != (h != handle.None) {
			panic("found, and nobody")
		}
		s.who = append(s.who, h)
	}
	for h, name := range r.All() {
		s.all = append(s.all, fmt.Sprint(h, name))
	}
	return s
}

// namesMax is how many names there are.
const namesMax = 300

// inParallel is a extend.Parallel of so many goroutines.
func inParallel(workers int) extend.Parallel {
	return func(n int, f func(int)) {
		var all sync.WaitGroup
		for w := range workers {
			all.Go(func() {
				for i := w; i < n; i += workers {
					f(i)
				}
			})
		}
		all.Wait()
	}
}

// TestFrame captures frames of names that change, holds each for a while, and has goroutines read
// them meanwhile: every call says what the world's own reader said.
func TestFrame(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		r := rand.New(rand.NewPCG(uint64(workers), 3))
		f := newFixture(t, 3, names.Options{})
		all := f.make(400)
		view, err := f.NewView(f.names)
		require.NoError(t, err)
		p := f.port()
		scatter := func() {
			for range r.IntN(30) {
				h, name := all[r.IntN(len(all))], fmt.Sprint("n", r.IntN(namesMax))
				for _, by := range []world.Actor{f.World, p} {
					_ = f.names.Bind(by, h, name)
					_ = f.names.Unbind(by, all[r.IntN(len(all))])
				}
			}
			if r.IntN(3) == 0 {
				require.NoError(t, f.things.CreateN(f.World, 1, nil))
				f.World.Destroy(all[r.IntN(len(all))])
			}
		}
		type heldFrame struct {
			*world.Frame
			want seen
		}
		var held []heldFrame
		hold := func(frame *world.Frame, want seen) {
			require.Equal(t, want, see(f.names.Read(frame), all))
			if held = append(held, heldFrame{frame, want}); len(held) == 2 {
				i := r.IntN(len(held))
				held[i].Release()
				held = slices.Delete(held, i, i+1)
			}
		}
		frames, after := make(chan *world.Frame, 1), map[uint64]seen{}
		ask := func() {
			frame, err := view.Capture(context.Background())
			if err == nil {
				frames <- frame
			} else if !errors.Is(err, world.ErrClosed) {
				t.Error(err)
			}
		}
		go ask()
		for n, captured := 0, 0; n < iterations(300) || captured < 10; n++ {
			scatter()
			var readers sync.WaitGroup
			for _, x := range held {
				reader := f.names.Read(x)
				for range 2 { // of one Reader
					readers.Go(func() {
						if !assert.ObjectsAreEqual(x.want, see(reader, all)) {
							t.Errorf("the frame of tick %d is another", x.Tick())
						}
					})
				}
			}
			engine.Of(f.World).BeginTick().End(inParallel(workers))
			after[f.Tick()] = see(f.names.Read(f.World), all)
			if n%5 == 0 {
				scatter()
				frame, err := view.Now()
				require.NoError(t, err)
				readers.Wait()
				hold(frame, see(f.names.Read(f.World), all))
			}
			readers.Wait()
			select {
			case frame := <-frames:
				hold(frame, after[frame.Tick()])
				clear(after)
				captured++
				go ask()
			default:
			}
		}
		f.Close()
		for _, x := range held {
			require.Equal(t, x.want, see(f.names.Read(x), all), "of a closed world")
		}
	}
}

// TestFrameRefuses asks for names that a frame does not have.
func TestFrameRefuses(t *testing.T) {
	f, g := newFixture(t, 1, names.Options{}), newFixture(t, 1, names.Options{})
	ids := names.New[int64](f.World, "ids", names.Options{})
	view, err := f.NewView(f.names)
	require.NoError(t, err)
	frame, err := view.Now()
	require.NoError(t, err)
	for want, do := range map[string]func(){
		`world: Names.Read: "ids" is not in the view that the frame is of; name it in World.NewView`:           func() { ids.Read(frame) },
		`names: Names.Read of "names", which belong to another world than the reader; use that world's own`:    func() { g.names.Read(frame) },
		`world: World.NewView: "names" belongs to another world; use that world's own`:                         func() { _, _ = g.NewView(f.names) },
		`world: World.NewView: part 1 is nil; pass a component, a bundle, a relation or names`:                 func() { _, _ = f.NewView(f.names, nil) },
		`world: World.NewView: part 0 is nil; pass a component, a bundle, a relation or names`:                 func() { _, _ = f.NewView((*names.Names[string])(nil)) },
		`world: Names.Read of a nil Frame; View.Capture returns one`:                                           func() { f.names.Read((*world.Frame)(nil)) },
		`world: Names.Read is asked of nil; ask a *Build in a system's constructor, or a *World between ticks`: func() { f.names.Read(nil) },
	} {
		require.PanicsWithValue(t, want, do)
	}
	read := f.names.Read(frame)
	frame.Release()
	require.PanicsWithValue(t, "world: Names.Read of a Frame that was released; release it after its last use", func() { f.names.Read(frame) })
	if check.Enabled {
		require.PanicsWithValue(t, "world: names.Reader of a Frame that was released; release it after its last use", func() { read.Len() })
	}
}
