package names

import (
	"fmt"
	"hash/maphash"
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/drive"
)

// AppendSaved appends the state for LoadSaved: that which counts for a hash is all.
func (k adapter[K]) AppendSaved(dst []byte) []byte { return k.AppendState(dst) }

// LoadSaved gives names without bindings those that AppendSaved wrote.
func (k adapter[K]) LoadSaved(src []byte) error {
	c := drive.Cursor{Rest: src}
	lengthMax, refusals, bound, refused := c.Word64(), c.Word64(), c.Word64(), c.Word64()
	if int(lengthMax) != k.options.LengthMax || int(refusals) != k.options.Refusals {
		return fmt.Errorf("names: %q has LengthMax %d and Refusals %d, and was saved with %d and %d", k.label, k.options.LengthMax, k.options.Refusals, lengthMax, refusals)
	}
	for range min(bound, uint64(len(c.Rest))) {
		h := handle.Handle(c.Word64())
		name := readName[K](&c)
		b := &binding[K]{hash: maphash.Comparable(k.seed, name), name: name, handle: h}
		if c.Err != nil || length(&name) > k.options.LengthMax || !k.w.Alive(h) || k.byHandle.of(h) != nil || k.byName.named(b.hash, name) != nil {
			return fmt.Errorf("names: %q: entity %v is dead or has two names, or the name %v has two entities or is too long (%w)", k.label, h, name, drive.ErrImage)
		}
		k.byName.put(b)
		k.byHandle.put(b)
		k.count.Add(1)
	}
	k.refused = k.refused[:0]
	if refused > uint64(k.options.Refusals) {
		return fmt.Errorf("names: %q has %d refusals, more than %d (%w)", k.label, refused, k.options.Refusals, drive.ErrBody)
	}
	for range min(refused, uint64(len(c.Rest))) {
		x := Refusal[K]{Entity: handle.Handle(c.Word64()), Holder: handle.Handle(c.Word64())}
		x.Name = readName[K](&c)
		k.refused = append(k.refused, x)
	}
	k.stale = true
	if err := c.End(); err != nil || uint64(k.Len()) != bound || len(k.refused) != int(refused) {
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
