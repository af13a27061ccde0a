package snapshot

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/state"
	"github.com/atoll-sim/atoll/world"
)

// named is something that is registered, by name: in a world with how its values are written, in
// a snapshot with how they were.
type named struct {
	name   string
	typ    string // empty if there are no values
	hash   uint64 // of the form
	fields []drive.Field

	form drive.Form
	rows reflect.Type
	at   int // in the world that loads: its number
}

// catalogue lists what is registered, or in a snapshot what it has.
type catalogue struct {
	components, messages, resources, kinds, hooks, extensions, also []named
	scheduler                                                       bool
}

// lists returns the lists, and what errors call what is in them.
func (x *catalogue) lists() map[string]*[]named {
	return map[string]*[]named{
		"component": &x.components, "message": &x.messages, "resource": &x.resources, "request": &x.kinds,
		"hook": &x.hooks, "extension": &x.extensions, "also": &x.also,
	}
}

// listed is the order of the lists in a snapshot.
var listed = []string{"component", "message", "resource", "request", "hook", "extension", "also"}

// catalogueOf lists what a world has. Of kinds of requests only names are listed: see formOf.
func catalogueOf(w *world.World, v drive.Survey, o *Options) (x *catalogue, err error) {
	x = &catalogue{scheduler: o.Scheduler != nil}
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
	kinds := v.Kinds()
	for i := range kinds.Len() {
		d, t := kinds.Describe(i)
		x.kinds = append(x.kinds, named{name: d.Name, rows: t, at: i})
	}
	for i, h := range v.Hooks() {
		x.hooks = append(x.hooks, named{name: h.Name(), at: i})
	}
	for i, e := range v.Extensions() {
		if _, ok := e.(drive.Saved); !ok {
			return nil, fmt.Errorf("snapshot: %w: extension %d of the world, a %T, has no AppendSaved and LoadSaved", state.ErrNoCodec, i, e)
		}
		x.extensions = append(x.extensions, named{name: drive.NameOf(e, i), at: i})
	}
	for i, a := range o.Also {
		x.also = append(x.also, named{name: a.Name, at: i})
	}
	return x, err
}

// keep leaves the kinds of requests that are under way, and those of the same names, in the list.
func (x *catalogue) keep(w *world.World, v drive.Survey, codecs *state.Codecs) (err error) {
	used := map[string]bool{}
	for from := range w.Shards() + 1 {
		v.Requests(sender(from, w.Shards()), func(r queue.PendingRequest) {
			n := &x.kinds[r.Kind()]
			used[n.name] = true
			if e := n.formOf(codecs); e != nil && err == nil {
				err = fmt.Errorf("snapshot: a %s is under way: %w", n.name, e)
			}
		})
	}
	x.kinds = slices.DeleteFunc(x.kinds, func(n named) bool { return !used[n.name] })
	return err
}

// sender is who sends the requests of a section: a shard, or behind them global systems.
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
		n.typ, n.hash, n.fields = n.rows.String(), xxh3.HashString(n.form.Shape()), n.form.Fields()
	}
	return err
}

func (x *catalogue) append(dst []byte) []byte {
	lists := x.lists()
	for _, what := range listed {
		dst = drive.AppendNumber(dst, len(*lists[what]))
		for _, n := range *lists[what] {
			dst = drive.AppendText(drive.AppendText(dst, n.name), n.typ)
			dst = drive.AppendNumber(drive.AppendNumber(dst, n.hash), len(n.fields))
			for _, f := range n.fields {
				dst = drive.AppendNumber(drive.AppendText(drive.AppendText(dst, f.Path), f.Type), f.Offset)
			}
		}
	}
	return drive.AppendNumber(dst, drive.FlagsOf(x.scheduler))
}

func readCatalogue(body []byte) (x *catalogue, err error) {
	x = new(catalogue)
	c, lists := drive.Cursor{Rest: body}, x.lists()
	for _, what := range listed {
		list := make([]named, c.Count(4))
		for i := range list {
			n := named{name: c.Text(), typ: c.Text(), hash: c.Number(), fields: make([]drive.Field, c.Count(3))}
			for k := range n.fields {
				n.fields[k] = drive.Field{Path: c.Text(), Type: c.Text(), Offset: c.Int()}
			}
			list[i] = n
		}
		*lists[what] = list
	}
	x.scheduler = c.Flags(1) != 0
	return x, c.End()
}

// match finds what the snapshot has in the world that is to load it: at and form are the world's
// from then on. It reports whether both have the same in the same order.
func (x *catalogue) match(in *catalogue, codecs *state.Codecs) (same bool, err error) {
	same = true
	saved, own := x.lists(), in.lists()
	for _, what := range listed {
		if what != "request" && what != "also" && len(*saved[what]) != len(*own[what]) {
			same = false
		}
		if err := find(what, *saved[what], *own[what], codecs); err != nil {
			return false, err
		}
		for i, n := range *saved[what] {
			same = same && (n.at == i || what == "request" || what == "also")
		}
	}
	if x.scheduler && !in.scheduler {
		return false, otherWorld("it has the state of a scheduler; pass one in Options.Scheduler")
	}
	return same, nil
}

// find finds each of a list in another. Of several with one name each is found once, in order.
func find(what string, saved, own []named, codecs *state.Codecs) error {
	byName := map[string][]int{}
	for i, n := range own {
		byName[n.name] = append(byName[n.name], i)
	}
	for i := range saved {
		n := &saved[i]
		all := byName[n.name]
		if len(all) == 0 {
			return otherWorld("%s %q of the snapshot is not in this world", what, n.name)
		}
		m := &own[all[0]]
		byName[n.name] = all[1:]
		if err := m.formOf(codecs); err != nil {
			return fmt.Errorf("snapshot: %s %q: %w", what, n.name, err)
		}
		if err := sameForm(what, n, m); err != nil {
			return err
		}
		n.form, n.rows, n.at = m.form, m.rows, m.at
	}
	return nil
}

// sameForm compares how values were written with how they are read. A migration would begin here.
func sameForm(what string, saved, own *named) error {
	if saved.hash == own.hash && (saved.typ == "") == (own.typ == "") {
		return nil
	}
	for i, s := range saved.fields {
		switch {
		case i >= len(own.fields):
			return otherWorld("%s %q: field %s, a %s, is not in this world's %s", what, saved.name, s.Path, s.Type, own.typ)
		case own.fields[i].Path != s.Path && fieldName(own.fields[i].Path) != fieldName(s.Path):
			return otherWorld("%s %q: field %s, a %s, is in the place of %s, a %s, of this world's %s", what, saved.name, s.Path, s.Type, own.fields[i].Path, own.fields[i].Type, own.typ)
		case own.fields[i].Type != s.Type:
			return otherWorld("%s %q: field %s is a %s in the snapshot, a %s here", what, saved.name, s.Path, s.Type, own.fields[i].Type)
		case own.fields[i].Offset != s.Offset:
			return otherWorld("%s %q: field %s is at byte %d in the snapshot, at %d here", what, saved.name, s.Path, s.Offset, own.fields[i].Offset)
		}
	}
	if len(own.fields) > len(saved.fields) {
		f := own.fields[len(saved.fields)]
		return otherWorld("%s %q: field %s, a %s, of this world is not in the snapshot", what, saved.name, f.Path, f.Type)
	}
	return otherWorld("%s %q is a %s in the snapshot, a %s here", what, saved.name, saved.typ, own.typ)
}

// fieldName returns a path without the type that it begins with.
func fieldName(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '.' {
			return path[i:]
		}
	}
	return path
}
