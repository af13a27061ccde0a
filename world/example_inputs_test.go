package world_test

import (
	"fmt"
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/state"
	"github.com/atoll-sim/atoll/world"
)

// heard is what a tape holds of a request: its payload as bytes.
type heard struct {
	kind   int
	flags  store.RequestFlags
	handle handle.Handle
	value  []byte
}

// tape is a Recorder that keeps one refresh in mind. Package inputlog writes them
// to a file.
type tape struct {
	kinds    store.Kinds
	requests []heard
	in       world.Inputs
}

// Failed is told if it could not keep a refresh.
func (t *tape) Failed(err error) { panic(err) }

// form is how what comes with a request is written as bytes.
func (t *tape) form(kind int) *state.Form {
	_, typ := t.kinds.Describe(kind)
	if typ == nil {
		return nil
	}
	form, err := new(state.Codecs).Form(typ, true)
	if err != nil {
		panic(err)
	}
	return form
}

func (t *tape) Begin() { t.requests = nil }

func (t *tape) Request(_, _ int, r store.PendingRequest) {
	h := heard{kind: r.Kind(), flags: r.Flags(), handle: r.Handle}
	if form := t.form(h.kind); form != nil {
		h.value = form.Append(nil, t.kinds.Payload(r))
	}
	t.requests = append(t.requests, h)
}

func (t *tape) End(in *world.Inputs) {
	t.in = *in
	t.in.Recalled = append([]handle.Handle(nil), in.Recalled...)
}

// play gives a world what the tape has heard.
func (t *tape) play(f *world.Replayer) error {
	if err := f.Draw(t.in.Drawn); err != nil {
		return err
	}
	for _, h := range t.in.Recalled {
		if err := f.Recall(h); err != nil {
			return err
		}
	}
	for _, r := range t.requests {
		value, err := f.Request(r.kind, r.flags, r.handle)
		if err == nil && value.Type != nil {
			_, err = t.form(r.kind).Read(r.value, value)
		}
		if err != nil {
			return err
		}
	}
	for _, h := range t.in.Released {
		f.Release(h)
	}
	f.Publish()
	return f.Transfer(t.in.Shifts)
}

// What ports ask of one world is heard, and asked again of another, which comes to
// be the same.
func ExampleReplayer() {
	newWorld := func() (*world.World, *world.Bundle[Unit], *world.Component[Health]) {
		w := world.MustNew(world.Options{})
		health := world.Register[Health](w, "health")
		return w, world.NewBundle[Unit](w), health
	}
	w, units, health := newWorld()
	t := &tape{kinds: w.Survey().Kinds()}
	if err := w.RecordInputs(t); err != nil {
		panic(err)
	}
	port, _ := w.OpenPort()
	unit, _ := units.Create(port, Unit{Health{10}})
	_ = health.Set(port, unit, Health{9})
	w.Refresh()

	twin, _, _ := newWorld()
	feed, err := twin.ReplayInputs()
	fmt.Println(err, t.play(feed))
	twin.Refresh()
	fmt.Println(twin.Alive(unit), *world.Read[Health](twin).Get(unit))
	a, _ := state.StateHash(w, nil)
	b, _ := state.StateHash(twin, nil)
	fmt.Println(a == b)
	feed.Close() // what the port had in hand goes back
	// Output:
	// <nil> <nil>
	// true {9}
	// true
}

// A recorder hears every request before it is applied.
func ExampleRecorder() {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w)
	t := &tape{kinds: w.Survey().Kinds()}
	if err := w.RecordInputs(t); err != nil {
		panic(err)
	}
	port, _ := w.OpenPort()
	unit, _ := units.Create(port, Unit{Health{10}})
	_ = port.Destroy(unit)
	w.Refresh()
	for _, r := range t.requests {
		_, typ := t.kinds.Describe(r.kind)
		fmt.Println(r.handle == unit, typ == reflect.TypeFor[Unit]())
	}
	// Output:
	// true true
	// true false
}

// What comes from outside and is no request of a port.
func ExampleInputs() {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	unit, _ := world.NewBundle[Unit](w).Create(w, Unit{})
	t := &tape{kinds: w.Survey().Kinds()}
	if err := w.RecordInputs(t); err != nil {
		panic(err)
	}
	world.LivenessOf(w).Release(unit) // by a reference
	w.Refresh()
	fmt.Println(t.in.Tick, t.in.Released[0] == unit)
	for from := world.AllShards; from < w.Shards(); from++ {
		w.Survey().Requests(from, func(store.PendingRequest) { fmt.Println("sent by a system, for the next refresh") })
	}
	// Output: 0 true
}
