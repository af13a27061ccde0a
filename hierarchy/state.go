package hierarchy

import "encoding/binary"

// AppendState appends all that decides what the relation does next, for a hash of
// the world's state.
func (k keeper) AppendState(dst []byte) []byte {
	o := k.options
	for _, v := range []int{int(o.OnParentDeath), int(o.OnChildDeath), o.Places, o.PlacesMax, o.Refusals, len(k.refused)} {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
	}
	for _, f := range k.refused {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(f.Entity))
		dst = binary.LittleEndian.AppendUint64(dst, uint64(f.Other))
		dst = append(dst, f.Change+"\n"+f.Err.Error()+"\n"...)
	}
	return k.tree.Save(dst)
}
