package shard

// SetChunks makes the space believe that n chunk numbers were given.
func (s *Space) SetChunks(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.chunks = n
	d := make([]*Chunk, n+2)
	copy(d, *s.chunks.Load())
	s.chunks.Store(&d)
}
