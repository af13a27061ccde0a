package interest_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/interest"
	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/world"
)

// TestWrite has one client read at once and another slowly: both come to know all that is there.
func TestWrite(t *testing.T) {
	for _, n := range workers {
		x := newField(t, world.Options{})
		s := x.newSet(interest.Options{})
		for i := range 50 {
			x.unit(float64(2*i), 5)
		}
		at := interest.ClientOptions{At: near.Point{X: 50, Y: 5}, Radius: 20, Margin: 5, Bytes: 200}
		var packets [2]chan []byte
		var clients [2]*client
		var views [2]*interest.Client
		for i := range packets {
			packets[i], clients[i] = make(chan []byte), newClient(t)
			at.Write = func(packet []byte) { packets[i] <- bytes.Clone(packet) }
			views[i] = s.Open(at)
		}
		got := [2]int{}
		apply := func(i int, b []byte) {
			p := readPacket(t, b)
			for j, l := range p.Leaves {
				p.Leaves[j].Handle = clients[i].slots[l.Slot].handle
			}
			for j, r := range p.Rows {
				if !r.Enter {
					p.Rows[j].Handle = clients[i].slots[r.Slot].handle
				}
			}
			clients[i].apply(&p, false)
			got[i]++
			require.Equal(t, uint64(got[i]), p.Number)
		}
		step := func() {
			f := x.now()
			defer f.Release()
			s.Update(f, n, nil)
		}
		for i := range 60 {
			x.drift()
			step()
			apply(0, <-packets[0])
			interest.Written(views[0])
			if i%7 == 6 {
				apply(1, <-packets[1])
				interest.Written(views[1])
			}
		}
		require.Equal(t, 60, got[0])
		require.Equal(t, 8, got[1], "one of 7 Updates")
		views[0].Change(interest.ClientOptions{At: near.Point{X: 50, Y: 5}, Radius: 20, Margin: 5})
		views[1].Change(interest.ClientOptions{At: near.Point{X: 50, Y: 5}, Radius: 20, Margin: 5})
		for range 3 { // the world rests
			step()
			for i := range views {
				if interest.Writes(views[i]) {
					apply(i, <-packets[i])
					interest.Written(views[i])
				}
			}
		}
		f := x.now()
		seen := look(f, interest.Options{})
		f.Release()
		for i, c := range clients {
			require.Equal(t, seen.by(views[i], c.has()), c.has())
			require.NotEmpty(t, c.has())
		}
	}
}

// TestWriteAmongSinks has clients with Write and others: those have the sink.
func TestWriteAmongSinks(t *testing.T) {
	x := newField(t, world.Options{})
	s := x.newSet(interest.Options{})
	h := x.unit(5, 5)
	written := make(chan int, 2)
	s.Open(interest.ClientOptions{Entity: h, Radius: 5, Write: func(packet []byte) { written <- len(packet) }})
	v := s.Open(interest.ClientOptions{Entity: h, Radius: 5})
	told := x.update(s, 1)
	require.Len(t, told, 1)
	require.Contains(t, told, v)
	require.Positive(t, <-written)
	f := x.now()
	defer f.Release()
	mustPanic(t, "nil sink", func() { s.Update(f, 1, nil) })
	v.Close()
	s.Update(f, 1, nil)
}

// TestWriteChange changes clients, which keep what they write to.
func TestWriteChange(t *testing.T) {
	x := newField(t, world.Options{})
	s := x.newSet(interest.Options{})
	h := x.unit(5, 5)
	written := make(chan string)
	v := s.Open(interest.ClientOptions{Write: func(packet []byte) { written <- fmt.Sprint(len(readPacket(t, packet).Rows)) }})
	v.Change(interest.ClientOptions{Entity: h, Radius: 5, Unacked: 3, Write: func([]byte) { written <- "another" }})
	f := x.now()
	defer f.Release()
	s.Update(f, 1, nil)
	require.Equal(t, "1", <-written)
	require.NotNil(t, v.Options().Write)
	require.Zero(t, v.Options().Unacked)

	v = s.Open(interest.ClientOptions{Unacked: 2, User: "anna"})
	v.Change(interest.ClientOptions{Entity: h, User: "bob"})
	s.Update(f, 1, none)
	require.Equal(t, interest.ClientOptions{Entity: h, Unacked: 2, User: "anna"}, v.Options())
}

// TestWriteAllocates writes packets again and again.
func TestWriteAllocates(t *testing.T) {
	if check.Enabled {
		t.Skip("the race detector has more allocated")
	}
	x := newField(t, world.Options{})
	s := x.newSet(interest.Options{})
	written := make(chan int)
	v := s.Open(interest.ClientOptions{Entity: x.unit(5, 5), Radius: 5, Write: func(packet []byte) { written <- len(packet) }})
	frames := []*world.Frame{x.now(), nil}
	x.drift()
	frames[1] = x.now()
	at := 0
	update := func() {
		at++
		s.Update(frames[at%2], 1, nil)
		<-written
		interest.Written(v)
	}
	for range 5 {
		update()
	}
	require.Zero(t, testing.AllocsPerRun(20, update))
	frames[0].Release()
	frames[1].Release()
}
