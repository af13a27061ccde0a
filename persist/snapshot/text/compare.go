package text

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/cbor"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/shape"
)

// Comparison is what differs between two snapshots.
type Comparison struct {
	Old, Now                           snapshot.Info
	Created, Destroyed, Moved, Changed int // entities; those that moved have other components, or are in another shard
	// Differences are those of options and of what is registered, then of entities, then of the
	// rest. Their Was and Is are values.
	Differences []snapshot.Difference
	Omitted     int // how many more there are than the limit
}

// Compare reads two whole snapshots and returns how they differ, up to limit differences; 0 means
// all. It needs neither a world nor the types: the snapshots describe their values.
// It takes the memory of both, uncompressed. Errors are those of snapshot.Verify.
func Compare(old, now io.Reader, limit int) (x Comparison, err error) {
	var both [2]*picture
	for i, src := range []io.Reader{old, now} {
		var err error
		if both[i], err = pictureOf(src, nil); err != nil {
			return x, fmt.Errorf("%w (of %s)", err, []string{"the old one", "the new one"}[i])
		}
	}
	c := comparing{Comparison: &x, old: both[0], now: both[1], limit: limit}
	x.Old, x.Now = snapshot.Info(c.old.head.Info), snapshot.Info(c.now.head.Info)
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
	c.Differences = append(c.Differences, snapshot.Difference{Kind: kind, Name: name, Field: field, Was: was, Is: is, Text: text})
}

// heads compares options and registrations.
func (c *comparing) heads() {
	for i, s := range c.old.head.Settings {
		if now := c.now.head.Settings[i]; s.Value != now.Value {
			c.note("option", s.Name, "", s.String(), now.String(), "differs")
		}
	}
	for i, what := range format.Listed {
		old, now := *c.old.names.Lists()[i], *c.now.names.Lists()[i]
		for _, n := range old {
			at := slices.IndexFunc(now, func(m format.Named) bool { return m.Name == n.Name })
			switch {
			case at < 0:
				c.note(what, n.Name, "", n.Type, "", "is in the old one alone")
			case now[at].Hash != n.Hash:
				c.note(what, n.Name, "", n.Type, now[at].Type, "has another form")
			}
		}
		for _, n := range now {
			if !slices.ContainsFunc(old, func(m format.Named) bool { return m.Name == n.Name }) {
				c.note(what, n.Name, "", "", n.Type, "is in the new one alone")
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
		all = append(all, p.forms[id].Name)
	}
	slices.Sort(all)
	return fmt.Sprintf("shard %d %q", b.shard, all)
}

// entity compares the components that an entity has in both.
func (c *comparing) entity(h handle.Handle, was *block, row int, is *block, at int) {
	changed := false
	for k, id := range c.old.components(was) {
		n := &c.old.forms[id]
		for j, to := range c.now.components(is) {
			m := &c.now.forms[to]
			if m.Name != n.Name {
				continue
			}
			a, b := was.columns[k].value(row), is.columns[j].value(at)
			if n.Hash == m.Hash && bytes.Equal(a, b) {
				continue
			}
			c.fields("entity", h.String(), n.Name, fieldsOf(n, a), fieldsOf(m, b), &changed)
		}
	}
	if changed {
		c.Changed++
	}
}

// fields compares the fields of values.
func (c *comparing) fields(kind, name, of string, old, now []fieldValue, changed *bool) {
	for _, f := range old {
		at := slices.IndexFunc(now, func(g fieldValue) bool { return g.Path == f.Path })
		switch {
		case at < 0:
			*changed = true
			c.note(kind, name, pathOf(of, f.Path), f.text(), "", "is in the old one alone")
		case f.Shape.Text != now[at].Shape.Text && f.text() != now[at].text(), f.Shape.Text == now[at].Shape.Text && !bytes.Equal(f.bytes, now[at].bytes):
			*changed = true
			c.note(kind, name, pathOf(of, f.Path), f.text(), now[at].text(), "changed")
		}
	}
	for _, g := range now {
		if !slices.ContainsFunc(old, func(f fieldValue) bool { return g.Path == f.Path }) {
			*changed = true
			c.note(kind, name, pathOf(of, g.Path), "", g.text(), "is in the new one alone")
		}
	}
}

// pathOf returns the path of a field with the name of its component.
func pathOf(of, path string) string {
	if path == "" {
		return of
	}
	return of + "." + path
}

// others compares everything but rows.
func (c *comparing) others() {
	about := map[byte]string{
		format.WorldSection: "the world as a whole", format.ShardSection: "slots, tables, flags and marks of shard", format.MailSection: "messages and requests of shard",
		format.ResourceSection: "resource", format.ExtensionSection: "extension", format.SchedulerSection: "scheduler", format.AlsoSection: "also",
	}
	name := func(p *picture, k sectionKey) string {
		list := map[byte][]format.Named{format.ResourceSection: p.names.Resources, format.ExtensionSection: p.names.Extensions, format.AlsoSection: p.names.Also}[k.kind]
		if k.number < len(list) {
			return list[k.number].Name
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
			return format.Rank(a.kind) - format.Rank(b.kind)
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

// What follows shows saved values, by the description of their types in a snapshot.

// shownMost is how many bytes of a codec's output are shown.
const shownMost = 32

// text shows the value of a field.
func (f fieldValue) text() string {
	switch f.How {
	case shape.AsText:
		return strconv.Quote(string(f.bytes))
	case shape.AsCBOR:
		text, _ := showCBOR(f.bytes, 0)
		return text
	case shape.ByCodec:
		return "0x" + hex.EncodeToString(f.bytes[:min(len(f.bytes), shownMost)]) + strings.Repeat("…", min(1, len(f.bytes)/(shownMost+1)))
	}
	return show(f.bytes, f.Shape)
}

// show shows memory as a value.
func show(src []byte, s *shape.Shape) string {
	switch {
	case s.Size == 0:
		return "{}"
	case s.Kind == reflect.Array:
		var all []string
		for i := range s.Len {
			all = append(all, show(src[i*s.Elem.Size:], s.Elem))
		}
		return "[" + strings.Join(all, " ") + "]"
	case s.Kind == reflect.Struct:
		var all []string
		for _, f := range s.Fields {
			all = append(all, f.Name+":"+show(src[f.At:], f.Shape))
		}
		return "{" + strings.Join(all, " ") + "}"
	case s.Kind == reflect.Bool:
		return strconv.FormatBool(src[0]&1 != 0)
	case s.Kind == reflect.Complex64 || s.Kind == reflect.Complex128:
		half := halfOf(s)
		return show(src, half) + "," + show(src[half.Size:], half) + "i"
	}
	var number [1]uint64
	shape.Numbers(number[:], s.Kind, src, 0)
	switch _, signed := shape.Exact(s.Kind); {
	case s.Handle:
		return handle.Handle(number[0]).String()
	case s.Kind == reflect.Float32:
		return strconv.FormatFloat(math.Float64frombits(number[0]), 'g', -1, 32)
	case s.Kind == reflect.Float64:
		return strconv.FormatFloat(math.Float64frombits(number[0]), 'g', -1, 64)
	case signed:
		return strconv.FormatInt(int64(number[0]), 10)
	}
	return strconv.FormatUint(number[0], 10)
}

// showCBOR shows the first value of CBOR, and returns the bytes after it.
func showCBOR(src []byte, depth int) (text string, rest []byte) {
	major, n, rest, err := cbor.Head(src)
	if err != nil || depth > shape.NestedMost || major >= cbor.Bytes && major <= cbor.Text && n > uint64(len(rest)) {
		return "?", nil
	}
	switch major {
	case 0:
		return strconv.FormatUint(n, 10), rest
	case 1:
		return strconv.FormatInt(-1-int64(n), 10), rest
	case cbor.Bytes:
		return "0x" + hex.EncodeToString(rest[:n]), rest[n:]
	case cbor.Text:
		return strconv.Quote(string(rest[:n])), rest[n:]
	case cbor.Tag:
		text, rest = showCBOR(rest, depth+1)
		return fmt.Sprintf("%d(%s)", n, text), rest
	case cbor.Array, cbor.Map:
		var all []string
		for ; n > 0 && len(rest) > 0; n-- {
			if text, rest = showCBOR(rest, depth+1); major == cbor.Map {
				key := text
				text, rest = showCBOR(rest, depth+1)
				text = strings.Trim(key, `"`) + ":" + text
			}
			all = append(all, text)
		}
		return map[byte]string{cbor.Array: "[", cbor.Map: "{"}[major] + strings.Join(all, " ") + map[byte]string{cbor.Array: "]", cbor.Map: "}"}[major], rest
	}
	switch src[0] {
	case cbor.False, cbor.True:
		return strconv.FormatBool(src[0] == cbor.True), rest
	case cbor.Null:
		return "nil", rest
	case cbor.Float32:
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(n))), 'g', -1, 32), rest
	case cbor.Float64:
		return strconv.FormatFloat(math.Float64frombits(n), 'g', -1, 64), rest
	}
	return "?", rest
}
