package engine

import (
	"fmt"
	"runtime/debug"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/refresh"
	"github.com/atoll-sim/atoll/internal/store"
)

// Hook is a function that is called when something has happened to entities.
//
// Ownership: the world's; each of parts is called by the worker of its shard.
type Hook struct {
	w     *World
	name  string
	label string // the name for places that list systems
	on    Event
	set   store.Set
	off   bool
	parts []hookPart // by shard
}

// hookPart is a hook on one shard.
type hookPart struct {
	access *extend.Access
	run    func(c *Context, on Event, hs []handle.Handle)
	off    bool
}

// Observe makes a hook under a name that errors use, and runs its constructor for each shard. The
// world must be idle. If it panics, there is no such hook.
func (w *World) Observe(name string, on Event, build func(b *Build) func(c *Context, on Event, hs []handle.Handle), parts ...ComponentSet) *Hook {
	mustBe(w, "World.Observe")
	w.mustIdle("World.Observe")
	w.MustRegister("World.Observe of %q", name)
	if build == nil {
		panic(fmt.Sprintf("world: World.Observe of hook %q without a constructor; pass one as for a system", name))
	}
	h := &Hook{w: w, name: name, label: "hook " + name, on: on, set: w.SetOf("World.Observe", parts), parts: make([]hookPart, len(w.shards))}
	w.mustObserve(h)
	for i := range h.parts {
		var a *extend.Access
		h.parts[i].run, a = h.construct(i, build)
		if h.parts[i].run == nil {
			panic(fmt.Sprintf("world: the constructor of hook %q returned nil; return the function that is to be called", name))
		}
		if a.Foreign.Len()+a.Neighbour.Len()+a.ResourceParts.Len() > 0 {
			panic(fmt.Sprintf("world: hook %q asks to read other shards or to add to an accumulator, which hooks cannot do; let it send a message to a system that does", name))
		}
		h.parts[i].access = a
	}
	w.hooks.add(h)
	return h
}

// construct runs the hook's constructor for a shard. It adds the hook's name to a panic in it, and
// panics again.
func (h *Hook) construct(shard int, build func(*Build) func(*Context, Event, []handle.Handle)) (func(*Context, Event, []handle.Handle), *extend.Access) {
	b := h.w.NewBuild(shard, h.label)
	b.hook = true
	defer func() {
		switch v := recover().(type) {
		case nil:
		case error:
			panic(fmt.Errorf("world: the constructor of hook %q panicked on shard %d: %w", h.name, shard, v))
		default:
			panic(fmt.Sprintf("world: the constructor of hook %q panicked on shard %d: %v", h.name, shard, v))
		}
	}()
	run := build(b)
	return run, b.Finish()
}

// mustObserve panics, before Observe makes it, if a hook would never be called, or if its name is
// taken.
func (w *World) mustObserve(h *Hook) {
	switch {
	case h.name == "":
		panic("world: a hook needs a name; pass one that errors can use")
	case h.on == 0 || h.on >= 1<<events:
		panic(fmt.Sprintf("world: hook %q observes event %d; join some of OnCreate, OnRemove, OnAdd, OnSet and OnDestroy", h.name, h.on))
	case h.set.Len() == 0 && h.on&(OnAdd|OnRemove|OnSet) != 0:
		panic(fmt.Sprintf("world: hook %q observes %v of no component; pass the components", h.name, h.on&(OnAdd|OnRemove|OnSet)))
	}
	for _, other := range w.hooks.all {
		if other.name == h.name {
			panic(fmt.Sprintf("world: hook name %q is taken; pass another", h.name))
		}
	}
}

// SetEnabled enables or disables the hook on all shards. The world must be idle.
func (h *Hook) SetEnabled(on bool) {
	h.w.mustIdle("Hook.SetEnabled")
	if h.off == on {
		h.w.Touched()
	}
	h.off = !on
	for i := range h.parts {
		if h.parts[i].off {
			h.w.Touched()
		}
		h.parts[i].off = false
	}
}

// Name returns the name of the hook.
func (h *Hook) Name() string { return h.name }

// Enabled reports whether the hook is called on a shard.
func (h *Hook) Enabled(shard int) bool { return !h.off && !h.parts[shard].off }

// Disable disables the hook on one shard. No refresh may be running.
func (h *Hook) Disable(shard int) { h.parts[shard].off = true }

// Event is a kind of event of entities for which hooks are called; or several, joined by |.
type Event uint8

// The events, in the order in which hooks are called for them; see world.Event.
const (
	OnCreate Event = 1 << iota
	OnRemove
	OnAdd
	OnSet
	OnDestroy

	events = iota
)

// String returns the event's name, or the names of several.
func (e Event) String() string {
	text := ""
	for i, name := range [events]string{"OnCreate", "OnRemove", "OnAdd", "OnSet", "OnDestroy"} {
		if e>>i&1 == 0 {
			continue
		}
		if text != "" {
			text += "|"
		}
		text += name
	}
	if text == "" || e >= 1<<events {
		return "unknown"
	}
	return text
}

// hooks holds the hooks of a world.
//
// Ownership: the world's, on an idle world; in a refresh the coordinator and the workers of all
// shards read them.
type hooks struct {
	w       *World
	all     []*Hook
	on      Event // the events of all hooks
	callers []hookCaller
}

// dropHooks forgets all hooks, when the world is closed or broken: from now on none is called.
func (w *World) dropHooks() { w.hooks.all, w.engine.Hooked = nil, false }

// add adds a hook x and makes the shards record its events. The world is idle.
func (h *hooks) add(x *Hook) {
	if h.w == nil {
		h.w, h.callers = x.w, make([]hookCaller, len(x.w.shards))
		for i := range h.callers {
			h.callers[i].init(h, i)
		}
	}
	h.all = append(h.all, x)
	h.w.engine.Hooked = true
	h.on |= x.on
	h.watch()
}

// watch sets what the shards record. An entity that changes or is set after it was created counts
// only as created, so creates are recorded for those events as well.
func (h *hooks) watch() {
	var watch store.Watch
	for _, x := range h.all {
		watch.Created = watch.Created || x.on&^OnDestroy != 0
		if x.on&OnCreate != 0 {
			watch.Told = append(watch.Told, x.set)
		}
		if x.on&(OnAdd|OnRemove) != 0 {
			watch.Changes = append(watch.Changes, x.set)
		}
		if x.on&OnSet != 0 {
			watch.Stored = watch.Stored.Union(x.set)
		}
	}
	h.w.space.SetWatch(watch, h.w.shards)
}

// due is GatherEvents of a refresh.Owner, for the coordinator: it returns how many events there are
// for hooks.
func (h *hooks) due() int {
	n, w := 0, h.w
	w.space.GatherChanges(w.shards)
	for _, s := range w.shards {
		n += s.Due()
		if h.on&OnDestroy != 0 {
			n += s.MarkedRows()
		}
	}
	return n
}

// hookCaller calls the hooks on one shard, aside.
//
// Ownership: the shard's worker, and the goroutine of the Aside while the worker waits.
type hookCaller struct {
	refresh.Aside
	of    *hooks
	shard *store.Shard
	next  int // event and hook
	batch []handle.Handle
}

// init makes the caller for shard i. What it binds goes on where the last run ended.
func (c *hookCaller) init(of *hooks, i int) {
	c.of, c.shard = of, of.w.shards[i]
	c.Bind(func() {
		for c.next < events*len(of.all) {
			on, hook := Event(1)<<(c.next/len(of.all)), of.all[c.next%len(of.all)]
			c.next++ // before the call: if a hook ends the goroutine, the next run goes on after it
			c.one(hook, on)
		}
	})
}

// call calls all hooks for the events on the shard. The shard's worker calls it in the step
// observe. A hook that panics, or ends its goroutine, does not keep the next ones from being
// called.
func (c *hookCaller) call() {
	if c.shard.Noted()+c.shard.MarkedRows() == 0 {
		return
	}
	c.shard.BeginNotify()
	for c.next = 0; c.next < events*len(c.of.all); {
		c.MustCall()
	}
	c.shard.EndNotify()
}

// one calls a hook for one event, with the entities on the shard that it concerns, if there are
// some.
func (c *hookCaller) one(h *Hook, on Event) {
	if h.on&on == 0 || !h.Enabled(c.shard.ID()) {
		return
	}
	switch to := c.batch[:0]; on {
	case OnCreate:
		c.batch = c.shard.AppendCreated(to, &h.set)
	case OnRemove:
		c.batch = c.shard.AppendRemoved(to, &h.set)
	case OnAdd:
		c.batch = c.shard.AppendAdded(to, &h.set)
	case OnSet:
		c.batch = c.shard.AppendStored(to, &h.set)
	case OnDestroy:
		c.batch = c.shard.AppendDying(to, &h.set)
	}
	if len(c.batch) > 0 {
		h.call(c.of.w.contexts[c.shard.ID()], on, c.batch)
	}
}

// call calls the hook on a shard, on the goroutine of the Aside. It contains a panic and keeps it
// for Failure; what the hook has written stays.
func (h *Hook) call(c *Context, on Event, hs []handle.Handle) {
	p, returned := &h.parts[c.Shard()], false
	defer func() {
		v := recover()
		c.acting.Stop()
		if returned {
			return
		}
		if v == nil {
			v = aside.ErrGoexit
		}
		var stack []byte
		if c.w.keepsFailure(len(c.failedHooks)) {
			stack = debug.Stack()
		}
		c.w.panicked.Store(true)
		c.failedHooks = append(c.failedHooks, newPanic(&Panic{
			In: InHook, Name: h.name, Event: on, Shard: c.Shard(), Tick: c.Tick(), Value: v, Stack: stack, hook: h,
		}))
	}()
	c.acting.Start(h.label, p.access)
	c.acting.Hook = true
	p.run(c, on, hs)
	c.acting.Returned()
	returned = true
}
