package near

// Kept returns how many entries base has, and how many bytes an index keeps that grow with
// entities.
func (x *Index) Kept() (entries int, bytes uint64) {
	u := &x.upkeep
	for _, l := range u.bases {
		bytes += l.bytes()
	}
	for _, v := range u.free {
		bytes += v.delta.bytes() + 8*uint64(cap(v.dead))
	}
	for i := range u.chunks {
		c := &u.chunks[i]
		bytes += 4*uint64(cap(c.rows)+cap(c.dead)) + 8*uint64(cap(c.out))
	}
	return len(x.current.base.entries), bytes + x.current.Bytes() + 4*uint64(cap(u.where)+cap(u.cells))
}
