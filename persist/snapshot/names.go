package snapshot

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// named is something that is registered, by name. In a world it has the form that writes its
// values, in a snapshot a description of the form.
type named struct {
	name  string
	typ   string // empty if there are no values; of an extension its options
	hash  uint64 // of the form, or of the options that must be the same
	parts []drive.Part

	form drive.Form
	rows reflect.Type
	at   int // its number in the world that loads, or -1 if dropped

	saved drive.Saved // of an extension in a world
}

// catalogue lists everything that is registered, or that a snapshot has.
type catalogue struct {
	components, messages, resources, kinds, hooks, extensions, also, systems, balancers []named
	scheduler                                                                           bool
	hashed                                                                              map[string]bool    // of a world: the lists on which its hash depends
	balances                                                                            scheduler.Balancer // of a world, or nil
}

// lists returns the lists by the names that errors use.
func (x *catalogue) lists() map[string]*[]named {
	return map[string]*[]named{
		"component": &x.components, "message": &x.messages, "resource": &x.resources, "request": &x.kinds,
		"hook": &x.hooks, "extension": &x.extensions, "also": &x.also, "system": &x.systems, "balancer": &x.balancers,
	}
}

// accumulates is in the hash of the form of a resource that has parts.
const accumulates = 1 << 63

// optional is the hash of an Also that a world may lack; others have 0.
const optional = 1

// listed is the order of the lists in a snapshot.
var listed = []string{"component", "message", "resource", "request", "hook", "extension", "also", "system", "balancer"}

// catalogueOf lists what a world has. Kinds of requests are listed by name only: see formOf.
func catalogueOf(w *world.World, v drive.Survey, o *Options) (x *catalogue, err error) {
	x = &catalogue{scheduler: o.Scheduler != nil, hashed: map[string]bool{}}
	for _, r := range v.Registered() {
		if x.hashed[r.What] = true; x.lists()[r.What] == nil {
			panic(fmt.Sprintf("snapshot: the state hash depends on what is registered as %q, which snapshots do not list", r.What))
		}
	}
	typed := func(what string, all []drive.Named) (list []named) {
		for i, n := range all {
			item := named{name: n.Name, rows: n.Type, at: i}
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
			x.resources[i].hash ^= accumulates
		}
	}
	kinds := v.Kinds()
	for i := range kinds.Len() {
		d, t := kinds.Describe(i)
		x.kinds = append(x.kinds, named{name: d.Name, rows: t, at: i})
	}
	for i, h := range v.Hooks() {
		x.hooks = append(x.hooks, named{name: h.Name(), at: i})
	}
	for i, e := range v.Extensions() {
		shown, wrong := drive.StateOf(e, o.Codecs, true)
		if wrong != nil {
			return nil, fmt.Errorf("snapshot: extension %q: %w", drive.NameOf(e, i), wrong)
		}
		saved, ok := shown.(drive.Saved)
		if !ok {
			return nil, fmt.Errorf("snapshot: %w: extension %d of the world, a %T, has no AppendSaved and LoadSaved", state.ErrNoCodec, i, e)
		}
		n := named{name: drive.NameOf(e, i), saved: saved, at: i}
		if e, ok := saved.(drive.Optioned); ok {
			all, same := e.SavedOptions()
			n.typ, n.hash = all, xxh3.HashString(same)
		}
		x.extensions = append(x.extensions, n)
	}
	for i, a := range o.Also {
		n := named{name: a.Name, at: i}
		if a.Optional {
			n.hash = optional
		}
		x.also = append(x.also, n)
	}
	if o.Scheduler != nil {
		for i, name := range o.Scheduler.Systems() {
			x.systems = append(x.systems, named{name: name, at: i})
		}
		if x.balances = o.Scheduler.Options().Balancer; x.balances != nil {
			x.balancers = []named{{name: fmt.Sprintf("%T", x.balances)}}
		}
	}
	return x, err
}

// keep removes all kinds of requests from the list but those under way and those with the same
// names.
func (x *catalogue) keep(w *world.World, v drive.Survey, codecs *state.Codecs) (err error) {
	used := map[string]bool{}
	for from := range w.Shards() + 1 {
		v.Requests(sender(from, w.Shards()), func(r queue.PendingRequest) {
			used[x.kinds[r.Kind()].name] = true
		})
	}
	x.kinds = slices.DeleteFunc(x.kinds, func(n named) bool { return !used[n.name] })
	for i := range x.kinds {
		n := &x.kinds[i]
		if e := n.formOf(codecs); e != nil && err == nil {
			err = fmt.Errorf("snapshot: a %s is under way: %w", n.name, e)
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
	if n.form, err = drive.FormOf(codecs, n.rows, true); err == nil {
		n.typ, n.hash, n.parts = n.rows.String(), xxh3.HashString(n.form.Shape()), n.form.Parts()
	}
	return err
}

func (x *catalogue) append(dst []byte) []byte {
	lists := x.lists()
	for _, what := range listed {
		dst = drive.AppendNumber(dst, len(*lists[what]))
		for _, n := range *lists[what] {
			dst = drive.AppendText(drive.AppendText(dst, n.name), n.typ)
			dst = drive.AppendNumber(drive.AppendNumber(dst, n.hash), len(n.parts))
			for _, p := range n.parts {
				dst = drive.AppendNumber(drive.AppendNumber(drive.AppendNumber(dst, drive.FlagsOf(p.ByCodec)), p.Offset), p.Size)
				dst = drive.AppendNumber(dst, len(p.Fields))
				for _, f := range p.Fields {
					dst = drive.AppendNumber(drive.AppendText(drive.AppendText(dst, f.Path), f.Type), f.Offset)
				}
			}
		}
	}
	return drive.AppendNumber(dst, drive.FlagsOf(x.scheduler))
}

// namesMost bounds the memory of the names and fields of a snapshot.
const namesMost = 64 << 20

func readCatalogue(body []byte) (x *catalogue, err error) {
	x = new(catalogue)
	c, lists := drive.Cursor{Rest: body, Most: namesMost}, x.lists()
	for _, what := range listed {
		list := drive.ListOf[named](&c, 4)
		for i := range list {
			n := named{name: c.Text(), typ: c.Text(), hash: c.Number(), parts: drive.ListOf[drive.Part](&c, 4)}
			for k := range n.parts {
				p := drive.Part{ByCodec: c.Flags(1) != 0, Offset: c.Int(), Size: c.Int(), Fields: drive.ListOf[drive.Field](&c, 3)}
				for m := range p.Fields {
					p.Fields[m] = drive.Field{Path: c.Text(), Type: c.Text(), Offset: c.Int()}
				}
				n.parts[k] = p
			}
			list[i] = n
		}
		*lists[what] = list
	}
	x.scheduler = c.Flags(1) != 0
	return x, c.End()
}
