package text

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
)

// This file converts the state of package names to text, and back.

type (
	// namesLine is the state of package names. The names are in lines of their own.
	namesLine struct {
		Names     string `json:"names"` // the extension
		LengthMax uint64 `json:"lengthMax"`
		Refusals  uint64 `json:"refusals"`
	}
	nameLine struct {
		Name   json.RawMessage `json:"name"`
		Of     string          `json:"of"`
		Entity handleText      `json:"entity"`
	}
	refusedLine struct {
		Refused json.RawMessage `json:"refused"`
		Of      string          `json:"of"`
		Entity  handleText      `json:"entity"`
		Holder  handleText      `json:"holder"`
	}
)

// nameBytes is about how much memory a name takes, besides its text.
const nameBytes = 128

// extension writes the state of an extension: by name if it is package names, with names that are
// strings.
func (x *exporting) extension(name string, body []byte) {
	c := &extend.Cursor{Rest: body, Most: x.p.most}
	lines := []any{namesLine{name, c.Word64(), c.Word64()}}
	named, refused := c.Word64(), c.Word64()
	text := func() json.RawMessage { return appendText(nil, c.Take(int(min(c.Word64(), math.MaxInt32)))) }
	for range named {
		h := handleText(c.Word64())
		if lines = append(lines, nameLine{text(), name, h}); !c.Takes(1, nameBytes) {
			break
		}
	}
	for range refused {
		entity, holder := handleText(c.Word64()), handleText(c.Word64())
		if lines = append(lines, refusedLine{text(), name, entity, holder}); !c.Takes(1, nameBytes) {
			break
		}
	}
	if c.End() != nil {
		x.bytes("extension", name, body)
		return
	}
	for _, l := range lines {
		x.line(l)
	}
}

// namesOf begins the names of an extension.
func (x *importing) namesOf(l *namesLine) error {
	at := slices.IndexFunc(x.names.Extensions, func(n format.Named) bool { return n.Name == l.Names })
	if at < 0 || x.named[l.Names] != nil {
		return fmt.Errorf("names: there is no extension %q, or two lines of it", l.Names)
	}
	if err := l.check(); err != nil {
		return err
	}
	n := &namesText{head: [2]uint64{l.LengthMax, l.Refusals}, taken: map[string]handleText{}, entities: map[handleText]bool{}}
	x.named[l.Names] = n
	return x.once(bytesKey{format.ExtensionSection, at}, nil)
}

func (x *importing) name(l *nameLine) error {
	return x.addName(l.Of, 0, func(n *namesText) *[]byte { return &n.names }, l.Name, l.Entity)
}

func (x *importing) refusedName(l *refusedLine) error {
	return x.addName(l.Of, 1, func(n *namesText) *[]byte { return &n.refused }, l.Refused, l.Entity, l.Holder)
}

// addName adds handles and a name to those of an extension.
func (x *importing) addName(of string, list int, to func(n *namesText) *[]byte, text json.RawMessage, hs ...handleText) error {
	n := x.named[of]
	if n == nil {
		return fmt.Errorf("of: there is no line of names %q before", of)
	}
	v, err := decodeText(text)
	var name []byte
	if err == nil {
		name, err = parseText(nil, v)
	}
	if err != nil {
		return inField("name", err)
	}
	if list == 1 && n.counts[1] == n.head[1] {
		return fmt.Errorf("refused: there are more than %d, which is the limit of names %q", n.head[1], of)
	}
	if list == 0 {
		if err := x.bind(n, string(name), hs[0]); err != nil {
			return err
		}
	}
	dst := to(n)
	for _, h := range hs {
		*dst = binary.LittleEndian.AppendUint64(*dst, uint64(h))
	}
	*dst = append(binary.LittleEndian.AppendUint64(*dst, uint64(len(name))), name...)
	n.counts[list]++
	return x.keep(nameBytes + len(name))
}

// bind refuses a name that a world could not bind.
func (x *importing) bind(n *namesText, name string, h handleText) error {
	other, taken := n.taken[name]
	switch {
	case x.entities[handle.Handle(h)] == nil:
		return fmt.Errorf("entity: there is no line of an entity %v before", handle.Handle(h))
	case taken:
		return fmt.Errorf("name: %q is that of entity %v too; give each another name", name, handle.Handle(other))
	case n.entities[h]:
		return fmt.Errorf("entity: %v has two names; leave one out", handle.Handle(h))
	case uint64(len(name)) > n.head[0]:
		return fmt.Errorf("name: it has %d bytes, and names have %d at most", len(name), n.head[0])
	}
	n.taken[name], n.entities[h] = h, true
	return nil
}

// body returns the state as package names would have saved it.
func (n *namesText) body() (dst []byte) {
	for _, v := range []uint64{n.head[0], n.head[1], n.counts[0], n.counts[1]} {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	return append(append(dst, n.names...), n.refused...)
}
