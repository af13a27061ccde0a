package names

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/drive"
)

// adapter is Names as the world sees it. It keeps its methods out of the exported ones of
// Names.
type adapter[K Name] struct{ *Names[K] }

// Begin has nothing to do: names change at once.
func (k adapter[K]) Begin() {}

// Spare spares no entity.
func (k adapter[K]) Spare(*drive.DyingSet) bool { return false }

// Spread removes the names of dying entities.
func (k adapter[K]) Spread(d *drive.DyingSet, from int) {
	for _, h := range d.All()[from:] {
		if k.count.Load() == 0 {
			return
		}
		_ = k.unbind(h)
	}
}

// Settle ends the refresh.
func (k adapter[K]) Settle() {
	k.forget()
	k.stale = true
}

// Measure reports how many names there are.
func (k adapter[K]) Measure(add func(drive.Measured)) {
	add(drive.Measured{Name: "atoll_names", Help: "Names that entities have.", Of: k.label, Value: float64(k.Len())})
}

// TextOf returns the name of an entity as text; 16 bytes in hexadecimal, unless their type has a
// text.
func (k adapter[K]) TextOf(h handle.Handle) (string, bool) {
	name, ok := k.NameOf(h)
	if v := reflect.ValueOf(name); v.Kind() == reflect.Array && !v.Type().Implements(stringer) {
		return fmt.Sprintf("%x", name), ok
	}
	return fmt.Sprint(name), ok
}

var stringer = reflect.TypeFor[fmt.Stringer]()

// Changed reports whether the names differ from those in the newest copy.
func (k adapter[K]) Changed() bool { return k.byHandle.last == k.byHandle.now }

// CopySize returns how many bytes a copy takes.
func (k adapter[K]) CopySize() uint64 { return k.byName.bytes() + k.byHandle.bytes() }

// Copy begins a copy: of the stripes that have changed since the old one was begun.
func (k adapter[K]) Copy(old drive.Copy) (drive.Copy, int, int) {
	x, _ := old.(*frozen[K])
	if x == nil {
		x = new(frozen[K])
	}
	x.runs.Reset()
	x.byName.follow(k.byName, x.at, &x.runs)
	x.byHandle.follow(k.byHandle, x.at, &x.runs)
	x.count, x.at = k.Len(), k.byHandle.now
	k.byName.now++
	k.byHandle.now++
	parts, slots := x.runs.Parts()
	return x, parts, slots * slotBytes
}

// Forget has nothing to do: each stripe keeps when it last changed.
func (k adapter[K]) Forget() {}

// AppendState appends all that decides what the names do next, for a hash of the
// world's state.
func (k adapter[K]) AppendState(dst []byte) []byte {
	for _, v := range []int{k.options.LengthMax, k.options.Refusals, k.Len(), len(k.refused)} {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
	}
	dst = append(dst, k.bindings()...)
	for i := range k.refused {
		f := &k.refused[i]
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
func (k adapter[K]) AppendSaved(dst []byte) []byte { return k.AppendState(dst) }

// SavedOptions describes the options, and the kind of names, which must be the same.
func (k adapter[K]) SavedOptions() (all, same string) {
	same = "names of " + reflect.TypeFor[K]().Kind().String()
	return fmt.Sprintf("%s, LengthMax %d, Refusals %d", same, k.options.LengthMax, k.options.Refusals), same
}

// LoadSaved gives names the bindings that AppendSaved wrote, and no others.
func (k adapter[K]) LoadSaved(src []byte) error {
	k.byName.empty()
	k.byHandle.empty()
	k.count.Store(0)
	c := drive.Cursor{Rest: src}
	c.Take(8) // LengthMax: this world's limit applies from now on
	most, bound, refused := c.Word64(), c.Word64(), c.Word64()
	for range min(bound, uint64(len(c.Rest))) {
		h := handle.Handle(c.Word64())
		name := readName[K](&c)
		b := &binding[K]{hash: maphash.Comparable(k.seed, name), name: name, handle: h}
		if c.Err != nil || !k.w.Alive(h) || k.byHandle.of(h) != nil || k.byName.named(b.hash, name) != nil {
			return fmt.Errorf("names: %q: entity %v is dead or has two names, or the name %v has two entities (%w)", k.label, h, name, drive.ErrImage)
		}
		k.byName.put(b)
		k.byHandle.put(b)
		k.count.Add(1)
	}
	k.refused = k.refused[:0]
	if most = min(most, uint64(len(c.Rest))); refused > most {
		return fmt.Errorf("names: %q has %d refusals, more than %d (%w)", k.label, refused, most, drive.ErrBody)
	}
	for range refused {
		x := Refusal[K]{Entity: handle.Handle(c.Word64()), Holder: handle.Handle(c.Word64())}
		x.Name = readName[K](&c)
		if len(k.refused) < k.options.Refusals {
			k.refused = append(k.refused, x)
		}
	}
	k.stale = true
	if err := c.End(); err != nil || uint64(k.Len()) != bound {
		return fmt.Errorf("names: %q has %d names, want %d (%w)", k.label, k.Len(), bound, drive.ErrBody)
	}
	return nil
}

// readName reads what appendName wrote.
func readName[K Name](c *drive.Cursor) (name K) {
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

// named is an entity of another world, by its handle in this one, and its name.
type named[K Name] struct {
	handle handle.Handle
	name   K
}

// AppendFollowers appends nothing.
func (k adapter[K]) AppendFollowers(dst []handle.Handle, _ handle.Handle) []handle.Handle { return dst }

// Unique reports that a name is that of one entity.
func (k adapter[K]) Unique() bool { return true }

// Excerpt returns the names of the entities in to, by the handles that it maps to.
func (k adapter[K]) Excerpt(to map[handle.Handle]handle.Handle) any {
	var all []named[K]
	for _, b := range k.byHandle.ordered(k.Len()) {
		if h := to[b.handle]; h != handle.None {
			all = append(all, named[K]{h, b.name})
		}
	}
	if all == nil {
		return nil
	}
	return all
}

// PlanInsert returns what adds the names of an excerpt.
func (k adapter[K]) PlanInsert(from any) (insert func(), err error) {
	all, ok := from.([]named[K])
	if !ok {
		return nil, fmt.Errorf("names: %q has names of another type in one of both worlds", k.label)
	}
	for i := range all {
		name := all[i].name
		holder, found := k.Lookup(name)
		switch {
		case found && !k.driver.IsDying(holder):
			return nil, fmt.Errorf("%w: %v is the name of %v in %q", ErrTaken, name, holder, k.label)
		case length(&name) > k.options.LengthMax:
			return nil, fmt.Errorf("%w, which is %d of %q: %v", ErrLength, k.options.LengthMax, k.label, name)
		}
	}
	return func() {
		for _, x := range all {
			_, _ = k.bind(x.handle, x.name)
		}
	}, nil
}
