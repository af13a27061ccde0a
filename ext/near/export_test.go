package near

// Kept returns how many entries base has, and how many bytes an index keeps that grow with
// entities.
func (i *Index) Kept() (entries int, bytes uint64) {
	u := &i.upkeep
	for _, l := range u.bases {
		bytes += l.bytes()
	}
	for _, v := range u.free {
		bytes += v.delta.bytes() + 8*uint64(cap(v.dead))
	}
	for k := range u.chunks {
		c := &u.chunks[k]
		bytes += 4*uint64(cap(c.rows)+cap(c.dead)) + 8*uint64(cap(c.out))
	}
	return len(i.current.base.entries), bytes + i.current.Bytes() + 4*uint64(cap(u.where)+cap(u.cells))
}
