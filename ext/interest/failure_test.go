package interest_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/interest"
	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// TestSink opens, changes and closes clients within the sink, and there alone.
func TestSink(t *testing.T) {
	for _, n := range workers {
		x := newField(t, world.Options{})
		s := x.newSet(interest.Options{})
		h := x.unit(5, 5)
		var all []*interest.Client
		for range 50 {
			all = append(all, s.Open(interest.ClientOptions{Entity: h, Radius: 10}))
		}
		var mu sync.Mutex
		told := map[*interest.Client]int{}
		f := x.now()
		s.Update(f, n, func(v *interest.Client, p *interest.Packet) {
			mu.Lock()
			defer mu.Unlock()
			told[v]++
			v.Ack(p.Number)
			v.Change(interest.ClientOptions{Entity: h, Radius: 1})
			s.Open(interest.ClientOptions{Entity: h, Radius: 10, User: len(told)})
			v.Close()
			v.Close()
		})
		require.Len(t, told, 50)
		f.Release()
		clear(told)
		world.Write[Position](x.World).Get(h).X++
		require.Len(t, x.update(s, n), 50, "those that were opened")
		for _, v := range all {
			require.Nil(t, v.User())
		}
		f = x.now()
		world.Write[Position](x.World).Get(h).X++
		g := x.now()
		if n == 1 { // a client that another one's sink closes is not told
			s.Update(g, 1, func(v *interest.Client, _ *interest.Packet) {
				told[v]++
				for _, o := range all {
					o.Close()
				}
			})
			require.Len(t, told, 50)
		}
		g.Release()
		f.Release()
	}
}

// TestChangeMeanwhile changes a client while an Update looks at it: Hide and Include find what the
// Update uses.
func TestChangeMeanwhile(t *testing.T) {
	x := newField(t, world.Options{})
	a, b := x.unit(5, 5), x.unit(50, 50)
	var v *interest.Client
	s := x.newSet(interest.Options{
		Hide: func(*world.Frame) func(*interest.Client, handle.Handle) bool {
			v.Change(interest.ClientOptions{Entity: a, Radius: 1})
			return func(v *interest.Client, h handle.Handle) bool {
				v.Change(interest.ClientOptions{Entity: b, Radius: 10, User: 1, Unacked: 1})
				return v.Options().Entity != h
			}
		},
	})
	v = s.Open(interest.ClientOptions{Entity: b, Radius: 10})
	p := x.update(s, 1)[v]
	require.Len(t, p.Rows, 1, "who begins the Update has changed the view before")
	require.Equal(t, a, p.Rows[0].Handle)
	require.Equal(t, interest.ClientOptions{Entity: a, Radius: 1}, v.Options())
}

// TestEncodeReturns has functions of Encode that return other bytes than those that they were
// given.
func TestEncodeReturns(t *testing.T) {
	own := make([]byte, 0, 100)
	for name, encode := range map[string]func(dst []byte, l *Level) []byte{
		"nothing":    func([]byte, *Level) []byte { return nil },
		"less":       func(dst []byte, _ *Level) []byte { return dst[:max(0, len(dst)-1)] },
		"new":        func(_ []byte, l *Level) []byte { return []byte{byte(l.Number)} },
		"its own":    func(_ []byte, l *Level) []byte { return append(own, byte(l.Number)) },
		"a long one": func([]byte, *Level) []byte { return make([]byte, 10_000) },
	} {
		t.Run(name, func(t *testing.T) {
			x := newField(t, world.Options{})
			s := interest.New(x.World, x.index, interest.Options{}, interest.Encode(encodePosition), interest.Encode(encode))
			h := x.unit(1, 1)
			x.unit(1, 1)
			s.Open(interest.ClientOptions{Entity: h, Radius: 10})
			f := x.now()
			defer f.Release()
			mustPanic(t, "the function of Encode of interest_test.Level", func() { s.Update(f, 1, none) })
		})
	}
	x := newField(t, world.Options{})
	s := interest.New(x.World, x.index, interest.Options{}, interest.Encode(func(dst []byte, p *Position) []byte {
		return append(slices.Grow(dst, 3000), byte(p.X)) // appends, to a copy now and then
	}))
	for i := range 300 {
		x.unit(float64(i%100), 1)
	}
	v := s.Open(interest.ClientOptions{Radius: 1000})
	var sum int
	for _, r := range x.update(s, 1)[v].Rows {
		require.Len(t, r.Bytes, 1)
		sum += int(r.Bytes[0])
	}
	require.Equal(t, 3*99*100/2, sum)
}

// TestFailures has functions panic. The next Update goes on, and clients come to know all.
func TestFailures(t *testing.T) {
	cause := errors.New("cause")
	for name, fail := range map[string]func(){"panic": func() { panic(cause) }, "exit": runtime.Goexit} {
		for _, where := range []string{"sink", "hide", "also", "weight", "encode", "begin"} {
			for _, n := range workers {
				t.Run(fmt.Sprint(name, " in ", where, " of ", n), func(t *testing.T) { failing(t, where, n, cause, fail) })
			}
		}
	}
}

func failing(t *testing.T, where string, n int, cause error, fail func()) {
	x := newField(t, world.Options{})
	failing := ""
	var bad handle.Handle
	try := func(at string, h handle.Handle) {
		if failing == at && h == bad {
			fail()
		}
	}
	s := interest.New(x.World, x.index, interest.Options{
		Hide: func(*world.Frame) func(*interest.Client, handle.Handle) bool {
			try("begin", bad)
			return func(_ *interest.Client, h handle.Handle) bool { try("hide", h); return false }
		},
		Include: func(*world.Frame) func([]handle.Handle, *interest.Client) []handle.Handle {
			return func(dst []handle.Handle, v *interest.Client) []handle.Handle {
				try("also", v.Options().Entity)
				return dst
			}
		},
		Weight: func(*world.Frame) func(handle.Handle) int {
			return func(h handle.Handle) int { try("weight", h); return 1 }
		},
	}, interest.Encode(encodePosition), interest.Encode(encodeName), interest.Encode(func(dst []byte, l *Level) []byte {
		if l.Number == 77 {
			try("encode", bad)
		}
		return encodeLevel(dst, l)
	}))
	clients := map[*interest.Client]*client{}
	r := newRand(t, 3)
	for i := range 60 {
		h := x.unit(r.Float64()*100, r.Float64()*100)
		if i == 45 {
			bad = h
			world.Write[Level](x.World).Get(h).Number = 77
		}
		clients[s.Open(interest.ClientOptions{Entity: h, Radius: 20, Margin: 5})] = newClient(t)
	}
	var mu sync.Mutex
	tell := func() {
		f := x.now()
		defer f.Release()
		s.Update(f, n, func(v *interest.Client, p *interest.Packet) {
			mu.Lock()
			defer mu.Unlock()
			q := clone(p)
			clients[v].apply(&q, false)
			try("sink", v.Options().Entity)
		})
	}
	for i := range 7 {
		pos := world.Write[Position](x.World)
		for ch := range x.Query(pos).Chunks() {
			for i := range pos.Slice(ch) {
				pos.Slice(ch)[i].X += r.Float64()*4 - 2
			}
		}
		failing = ""
		if i%2 == 1 {
			failing = where
		}
		var v any
		exited := true
		done := make(chan struct{})
		go func() { // is a worker, too
			defer close(done)
			defer func() { v = recover() }()
			tell()
			exited = false
		}()
		<-done
		require.Equal(t, failing != "", exited, v)
		if err, ok := v.(error); ok && where != "begin" {
			require.True(t, errors.Is(err, cause) || strings.Contains(err.Error(), "Goexit"), err)
		}
	}
	sees := look(x.now(), interest.Options{})
	for v, c := range clients {
		is := map[handle.Handle]bool{}
		for h, values := range c.has() {
			is[h] = true
			require.Equal(t, sees.all[h][0], values[0])
		}
		for h := range sees.by(v, nil) {
			require.Contains(t, is, h)
		}
	}
}

// TestNoPosition updates with a frame that has no positions: the next Update goes on.
func TestNoPosition(t *testing.T) {
	x := newField(t, world.Options{})
	h := x.unit(5, 5)
	s := interest.New(x.World, x.index, interest.Options{}, interest.Encode(encodeTag))
	narrow, err := x.NewView(x.index, x.tag)
	require.NoError(t, err)
	f, err := narrow.Now()
	require.NoError(t, err)
	defer f.Release()
	v := s.Open(interest.ClientOptions{Entity: h, Radius: 5})
	require.Panics(t, func() { s.Update(f, 1, none) })
	s.Open(interest.ClientOptions{Entity: h, Radius: 5})
	g := x.now()
	defer g.Release()
	calls := map[*interest.Client]int{}
	s.Update(g, 1, func(v *interest.Client, p *interest.Packet) {
		require.Len(t, p.Rows, 1)
		calls[v]++
	})
	require.Len(t, calls, 2)
	require.Equal(t, 1, calls[v], "it is there once")
}

// TestHideFails has Hide panic while some have come into a client: they are in no other client in
// the next Update.
func TestHideFails(t *testing.T) {
	x := newField(t, world.Options{})
	var bad handle.Handle
	s := x.newSet(interest.Options{Hide: func(*world.Frame) func(*interest.Client, handle.Handle) bool {
		return func(_ *interest.Client, h handle.Handle) bool {
			if h == bad {
				panic("cause")
			}
			return false
		}
	}})
	x.unit(9, 50)
	bad = x.unit(15, 50) // in the next cell
	v := s.Open(interest.ClientOptions{At: near.Point{X: 15, Y: 50}, Radius: 10})
	f := x.now()
	defer f.Release()
	require.Panics(t, func() { s.Update(f, 1, none) })
	v.Close()
	bad = handle.None
	s.Open(interest.ClientOptions{At: near.Point{X: 90, Y: 50}, Radius: 10})
	require.Empty(t, x.update(s, 1))
}
