package snapshot

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/atoll-sim/atoll/internal/driver"
	"github.com/atoll-sim/atoll/world"
)

// Plan is what Load would do about each difference of a snapshot and a world.
type Plan struct {
	Info        Info // of the snapshot
	Differences []Difference
}

// Difference is something in which a snapshot and a world differ.
type Difference struct {
	// Kind and Name say what it is, such as "component" and "health"; Name is its name in the
	// snapshot. Field is the path of a field, if the difference is about one.
	Kind, Name, Field string
	// Was and Is are types, or numbers of options; empty if there is none.
	Was, Is string
	// Text says what Load does. If Load refuses, it says why, and which Change to declare.
	Text    string
	Refused bool
}

// String returns the difference as a line.
func (d Difference) String() string {
	text := d.Kind
	if d.Name != "" {
		text += " " + strconv.Quote(d.Name)
	}
	if d.Field != "" {
		text += ", field " + d.Field
	}
	switch {
	case d.Was != "" && d.Is != "" && d.Was != d.Is:
		text += fmt.Sprintf(" (%s → %s)", d.Was, d.Is)
	case d.Was+d.Is != "":
		text += fmt.Sprintf(" (%s)", max(d.Was, d.Is))
	}
	return text + ": " + d.Text
}

// Refused returns the differences for which Load returns ErrOtherWorld.
func (p Plan) Refused() (list []Difference) {
	return slices.Collect(func(yield func(Difference) bool) {
		for _, d := range p.Differences {
			if d.Refused && !yield(d) {
				return
			}
		}
	})
}

// String returns the differences line by line, each with what becomes of it.
func (p Plan) String() string {
	var b strings.Builder
	for _, d := range p.Differences {
		does := "loads  "
		if d.Refused {
			does = "refuses"
		}
		_, _ = fmt.Fprintf(&b, "%s  %s\n", does, d)
	}
	_, _ = fmt.Fprintf(&b, "%d differences, %d refused\n", len(p.Differences), len(p.Refused()))
	return b.String()
}

// err returns the error of Load.
func (p Plan) err() error {
	switch all := p.Refused(); len(all) {
	case 0:
		return nil
	case 1:
		return otherWorld("%v", all[0])
	default:
		text := ""
		for _, d := range all {
			text += "\n\t" + d.String()
		}
		return otherWorld("%d differences:%s", len(all), text)
	}
}

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
	d := driver.Of(w)
	d.MustIdle("snapshot.PlanLoad")
	l := &loading{w: w, v: d.Survey(), o: &o, r: sourceOf(src)}
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
		saved[i] = &loading{r: sourceOf(src)}
		if err := saved[i].head(); err != nil {
			return p, fmt.Errorf("%w (of %s)", err, []string{"the old one", "the new one"}[i])
		}
	}
	p.Info = saved[0].info
	_, p.Differences = compare(saved[1].settings, saved[0].settings, o.OtherOptions)
	m := matching{saved: saved[0].names, own: saved[1].names, o: &o, files: true, list: &p.Differences}
	_, err = m.all()
	return p, err
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
	saved, own := m.saved.lists(), m.own.lists()
	for _, what := range listed {
		if what == "system" || what == "balancer" {
			continue
		}
		if what == "request" && m.files {
			continue
		}
		before := len(*m.list)
		if err := m.find(what, *saved[what], *own[what]); err != nil {
			return false, err
		}
		if m.own.hashed[what] {
			m.order(what, *saved[what])
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
			m.note(what, n.name, "", false, "is registered in another order, on which the state hash depends")
			return
		}
		last = max(last, n.at)
	}
}

// find finds each element of a list in another. Several with the same name are matched in order.
func (m *matching) find(what string, saved, own []named) error {
	byName := map[string][]*named{}
	for i := range own {
		byName[own[i].name] = append(byName[own[i].name], &own[i])
	}
	for i, name := range rename(m.o.Changes, what, namesOf(saved), namesOf(own)) {
		n := &saved[i]
		all := byName[name]
		if len(all) == 0 {
			m.missing(what, n, name)
			continue
		}
		byName[name] = all[1:]
		if name != n.name {
			m.note(what, n.name, "", false, "is %q now", name)
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
		if rest := byName[n.name]; len(rest) > 0 && rest[0] == n && what != "request" {
			byName[n.name] = rest[1:]
			m.note(what, n.name, n.typ, false, "is new%s", map[string]string{"component": ": no entity has it", "resource": ", and keeps its value"}[what])
		}
	}
	return nil
}

func namesOf(list []named) (names []string) {
	for _, n := range list {
		names = append(names, n.name)
	}
	return names
}

// missing notes something that the world lacks.
func (m *matching) missing(what string, n *named, name string) {
	old, now := subject(what, n.name), subject(what, name)
	if n.at = -1; n.typ != "" {
		n.form = skipping(n.parts)
	}
	for _, c := range m.o.Changes {
		if c.how == dropped && len(c.fields) == 0 && (c.in == old || c.in == now) {
			m.note(what, n.name, "", false, "is dropped")
			return
		}
	}
	if what == "also" && n.hash == optional {
		m.note(what, n.name, "", false, "is optional, and left out")
		return
	}
	if what == "also" && m.files {
		m.note(what, n.name, "", false, "is in the old one alone; Load needs it in Options.Also")
		return
	}
	in, or := "this world", "register"
	if what == "system" {
		in, or = "Options.Scheduler", "add"
	}
	m.note(what, n.name, "", true, "is not in %s: say Renamed(%q, …) or Dropped(%q), or %s it", in, now, now, or)
}

// options compares the options of an extension.
func (m *matching) options(n, own *named) {
	n.at = own.at
	about := Difference{Kind: "extension", Name: n.name, Was: n.typ, Is: own.typ, Refused: n.hash != own.hash}
	switch {
	case n.typ == "" || n.typ == own.typ: // the same, or saved by an earlier version
		return
	case about.Refused:
		about.Text = fmt.Sprintf("decides what it does: make it with the options that it was saved with, or another under a new name, and say Dropped(%q)", subject("extension", n.name))
	default:
		about.Text = "has other limits, which count from now on: what is beyond them stays"
	}
	*m.list = append(*m.list, about)
}

// same finds how to read the values of something that both have.
func (m *matching) same(what string, n, own *named) error {
	if err := own.formOf(m.o.Codecs); err != nil {
		return fmt.Errorf("snapshot: %s %q: %w", what, own.name, err)
	}
	n.at, n.rows, n.form = own.at, own.rows, own.form
	if what == "resource" && n.hash^own.hash == accumulates {
		m.note(what, n.name, "", false, "is an accumulator in one of both alone: what shards have added and was not merged is left out")
		return nil
	}
	if what == "also" || n.hash == own.hash && (n.typ == "") == (own.typ == "") {
		return nil
	}
	about := Difference{Kind: what, Name: n.name}
	if (n.typ == "") != (own.typ == "") {
		m.note(what, n.name, "", true, "has a value in one of both alone")
		return nil
	}
	form, other, err := migrationOf(m.o.Changes, n, own.rows, m.o.Codecs)
	switch {
	case err != nil:
		return fmt.Errorf("snapshot: the old type of a Migrated for %s %q: %w", what, own.name, err)
	case form != nil:
		about.Was, about.Is, about.Text = n.typ, own.typ, "is made by a function"
		n.form, *m.list = form, append(*m.list, about)
		return nil
	}
	saved, err := n.layout()
	if err != nil {
		return altered("%s %q: %w", what, n.name, err)
	}
	fields, err := own.layout()
	if err != nil {
		return altered("%s %q: %w", what, own.name, err)
	}
	if other {
		about.Was, about.Is, about.Text = n.typ, own.typ, "is not made by a function: the old types of Migrated have other forms than the saved one"
		*m.list = append(*m.list, about)
		about.Was, about.Is, about.Text = "", "", ""
	}
	p := &pairing{rulesOf(m.o.Changes, subject(what, n.name), subject(what, own.name), paths(saved), paths(fields)), about, m.list}
	n.form = p.compile(saved, fields, n.parts, own)
	return nil
}

// plan reads the sections that do not change the world, and compares them with the world.
func (l *loading) plan() (p Plan, err error) {
	if err = l.head(); err != nil {
		return p, err
	}
	p.Info = l.info
	l.same, p.Differences = compare(settings(infoOf(l.w)), l.settings, l.o.OtherOptions)
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

// head reads the header and the names.
func (l *loading) head() (err error) {
	if err = l.r.begin(); err != nil {
		return err
	}
	var s section
	if l.info, l.settings, err = readHeader(l.r, &s); err != nil {
		return err
	}
	var body []byte
	if err = l.r.next(&s); err == nil {
		body, err = s.unpack(new([]byte))
	}
	switch {
	case err != nil:
		return err
	case s.kind != namesSection || s.number != 0:
		return altered("%v: what is registered is wanted", &s)
	}
	if l.names, err = readCatalogue(body); err != nil {
		return altered("%v: %v", &s, err)
	}
	return nil
}
