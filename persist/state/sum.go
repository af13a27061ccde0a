package state

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// sum hashes what it is given. The length comes before everything without a fixed length, so
// that different contents cannot have the same bytes.
//
// Ownership: the Hasher's.
type sum struct {
	xxh3.Hasher
	word [8]byte
	size int // of all that went through bytes
}

func (s *sum) number(v uint64) {
	binary.LittleEndian.PutUint64(s.word[:], v)
	_, _ = s.Write(s.word[:])
}

func (s *sum) flag(v bool) {
	if v {
		s.number(1)
	} else {
		s.number(0)
	}
}

func (s *sum) text(v string) {
	s.number(uint64(len(v)))
	_, _ = s.WriteString(v)
}

// runMin is the length from which on bytes are hashed by themselves, in place,
// and their hash is added: a Hasher would copy them.
const runMin = 512

func (s *sum) bytes(v []byte) {
	s.number(uint64(len(v)))
	s.size += len(v)
	if len(v) >= runMin {
		s.number(xxh3.Hash(v))
	} else {
		_, _ = s.Write(v)
	}
}
