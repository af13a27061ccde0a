package snapshot

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/shape"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// named is something that is registered, by name. In a world it has the form that writes its
// values, in a snapshot a description of the form.
type named struct {
	format.Named

	form extend.Form
	rows reflect.Type
	at   int // its number in the world that loads, or -1 if dropped

	saved extend.Saved // of an extension in a world
}

// catalogue lists everything that is registered, or that a snapshot has.
type catalogue struct {
	components, messages, resources, kinds, hooks, extensions, also, systems, balancers []named
	scheduler                                                                           bool
	hashed                                                                              map[string]bool    // of a world: the lists on which its hash depends
	balances                                                                            scheduler.Balancer // of a world, or nil
}

// lists returns the lists in the order of format.Listed.
func (x *catalogue) lists() [len(format.Listed)]*[]named {
	return [...]*[]named{&x.components, &x.messages, &x.resources, &x.kinds, &x.hooks, &x.extensions, &x.also, &x.systems, &x.balancers}
}

// catalogueIn lists what a snapshot has.
func catalogueIn(saved *format.Catalogue) *catalogue {
	x := &catalogue{scheduler: saved.Scheduler}
	for i, from := range saved.Lists() {
		list := make([]named, len(*from))
		for k, n := range *from {
			list[k].Named = n
		}
		*x.lists()[i] = list
	}
	return x
}

// saved returns what a snapshot has of the catalogue.
func (x *catalogue) saved() *format.Catalogue {
	to := &format.Catalogue{Scheduler: x.scheduler}
	for i, from := range x.lists() {
		list := make([]format.Named, len(*from))
		for k, n := range *from {
			list[k] = n.Named
		}
		*to.Lists()[i] = list
	}
	return to
}

// catalogueOf lists what a world has. Kinds of requests are listed by name only: see formOf.
func catalogueOf(w *world.World, v *engine.Survey, o *Options) (x *catalogue, err error) {
	x = &catalogue{scheduler: o.Scheduler != nil, hashed: map[string]bool{}}
	for _, r := range v.Registered() {
		if x.hashed[r.What] = true; !slices.Contains(format.Listed[:], r.What) {
			panic(fmt.Sprintf("snapshot: the state hash depends on what is registered as %q, which snapshots do not list", r.What))
		}
	}
	typed := func(what string, all []extend.Named) (list []named) {
		for i, n := range all {
			item := named{Named: format.Named{Name: n.Name}, rows: n.Type, at: i}
			if e := item.formOf(o.Codecs); e != nil && err == nil {
				err = fmt.Errorf("snapshot: %s %q: %w", what, n.Name, e)
			}
			list = append(list, item)
		}
		return list
	}
	x.components, x.messages, x.resources = typed("component", v.Components()), typed("message", v.Messages()), typed("resource", v.Resources())
	for i := range x.resources {
		if _, parts := v.Resource(i); parts > 0 && err == nil {
			x.resources[i].Hash ^= format.Accumulates
		}
	}
	kinds := v.Kinds()
	for i := range kinds.Len() {
		d, t := kinds.Describe(i)
		x.kinds = append(x.kinds, named{Named: format.Named{Name: d.Name}, rows: t, at: i})
	}
	for i, h := range v.Hooks() {
		x.hooks = append(x.hooks, named{Named: format.Named{Name: h.Name()}, at: i})
	}
	for i, e := range v.Extensions() {
		shown, wrong := extend.StateOf(e, o.Codecs, true)
		if wrong != nil {
			return nil, fmt.Errorf("snapshot: extension %q: %w", extend.NameOf(e, i), wrong)
		}
		saved, ok := shown.(extend.Saved)
		if !ok {
			return nil, fmt.Errorf("snapshot: %w: extension %d of the world, a %T, has no AppendSaved and LoadSaved", state.ErrNoCodec, i, e)
		}
		n := named{Named: format.Named{Name: extend.NameOf(e, i)}, saved: saved, at: i}
		if e, ok := saved.(extend.Optioned); ok {
			all, same := e.SavedOptions()
			n.Type, n.Hash = all, xxh3.HashString(same)
		}
		x.extensions = append(x.extensions, n)
	}
	for i, a := range o.Also {
		n := named{Named: format.Named{Name: a.Name}, at: i}
		if a.Optional {
			n.Hash = format.Optional
		}
		x.also = append(x.also, n)
	}
	if o.Scheduler != nil {
		for i, name := range o.Scheduler.Systems() {
			x.systems = append(x.systems, named{Named: format.Named{Name: name}, at: i})
		}
		if x.balances = o.Scheduler.Options().Balancer; x.balances != nil {
			x.balancers = []named{{Named: format.Named{Name: fmt.Sprintf("%T", x.balances)}}}
		}
	}
	return x, err
}

// keep removes all kinds of requests from the list but those under way and those with the same
// names.
func (x *catalogue) keep(w *world.World, v *engine.Survey, codecs *state.Codecs) (err error) {
	used := map[string]bool{}
	for from := range w.Shards() + 1 {
		v.Requests(sender(from, w.Shards()), func(r queue.PendingRequest) {
			used[x.kinds[r.Kind()].Name] = true
		})
	}
	x.kinds = slices.DeleteFunc(x.kinds, func(n named) bool { return !used[n.Name] })
	for i := range x.kinds {
		n := &x.kinds[i]
		if e := n.formOf(codecs); e != nil && err == nil {
			err = fmt.Errorf("snapshot: a %s is under way: %w", n.Name, e)
		}
	}
	return err
}

// sender returns the sender of a section's requests: a shard or, after the shards, global systems.
func sender(from, shards int) int {
	if from == shards {
		return world.AllShards
	}
	return from
}

// formOf finds how values are written.
func (n *named) formOf(codecs *state.Codecs) (err error) {
	if n.rows == nil || n.form != nil {
		return nil
	}
	if n.form, err = extend.FormOf(codecs, n.rows, true); err == nil {
		n.Type, n.Hash, n.Parts = n.rows.String(), shape.HashOf(n.form), n.form.Parts()
	}
	return err
}
