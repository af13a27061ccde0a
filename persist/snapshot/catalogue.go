package snapshot

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/form"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/schema"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/shape"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// catalogue lists everything that is registered, or that a snapshot has. What is registered has the
// form that writes its values, what a snapshot has a description of the form.
//
// Ownership: the goroutine that saves, loads or plans; while parts are written, nobody writes it.
type catalogue struct {
	*format.Catalogue
	hashed   map[string]bool    // of a world: the lists on which its hash depends
	balances scheduler.Balancer // of a world, or nil
}

// catalogueOf lists what an idle world has. A save and a load call it first. Kinds of requests are
// listed by name only: see findForm. The error names the first type without a codec.
func catalogueOf(w *world.World, v *engine.Survey, o *Options) (x *catalogue, err error) {
	x = &catalogue{Catalogue: &format.Catalogue{Scheduler: o.Scheduler != nil}, hashed: map[string]bool{}}
	for _, r := range v.Registered() {
		if x.hashed[r.What] = true; !slices.Contains(format.Listed[:], r.What) {
			panic(fmt.Sprintf("snapshot: the state hash depends on what is registered as %q, which snapshots do not list", r.What))
		}
	}
	typed := func(what string, all []extend.Named) (list []format.Named) {
		for i, n := range all {
			item := format.Named{Name: n.Name, Of: n.Type, At: i}
			if e := findForm(&item, o.Codecs); e != nil && err == nil {
				err = fmt.Errorf("snapshot: %s %q: %w", what, n.Name, e)
			}
			list = append(list, item)
		}
		return list
	}
	x.Components, x.Messages, x.Resources = typed("component", v.Components()), typed("message", v.Messages()), typed("resource", v.Resources())
	for i := range x.Resources {
		if _, parts := v.Resource(i); parts > 0 && err == nil {
			x.Resources[i].Hash ^= format.Accumulates
		}
	}
	kinds := v.Kinds()
	for i := range kinds.Len() {
		d, t := kinds.Describe(i)
		x.Kinds = append(x.Kinds, format.Named{Name: d.Name, Of: t, At: i})
	}
	for i, h := range v.Hooks() {
		x.Hooks = append(x.Hooks, format.Named{Name: h.Name(), At: i})
	}
	for i, e := range v.Extensions() {
		shown, wrong := form.StateOf(e, (*form.Codecs)(o.Codecs), true)
		if wrong != nil {
			return nil, fmt.Errorf("snapshot: extension %q: %w", e.Name(), wrong)
		}
		saved, ok := shown.(extend.Saved)
		if !ok {
			return nil, fmt.Errorf("snapshot: %w: extension %q, a %T, has no AppendSaved and LoadSaved", state.ErrNoCodec, e.Name(), e)
		}
		n := format.Named{Name: e.Name(), Saved: saved, At: i}
		if e, ok := saved.(extend.Optioned); ok {
			all, same := e.SavedOptions()
			n.Type, n.Hash, n.Count = all, xxh3.HashString(same), e.SavedCount()
		}
		x.Extensions = append(x.Extensions, n)
		if h, ok := shown.(form.Holder); ok {
			held := typed("payload", []extend.Named{{Name: e.Name(), Type: h.Held()}})[0]
			held.At, held.Count = i, n.Count
			x.Payloads = append(x.Payloads, held)
		}
	}
	for i, a := range o.Extras {
		n := format.Named{Name: a.Name, At: i}
		if a.Optional {
			n.Hash = format.Optional
		}
		x.Extras = append(x.Extras, n)
	}
	if o.Scheduler != nil {
		for i, name := range o.Scheduler.Systems() {
			x.Systems = append(x.Systems, format.Named{Name: name, At: i})
		}
		if x.balances = o.Scheduler.Options().Balancer; x.balances != nil {
			x.Balancers = []format.Named{{Name: fmt.Sprintf("%T", x.balances)}}
		}
	}
	return x, err
}

// keep removes all kinds of requests from the list but those that are under way in the world, and
// those with the same names. It sets the form of each that stays; the error is about the first of
// them whose payload has none. The world is idle, and stays as it is.
func (c *catalogue) keep(w *world.World, v *engine.Survey, codecs *state.Codecs) (err error) {
	used := map[string]int{}
	for from := range w.Shards() + 1 {
		v.Requests(sender(from, w.Shards()), func(r queue.PendingRequest) {
			used[c.Kinds[r.Kind()].Name]++
		})
	}
	c.Kinds = slices.DeleteFunc(c.Kinds, func(n format.Named) bool { return used[n.Name] == 0 })
	for i := range c.Kinds {
		n := &c.Kinds[i]
		n.Count = used[n.Name]
		if e := findForm(n, codecs); e != nil && err == nil {
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

// findForm finds how values are written. The error is state.ErrNoCodec, and n is unchanged.
func findForm(n *format.Named, codecs *state.Codecs) (err error) {
	if n.Of == nil || n.Form != nil {
		return nil
	}
	if n.Form, err = (*form.Codecs)(codecs).Form(n.Of, true); err == nil {
		n.Type, n.Hash, n.Parts = n.Of.String(), shape.HashOf(n.Form), n.Form.Parts()
	}
	return err
}

// compare compares the settings of a snapshot with the settings of the world that loads it, or of
// another snapshot. It reports whether the settings that decide what happens next are the same. It
// changes nothing.
func compare(own, saved []format.Setting, other bool) (same bool, list []Difference) {
	same = true
	for i, own := range own {
		if saved[i].Value == own.Value || own.Kind == format.Told {
			continue
		}
		d := Difference{Kind: "option", Name: own.Name, Was: saved[i].String(), Is: own.String(), Blocks: own.Kind == format.Shapes || own.Kind == format.Counts && !other}
		switch {
		case own.Kind == format.Spreads:
			d.Text = "is another: entities keep their handles, and are spread over the shards anew"
		case own.Kind == format.Shapes:
			d.Text = "shapes handles: make the world with Info.Options"
		case own.Kind == format.FromNow:
			d.Text = "counts for what is new"
		case other:
			d.Text = "is another"
		default:
			d.Text = "decides what happens next: make the world with Info.Options, or set OtherOptions"
		}
		same, list = false, append(list, d)
	}
	return same, list
}

// matching matches the contents of a snapshot with a world that is to load it.
//
// Ownership: the goroutine that loads or plans.
type matching struct {
	saved, own *catalogue
	o          *Options
	changes    schema.Changes
	files      bool // a snapshot stands for the world
	piece      bool // saved is a piece's: what it only has the name of may be missing
	list       *[]Difference
	made       map[reflect.Type]*schema.Change // the components that a Migrated makes
}

// note adds a difference to the list.
func (m *matching) note(what, name, is string, refused bool, text string, args ...any) {
	*m.list = append(*m.list, Difference{Kind: what, Name: name, Is: is, Blocks: refused, Text: fmt.Sprintf(text, args...)})
}

// all matches everything, and sets at and form of what the snapshot has to the world's. It changes
// the world's catalogue and not the world. It reports whether both have the same in the same order,
// so that their hashes must be equal. What blocks a load is in the list; an error ends the plan.
func (m *matching) all() (same bool, err error) {
	same = true
	m.changes = m.o.changes()
	for i, what := range format.Listed {
		if what == "balancer" || what == "request" && m.files || what == "system" && !m.schedulers() {
			continue
		}
		before := len(*m.list)
		if what == "payload" {
			err = m.payloads()
		} else {
			err = m.find(what, *m.saved.Lists()[i], *m.own.Lists()[i])
		}
		if err != nil {
			return false, err
		}
		if m.own.hashed[what] {
			m.order(what, *m.saved.Lists()[i])
		}
		same = same && (what == "extra" || what == "system" || len(*m.list) == before) // no hash depends on these
	}
	m.balancer()
	return same, nil
}

// order notes whether what both have is registered in another order.
func (m *matching) order(what string, saved []format.Named) {
	last := -1
	for _, n := range saved {
		if n.At >= 0 && n.At < last {
			m.note(what, n.Name, "", false, "is registered in another order, on which the state hash depends")
			return
		}
		last = max(last, n.At)
	}
}

// find finds each element of a list in another. Several with the same name are matched in order. An
// error is that of same.
func (m *matching) find(what string, saved, own []format.Named) error {
	byName := map[string][]*format.Named{}
	for i := range own {
		byName[own[i].Name] = append(byName[own[i].Name], &own[i])
	}
	for i, name := range m.changes.Rename(what, namesOf(saved), namesOf(own)) {
		n := &saved[i]
		all := byName[name]
		if m.piece && n.Type == "" { // nobody in the piece has it
			if n.At = -1; len(all) > 0 {
				n.At, byName[name] = all[0].At, all[1:]
			}
			continue
		}
		if len(all) == 0 {
			m.missing(what, n, name)
			continue
		}
		byName[name] = all[1:]
		if name != n.Name {
			m.note(what, n.Name, "", false, "is %q now", name)
		}
		if what == "extension" {
			m.options(n, all[0])
			continue
		}
		if err := m.same(what, n, all[0]); err != nil {
			return err
		}
	}
	for i := range own {
		n := &own[i]
		if rest := byName[n.Name]; len(rest) > 0 && rest[0] == n && what != "request" {
			byName[n.Name] = rest[1:]
			m.note(what, n.Name, n.Type, false, "is new%s", map[string]string{
				"component": ": no entity has it", "resource": ", and keeps its value", "system": ", and stays as it was added",
			}[what])
		}
	}
	return nil
}

// namesOf returns the names of a list.
func namesOf(list []format.Named) (names []string) {
	for _, n := range list {
		names = append(names, n.Name)
	}
	return names
}

// missing notes something that the world lacks, with what the program can say to have it loaded all
// the same.
func (m *matching) missing(what string, n *format.Named, name string) {
	old, now := schema.Subject(what, n.Name), schema.Subject(what, name)
	if n.At = -1; n.Type != "" {
		n.Form = shape.Skip(n.Parts)
	}
	loss := lossOf(what, n)
	if m.changes.Drop(old, now) {
		m.note(what, n.Name, "", false, "is dropped%s", loss.Whole(", WHICH LOSES ", ""))
		return
	}
	if what == "extra" && n.Hash == format.Optional {
		m.note(what, n.Name, "", false, "is optional, and left out")
		return
	}
	if what == "extra" && m.files {
		m.note(what, n.Name, "", false, "is in the old one alone; Load needs it in Options.Extras")
		return
	}
	in := "this world"
	if what == "system" {
		in = "Options.Scheduler"
	}
	m.note(what, n.Name, "", true, "is not in %s: say Renamed(%q, …), or %s; Dropped(%q)%s", in, now, loss.Keep, now, loss.Whole(" LOSES ", " loses nothing"))
}

// lossOf returns what is lost with something of a list.
func lossOf(what string, n *format.Named) schema.Loss {
	switch what {
	case "component":
		return schema.Loss{Count: n.Count, Of: "ENTITIES", In: true, Keep: "register it beside the new one until no entity has it"}
	case "message":
		return schema.Loss{Count: n.Count, Of: "MESSAGES", Keep: "register it until they are delivered"}
	case "request":
		return schema.Loss{Count: n.Count, Of: "REQUESTS", Keep: "register it until they are applied"}
	case "extension":
		word, _, _ := strings.Cut(n.Type, ",")
		word, _, _ = strings.Cut(word, " ")
		return schema.Loss{Count: n.Count, Of: strings.ToUpper(cmp.Or(word, "entries")), Keep: "make it beside the new one until it is empty"}
	case "resource":
		return schema.Loss{Alone: "ITS VALUE", Keep: "register it"}
	case "extra":
		return schema.Loss{Alone: "ITS STATE", Keep: "pass it"}
	case "hook":
		return schema.Loss{Alone: "WHERE IT IS OFF", Keep: "make it"}
	}
	return schema.Loss{Alone: "WHETHER IT IS ON", Keep: "add it"}
}

// payloads matches the values that extensions hold. What an extension held that is dropped goes
// with it.
func (m *matching) payloads() error {
	at := map[string]int{} // the world's numbers of extensions, by their names in the snapshot
	for i := range m.saved.Extensions {
		n := &m.saved.Extensions[i]
		if _, twice := at[n.Name]; n.At >= 0 && !twice {
			at[n.Name] = n.At
		}
	}
	found := map[int]bool{}
	for i := range m.saved.Payloads {
		n := &m.saved.Payloads[i]
		n.At = -1
		e, ok := at[n.Name]
		if !ok {
			continue
		}
		if found[e] {
			return format.Altered("it says twice in which form the values of %q are", n.Name)
		}
		found[e] = true
		own := slices.IndexFunc(m.own.Payloads, func(o format.Named) bool { return o.At == e })
		if own < 0 {
			continue // it is another kind of extension, which blocks
		}
		if err := m.same("payload", n, &m.own.Payloads[own]); err != nil {
			return err
		}
	}
	return nil
}

// messageOf returns the name that a message whose values an extension holds has in a catalogue, or
// "". Of the payload it needs the number of the extension.
func (m *matching) messageOf(payload *format.Named, in *catalogue) string {
	for _, own := range m.own.Payloads {
		for _, message := range m.own.Messages {
			if own.At != payload.At || message.Type != own.Type || message.Hash != own.Hash {
				continue
			}
			for _, n := range in.Messages {
				if n.At == message.At {
					return n.Name
				}
			}
		}
	}
	return ""
}

// options compares the options of an extension.
func (m *matching) options(n, own *format.Named) {
	n.At = own.At
	about := Difference{Kind: "extension", Name: n.Name, Was: n.Type, Is: own.Type, Blocks: n.Hash != own.Hash}
	switch {
	case n.Type == "" || n.Type == own.Type: // the same, or saved by an earlier version
		return
	case about.Blocks:
		loss := lossOf("extension", n)
		about.Text = fmt.Sprintf("is of another kind: give the new one another name, and keep the old one beside it until it is empty; Dropped(%q)%s", n.Name, loss.Whole(" LOSES ", " loses nothing"))
	default:
		about.Text = "has other options, which count from now on: what is beyond its limits stays"
	}
	*m.list = append(*m.list, about)
}

// same finds how to read the values of something that both have, and notes how the types differ. An
// error is of a codec that is missing, or of a file that makes no sense.
func (m *matching) same(what string, n, own *format.Named) error {
	if err := findForm(own, m.o.Codecs); err != nil {
		return fmt.Errorf("snapshot: %s %q: %w", what, own.Name, err)
	}
	n.At, n.Of, n.Form = own.At, own.Of, own.Form
	if what == "resource" && n.Hash^own.Hash == format.Accumulates {
		m.note(what, n.Name, "", false, "is an accumulator in one of both alone: what shards have added and was not merged is left out")
		n.Hash = own.Hash // the values have the same form, and may have other constants
	}
	alike := n.Hash == own.Hash
	if what == "extra" || alike && (n.Type == "") == (own.Type == "") && !schema.OtherConstants(n.Parts, own.Parts) {
		return nil
	}
	if (n.Type == "") != (own.Type == "") {
		m.note(what, n.Name, "", true, "has a value in one of both alone")
		return nil
	}
	if own.Type == "" && !alike {
		return format.Altered("%s %q has no value, and a form", what, n.Name)
	}
	if what == "request" {
		if done, err := m.bundled(n, own); done || err != nil {
			return err
		}
	}
	by, notes, err := m.convert(what, n, own)
	if err != nil {
		return err
	}
	blocks := slices.ContainsFunc(notes, func(x schema.Note) bool { return x.Blocks })
	if !alike || blocks {
		if done, err := m.migrate(what, n, own); done || err != nil {
			return err
		}
	}
	m.notes(what, n.Name, notes)
	if n.Form = by; alike && len(notes) == 0 {
		n.Form = own.Form
	}
	return nil
}

// convert finds how values of a saved form are read as values of the world's, and notes how these
// differ. An error says that the snapshot makes no sense.
func (m *matching) convert(what string, n, own *format.Named) (by form.Form, notes []schema.Note, err error) {
	saved, err := m.sideOf(what, n, m.saved)
	if err != nil {
		return nil, nil, err
	}
	fields, err := m.sideOf(what, own, m.own)
	if err != nil {
		return nil, nil, err
	}
	saved.Same = n.Hash == own.Hash
	by, notes = schema.Convert(m.changesWithin(what, own), saved, fields, own.Form)
	return by, notes, nil
}

// notes adds to the list what was noted of something.
func (m *matching) notes(what, name string, notes []schema.Note) {
	for _, x := range notes {
		*m.list = append(*m.list, Difference{Kind: what, Name: name, Field: x.Field, Was: x.Was, Is: x.Is, Text: x.Text, Blocks: x.Blocks})
	}
}

// migrate finds the Migrated that makes the values of something, and reports whether there is one.
// It notes that, and whether there is one from another form. Fields of the old type that are enums
// of this world get its numbers. An error is of a codec that is missing, or of a file that makes no
// sense.
func (m *matching) migrate(what string, n, own *format.Named) (done bool, err error) {
	var notes []schema.Note
	by, how, other, err := m.changes.Migrate(n.Hash, own.Of, m.o.Codecs, func(old form.Form, of reflect.Type) (form.Form, error) {
		parts := old.Parts()
		if !schema.OtherConstants(n.Parts, parts) {
			return old, nil
		}
		by, all, err := m.convert(what, n, &format.Named{Name: own.Name, Of: of, At: own.At, Type: of.String(), Hash: n.Hash, Form: old, Parts: parts})
		notes = slices.DeleteFunc(all, func(x schema.Note) bool { return !x.Blocks || x.Undeclared != nil })
		return by, err
	})
	about := Difference{Kind: what, Name: n.Name, Was: n.Type, Is: own.Type, Text: "is made by a function"}
	switch {
	case err != nil:
		return false, fmt.Errorf("snapshot: the old type of a Migrated for %s %q: %w", what, own.Name, err)
	case by != nil:
		if n.Form = by; what == "component" {
			if m.made == nil {
				m.made = map[reflect.Type]*schema.Change{}
			}
			m.made[own.Of] = how
		}
	case other:
		about.Text = "is not made by a function: the old types of Migrated have other forms than the saved one"
	default:
		return false, nil
	}
	*m.list = append(*m.list, about)
	m.notes(what, n.Name, notes)
	return by != nil, nil
}

// bundled finds how to read the payload of a request about a bundle, if a Migrated makes one of its
// components. It notes that, and how the others differ, and reports whether there is one. It
// returns the errors of same.
func (m *matching) bundled(n, own *format.Named) (done bool, err error) {
	if len(m.made) == 0 || own.Of.Kind() != reflect.Struct || m.changes.Makes(own.Of) {
		return false, nil
	}
	b := schema.Bundle(own.Of, form.Wrapped(own.Of) != own.Of, m.made)
	if b == nil {
		return false, nil
	}
	old := format.Named{Name: own.Name, Of: b.Of, At: own.At}
	if err := findForm(&old, m.o.Codecs); err != nil {
		return false, fmt.Errorf("snapshot: the old types of a Migrated in a %s: %w", own.Name, err)
	}
	by := old.Form
	if old.Hash != n.Hash || schema.OtherConstants(n.Parts, old.Parts) {
		var notes []schema.Note
		old.Hash = n.Hash // the fields are the same, as far as nothing is noted
		if by, notes, err = m.convert("request", n, &old); err != nil {
			return false, err
		}
		m.notes("request", n.Name, slices.DeleteFunc(notes, b.Reads))
	}
	m.note("request", n.Name, "", false, "has components that are made by a function")
	n.Form = b.Form(by, own.Form)
	return true, nil
}

// changesWithin returns the changes for something: those of components hold for requests, too, that
// have the components as fields, as those about bundles have.
func (m *matching) changesWithin(what string, own *format.Named) (all schema.Changes) {
	t := own.Of
	if what != "request" || t == nil || t.Kind() != reflect.Struct {
		return m.changes
	}
	prefix := ""
	if in := form.Wrapped(t); in != t {
		prefix, t = t.Field(0).Name+".", in
	}
	for _, c := range m.changes {
		all = append(all, c)
		for i := range t.NumField() {
			if f := t.Field(i); c.In != "" && m.isComponent(f.Type, c.In) {
				all = append(all, c.Within(schema.Subject(what, own.Name), prefix+f.Name))
			}
		}
	}
	return all
}

// isComponent reports whether a type is the component that has a name now, or had it in the
// snapshot.
func (m *matching) isComponent(t reflect.Type, name string) bool {
	for _, own := range m.own.Components {
		if own.Of == t {
			return own.Name == name || slices.ContainsFunc(m.saved.Components, func(n format.Named) bool { return n.At == own.At && n.Name == name })
		}
	}
	return false
}

// sideOf returns what schema.Convert needs of the form of something in a catalogue. An error says
// that the snapshot makes no sense.
func (m *matching) sideOf(what string, n *format.Named, in *catalogue) (x schema.Side, err error) {
	x = schema.Side{Name: schema.Subject(what, n.Name), Type: n.Type, Parts: n.Parts, Loss: lossOf(what, n)}
	if what == "payload" {
		x.Name = cmp.Or(m.messageOf(n, in), n.Name)
		x.Also = n.Name
		for i := range in.Extensions {
			if in.Extensions[i].Name == n.Name {
				x.Loss = lossOf("extension", &in.Extensions[i])
			}
		}
	}
	if x.Leaves, err = shape.LeavesOf(n.Type, n.Parts); err != nil {
		err = format.Altered("%s %q: %w", what, n.Name, err)
	}
	return x, err
}

// schedulers reports whether both have a scheduler, and so systems to match.
func (m *matching) schedulers() bool {
	switch {
	case !m.saved.Scheduler || m.own.Scheduler:
	case m.files:
		m.note("scheduler", "", "", false, "is in the old one alone; Load needs one in Options.Scheduler")
	default:
		m.note("scheduler", "", "", true, "is in the snapshot; pass one in Options.Scheduler")
	}
	return m.saved.Scheduler && m.own.Scheduler
}

// balancer compares the Balancers of the schedulers, which have types as names.
func (m *matching) balancer() {
	saved, own := namesOf(m.saved.Balancers), namesOf(m.own.Balancers)
	_, loads := m.own.balances.(interface{ LoadState(src []byte) error })
	_, keeps := m.own.balances.(interface{ AppendState(dst []byte) []byte })
	switch {
	case !m.saved.Scheduler || !m.own.Scheduler || len(saved)+len(own) == 0:
	case len(own) == 0:
		m.note("balancer", saved[0], "", false, "is not in Options.Scheduler: its state is left out")
	case len(saved) == 0:
		m.note("balancer", own[0], "", false, "is new, and stays as it was made")
	case keeps && !loads:
		m.note("balancer", saved[0], own[0], true, "has a state and no LoadState: give it the method")
	case saved[0] == own[0]:
	case loads || m.files:
		m.note("balancer", saved[0], own[0], false, "is another, which gets the state that was saved")
	default:
		m.note("balancer", saved[0], own[0], false, "is another, without a state: what was saved is left out")
	}
}
