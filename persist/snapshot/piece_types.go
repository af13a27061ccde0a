package snapshot

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/atoll-sim/atoll/ext/reference"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/extend/remap"
	"github.com/atoll-sim/atoll/internal/form"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/persist/state"
)

// types is what pieces have to know of the types of a world. It is found out once, so that a piece of a
// single entity costs little.
//
// Ownership: the owner of the world's phase.
type types struct {
	codecs *state.Codecs
	within *state.Codecs // the same, by which forms keep to the budget
	budget form.Budget   // of the Insert that is under way
	counts typeCounts
	own    *catalogue // everything that pieces may have; forms are found when they are needed
	parts  []part     // the extensions
	made   map[usedKey][]byte
	forms  map[store.Set]*forms
	known  map[knownKey]*known
	unsure map[form.Form]bool // see form.Unsure
	mapper *remap.Mapper
	into   *insertion // under way, for the mapper
}

// typeCounts changes when something is registered.
type typeCounts struct {
	extend.Counts
	messages, codecs int
}

// part is an extension, as pieces know it. One that is neither stays behind, such as asks.
type part struct {
	name       string
	insertable engine.Insertable
	holder     form.Insertable // of one that holds values
	err        error           // it has no form for them
}

// usedKey is what a piece has; parts are numbers of extensions.
type usedKey struct {
	set   store.Set
	parts string
}

// forms are the forms of a piece's components, by their numbers.
type forms struct{ of []form.Form }

// ownerType is a type that pieces cannot have.
var ownerType = reflect.TypeFor[reference.Owner]()

// typesOf returns the types of a world.
func typesOf(w *engine.World, codecs *state.Codecs) *types {
	v := (*engine.Survey)(w) // of what is registered
	counts := typeCounts{v.Counts(), v.MessageCount(), (*form.Codecs)(codecs).Len()}
	if t, ok := (*w.Pieces()).(*types); ok && t.codecs == codecs && t.counts == counts {
		return t
	}
	t := &types{
		codecs: codecs, counts: counts, own: &catalogue{Catalogue: new(format.Catalogue)},
		made: map[usedKey][]byte{}, forms: map[store.Set]*forms{}, known: map[knownKey]*known{}, unsure: map[form.Form]bool{},
	}
	t.within = (*state.Codecs)((*form.Codecs)(codecs).Within(&t.budget))
	for i, n := range v.Components() {
		t.own.Components = append(t.own.Components, format.Named{Name: n.Name, Of: n.Type, At: i})
	}
	for i, n := range v.Messages() {
		t.own.Messages = append(t.own.Messages, format.Named{Name: n.Name, Of: n.Type, At: i})
		_ = findForm(&t.own.Messages[i], t.within) // if there is none, a timer's message has no name
	}
	for i, e := range v.Extensions() {
		t.addPart(i, e)
	}
	t.mapper = newMapper(w, t)
	*w.Pieces() = t
	return t
}

// addPart adds an extension.
func (t *types) addPart(number int, e extend.Base) {
	p, shown := part{name: e.Name()}, any(e)
	if _, coded := e.(form.Coded); coded {
		shown, p.err = form.StateOf(e, (*form.Codecs)(t.within), true)
	}
	switch x := shown.(type) {
	case engine.Insertable:
		p.insertable = x
	case form.Insertable:
		p.holder = x
	}
	n := format.Named{Name: p.name, At: number}
	if p.insertable != nil || p.holder != nil {
		same := "entries"
		if x, ok := shown.(extend.Optioned); ok {
			_, same = x.SavedOptions()
		}
		n.Type, n.Hash = same, xxh3.HashString(same)
	}
	t.own.Extensions = append(t.own.Extensions, n)
	if p.holder != nil {
		t.own.Payloads = append(t.own.Payloads, format.Named{Name: p.name, Of: p.holder.Held(), At: number})
	}
	t.parts = append(t.parts, p)
}

// find finds how values are written. The error says that a piece cannot have them.
func (t *types) find(n *format.Named) error {
	if remap.Holds(n.Of, ownerType) {
		return remap.ErrOwner
	}
	return findForm(n, t.within)
}

// mayFail reports whether values of a form may not be readable.
func (t *types) mayFail(f form.Form) bool {
	unsure, ok := t.unsure[f]
	if !ok {
		unsure = form.Unsure(f)
		makeRoom(t.unsure)
		t.unsure[f] = unsure
	}
	return unsure
}

// formsOf returns the forms of components of the world. The error names the first that a piece cannot
// have.
func (t *types) formsOf(set store.Set, call string) (*forms, error) {
	if f := t.forms[set]; f != nil {
		return f, nil
	}
	f := &forms{make([]form.Form, len(t.own.Components))}
	for id := range set.All {
		n := &t.own.Components[id]
		if err := t.find(n); err != nil {
			return nil, fmt.Errorf("snapshot: %s: component %q: %w", call, n.Name, err)
		}
		f.of[id] = n.Form
	}
	makeRoom(t.forms)
	t.forms[set] = f
	return f, nil
}

// keptMost bounds what is kept of pieces that were seen.
const keptMost = 256

// makeRoom empties a map that is full.
func makeRoom[K comparable, V any](m map[K]V) {
	if len(m) >= keptMost {
		clear(m)
	}
}

// catalogue returns what a piece says of the types that it has: of each component and extension of the
// world the name, on which the rules of Renamed depend, and of those in the piece all else.
func (t *types) catalogue(set store.Set, parts []int) ([]byte, error) {
	k := usedKey{set: set}
	if len(parts) > 0 {
		k.parts = fmt.Sprint(parts)
	}
	if b, ok := t.made[k]; ok {
		return b, nil
	}
	var c format.Catalogue
	described := func(n *format.Named) format.Named {
		return format.Named{Name: n.Name, Type: n.Type, Hash: n.Hash, Parts: n.Parts}
	}
	for i := range t.own.Components {
		if n := &t.own.Components[i]; set.Has(i) {
			c.Components = append(c.Components, described(n))
		} else {
			c.Components = append(c.Components, format.Named{Name: n.Name})
		}
	}
	for _, n := range t.own.Messages {
		c.Messages = append(c.Messages, format.Named{Name: n.Name})
	}
	for i := range t.own.Extensions {
		n := &t.own.Extensions[i]
		if !slices.Contains(parts, i) {
			c.Extensions = append(c.Extensions, format.Named{Name: n.Name})
			continue
		}
		c.Extensions = append(c.Extensions, described(n))
		c.Extensions[i].Count = extend.FlagsOf(t.parts[i].insertable != nil && t.parts[i].insertable.Unique())
		for k := range t.own.Payloads {
			if p := &t.own.Payloads[k]; p.At == i {
				if err := t.find(p); err != nil {
					return nil, fmt.Errorf("snapshot: the messages of %q: %w", n.Name, err)
				}
				c.Payloads = append(c.Payloads, described(p))
			}
		}
	}
	b := c.Append(nil)
	makeRoom(t.made)
	t.made[k] = b
	return b, nil
}

// known says how to read the values of pieces that describe their types by the same bytes.
//
// Ownership: as of types. Immutable once it is complete.
type known struct {
	changes    []Change
	components []format.Named // of the piece, with the world's numbers and what reads their values; -1: dropped
	extensions []int          // of the piece: the world's numbers; -1: dropped or left out; nowhere
	payloads   []form.Form    // by extension of the piece
}

// nowhere is the number of an extension that a piece does not describe, because it has nothing of it.
const nowhere = -2

// knownKey tells pieces apart that are read in other ways, if the changes are the same.
type knownKey struct {
	catalogue    xxh3.Uint128
	withoutNames bool
}

// sameChanges reports whether changes are certainly the same.
func sameChanges(a, b []Change) bool {
	return slices.EqualFunc(a, b, func(a, b Change) bool { return a.is.Same(b.is) })
}

// match finds how to read the values of a piece, by the names that the world has and by the changes of
// the options. The error lists all that the world lacks or has in another form.
func (t *types) match(x *contents, o *InsertOptions) (*known, error) {
	key := knownKey{xxh3.Hash128(x.catalogue), o.WithoutNames}
	if k := t.known[key]; k != nil && sameChanges(k.changes, o.Changes) {
		return k, nil
	}
	if err := x.describe(); err != nil {
		return nil, err
	}
	names := x.names.clone()
	for i := range names.Extensions {
		if o.WithoutNames && x.unique[i] {
			names.Extensions[i].Type = "" // as if the piece had none
		}
	}
	var plan Plan
	m := matching{saved: names, own: t.own, o: &Options{Codecs: t.within, Changes: o.Changes}, piece: true, list: &plan.Differences}
	m.changes = m.o.changes()
	for i, what := range format.Listed {
		if saved := *names.Lists()[i]; what == "component" || what == "message" || what == "extension" {
			if err := m.find(what, saved, *t.own.Lists()[i]); err != nil {
				return nil, err
			}
		}
	}
	if err := m.payloads(); err != nil {
		return nil, err
	}
	if err := plan.err(); err != nil {
		return nil, err
	}
	k := &known{changes: slices.Clone(o.Changes), components: names.Components, payloads: make([]form.Form, len(names.Extensions))}
	for i := range names.Components {
		if n := &names.Components[i]; n.Type != "" && n.At >= 0 && remap.Holds(n.Of, ownerType) {
			return nil, fmt.Errorf("snapshot: Insert: component %q: %w", n.Name, remap.ErrOwner)
		}
	}
	payloads := map[string]form.Form{}
	for _, p := range names.Payloads {
		if p.Form != nil {
			payloads[p.Name] = p.Form
		}
	}
	for i := range names.Extensions {
		n := &names.Extensions[i]
		switch {
		case n.Type == "" && o.WithoutNames && x.unique[i]:
			n.At = -1
		case n.Type == "":
			n.At = nowhere
		default:
			k.payloads[i] = payloads[n.Name]
		}
		if n.Type != "" && n.At >= 0 && t.parts[n.At].holder != nil && k.payloads[i] == nil {
			return nil, format.Altered("the piece does not say in which form the values of %q are", n.Name)
		}
		k.extensions = append(k.extensions, n.At)
	}
	makeRoom(t.known)
	t.known[key] = k
	return k, nil
}

// clone returns a copy in which elements of lists may be changed.
func (c *catalogue) clone() *catalogue {
	x := &catalogue{Catalogue: new(format.Catalogue)}
	for i, list := range c.Lists() {
		*x.Lists()[i] = slices.Clone(*list)
	}
	return x
}
