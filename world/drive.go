package world

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// This file is what a world offers to this module's other packages. Package drive has the comments.

// driven is a world as a drive.World. It is a type of its own, so that programs cannot call the
// methods.
type driven World

var (
	_ drive.World[*Build, *Context, *PanicError] = (*driven)(nil)
	_ drive.Survey                               = (*survey)(nil)
)

func init() {
	drive.Register(func(actor any) any {
		if w, ok := actor.(*World); ok {
			return (*driven)(w) // may be nil: the methods say so
		}
		by, _ := actor.(Actor)
		mustActor(by, "a reference")
		return (*driven)(by.world())
	})
}

// The turns of the world itself, in the check build.
const (
	idleTurn = "idle"
	tickTurn = "tick"
)

func (d *driven) w() *World { return (*World)(d) }

func (d *driven) MustIdle(call string) {
	mustBe(d.w(), call)
	d.w().mustIdle(call)
}

func (d *driven) MustRegister(call, name string) {
	d.MustIdle(call)
	d.w().mustRegister("%s of %q", call, name)
}

func (d *driven) MustName(call, name string) {
	d.MustRegister(call, name)
	pkg, call, _ := strings.Cut(call, ".")
	if name == "" {
		panic(fmt.Sprintf("%s: %s without a name; pass one that errors and snapshots can use", pkg, call))
	}
	for i, x := range d.parts {
		if drive.NameOf(x, i) == name {
			panic(fmt.Sprintf("%s: %s of %q, a name that is taken in this world; pass another", pkg, call, name))
		}
	}
}

func (d *driven) Seal(by string) { d.sealed = by }

func (d *driven) KeepIncarnation(keep func(n uint32) error) { d.keepNumber = keep }

func (d *driven) MustBeWhole(call string) { d.w().mustBeWhole(call) }

func (d *driven) Replayed(f func()) {
	d.replayed = true
	defer func() { d.replayed = false }()
	f()
	if d.Idle() {
		d.w().leave()
	}
}

func (d *driven) LookForChanges() { d.w().lookForChanges() }

func (d *driven) OnClose(f func()) {
	x := &d.closing
	x.Lock()
	if !x.done {
		x.calls = append(x.calls, f)
		x.Unlock()
		return
	}
	x.Unlock()
	f()
}

func (d *driven) Touched() { d.touched = true }

func (d *driven) Hold(within string) func() {
	w := d.w()
	outer := w.within
	w.within = within
	w.open++
	return func() {
		w.within = outer
		w.closeLoop()
	}
}

func (d *driven) Idle() bool { return d.phase.Load() == phaseIdle }

func (d *driven) Binds(binder, x any, call string) (bool, drive.Copy) {
	if is, ok := binder.(interface{ itself() *Frame }); ok { // not by bind, which makes an index
		f := is.itself()
		f.must(call)
		if f.image.of != d.frames {
			return false, nil
		}
		return true, f.copyOf(x.(*extensionView), call)
	}
	b, _ := binder.(Binder)
	return bind(b, call).w == d.w(), nil
}

func (d *driven) NewBuild(shard int, system string) *Build {
	return newBuild(d.w(), shard, system)
}

func (d *driven) Finish(b *Build) *drive.Access { return b.finish() }

func (d *driven) ComponentName(id int) string { return d.components[id].name }

func (d *driven) ComponentNames(set store.Set) string { return d.w().componentNames(set) }

func (d *driven) ResourceName(id int) string { return d.resources[id].resourceName() }

func (d *driven) MergeResource(id int) { d.resources[id].mergeParts() }

func (d *driven) Context(shard int) *Context {
	if shard == AllShards {
		shard = len(d.shards)
	}
	return d.contexts[shard]
}

func (d *driven) Acting(c *Context) *drive.Acting { return &c.acting }

// drivenHook is a hook as a drive.Hook.
type drivenHook Hook

func (h *drivenHook) Name() string { return h.name }

func (h *drivenHook) Enabled(shard int) bool { return (*Hook)(h).enabledOn(shard) }

func (h *drivenHook) Disable(shard int) { h.parts[shard].off = true }

func (d *driven) Extend(x drive.Extension) any {
	w := d.w()
	name := drive.NameOf(x, w.engine.Extensions.Len())
	d.MustRegister("an extension", name)
	w.engine.Extensions.Add(x)
	w.parts = append(w.parts, x)
	return w.view(x, name)
}

func (d *driven) ExtendLate(x drive.Late) {
	w := d.w()
	d.MustRegister("an extension", drive.NameOf(x, len(w.parts)))
	w.engine.Extensions.AddLate(x)
	w.parts = append(w.parts, x)
}

func (d *driven) Acts(actor any, extension, call string) (home int, err error) {
	w := d.w()
	switch by := actor.(type) {
	case *World:
		if by == w {
			return drive.ByWorld, by.ready(call)
		}
	case *Port:
		if by.world() == w {
			return drive.ByPort, nil
		}
	case *Context:
		if by != nil && by.w == w {
			if by.mustRun(call); by.shard != nil {
				return by.shard.ID(), nil
			}
			return len(w.shards), nil
		}
	case *EntityContext:
		if by.world() == w {
			if by.mustRun(call); w.phase.Load() == phaseIdle {
				return drive.ByWorld, nil
			}
			return by.c.shard.ID(), nil
		}
	}
	d.MustActOn(actor, extension)
	panic(embedded(actor.(Actor), call))
}

func (d *driven) Delivers(message any) drive.Deliver {
	return message.(interface{ delivers(w *World) drive.Deliver }).delivers(d.w())
}

func (d *driven) Liveness() *drive.Liveness {
	w := d.w()
	mustBe(w, "a reference")
	if a := w.engine.Liveness.Load(); a != nil {
		return a
	}
	of := w.space.Liveness()
	a := drive.NewLiveness(of)
	if !w.engine.Liveness.CompareAndSwap(nil, a) {
		return w.engine.Liveness.Load()
	}
	runtime.AddCleanup(w, func(a *slots.Liveness) { a.Cut() }, of)
	return a
}

func (d *driven) Given(h handle.Handle) bool { return d.engine.PortSlots.Given(h) }

func (d *driven) Sender() *drive.Sender { return &d.engine.Extensions.Sender }

func (d *driven) IsDying(h handle.Handle) bool {
	l := d.space.Locate(h)
	return l != 0 && d.space.Marked(l)
}

func (d *driven) Space() *store.Space { return d.space }

func (d *driven) MustActOn(actor any, extension string) {
	by, _ := actor.(Actor)
	if by == nil || by.world() != d.w() {
		d.w().panicForeign(by, "a request", "extension", extension)
	}
}

func (d *driven) Open(actor any, extension string, h handle.Handle, size uint32) (q *queue.Queue, epoch uint32, done queue.Finisher, err error) {
	return d.openFor(actor, extension, h, nil, size)
}

func (d *driven) OpenN(actor any, extension string, hs []handle.Handle, size uint32) (q *queue.Queue, epoch uint32, done queue.Finisher, err error) {
	return d.openFor(actor, extension, hs[0], hs[1:], size)
}

// openFor makes sure that there is room for requests about h and others.
func (d *driven) openFor(actor any, extension string, h handle.Handle, others []handle.Handle, size uint32) (q *queue.Queue, epoch uint32, done queue.Finisher, err error) {
	epoch = d.engine.Epoch.Load()
	var s *sender
	switch by := actor.(type) {
	case *Port:
		q, done, err = by.openFor(1+len(others), size)
		return q, epoch, done, err
	case *Context:
		by.mustRun(extension)
		if !by.Alive(h) || !allAlive(by, others) {
			return nil, 0, nil, ErrStale
		}
		s = &by.out
	case *EntityContext:
		by.mustRun(extension)
		if !by.Alive(h) || !allAlive(by, others) {
			return nil, 0, nil, ErrStale
		}
		s = &by.c.out
	case *World:
		panic(fmt.Sprintf("world: extension %q sends a request of %T; an idle World acts at once", extension, by))
	default:
		panic(embedded(by.(Actor), extension))
	}
	if q = s.open(); !q.Room(1+len(others), size) {
		return nil, 0, nil, s.refuse(q, 1+len(others), size)
	}
	return q, epoch, nil, nil
}

func allAlive(by Actor, hs []handle.Handle) bool {
	for _, h := range hs {
		if !by.Alive(h) {
			return false
		}
	}
	return true
}

// openFor makes sure that there is room for n requests of a size, and returns the queue to push them
// to and the Finisher to push them with.
func (p *Port) openFor(n int, size uint32) (q *queue.Queue, done queue.Finisher, err error) {
	if check.Enabled {
		p.enter()
		defer func() {
			if q == nil {
				p.leave()
			}
		}()
	}
	if p.unusual() || !p.out.Room(n, size) {
		if err := p.ready(n, size); err != nil {
			return nil, nil, err
		}
	}
	done = p.finisher() // may panic
	return p.out, done, nil
}

func (d *driven) Refuse(actor any, err error) error {
	if p, ok := actor.(*Port); ok {
		return p.turnDown(err)
	}
	return err
}

func (d *driven) Publish(actor any) {
	if by, ok := actor.(*Port); ok {
		by.send()
		if check.Enabled {
			by.leave()
		}
	}
}

func (d *driven) Run(extension any) { d.engine.Extensions.Running(extension) }

func (d *driven) Scatter(run int) { d.runLeast, d.run, d.begun.run = run, run, 0 }

func (d *driven) Survey() drive.Survey {
	d.w().mustIdle("a survey")
	return (*survey)(d)
}

func (d *driven) MayInsert(call string) error {
	w := d.w()
	if err := w.idle(call); err != nil {
		return err
	}
	for _, s := range w.shards {
		s.Loop = w.loop
	}
	return nil
}

func (d *driven) RecordInputs(r drive.Recorder, changed func()) error {
	return d.w().recordInputs(r, changed)
}

func (d *driven) ReplayInputs() (drive.Replayer, error) { return d.w().replayInputs() }

func (d *driven) SetBy(port any, component int, h handle.Handle, value any) error {
	x, err := d.cores[component].set(port.(*Port), h)
	if err != nil {
		return err
	}
	of := d.space.TypeOf(component)
	of.Copy(x.to.Address, of.Box(value), 1)
	x.done()
	return nil
}
