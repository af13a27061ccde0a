package hierarchy

import "encoding/binary"

// AppendState appends all that decides what the relation does next, for a hash of
// the world's state: the options, what was refused, and who is whose child in which
// place. What the memory has been through does not show, other than in an image.
// (So it does not tell when a relation whose growth is the user's affair runs out of
// room.)
func (k adapter) AppendState(dst []byte) []byte {
	o := k.options
	for _, v := range []int{int(o.OnParentDeath), int(o.OnChildDeath), o.Places, o.PlacesMax, o.Refusals, len(k.refused)} {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
	}
	for _, f := range k.refused {
		dst = append(dst, f.Change+"\n"+f.Err.Error()+"\n"...)
		dst = appendWords(dst, []word{f.Entity, f.Other, word(len(f.Path))})
		dst = appendWords(dst, f.Path)
	}
	return k.tree.appendState(dst)
}

// appendState appends the lists in the order of their owners' handles: owner, what
// the list is, its length, and the children with the holes. Lists that are there for
// their capacity alone are left out.
func (t *Tree) appendState(dst []byte) []byte {
	t.Settle()
	for first, p := range t.dir.each {
		for i, w := range p {
			n := node(w)
			if !n.hasList() {
				continue
			}
			l := t.list(t.number(n))
			if kept := l[listState] & (added | fixed); kept != 0 || l.places() > 0 {
				dst = appendWords(dst, []word{handleAt(first, i, n), kept, word(l.places())})
				dst = appendWords(dst, t.items(t.number(n)))
			}
		}
	}
	return dst
}
