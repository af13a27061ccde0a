package names

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
)

// adapter is Names as the world sees it. It keeps its methods out of the exported ones of
// Names.
type adapter[K Name] struct{ *Names[K] }

// Begin has nothing to do: names change at once.
func (a adapter[K]) Begin() {}

// Spare spares no entity.
func (a adapter[K]) Spare(*extend.DyingSet) bool { return false }

// Spread removes the names of dying entities.
func (a adapter[K]) Spread(d *extend.DyingSet, from int) {
	for _, h := range d.All()[from:] {
		if a.count.Load() == 0 {
			return
		}
		_ = a.unbind(h)
	}
}

// Settle ends the refresh.
func (a adapter[K]) Settle() {
	a.forget()
	a.stale = true
}

// Measure reports how many names there are.
func (a adapter[K]) Measure(add func(extend.Measured)) {
	add(extend.Measured{Name: "atoll_names", Help: "Names that entities have.", Of: a.name, Value: float64(a.Len())})
}

// TextOf returns the name of an entity as text; 16 bytes in hexadecimal, unless their type has a
// text.
func (a adapter[K]) TextOf(h handle.Handle) (string, bool) {
	name, ok := a.NameOf(h)
	if v := reflect.ValueOf(name); v.Kind() == reflect.Array && !v.Type().Implements(stringer) {
		return fmt.Sprintf("%x", name), ok
	}
	return fmt.Sprint(name), ok
}

var stringer = reflect.TypeFor[fmt.Stringer]()

// Changed reports whether the names differ from those in the newest copy.
func (a adapter[K]) Changed() bool { return a.byHandle.last == a.byHandle.now }

// CopySize returns how many bytes a copy takes.
func (a adapter[K]) CopySize() uint64 { return a.byName.bytes() + a.byHandle.bytes() }

// Copy begins a copy: of the stripes that have changed since the old one was begun.
func (a adapter[K]) Copy(old extend.Copy) (extend.Copy, int, int) {
	x, _ := old.(*frozen[K])
	if x == nil {
		x = new(frozen[K])
	}
	x.runs.Reset()
	x.byName.follow(a.byName, x.at, &x.runs)
	x.byHandle.follow(a.byHandle, x.at, &x.runs)
	x.count, x.at = a.Len(), a.byHandle.now
	a.byName.now++
	a.byHandle.now++
	parts, slots := x.runs.Parts()
	return x, parts, slots * slotBytes
}

// Forget has nothing to do: each stripe keeps when it last changed.
func (a adapter[K]) Forget() {}

// AppendState appends all that decides what the names do next, for a hash of the
// world's state.
func (a adapter[K]) AppendState(dst []byte) []byte {
	for _, v := range []int{a.options.LengthMax, a.options.ConflictsMax, a.Len(), len(a.conflicts)} {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
	}
	dst = append(dst, a.bindings()...)
	for i := range a.conflicts {
		f := &a.conflicts[i]
		dst = binary.LittleEndian.AppendUint64(dst, uint64(f.Entity))
		dst = binary.LittleEndian.AppendUint64(dst, uint64(f.Holder))
		dst = appendName(dst, &f.Name)
	}
	return dst
}

// appendName appends a name in a form whose end can be found.
func appendName[K Name](dst []byte, name *K) []byte {
	switch v := reflect.ValueOf(name).Elem(); v.Kind() {
	case reflect.String:
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v.Len()))
		return append(dst, v.String()...)
	case reflect.Int64:
		return binary.LittleEndian.AppendUint64(dst, uint64(v.Int()))
	case reflect.Uint64:
		return binary.LittleEndian.AppendUint64(dst, v.Uint())
	default: // 16 bytes
		return append(dst, v.Bytes()...)
	}
}

// AppendSaved appends the state for LoadSaved. It is the state that is hashed.
func (a adapter[K]) AppendSaved(dst []byte) []byte { return a.AppendState(dst) }

// SavedOptions describes the options, and the kind of names, which must be the same.
func (a adapter[K]) SavedOptions() (all, same string) {
	same = "names of " + reflect.TypeFor[K]().Kind().String()
	return fmt.Sprintf("%s, LengthMax %d, ConflictsMax %d", same, a.options.LengthMax, a.options.ConflictsMax), same
}

// SavedCount returns how many names there are.
func (a adapter[K]) SavedCount() int { return a.Len() }

// LoadSaved gives names the bindings that AppendSaved wrote, and no others.
func (a adapter[K]) LoadSaved(src []byte) error {
	a.byName.empty()
	a.byHandle.empty()
	a.count.Store(0)
	c := extend.Cursor{Rest: src}
	c.Take(8) // LengthMax: this world's limit applies from now on
	most, bound, conflicts := c.Word64(), c.Word64(), c.Word64()
	for range min(bound, uint64(len(c.Rest))) {
		h := handle.Handle(c.Word64())
		name := readName[K](&c)
		b := &binding[K]{hash: maphash.Comparable(a.seed, name), name: name, handle: h}
		if c.Err != nil || !a.w.Alive(h) || a.byHandle.of(h) != nil || a.byName.named(b.hash, name) != nil {
			return fmt.Errorf("names: %q: entity %v is dead or has two names, or the name %v has two entities (%w)", a.name, h, name, extend.ErrImage)
		}
		a.byName.put(b)
		a.byHandle.put(b)
		a.count.Add(1)
	}
	a.conflicts = a.conflicts[:0]
	if most = min(most, uint64(len(c.Rest))); conflicts > most {
		return fmt.Errorf("names: %q has %d conflicts, more than %d (%w)", a.name, conflicts, most, extend.ErrBody)
	}
	for range conflicts {
		x := Conflict[K]{Entity: handle.Handle(c.Word64()), Holder: handle.Handle(c.Word64())}
		x.Name = readName[K](&c)
		if len(a.conflicts) < a.options.ConflictsMax {
			a.conflicts = append(a.conflicts, x)
		}
	}
	a.stale = true
	if err := c.End(); err != nil || uint64(a.Len()) != bound {
		return fmt.Errorf("names: %q has %d names, want %d (%w)", a.name, a.Len(), bound, extend.ErrBody)
	}
	return nil
}

// readName reads what appendName wrote.
func readName[K Name](c *extend.Cursor) (name K) {
	switch v := reflect.ValueOf(&name).Elem(); v.Kind() {
	case reflect.String:
		v.SetString(string(c.Take(int(min(c.Word64(), uint64(len(c.Rest)+1))))))
	case reflect.Int64:
		v.SetInt(int64(c.Word64()))
	case reflect.Uint64:
		v.SetUint(c.Word64())
	default: // 16 bytes
		copy(v.Bytes(), c.Take(v.Len()))
	}
	return name
}

// named is an entity of a piece, by its handle here, and its name.
type named[K Name] struct {
	handle handle.Handle
	name   K
}

// AppendFollowers appends nothing.
func (a adapter[K]) AppendFollowers(_ *engine.Tx, dst []handle.Handle, _ handle.Handle) []handle.Handle {
	return dst
}

// Unique reports that a name is that of one entity.
func (a adapter[K]) Unique() bool { return true }

// nameSteps is what a name of a piece counts as steps of a transaction.
const nameSteps = 256

// AppendExcerpt appends the names of the entities of a piece.
func (a adapter[K]) AppendExcerpt(tx *engine.Tx, dst []byte, of *extend.Excerpt) (excerpt []byte, n int) {
	if a.Len() == 0 && len(a.drafts) == 0 {
		return dst, 0
	}
	for at, h := range of.Handles {
		if name, ok := a.nameIn(h); ok {
			dst = appendName(extend.AppendNumber(dst, at), &name)
			if n++; tx != nil && tx.Work(nameSteps+length(&name)) != nil {
				break
			}
		}
	}
	return dst, n
}

// PlanInsert returns what adds the names of an excerpt.
func (a adapter[K]) PlanInsert(tx *engine.Tx, src []byte, now []handle.Handle) (insert func(), err error) {
	var all []named[K]
	c, has, taken := extend.Cursor{Rest: src}, make([]bool, len(now)), map[K]bool{}
	for len(c.Rest) > 0 {
		at := int(c.Below(uint64(len(now))))
		name := readName[K](&c)
		switch {
		case c.Err != nil:
			return nil, c.Err
		case has[at] || taken[name]:
			return nil, fmt.Errorf("names: %q: an entity of the piece has two names, or two have %v (%w)", a.name, name, extend.ErrImage)
		}
		has[at], taken[name] = true, true
		switch holder, found := a.holder(tx, name); {
		case found:
			return nil, fmt.Errorf("%w: %v is the name of %v in %q", ErrTaken, name, holder, a.name)
		case length(&name) > a.options.LengthMax:
			return nil, fmt.Errorf("%w, which is %d of %q: %v", ErrLength, a.options.LengthMax, a.name, name)
		}
		all = append(all, named[K]{now[at], name})
		if tx != nil {
			if err := tx.Work(nameSteps); err != nil {
				return nil, err
			}
		}
	}
	return func() {
		for _, x := range all {
			if tx != nil {
				_ = a.doIn(tx, x.handle, change[K]{name: x.name, bind: true}) // or the transaction fails
			} else {
				_, _ = a.bind(x.handle, x.name)
			}
		}
	}, c.Err
}

// holder returns the living entity that has a name, also as a transaction leaves it.
func (a adapter[K]) holder(tx *engine.Tx, name K) (h handle.Handle, ok bool) {
	if tx != nil {
		return a.lookupIn(tx, name)
	}
	h, ok = a.Lookup(name)
	return h, ok && !a.engine.IsDying(h)
}
