package names

import (
	"fmt"
	"hash/maphash"
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/drive"
)

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
