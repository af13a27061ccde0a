package pairs_test

import (
	"errors"
	"io"
	"runtime"
	"sync/atomic"

	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// Brittle is a resource whose codec fails.
type Brittle struct{ N int64 }

// brittle says when the codec fails, and how.
//
// Ownership: the scene's goroutine sets it while nobody encodes; who encodes counts down.
type brittle struct {
	left atomic.Int64 // the call that fails
	exit bool         // by runtime.Goexit
}

var errBrittle = errors.New("pairs: on purpose")

func newBrittle(o *objects) *brittle {
	x := &brittle{}
	state.Register(o.codecs, state.Codec[Brittle]{
		Append: func(dst []byte, v *Brittle) []byte {
			switch {
			case x.left.Add(-1) != 0:
			case x.exit:
				runtime.Goexit()
			default:
				panic(errBrittle)
			}
			return append(dst, byte(v.N))
		},
		Read: func(src []byte, v *Brittle) error { v.N = int64(src[0]); return nil },
	})
	world.RegisterResource(o.World, "brittle", Brittle{7})
	return x
}

// failing hashes, saves and captures the idle world with a codec that panics, or that ends its
// goroutine. Afterwards all is as if nobody had.
func failing() *feature {
	return &feature{
		name:    "failing",
		prepare: func(o *objects) { o.made["brittle"] = newBrittle(o) },
		between: func(s *scene) {
			x := s.made["brittle"].(*brittle)
			o := snapshot.Options{Codecs: s.codecs, Scheduler: s.objects.ticks, Compression: snapshot.None, Workers: s.workers}
			tries := []func(){
				func() { _, _ = s.hasher.StateHash() },
				func() { _ = snapshot.Write(io.Discard, s.World, o) },
				func() {
					c, err := snapshot.Capture(s.World, o)
					if err != nil { // frames are held, or the codec has failed
						return
					}
					defer c.Release()
					_ = c.Write(io.Discard)
				},
			}
			try := tries[s.n(len(tries))]
			at, exit := 1+int64(s.n(3)), s.coin()
			before, err := s.hasher.StateHash()
			s.must(err == nil, "StateHash: %v", err)
			x.exit = exit
			x.left.Store(at)
			done := make(chan any)
			go func() {
				defer func() { done <- recover() }()
				try()
			}()
			v := <-done
			x.left.Store(0)
			err, _ = v.(error)
			s.must(v == nil || errors.Is(err, errBrittle), "it panics with %v", v)
			after, err := s.hasher.StateHash()
			s.must(err == nil && after == before, "the hash is %v, was %v: %v", after, before, err)
		},
	}
}
