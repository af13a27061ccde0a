package snapshot

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/atoll-sim/atoll/handle"
)

// Comparison is what differs between two snapshots.
type Comparison struct {
	Old, Now                           Info
	Created, Destroyed, Moved, Changed int // entities; those that moved have other components, or are in another shard
	// Differences are those of options and of what is registered, then of entities, then of the
	// rest. Their Was and Is are values.
	Differences []Difference
	Omitted     int // how many more there are than the limit
}

// Compare reads two whole snapshots and returns how they differ, up to limit differences; 0 means
// all. It needs neither a world nor the types: the snapshots describe their values.
// It takes the memory of both, uncompressed. Errors are those of Verify.
func Compare(old, now io.Reader, limit int) (x Comparison, err error) {
	var both [2]*picture
	for i, src := range []io.Reader{old, now} {
		var err error
		if both[i], err = pictureOf(src, nil); err != nil {
			return x, fmt.Errorf("%w (of %s)", err, []string{"the old one", "the new one"}[i])
		}
	}
	c := comparing{Comparison: &x, old: both[0], now: both[1], limit: limit}
	x.Old, x.Now = c.old.info, c.now.info
	c.heads()
	c.rows()
	c.others()
	return x, nil
}

// Equal reports whether nothing differs.
func (x Comparison) Equal() bool { return len(x.Differences)+x.Omitted == 0 }

// String returns the differences line by line, and how many entities differ.
func (x Comparison) String() string {
	var b strings.Builder
	for _, d := range x.Differences {
		_, _ = fmt.Fprintln(&b, d)
	}
	if x.Omitted > 0 {
		_, _ = fmt.Fprintf(&b, "… and %d more\n", x.Omitted)
	}
	_, _ = fmt.Fprintf(&b, "%d created, %d destroyed, %d moved, %d changed\n", x.Created, x.Destroyed, x.Moved, x.Changed)
	return b.String()
}

// comparing compares two pictures.
type comparing struct {
	*Comparison
	old, now *picture
	limit    int
}

func (c *comparing) note(kind, name, field, was, is, text string) {
	if c.limit > 0 && len(c.Differences) >= c.limit {
		c.Omitted++
		return
	}
	c.Differences = append(c.Differences, Difference{Kind: kind, Name: name, Field: field, Was: was, Is: is, Text: text})
}

// heads compares options and registrations.
func (c *comparing) heads() {
	for i, s := range c.old.settings {
		if now := c.now.settings[i]; s.value != now.value {
			c.note("option", s.name, "", s.String(), now.String(), "differs")
		}
	}
	old, now := c.old.names.lists(), c.now.names.lists()
	for _, what := range listed {
		for _, n := range *old[what] {
			at := slices.IndexFunc(*now[what], func(m named) bool { return m.name == n.name })
			switch {
			case at < 0:
				c.note(what, n.name, "", n.typ, "", "is in the old one alone")
			case (*now[what])[at].hash != n.hash:
				c.note(what, n.name, "", n.typ, (*now[what])[at].typ, "has another form")
			}
		}
		for _, n := range *now[what] {
			if !slices.ContainsFunc(*old[what], func(m named) bool { return m.name == n.name }) {
				c.note(what, n.name, "", "", n.typ, "is in the new one alone")
			}
		}
	}
}

// rows compares entities.
func (c *comparing) rows() {
	for i := range c.old.blocks {
		was := &c.old.blocks[i]
		for row, h := range was.handles {
			at, ok := c.now.entities[h]
			if !ok {
				c.Destroyed++
				c.note("entity", h.String(), "", c.old.home(was), "", "was destroyed")
				continue
			}
			is := &c.now.blocks[at.block]
			if from, to := c.old.home(was), c.now.home(is); from != to {
				c.Moved++
				c.note("entity", h.String(), "", from, to, "moved")
			}
			c.entity(h, was, row, is, at.row)
		}
	}
	for i := range c.now.blocks {
		is := &c.now.blocks[i]
		for _, h := range is.handles {
			if _, ok := c.old.entities[h]; !ok {
				c.Created++
				c.note("entity", h.String(), "", "", c.now.home(is), "was created")
			}
		}
	}
}

// home describes where rows are.
func (p *picture) home(b *block) string {
	var all []string
	for _, id := range p.components(b) {
		all = append(all, p.names.components[id].name)
	}
	slices.Sort(all)
	return fmt.Sprintf("shard %d %q", b.shard, all)
}

// entity compares the components that an entity has in both.
func (c *comparing) entity(h handle.Handle, was *block, row int, is *block, at int) {
	changed := false
	for k, id := range c.old.components(was) {
		n := &c.old.names.components[id]
		for j, to := range c.now.components(is) {
			m := &c.now.names.components[to]
			if m.name != n.name {
				continue
			}
			a, b := was.columns[k].value(row), is.columns[j].value(at)
			if n.hash == m.hash && bytes.Equal(a, b) {
				continue
			}
			old, now := fieldsOf(n, c.old.layouts[id], a), fieldsOf(m, c.now.layouts[to], b)
			c.fields("entity", h.String(), n.name, old, now, &changed)
		}
	}
	if changed {
		c.Changed++
	}
}

// fields compares the fields of values.
func (c *comparing) fields(kind, name, of string, old, now []fieldValue, changed *bool) {
	for _, f := range old {
		at := slices.IndexFunc(now, func(g fieldValue) bool { return g.path == f.path })
		switch {
		case at < 0:
			*changed = true
			c.note(kind, name, fieldOf(of, f.path), f.text(), "", "is in the old one alone")
		case f.shape.text != now[at].shape.text && f.text() != now[at].text(), f.shape.text == now[at].shape.text && !bytes.Equal(f.bytes, now[at].bytes):
			*changed = true
			c.note(kind, name, fieldOf(of, f.path), f.text(), now[at].text(), "changed")
		}
	}
	for _, g := range now {
		if !slices.ContainsFunc(old, func(f fieldValue) bool { return g.path == f.path }) {
			*changed = true
			c.note(kind, name, fieldOf(of, g.path), "", g.text(), "is in the new one alone")
		}
	}
}

// fieldOf returns the path of a field with the name of its component.
func fieldOf(of, path string) string {
	if path == "" {
		return of
	}
	return of + "." + path
}

// others compares everything but rows.
func (c *comparing) others() {
	about := map[byte]string{
		worldSection: "the world as a whole", shardSection: "slots, tables, flags and marks of shard", mailSection: "messages and requests of shard",
		resourceSection: "resource", extensionSection: "extension", schedulerSection: "scheduler", alsoSection: "also",
	}
	name := func(p *picture, k sectionKey) string {
		list := map[byte][]named{resourceSection: p.names.resources, extensionSection: p.names.extensions, alsoSection: p.names.also}[k.kind]
		if k.number < len(list) {
			return list[k.number].name
		}
		return fmt.Sprint(k.number)
	}
	byName := map[[2]string][]byte{}
	for k, body := range c.now.rest {
		byName[[2]string{about[k.kind], name(c.now, k)}] = body
	}
	var keys []sectionKey
	for k := range c.old.rest {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b sectionKey) int {
		if a.kind != b.kind {
			return rank(a.kind) - rank(b.kind)
		}
		return a.number - b.number
	})
	for _, k := range keys {
		what, name := about[k.kind], name(c.old, k)
		if now, ok := byName[[2]string{what, name}]; ok && !bytes.Equal(c.old.rest[k], now) {
			c.note(what, name, "", "", "", "differs")
		}
	}
}
