package snapshot

import (
	"fmt"
	"io"
	"slices"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/schema"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/shape"
	"github.com/atoll-sim/atoll/world"
)

// PlanLoad returns what Load would do about each difference of the snapshot and the world, and
// what it would refuse. It reads the beginning of the snapshot and does not touch the world, which
// need not be new. Errors are those of Load for data that is no snapshot.
//
// It compares names and types. It cannot see that a number means something else now, as when the
// constants of an enum are renumbered: Load then reads the old numbers. So never renumber, or give
// the field another name, too, and convert it by a Migrated.
func PlanLoad(src io.Reader, w *world.World, o Options) (Plan, error) {
	if w == nil {
		panic("snapshot: PlanLoad for a nil World; pass one of world.New")
	}
	o = o.validate("PlanLoad")
	if err := w.Err(); err != nil {
		return Plan{}, err
	}
	d := engine.Of(w)
	d.MustIdle("snapshot.PlanLoad")
	l := &loading{w: w, v: d.Survey(), o: &o, r: format.SourceOf(src)}
	return l.plan()
}

// PlanFiles is PlanLoad with a snapshot instead of a world: of that world, or of another of the
// same program. It cannot check what only a world or its Options have: kinds of requests, whether a
// Change.Migrated fits, and whether Load gets an Also or a Scheduler that the new snapshot lacks,
// as package durable does. Of the Options it uses Changes and OtherOptions.
func PlanFiles(old, now io.Reader, o Options) (p Plan, err error) {
	o = o.validate("PlanFiles")
	var saved [2]*loading
	for i, src := range []io.Reader{old, now} {
		saved[i] = &loading{r: format.SourceOf(src)}
		if err := saved[i].readHead(); err != nil {
			return p, fmt.Errorf("%w (of %s)", err, []string{"the old one", "the new one"}[i])
		}
	}
	p.Info = Info(saved[0].head.Info)
	_, p.Differences = compare(saved[1].head.Settings, saved[0].head.Settings, o.OtherOptions)
	m := matching{saved: saved[0].names, own: saved[1].names, o: &o, files: true, list: &p.Differences}
	_, err = m.all()
	return p, err
}

// plan reads the sections that do not change the world, and compares them with the world.
func (l *loading) plan() (p Plan, err error) {
	if err = l.readHead(); err != nil {
		return p, err
	}
	p.Info = Info(l.head.Info)
	l.same, p.Differences = compare(format.Settings(format.InfoOf(l.w)), l.head.Settings, l.o.OtherOptions)
	own, err := catalogueOf(l.w, l.v, l.o)
	if err != nil {
		return p, err
	}
	l.own = own
	m := matching{saved: l.names, own: own, o: l.o, list: &p.Differences}
	same, err := m.all()
	l.same = l.same && same
	return p, err
}

// readHead reads the header and the names.
func (l *loading) readHead() error {
	head, names, err := format.ReadHead(l.r)
	if err == nil {
		l.head, l.names = head, catalogueIn(names)
	}
	return err
}

// compare compares the settings of a snapshot with those of the world that loads it. It
// reports whether the settings that decide what happens next are the same.
func compare(own, saved []format.Setting, other bool) (same bool, list []Difference) {
	same = true
	for i, own := range own {
		if saved[i].Value == own.Value || own.Kind == format.Told {
			continue
		}
		d := Difference{Kind: "option", Name: own.Name, Was: saved[i].String(), Is: own.String(), Refused: own.Kind == format.Shapes || !other}
		switch {
		case own.Kind == format.Shapes:
			d.Text = "shapes handles: make the world with Info.Options"
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
type matching struct {
	saved, own *catalogue
	o          *Options
	files      bool // a snapshot stands for the world
	list       *[]Difference
}

func (m *matching) note(what, name, is string, refused bool, text string, args ...any) {
	*m.list = append(*m.list, Difference{Kind: what, Name: name, Is: is, Refused: refused, Text: fmt.Sprintf(text, args...)})
}

// all matches everything, and sets at and form of what the snapshot has to the world's. It
// reports whether both have the same in the same order, so that their hashes must be equal.
func (m *matching) all() (same bool, err error) {
	same = true
	changes := m.o.changes()
	for i, what := range format.Listed {
		if what == "system" || what == "balancer" {
			continue
		}
		if what == "request" && m.files {
			continue
		}
		before := len(*m.list)
		if err := m.find(changes, what, *m.saved.lists()[i], *m.own.lists()[i]); err != nil {
			return false, err
		}
		if m.own.hashed[what] {
			m.order(what, *m.saved.lists()[i])
		}
		same = same && (what == "also" || len(*m.list) == before) // no hash depends on an Also
	}
	m.systems()
	return same, nil
}

// order notes whether what both have is registered in another order.
func (m *matching) order(what string, saved []named) {
	last := -1
	for _, n := range saved {
		if n.at >= 0 && n.at < last {
			m.note(what, n.Name, "", false, "is registered in another order, on which the state hash depends")
			return
		}
		last = max(last, n.at)
	}
}

// find finds each element of a list in another. Several with the same name are matched in order.
func (m *matching) find(changes schema.Changes, what string, saved, own []named) error {
	byName := map[string][]*named{}
	for i := range own {
		byName[own[i].Name] = append(byName[own[i].Name], &own[i])
	}
	for i, name := range changes.Rename(what, namesOf(saved), namesOf(own)) {
		n := &saved[i]
		all := byName[name]
		if len(all) == 0 {
			m.missing(changes, what, n, name)
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
		if err := m.same(changes, what, n, all[0]); err != nil {
			return err
		}
	}
	for i := range own {
		n := &own[i]
		if rest := byName[n.Name]; len(rest) > 0 && rest[0] == n && what != "request" {
			byName[n.Name] = rest[1:]
			m.note(what, n.Name, n.Type, false, "is new%s", map[string]string{"component": ": no entity has it", "resource": ", and keeps its value"}[what])
		}
	}
	return nil
}

func namesOf(list []named) (names []string) {
	for _, n := range list {
		names = append(names, n.Name)
	}
	return names
}

// missing notes something that the world lacks.
func (m *matching) missing(changes schema.Changes, what string, n *named, name string) {
	old, now := schema.Subject(what, n.Name), schema.Subject(what, name)
	if n.at = -1; n.Type != "" {
		n.form = shape.Skip(n.Parts)
	}
	if changes.Drop(old, now) {
		m.note(what, n.Name, "", false, "is dropped")
		return
	}
	if what == "also" && n.Hash == format.Optional {
		m.note(what, n.Name, "", false, "is optional, and left out")
		return
	}
	if what == "also" && m.files {
		m.note(what, n.Name, "", false, "is in the old one alone; Load needs it in Options.Also")
		return
	}
	in, or := "this world", "register"
	if what == "system" {
		in, or = "Options.Scheduler", "add"
	}
	m.note(what, n.Name, "", true, "is not in %s: say Renamed(%q, …) or Dropped(%q), or %s it", in, now, now, or)
}

// options compares the options of an extension.
func (m *matching) options(n, own *named) {
	n.at = own.at
	about := Difference{Kind: "extension", Name: n.Name, Was: n.Type, Is: own.Type, Refused: n.Hash != own.Hash}
	switch {
	case n.Type == "" || n.Type == own.Type: // the same, or saved by an earlier version
		return
	case about.Refused:
		about.Text = fmt.Sprintf("decides what it does: make it with the options that it was saved with, or another under a new name, and say Dropped(%q)", schema.Subject("extension", n.Name))
	default:
		about.Text = "has other limits, which count from now on: what is beyond them stays"
	}
	*m.list = append(*m.list, about)
}

// same finds how to read the values of something that both have.
func (m *matching) same(changes schema.Changes, what string, n, own *named) error {
	if err := own.formOf(m.o.Codecs); err != nil {
		return fmt.Errorf("snapshot: %s %q: %w", what, own.Name, err)
	}
	n.at, n.rows, n.form = own.at, own.rows, own.form
	if what == "resource" && n.Hash^own.Hash == format.Accumulates {
		m.note(what, n.Name, "", false, "is an accumulator in one of both alone: what shards have added and was not merged is left out")
		return nil
	}
	if what == "also" || n.Hash == own.Hash && (n.Type == "") == (own.Type == "") {
		return nil
	}
	about := Difference{Kind: what, Name: n.Name}
	if (n.Type == "") != (own.Type == "") {
		m.note(what, n.Name, "", true, "has a value in one of both alone")
		return nil
	}
	form, other, err := changes.Migrate(n.Hash, own.rows, m.o.Codecs)
	switch {
	case err != nil:
		return fmt.Errorf("snapshot: the old type of a Migrated for %s %q: %w", what, own.Name, err)
	case form != nil:
		about.Was, about.Is, about.Text = n.Type, own.Type, "is made by a function"
		n.form, *m.list = form, append(*m.list, about)
		return nil
	}
	saved, err := n.side(what)
	if err != nil {
		return err
	}
	fields, err := own.side(what)
	if err != nil {
		return err
	}
	if other {
		about.Was, about.Is, about.Text = n.Type, own.Type, "is not made by a function: the old types of Migrated have other forms than the saved one"
		*m.list = append(*m.list, about)
	}
	form, notes := schema.Convert(changes, saved, fields, own.form)
	for _, x := range notes {
		*m.list = append(*m.list, Difference{Kind: what, Name: n.Name, Field: x.Field, Was: x.Was, Is: x.Is, Text: x.Text, Refused: x.Refused})
	}
	n.form = form
	return nil
}

// side returns what schema.Convert needs of the form of something.
func (n *named) side(what string) (x schema.Side, err error) {
	x = schema.Side{Name: schema.Subject(what, n.Name), Type: n.Type, Parts: n.Parts}
	if x.Leaves, err = shape.LeavesOf(n.Type, n.Parts); err != nil {
		err = format.Altered("%s %q: %w", what, n.Name, err)
	}
	return x, err
}

// systems matches the systems of the schedulers by name.
func (m *matching) systems() {
	if m.saved.scheduler && !m.own.scheduler {
		if m.files {
			m.note("scheduler", "", "", false, "is in the old one alone; Load needs one in Options.Scheduler")
		} else {
			m.note("scheduler", "", "", true, "is in the snapshot; pass one in Options.Scheduler")
		}
		return
	}
	own := namesOf(m.own.systems)
	now := m.o.changes().Rename("system", namesOf(m.saved.systems), own)
	for i, name := range now {
		n := &m.saved.systems[i]
		switch n.at = slices.Index(own, name); {
		case n.at < 0:
			m.missing(m.o.changes(), "system", n, name)
		case name != n.Name:
			m.note("system", n.Name, "", false, "is %q now", name)
		}
	}
	for _, name := range own {
		if m.saved.scheduler && !slices.Contains(now, name) {
			m.note("system", name, "", false, "is new, and stays as it was added")
		}
	}
	m.balancer()
}

// balancer compares the Balancers of the schedulers, which have types as names.
func (m *matching) balancer() {
	saved, own := namesOf(m.saved.balancers), namesOf(m.own.balancers)
	_, loads := m.own.balances.(interface{ LoadState(src []byte) error })
	_, keeps := m.own.balances.(interface{ AppendState(dst []byte) []byte })
	switch {
	case !m.saved.scheduler || len(saved)+len(own) == 0:
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
