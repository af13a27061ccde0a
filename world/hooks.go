package world

import (
	"runtime/debug"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/internal/refresh"
	"github.com/atoll-sim/atoll/internal/store"
)

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

// dropHooks forgets all hooks.
func (w *World) dropHooks() { w.hooks.all, w.engine.Hooked = nil, false }

// add adds a hook and makes the shards record its events.
func (k *hooks) add(h *Hook) {
	if k.w == nil {
		k.w, k.callers = h.w, make([]hookCaller, len(h.w.shards))
		for i := range k.callers {
			k.callers[i].init(k, i)
		}
	}
	k.all = append(k.all, h)
	k.w.engine.Hooked = true
	k.on |= h.on
	k.watch()
}

// watch sets what the shards record. An entity that changes or is set after it was created counts
// only as created, so creates are recorded for those events as well.
func (k *hooks) watch() {
	var watch store.Watch
	for _, h := range k.all {
		watch.Created = watch.Created || h.on&^OnDestroy != 0
		if h.on&OnCreate != 0 {
			watch.Told = append(watch.Told, h.set)
		}
		if h.on&(OnAdd|OnRemove) != 0 {
			watch.Changes = append(watch.Changes, h.set)
		}
		if h.on&OnSet != 0 {
			watch.Stored = watch.Stored.Union(h.set)
		}
	}
	k.w.space.SetWatch(watch, k.w.shards)
}

// due is refresh.Owner.GatherEvents.
func (k *hooks) due() int {
	n, w := 0, k.w
	w.space.GatherChanges(w.shards)
	for _, s := range w.shards {
		n += s.Due()
		if k.on&OnDestroy != 0 {
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

func (x *hookCaller) init(of *hooks, i int) {
	x.of, x.shard = of, of.w.shards[i]
	x.Bind(func() {
		for x.next < events*len(of.all) {
			on, hook := Event(1)<<(x.next/len(of.all)), of.all[x.next%len(of.all)]
			x.next++ // before the call: if a hook ends the goroutine, the next run goes on after it
			x.one(hook, on)
		}
	})
}

// call calls all hooks for the events on the shard.
func (x *hookCaller) call() {
	if x.shard.Noted()+x.shard.MarkedRows() == 0 {
		return
	}
	x.shard.BeginNotify()
	for x.next = 0; x.next < events*len(x.of.all); {
		x.MustCall()
	}
	x.shard.EndNotify()
}

// one calls a hook for one event.
func (x *hookCaller) one(h *Hook, on Event) {
	if h.on&on == 0 || !h.enabledOn(x.shard.ID()) {
		return
	}
	switch to := x.batch[:0]; on {
	case OnCreate:
		x.batch = x.shard.AppendCreated(to, &h.set)
	case OnRemove:
		x.batch = x.shard.AppendRemoved(to, &h.set)
	case OnAdd:
		x.batch = x.shard.AppendAdded(to, &h.set)
	case OnSet:
		x.batch = x.shard.AppendStored(to, &h.set)
	case OnDestroy:
		x.batch = x.shard.AppendDying(to, &h.set)
	}
	if len(x.batch) > 0 {
		h.call(x.of.w.contexts[x.shard.ID()], on, x.batch)
	}
}

// call calls the hook on a shard, and keeps the panic if there is one.
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
		c.failedHooks = append(c.failedHooks, &PanicError{
			In: inHook, Name: h.name, Event: on, Shard: c.Shard(), Tick: c.Tick(), Value: v, Stack: stack, hook: h,
		})
	}()
	c.acting.Start(h.label, p.access)
	c.acting.Hook = true
	p.run(c, on, hs)
	c.acting.Returned()
	returned = true
}
