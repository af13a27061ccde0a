package misuse_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/interest"
	"github.com/atoll-sim/atoll/ext/reference"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/inspect"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
	snaptext "github.com/atoll-sim/atoll/persist/snapshot/text"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

type (
	// callbackNote has a codec.
	callbackNote struct{ Text string }
	// callbackMark has a field that encodes itself.
	callbackMark struct{ Cell callbackCell }
	callbackCell struct{ n *int }

	callbackSaved struct {
		misuseHealth
		callbackNote
		callbackMark
	}
	// callbackHealth is a later form of misuseHealth.
	callbackHealth struct{ Points, Most int64 }
)

// marking is the scene whose callbackCell fails.
var marking atomic.Pointer[callbackScene]

func (callbackCell) MarshalBinary() ([]byte, error) {
	if x := marking.Load(); x != nil {
		x.fail()
	}
	return nil, nil
}

func (*callbackCell) UnmarshalBinary([]byte) error { return nil }

// plain are codecs that do not fail.
func plain() *state.Codecs { return codecs(func() {}, func() {}) }

func codecs(onAppend, onRead func()) *state.Codecs {
	c := new(state.Codecs)
	state.Register(c, state.Codec[callbackNote]{
		Append: func(dst []byte, v *callbackNote) []byte {
			onAppend()
			return append(append(dst, byte(len(v.Text))), v.Text...)
		},
		Read: func(src []byte, v *callbackNote) error { onRead(); v.Text = string(src[1:]); return nil },
	})
	return c
}

// pond is a small world that can be saved.
type pond struct {
	*world.World
	s      *scheduler.Scheduler
	saved  *world.Bundle[callbackSaved]
	health *world.Component[misuseHealth]
}

func newPond(entities int, o scheduler.Options) *pond {
	w := world.MustNew(world.Options{Shards: 2, VersionsEach: 1000})
	x := &pond{World: w, health: world.Register[misuseHealth](w, "health")}
	world.Register[callbackNote](w, "note")
	world.Register[callbackMark](w, "mark")
	x.saved = world.NewBundle[callbackSaved](w)
	x.s = scheduler.New(w, o)
	if err := x.saved.CreateN(w, entities, nil); err != nil {
		panic(err)
	}
	return x
}

// image is a pond, saved.
func image() []byte {
	var b bytes.Buffer
	if err := snapshot.Write(&b, newPond(3, scheduler.Options{}).World, snapshot.Options{Codecs: plain()}); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// failingReader and failingWriter fail in their first call.
type (
	failingReader struct {
		x *callbackScene
		io.Reader
	}
	failingWriter struct{ x *callbackScene }
)

func (r failingReader) Read(p []byte) (int, error) { r.x.fail(); return r.Reader.Read(p) }

func (w failingWriter) Write(p []byte) (int, error) { w.x.fail(); return len(p), nil }

// reads makes the row of a reader.
func reads(of string, do func(x *callbackScene, from io.Reader) error) callbackRow {
	return callbackRow{of: of, on: onCaller, twice: true, do: func(x *callbackScene) string {
		return x.must(do(x, failingReader{x, bytes.NewReader(image())}))
	}}
}

// writes makes the row of a writer.
func writes(of string, do func(x *callbackScene, to io.Writer) error) callbackRow {
	return callbackRow{of: of, on: onCaller, twice: true, do: func(x *callbackScene) string { return x.must(do(x, failingWriter{x})) }}
}

// alsos is state outside of the world whose functions fail.
func (x *callbackScene) extras(save, load func()) []snapshot.Extra {
	return []snapshot.Extra{{Name: "also", Append: func(dst []byte) []byte { save(); return dst }, Read: func([]byte) error { load(); return nil }}}
}

func nothing() {}

// elsewhere fails on a goroutine other than the caller's.
func (x *callbackScene) elsewhere() {
	if goroutine() != x.caller {
		x.fail()
	}
}

// savingCallbacks are the functions that packages state, snapshot and inputlog call.
func savingCallbacks() []callbackRow {
	o := snapshot.Options{Codecs: plain()}
	return []callbackRow{
		{of: "state.Codec.Append", on: onCaller, twice: true, do: func(x *callbackScene) string {
			_, err := state.StateHash(newPond(3, scheduler.Options{}).World, codecs(x.fail, nothing))
			return x.must(err)
		}},
		{of: "besides: state.Codec.Append, in snapshot.Write", on: onOther, twice: true, do: func(x *callbackScene) string {
			return x.heard(snapshot.Write(io.Discard, newPond(3, scheduler.Options{}).World, snapshot.Options{Codecs: codecs(x.elsewhere, nothing)}), inCall)
		}},
		{of: "state.Codec.Read", on: onOther, twice: true, do: func(x *callbackScene) string {
			return x.heard(snapshot.Load(bytes.NewReader(image()), newPond(0, scheduler.Options{}).World, snapshot.Options{Codecs: codecs(nothing, x.fail)}), inCall)
		}},
		{of: "besides: state, a method such as MarshalBinary of a component", on: onCaller, twice: true, do: func(x *callbackScene) string {
			marking.Store(x)
			defer marking.Store(nil)
			_, err := state.StateHash(newPond(3, scheduler.Options{}).World, plain())
			return x.heard(err, inCall)
		}},
		{of: "state.Hasher.Add write", on: onCaller, twice: true, do: func(x *callbackScene) string {
			h := state.NewHasher(newPond(3, scheduler.Options{}).World, plain())
			h.Add("also", func(dst []byte) []byte { x.fail(); return dst })
			_, err := h.Sections()
			return x.must(err)
		}},
		{of: "state.Stateful", on: onCaller, twice: true, do: func(x *callbackScene) string {
			newPond(0, scheduler.Options{Balancer: stateful{balancer{x}}}).s.AppendState(nil)
			return inNothing
		}},
		{of: "snapshot.Extra.Append", on: onCaller, twice: true, do: func(x *callbackScene) string {
			o := o
			o.Extras = x.extras(x.fail, nothing)
			return x.must(snapshot.Write(io.Discard, newPond(3, scheduler.Options{}).World, o))
		}},
		{of: "snapshot.Extra.Read", on: onCaller, twice: true, do: func(x *callbackScene) string {
			o := o
			o.Extras = x.extras(nothing, nothing)
			var b bytes.Buffer
			require.NoError(x.t, snapshot.Write(&b, newPond(3, scheduler.Options{}).World, o))
			o.Extras = x.extras(nothing, x.fail)
			return x.must(snapshot.Load(&b, newPond(0, scheduler.Options{}).World, o))
		}},
		{of: "snapshot.Migrated f", on: onOther, twice: true, do: func(x *callbackScene) string {
			w := world.MustNew(world.Options{Shards: 2, VersionsEach: 1000})
			world.Register[callbackHealth](w, "health")
			world.Register[callbackNote](w, "note")
			world.Register[callbackMark](w, "mark")
			o := o
			o.Changes = []snapshot.Change{snapshot.Migrated(func(old misuseHealth) callbackHealth { x.fail(); return callbackHealth{Points: old.Points} })}
			return x.heard(snapshot.Load(bytes.NewReader(image()), w, o), inCall)
		}},
		writes("snapshot.Write dst", func(x *callbackScene, to io.Writer) error {
			return snapshot.Write(to, newPond(3, scheduler.Options{}).World, o)
		}),
		writes("snapshot.Captured.Write dst", func(x *callbackScene, to io.Writer) error {
			c := must(snapshot.Capture(newPond(3, scheduler.Options{}).World, o))
			defer c.Release()
			return c.Write(to)
		}),
		writes("snapshot.Chain.Write dst", func(x *callbackScene, to io.Writer) error {
			c := must(snapshot.Capture(newPond(3, scheduler.Options{}).World, o))
			defer c.Release()
			return new(snapshot.Chain).Write(to, c)
		}),
		writes("text.Export dst", func(x *callbackScene, to io.Writer) error {
			_, err := snaptext.Export(bytes.NewReader(image()), to, o)
			return err
		}),
		writes("text.Import dst", func(x *callbackScene, to io.Writer) error {
			var text bytes.Buffer
			must(snaptext.Export(bytes.NewReader(image()), &text, o))
			_, err := snaptext.Import(&text, to, o)
			return err
		}),
		reads("snapshot.Load src", func(x *callbackScene, from io.Reader) error {
			return snapshot.Load(from, newPond(0, scheduler.Options{}).World, o)
		}),
		reads("snapshot.Inspect src", func(x *callbackScene, from io.Reader) error { _, err := snapshot.Inspect(from); return err }),
		reads("snapshot.Verify src", func(x *callbackScene, from io.Reader) error { _, err := snapshot.Verify(from); return err }),
		reads("snapshot.PlanLoad src", func(x *callbackScene, from io.Reader) error {
			_, err := snapshot.PlanLoad(from, newPond(0, scheduler.Options{}).World, o)
			return err
		}),
		reads("snapshot.PlanFiles old", func(x *callbackScene, from io.Reader) error {
			_, err := snapshot.PlanFiles(from, bytes.NewReader(image()), o)
			return err
		}),
		reads("snapshot.PlanFiles now", func(x *callbackScene, from io.Reader) error {
			_, err := snapshot.PlanFiles(bytes.NewReader(image()), from, o)
			return err
		}),
		reads("text.Compare old", func(x *callbackScene, from io.Reader) error {
			_, err := snaptext.Compare(from, bytes.NewReader(image()), 9)
			return err
		}),
		reads("text.Compare now", func(x *callbackScene, from io.Reader) error {
			_, err := snaptext.Compare(bytes.NewReader(image()), from, 9)
			return err
		}),
		reads("snapshot.Merge base\nsnapshot.Merge increments", func(x *callbackScene, from io.Reader) error {
			_, err := io.Copy(io.Discard, snapshot.Merge(from))
			return err
		}),
		reads("text.Export src", func(x *callbackScene, from io.Reader) error {
			_, err := snaptext.Export(from, io.Discard, o)
			return err
		}),
		{of: "text.Import src", on: onCaller, twice: true, do: func(x *callbackScene) string {
			var text bytes.Buffer
			must(snaptext.Export(bytes.NewReader(image()), &text, o))
			_, err := snaptext.Import(failingReader{x, &text}, io.Discard, o)
			return x.must(err)
		}},
		writes("inputlog.NewRecorder out", func(x *callbackScene, to io.Writer) error {
			r, err := inputlog.NewRecorder(x.w, to, inputlog.Options{})
			if err == nil {
				err = r.Close()
			}
			return err
		}),
		{of: "besides: inputlog.NewRecorder out, in a tick", on: onOther, do: func(x *callbackScene) string {
			begun := false
			r := must(inputlog.NewRecorder(x.w, writerFunc(func() {
				if begun {
					x.fail()
				}
			}), inputlog.Options{}))
			begun = true
			x.w.Refresh()
			told := x.heard(r.Err(), "Recorder.Err, Options.OnEnd")
			x.w.Refresh()
			require.Error(x.t, r.Close())
			return told
		}},
		{of: "inputlog.Options.OnEnd", on: onOther, do: func(x *callbackScene) string {
			begun := false
			r := must(inputlog.NewRecorder(x.w, writerFunc(func() {
				if begun {
					panic("misuse: the disk is full")
				}
			}), inputlog.Options{OnEnd: func(error) { x.fail() }}))
			begun = true
			x.w.Refresh()
			told := x.heard(x.w.Failure(), "World.Failure")
			x.w.Refresh()
			require.Error(x.t, r.Close())
			return told
		}},
		{of: "inputlog.Options.OnChange", on: onCaller, twice: true, do: func(x *callbackScene) string {
			r := must(inputlog.NewRecorder(x.w, io.Discard, inputlog.Options{OnChange: x.fail}))
			defer func() { require.NoError(x.t, r.Close()) }()
			x.newUnit(x.w)
			return x.must(x.s.Step(x.t.Context()))
		}},
		{of: "inputlog.Options.Commit", on: onOther, do: func(x *callbackScene) string {
			p := newPond(1, scheduler.Options{})
			r := must(inputlog.NewRecorder(p.World, io.Discard, inputlog.Options{Codecs: plain(), Commit: func() error { x.fail(); return nil }}))
			p.World.Refresh()
			require.ErrorIs(x.t, p.World.Err(), world.ErrClosed, "nobody has seen what the log may lack")
			require.Error(x.t, r.Close())
			return x.told(p.World.Err(), "World.Err, the error of Step")
		}},
		{of: "inputlog.Options.OnFailed", on: onOther, do: func(x *callbackScene) string {
			p, begun := newPond(1, scheduler.Options{}), false
			r := must(inputlog.NewRecorder(p.World, io.Discard, inputlog.Options{
				Codecs: codecs(func() {
					if begun {
						panic("misuse: the codec")
					}
				}, nothing),
				Commit: func() error { return nil }, OnFailed: func(error) { x.fail() },
			}))
			port := must(p.World.OpenPort())
			require.NoError(x.t, p.saved.CreateN(port, 1, nil))
			begun = true
			p.World.Refresh()
			require.ErrorIs(x.t, p.World.Err(), world.ErrClosed)
			require.Error(x.t, r.Close())
			return x.told(p.World.Err(), "World.Err, the error of Step")
		}},
		{of: "inputlog.Open in", on: onCaller, twice: true, do: func(x *callbackScene) string {
			_, err := inputlog.Open(failingReader{x, bytes.NewReader(misuseLog)})
			return x.must(err)
		}},
		{of: "inputlog.Player.Make tick", on: onCaller, do: func(x *callbackScene) string {
			from, to := newPond(0, scheduler.Options{}), newPond(0, scheduler.Options{})
			var b bytes.Buffer
			r := must(inputlog.NewRecorder(from.World, &b, inputlog.Options{Codecs: plain()}))
			require.NoError(x.t, from.s.Step(x.t.Context()))
			require.NoError(x.t, r.Close())
			p := must(must(inputlog.Open(&b)).Play(to.World, plain()))
			require.True(x.t, p.Next())
			x.after(func() {
				require.NoError(x.t, p.Make(func() error { return to.s.Step(x.t.Context()) }))
				require.False(x.t, p.Next())
				require.NoError(x.t, p.Err())
			})
			return x.must(p.Make(func() error { x.fail(); return nil }))
		}},
	}
}

// stateful is a Balancer with a state.
type stateful struct{ balancer }

func (s stateful) AppendState(dst []byte) []byte { s.x.fail(); return dst }

// writerFunc is a function that is called for each Write.
type writerFunc func()

func (f writerFunc) Write(p []byte) (int, error) { f(); return len(p), nil }

// listener is a net.Listener that fails.
type listener struct {
	net.Listener
	x *callbackScene
}

func (l listener) Accept() (net.Conn, error) { l.x.fail(); return l.Listener.Accept() }

// watchingCallbacks are the functions that packages interest, inspect and reference call.
func watchingCallbacks() []callbackRow {
	const onUpdate = "a worker's of the Update"
	none := func(*interest.Client, *interest.Packet) {}
	update := func(x *callbackScene, o interest.Options, encode func(), v interest.ClientOptions, sink func(*interest.Client, *interest.Packet)) string {
		v.Entity, v.Radius = x.hs[0], 1
		s := interest.New(x.w, x.near, o, interest.Encode(func(dst []byte, h *misuseHealth) []byte { encode(); return append(dst, byte(h.Points)) }))
		s.Open(v)
		f := must(must(x.w.NewView(x.near, x.health)).Now())
		x.after(func() {
			defer f.Release()
			s.Update(f, 1, none)
		})
		s.Update(f, 1, sink)
		return inNothing
	}
	hides := func(x *callbackScene) interest.Options {
		return interest.Options{Hide: func(*world.Frame) func(*interest.Client, handle.Handle) bool {
			return func(*interest.Client, handle.Handle) bool { x.fail(); return false }
		}}
	}
	inspector := func(x *callbackScene, o inspect.Options, limit time.Duration, l func(net.Listener) net.Listener) error {
		i := must(inspect.New(x.s, o))
		defer i.Close()
		ctx, cancel := context.WithTimeout(x.t.Context(), limit)
		defer cancel()
		return i.Serve(ctx, l(must(net.Listen("tcp", "127.0.0.1:0"))))
	}
	return []callbackRow{
		{of: "interest.Encode encode", on: onUpdate, do: func(x *callbackScene) string {
			return update(x, interest.Options{}, x.fail, interest.ClientOptions{}, none)
		}},
		{of: "interest.Options.Hide", on: onUpdate, do: func(x *callbackScene) string {
			return update(x, hides(x), nothing, interest.ClientOptions{}, none)
		}},
		{of: "interest.Options.Include", on: onUpdate, do: func(x *callbackScene) string {
			return update(x, interest.Options{Include: func(*world.Frame) func([]handle.Handle, *interest.Client) []handle.Handle {
				return func(dst []handle.Handle, _ *interest.Client) []handle.Handle { x.fail(); return dst }
			}}, nothing, interest.ClientOptions{}, none)
		}},
		{of: "interest.Options.Weight", on: onUpdate, do: func(x *callbackScene) string {
			return update(x, interest.Options{Weight: func(*world.Frame) func(handle.Handle) int {
				return func(handle.Handle) int { x.fail(); return 1 }
			}}, nothing, interest.ClientOptions{Bytes: 100}, none)
		}},
		{of: "interest.Clients.Update sink\ninterest.Clients.Run sink", on: onUpdate, do: func(x *callbackScene) string {
			return update(x, interest.Options{}, nothing, interest.ClientOptions{}, func(*interest.Client, *interest.Packet) { x.fail() })
		}},
		{of: "interest.ClientOptions.Write", on: onOther, do: func(x *callbackScene) string {
			wrote := make(chan struct{}, 1)
			update(x, interest.Options{}, nothing, interest.ClientOptions{Write: func([]byte) {
				defer func() { wrote <- struct{}{} }()
				x.fail()
			}}, none)
			<-wrote
			x.also = "its view is closed"
			return inStderr
		}},
		{of: "inspect.Options.Logger", on: onOther, twice: true, do: func(x *callbackScene) string {
			require.NoError(x.t, inspector(x, inspect.Options{Logger: slog.New(handler{x})}, 20*time.Millisecond, func(l net.Listener) net.Listener { return l }))
			return inStderr
		}},
		{of: "inspect.Inspector.Serve l", on: onOther, twice: true, do: func(x *callbackScene) string {
			limit := 10 * time.Second
			if !x.armed.Load() { // it serves for as long
				limit = 100 * time.Millisecond
			}
			return x.heard(inspector(x, inspect.Options{}, limit, func(l net.Listener) net.Listener { return listener{l, x} }), inCall)
		}},
		{of: "reference.Own forgotten", on: onOther, do: func(x *callbackScene) string {
			called := make(chan struct{}, 9)
			func() {
				_ = reference.Own(x.w, x.hs[5], func(handle.Handle) { defer func() { called <- struct{}{} }(); x.fail() })
			}()
			for collected := false; !collected; {
				runtime.GC()
				select {
				case <-called:
					collected = true
				case <-time.After(time.Millisecond):
				}
			}
			return inStderr
		}},
	}
}

// keptPond is a Store and its pond.
type keptPond struct {
	*pond
	*durable.Store
	path string
	told chan error // to OnError
}

// keep opens a Store whose ticks run until it is closed. What it needs is checked when the call is
// over: Save, Wait, the next tick, Close and another Open.
func (x *callbackScene) keep(path string, change func(o *durable.Options)) *keptPond {
	k := &keptPond{pond: newPond(0, scheduler.Options{}), path: path, told: make(chan error, 100)}
	o := durable.Options{Interval: -1, Snapshot: snapshot.Options{Codecs: plain()}, OnError: func(err error) { k.told <- err }}
	o.Snapshot.Extras = x.extras(nothing, nothing)
	o.New = func(w *world.World) error { return k.saved.CreateN(w, 3, nil) }
	change(&o)
	k.Store = must(durable.Open(x.t.Context(), path, k.World, k.s, o))
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- k.s.Run(ctx) }()
	x.after(func() {
		for k.Store.Wait(x.t.Context()) != nil { // until a change that was not saved is saved again
			time.Sleep(time.Millisecond)
		}
		require.NoError(x.t, k.Store.Save(x.t.Context()))
		tick := k.World.Tick()
		for k.World.Tick() < tick+2 {
			time.Sleep(time.Millisecond)
		}
		require.NoError(x.t, k.Store.Wait(x.t.Context()))
		stop()
		require.NoError(x.t, <-ran)
		if err := k.Store.Close(); err != nil { // the row fails in Close
			x.also = x.told(err, "the error of Store.Close")
		}
		k.World.Close()
		x.open(path)
	})
	return k
}

// open opens and closes a directory, in which nothing must be lost.
func (x *callbackScene) open(path string) {
	y := newPond(0, scheduler.Options{})
	d := must(durable.Open(x.t.Context(), path, y.World, y.s, durable.Options{Snapshot: snapshot.Options{Codecs: plain(), Extras: x.extras(nothing, nothing)}}))
	require.GreaterOrEqual(x.t, y.World.Count(), 3)
	require.NoError(x.t, d.Close())
}

// storeCallbacks are the functions that a Store calls.
func storeCallbacks() []callbackRow {
	alsoFails := func(x *callbackScene) func(o *durable.Options) {
		return func(o *durable.Options) {
			begun := false // Open takes the first snapshot
			o.Snapshot.Extras = x.extras(func() {
				if begun {
					x.fail()
				}
				begun = true
			}, nothing)
		}
	}
	changes := func(x *callbackScene, k *keptPond) {
		require.NoError(x.t, <-k.s.Between(func(w *world.World) { must(k.saved.Create(w, callbackSaved{})) }))
	}
	return []callbackRow{
		{of: "besides: snapshot.Extra.Append, in Store.Save", on: onOther, do: func(x *callbackScene) string {
			return x.heard(x.keep(x.t.TempDir(), alsoFails(x)).Store.Save(x.t.Context()), inCall)
		}},
		{of: "besides: snapshot.Extra.Append, when a Store saves by itself", on: onOther, do: func(x *callbackScene) string {
			k := x.keep(x.t.TempDir(), func(o *durable.Options) {
				alsoFails(x)(o)
				o.Interval = 10 * time.Millisecond
			})
			return x.told(<-k.told, inOnError)
		}},
		{of: "besides: snapshot.Extra.Append, after a change of the idle world", on: onOther, do: func(x *callbackScene) string {
			k := x.keep(x.t.TempDir(), alsoFails(x))
			changes(x, k)
			return x.told(<-k.told, inOnError)
		}},
		{of: "besides: state.Codec.Append, after a change of the idle world", on: onOther, do: func(x *callbackScene) string {
			var opened atomic.Bool
			k := x.keep(x.t.TempDir(), func(o *durable.Options) {
				o.Snapshot.Codecs = codecs(func() {
					if opened.Load() && bytes.Contains(debug.Stack(), []byte("atoll/persist/snapshot.")) { // not the hash of a tick
						x.fail()
					}
				}, nothing)
			})
			opened.Store(true)
			changes(x, k)
			return x.told(<-k.told, inOnError)
		}},
		{of: "besides: state.Codec.Append, for the hash of a tick", on: onOther, do: func(x *callbackScene) string {
			o := inputlog.Options{Codecs: codecs(func() {
				if goroutine() != x.caller {
					x.fail()
				}
			}, nothing)}
			p := newPond(3, scheduler.Options{})
			r := must(inputlog.NewRecorder(p.World, io.Discard, o))
			p.World.Refresh()
			x.after(func() { _ = r.Close(); p.World.Refresh() })
			if r.Err() == nil {
				return inNothing + ": the hash leaves the value out"
			}
			return x.told(r.Err(), "Recorder.Err, Options.OnEnd")
		}},
		{of: "besides: snapshot.Extra.Append, in Store.Close", on: onOther, do: func(x *callbackScene) string {
			p, path := newPond(0, scheduler.Options{}), x.t.TempDir()
			o := durable.Options{Interval: -1, Snapshot: snapshot.Options{Codecs: plain()}, New: func(w *world.World) error { return p.saved.CreateN(w, 3, nil) }}
			alsoFails(x)(&o)
			d := must(durable.Open(x.t.Context(), path, p.World, p.s, o))
			require.NoError(x.t, p.s.Step(x.t.Context()))
			x.after(func() {
				require.Error(x.t, d.Save(x.t.Context()))
				require.ErrorIs(x.t, d.Wait(x.t.Context()), durable.ErrClosed)
				require.NoError(x.t, d.Close())
				x.open(path)
			})
			return x.heard(d.Close(), inCall)
		}},
		{of: "durable.Options.New", on: onCaller, do: func(x *callbackScene) string {
			path := x.t.TempDir()
			x.after(func() { x.keep(path, func(*durable.Options) {}) })
			x.keep(path, func(o *durable.Options) { o.New = func(*world.World) error { x.fail(); return nil } })
			return inNothing
		}},
		{of: "durable.Options.Upgrade", on: onCaller, do: func(x *callbackScene) string {
			path, p := x.t.TempDir(), newPond(0, scheduler.Options{})
			o := durable.Options{Interval: -1, Snapshot: snapshot.Options{Codecs: plain(), Extras: x.extras(nothing, nothing)}, New: func(w *world.World) error { return p.saved.CreateN(w, 3, nil) }}
			require.NoError(x.t, must(durable.Open(x.t.Context(), path, p.World, p.s, o)).Close())
			x.after(func() { x.open(path) })
			x.keep(path, func(o *durable.Options) { o.Upgrade = func(*world.World) error { x.fail(); return nil } })
			return inNothing
		}},
		{of: "durable.Options.OnError", on: onOther, do: func(x *callbackScene) string {
			called, fails := make(chan struct{}, 9), atomic.Bool{}
			k := x.keep(x.t.TempDir(), func(o *durable.Options) {
				o.Snapshot.Extras = x.extras(func() {
					if fails.CompareAndSwap(true, false) {
						panic("misuse: something to tell")
					}
				}, nothing)
				o.OnError = func(error) { defer func() { called <- struct{}{} }(); x.fail() }
			})
			fails.Store(true)
			changes(x, k)
			<-called
			return inStderr
		}},
		{of: "durable.Options.Logger", on: onOther, do: func(x *callbackScene) string {
			x.keep(x.t.TempDir(), func(o *durable.Options) { o.Logger = slog.New(handler{x}) })
			return inStderr
		}},
		{of: "durable.FollowOptions.OnProgress", on: onCaller, do: func(x *callbackScene) string {
			from, to := x.t.TempDir(), x.t.TempDir()
			x.keep(from, func(*durable.Options) {})
			follow := func(f func(durable.Followed)) error {
				return durable.Follow(x.t.Context(), from, to, durable.FollowOptions{Once: true, OnProgress: f})
			}
			x.after(func() { require.NoError(x.t, follow(nil)) })
			require.NoError(x.t, follow(func(durable.Followed) { x.fail() }))
			return inNothing
		}},
		{of: "durable.FollowOptions.Logger", on: onOther, do: func(x *callbackScene) string {
			_ = durable.Follow(x.t.Context(), x.t.TempDir(), x.t.TempDir(), durable.FollowOptions{Once: true, Logger: slog.New(handler{x})})
			return inStderr
		}},
		{of: "besides: scheduler.Options.OnTick, when durable.Open plays the log", on: onOther, do: func(x *callbackScene) string {
			onTick := func(f func()) scheduler.Options {
				return scheduler.Options{OnTick: func(r scheduler.Report) {
					if r.Tick == 1 {
						f()
					}
				}}
			}
			p, path := newPond(0, onTick(func() { panic("misuse: as recorded") })), x.t.TempDir()
			o := durable.Options{Interval: -1, Snapshot: snapshot.Options{Codecs: plain()}, New: func(w *world.World) error { return p.saved.CreateN(w, 3, nil) }}
			d := must(durable.Open(x.t.Context(), path, p.World, p.s, o))
			for range 2 { // the process dies before the next tick
				func() {
					defer func() { _ = recover() }()
					require.NoError(x.t, p.s.Step(x.t.Context()))
				}()
			}
			require.NoError(x.t, d.Wait(x.t.Context()))
			crashed := x.t.TempDir() // what a process leaves that is killed here
			for _, file := range must(filepath.Glob(filepath.Join(path, "*"))) {
				require.NoError(x.t, os.WriteFile(filepath.Join(crashed, filepath.Base(file)), must(os.ReadFile(file)), 0o600))
			}
			require.NoError(x.t, d.Close())
			y := newPond(0, onTick(x.fail))
			o.Logger = slog.New(slog.NewTextHandler(&x.log, nil))
			e := must(durable.Open(x.t.Context(), crashed, y.World, y.s, o))
			require.Equal(x.t, p.World.Tick(), y.World.Tick())
			x.after(func() { require.NoError(x.t, e.Close()) })
			return inLogger
		}},
	}
}
