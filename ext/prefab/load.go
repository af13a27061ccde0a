package prefab

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/world"
)

// Load makes the prefabs of the files that match a pattern of fs.Glob, and returns them by
// name. The map has nil for a name that is in no file, and Create of a nil Prefab
// panics. So look up all prefabs that the code names when the program starts, and check that they
// exist, as the example does.
//
// rs are the relations that the files name. A file is an object of prefabs:
//
//	{
//	  "axe": {"components": {"damage": {"Points": 3}}},
//	  "orc": {
//	    "components": {"health": {"Points": 10}, "wields": {"Weapon": "$weapon"}},
//	    "children": [
//	      {"name": "weapon", "extends": "axe", "relation": "holds", "place": 0,
//	       "components": {"damage": {"Points": 5}}}
//	    ]
//	  }
//	}
//
// All members may be left out but a child's relation:
//
//	extends     another prefab, of any of the files: the entity has all that its root has, and all
//	            children, none of which can be changed or left out
//	components  values by the names of components. Fields that an object lacks keep what the entity
//	            extends, or are zero; a type with UnmarshalJSON begins at its zero value
//	children    entities, in their order, with the members of a prefab
//	name        "$" and this name stand for the entity, in a handle.Handle within the prefab. It is not visible
//	            in prefabs that extend this one as a child; the root of one that extends it sees it, and cannot
//	            give it to another entity
//	relation    of a child: the name of the relation to its parent
//	place       of a child: as Child takes it; without it the child comes after the others
//
// Values are read by the names of Go's fields, or those of their json tags, and by UnmarshalJSON
// and UnmarshalText. Errors name the file, the line and the field. Load refuses unknown members,
// components, relations and prefabs, duplicates, values of other types, prefabs that extend
// themselves in a circle, and what New panics for. Then it makes nothing. The world must be idle.
func Load(w *world.World, files fs.FS, pattern string, rs ...*hierarchy.Relation) (map[string]*Prefab, error) {
	d := engine.Of(w)
	d.MustBeNamed("prefab.Load", pattern)
	if files == nil {
		panic("prefab: Load of nil files; pass a directory, or files that are embedded")
	}
	x := &loading{w: w, engine: d, all: map[string]*definition{}, left: loadMost, fresh: map[store.Set]bool{}, registered: d.Survey().Components()}
	for _, r := range rs {
		if r == nil {
			panic("prefab: Load with a nil Relation; pass those of hierarchy.New")
		}
		x.relations = append(x.relations, r)
	}
	if err := x.read(files, pattern); err != nil {
		return nil, err
	}
	for _, f := range x.order {
		if err := x.build(f); err != nil {
			return nil, err
		}
	}
	made := map[string]*Prefab{}
	for _, f := range x.order {
		f.made.group.Ready()
		made[f.name] = f.made
	}
	return made, nil
}

// loadMost is how many entities the prefabs of one Load may have together. Without it a short file
// could ask for very many: each line may extend a large prefab.
const loadMost = 1 << 18

// loading is a Load that is under way.
type loading struct {
	w          *world.World
	engine     *engine.World
	relations  []*hierarchy.Relation
	registered []extend.Named // components
	all        map[string]*definition
	order      []*definition // by file and place in it
	path       []string      // those that are being built, each extended by the one before it
	left       int
	fresh      map[store.Set]bool // see engine.Grouping
}

// definition is a prefab in a file.
type definition struct {
	name     string
	in       *file
	at       int
	text     value
	building bool
	made     *Prefab
}

// read reads the files.
func (l *loading) read(files fs.FS, pattern string) error {
	names, err := fs.Glob(files, pattern)
	if err == nil && len(names) == 0 {
		err = fs.ErrNotExist
	}
	if err != nil {
		return fmt.Errorf("prefab: Load of %q: %w", pattern, err)
	}
	slices.Sort(names)
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return fmt.Errorf("prefab: Load: %w", err)
		}
		f := &file{name, data}
		v, err := f.parse()
		if err != nil {
			return err
		}
		all, ok := v.is.([]member)
		if !ok {
			return f.errorf(v.from, nil, "want an object of prefabs, not %s", v.kind())
		}
		for _, m := range all {
			if was := l.all[m.name]; was != nil {
				return f.errorf(m.at, nil, "there is a prefab %q already, in %s", m.name, was.in.name)
			}
			l.all[m.name] = &definition{name: m.name, in: f, at: m.at, text: m.value}
			l.order = append(l.order, l.all[m.name])
		}
	}
	return nil
}

// build makes a prefab, after the one that it extends.
func (l *loading) build(f *definition) error {
	if f.made != nil {
		return nil
	}
	f.building = true
	l.path = append(l.path, f.name)
	root := (*path)(nil).member(f.name)
	b := &building{loading: l, decoder: decoder{file: f.in}, draft: newDraft(l.engine, l.w.Options()), places: []position{{f.at, root}}}
	b.decoder.names, b.draft.fresh = b.draft.names, l.fresh
	if err := b.entity(0, &f.text, root); err != nil {
		return err
	}
	for _, c := range b.components {
		if err := b.value(c); err != nil {
			return err
		}
	}
	made, err := b.draft.finish(f.name)
	if l.left -= len(b.draft.nodes); err == nil && l.left < 0 {
		err = fmt.Errorf("the prefabs of one Load have more than %d entities together", loadMost)
	}
	if err != nil {
		at := b.places[0]
		if i := b.draft.wrong; i < len(b.places) && b.places[i].path != nil {
			at = b.places[i]
		}
		return f.in.errorf(at.offset, at.path, "%w", err)
	}
	l.path = l.path[:len(l.path)-1]
	f.made, f.building = made, false
	return nil
}

// position is where an entity is in the file. If it is not in the file, it has no path.
type position struct {
	offset int
	path   *path
}

// building is a prefab of a file that is being built.
type building struct {
	*loading
	decoder
	draft      *draft
	components []componentText // to be read when all names are known
	places     []position      // by entity
}

// componentText is a component of an entity.
type componentText struct {
	entity int
	path   *path
	member
}

// entity reads an entity.
func (b *building) entity(at int, v *value, path *path) error {
	all, ok := v.is.([]member)
	if !ok {
		return b.errorf(v.from, path, "want an object, not %s", v.kind())
	}
	for _, name := range []string{"extends", "name", "components", "children"} { // extends first: the other members change what it gives
		for i := range all {
			if m := &all[i]; m.name == name {
				if err := b.part(at, m, path.member(name)); err != nil {
					return err
				}
			}
		}
	}
	for i := range all {
		switch m := &all[i]; m.name {
		case "extends", "name", "components", "children":
		case "relation", "place":
			if at == 0 {
				return b.errorf(m.at, path, "%q is for children", m.name)
			}
		default:
			return b.errorf(m.at, path, "there is no member %q; there are extends, components, children and name, and for a child relation and place", m.name)
		}
	}
	return nil
}

// part reads a member of an entity.
func (b *building) part(at int, m *member, path *path) error {
	switch m.name {
	case "components":
		all, ok := m.is.([]member)
		if !ok {
			return b.errorf(m.from, path, "want an object of components, not %s", m.kind())
		}
		for _, c := range all {
			b.components = append(b.components, componentText{at, path.member(c.name), c})
		}
		return nil
	case "children":
		all, ok := m.is.([]value)
		if !ok {
			return b.errorf(m.from, path, "want a list, not %s", m.kind())
		}
		for i := range all {
			if err := b.child(at, &all[i], path.element(i)); err != nil {
				return err
			}
		}
		return nil
	}
	name, ok := m.is.(string)
	if !ok || name == "" {
		return b.errorf(m.from, path, "want a name, not %s", m.kind())
	}
	if m.name == "extends" {
		return b.extend(at, name, m.from, path)
	}
	if _, ok := b.names[name]; ok {
		return b.errorf(m.from, path, "there is an entity %q already in the prefab", name)
	}
	b.names[name] = at
	return nil
}

// extend has an entity extend a prefab. The names of entities are known if the root does.
func (b *building) extend(entity int, name string, at int, path *path) error {
	base := b.all[name]
	if base == nil {
		return b.errorf(at, path, "there is no prefab %q", name)
	}
	if base.building {
		from := slices.Index(b.path, name)
		return b.errorf(at, path, "it extends itself: %s → %s", strings.Join(b.path[from:], " → "), name)
	}
	if err := b.build(base); err != nil {
		return err
	}
	if err := b.draft.extend(entity, base.made); err != nil {
		return b.errorf(at, path, "%w", err)
	}
	if entity == 0 {
		for name, i := range base.made.names {
			b.names[name] = i
		}
	}
	return nil
}

// child reads a child.
func (b *building) child(parent int, v *value, path *path) error {
	var r *hierarchy.Relation
	place, at := -1, v.from
	all, _ := v.is.([]member)
	for i := range all {
		m := &all[i]
		switch m.name {
		case "relation":
			name, _ := m.is.(string)
			i := slices.IndexFunc(b.relations, func(r *hierarchy.Relation) bool { return r.Name() == name })
			if i < 0 {
				return b.errorf(m.from, path.member("relation"), "there is no relation %q among those that Load was given", name)
			}
			r = b.relations[i]
		case "place":
			number, _ := m.is.(json.Number)
			n, err := strconv.ParseInt(number.String(), 10, 32)
			if err != nil || n < 0 {
				return b.errorf(m.from, path.member("place"), "want a whole number from 0 to %d; leave it out to come after the others", math.MaxInt32)
			}
			place, at = int(n), m.from
		}
	}
	if _, ok := v.is.([]member); ok && r == nil {
		return b.errorf(v.from, path, `a child has no "relation"; name one that Load was given`)
	} else if !ok {
		return b.errorf(v.from, path, "want an object, not %s", v.kind())
	}
	entity, err := b.draft.addChild(parent, r, place)
	if err != nil {
		return b.errorf(at, path, "%w", err)
	}
	for len(b.places) <= entity {
		b.places = append(b.places, position{})
	}
	b.places[entity] = position{at, path}
	return b.entity(entity, v, path)
}

// componentsText lists the components of the world for an error.
func (b *building) componentsText() string {
	const most = 20
	var names []string
	for _, n := range b.registered[:min(most, len(b.registered))] {
		names = append(names, strconv.Quote(n.Name))
	}
	if len(b.registered) > most {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// value reads a component.
func (b *building) value(c componentText) error {
	id := slices.IndexFunc(b.registered, func(n extend.Named) bool { return n.Name == c.name })
	if id < 0 {
		return b.errorf(c.at, c.path, "there is no component %q in the world; there are: %s", c.name, b.componentsText())
	}
	at, err := b.draft.value(c.entity, id)
	if err != nil {
		return b.errorf(c.at, c.path, "%w", err)
	}
	return b.into(reflect.NewAt(b.engine.Space().TypeOf(id).Of, at).Elem(), &c.member.value, c.path)
}

// file is a file of prefabs. Its values know their offsets; package encoding/json gives those only
// with errors.
type file struct {
	name string
	data []byte
}

// errorf returns an error about what is at an offset. It shortens texts of the file.
func (f *file) errorf(offset int, at *path, format string, args ...any) error {
	line := 1 + bytes.Count(f.data[:max(0, min(offset, len(f.data)))], []byte("\n"))
	for i, x := range args {
		if text, ok := x.(string); ok {
			args[i] = short(text)
		}
	}
	where := at.String()
	if where != "" {
		where += ": "
	}
	return fmt.Errorf("prefab: %s:%d: %s%w", f.name, line, where, fmt.Errorf(format, args...))
}

// value is a JSON value.
type value struct {
	from, to int // in the data
	is       any // string, json.Number, bool, nil; []value; []member
}

// member is a member of an object.
type member struct {
	name    string
	at, end int // where the name is
	value
}

// depthMost is how deep values may be nested.
const depthMost = 100

// parse reads the whole file.
func (f *file) parse() (value, error) {
	for at, r := range string(f.data) {
		if r == utf8.RuneError && !bytes.HasPrefix(f.data[at:], []byte("\uFFFD")) {
			return value{}, f.errorf(at, nil, "it is not UTF-8")
		}
	}
	if err := json.Unmarshal(f.data, new(json.RawMessage)); err != nil {
		at := 0
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = int(syntax.Offset) - 1
		}
		return value{}, f.errorf(at, nil, "%w", err)
	}
	d := json.NewDecoder(bytes.NewReader(f.data))
	d.UseNumber()
	return f.value(d, nil, depthMost)
}

// next returns the next token, and where it is. The data is valid JSON.
func (f *file) next(d *json.Decoder) (token json.Token, from, to int) {
	from = int(d.InputOffset())
	for from < len(f.data) && bytes.IndexByte([]byte(" \t\r\n,:"), f.data[from]) >= 0 {
		from++
	}
	token, err := d.Token()
	if err != nil {
		panic(fmt.Sprintf("prefab: JSON that was valid is not: %v", err))
	}
	return token, from, int(d.InputOffset())
}

// value reads the next value, with all that is in it. It may be nested depth deep.
func (f *file) value(d *json.Decoder, at *path, depth int) (v value, err error) {
	token, from, to := f.next(d)
	v = value{from, to, token}
	if depth == 0 {
		return v, f.errorf(from, at, "it is nested more than %d deep", depthMost)
	}
	switch token {
	case json.Delim('['):
		all := []value{}
		for d.More() {
			one, err := f.value(d, at.element(len(all)), depth-1)
			if err != nil {
				return v, err
			}
			all = append(all, one)
		}
		v.is = all
	case json.Delim('{'):
		if v.is, err = f.members(d, at, depth); err != nil {
			return v, err
		}
	default:
		return v, nil
	}
	_, _, v.to = f.next(d)
	return v, nil
}

// members reads the members of an object. Two with the same name are an error.
func (f *file) members(d *json.Decoder, in *path, depth int) (all []member, err error) {
	all, seen := []member{}, map[string]bool{}
	for d.More() {
		token, at, end := f.next(d)
		name := token.(string)
		if seen[name] {
			return nil, f.errorf(at, in, "%q is there twice", name)
		}
		seen[name] = true
		v, err := f.value(d, in.member(name), depth-1)
		if err != nil {
			return nil, err
		}
		all = append(all, member{name, at, end, v})
	}
	return all, nil
}

// kind says what a value is, for errors.
func (v *value) kind() string {
	switch v.is.(type) {
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case bool:
		return "a bool"
	case []value:
		return "a list"
	case []member:
		return "an object"
	}
	return "null"
}
