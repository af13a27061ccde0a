package names

import (
	"encoding/binary"
	"reflect"
)

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

// bindings returns all names with their entities, in order. It encodes them again if any has
// changed.
func (n *Names[K]) bindings() []byte {
	if !n.byHandle.changed {
		return n.encoded
	}
	n.encoded, n.byHandle.changed = n.encoded[:0], false
	for _, b := range n.byHandle.ordered(n.Len()) {
		n.encoded = binary.LittleEndian.AppendUint64(n.encoded, uint64(b.handle))
		n.encoded = appendName(n.encoded, &b.name)
	}
	return n.encoded
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
