package state

import (
	"fmt"
	"strconv"

	"github.com/atoll-sim/atoll/internal/form"
	"github.com/atoll-sim/atoll/persist/internal/hash"
	"github.com/atoll-sim/atoll/world"
)

// Hash is a hash of a world's state. Logs and tools write its String.
type Hash uint64

// String returns 16 hexadecimal digits.
func (h Hash) String() string { return fmt.Sprintf("%016x", uint64(h)) }

// MarshalText returns the String. So it is a string in JSON, whose numbers lose
// digits.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what MarshalText writes. After an error the hash is unchanged.
func (h *Hash) UnmarshalText(text []byte) error {
	v, err := strconv.ParseUint(string(text), 16, 64)
	if err != nil || len(text) != 16 {
		return fmt.Errorf("state: %q is no hash, which is 16 hexadecimal digits", text)
	}
	*h = Hash(v)
	return nil
}

// Hasher hashes the state of one world again and again. It knows the layout of
// each type after the first time.
//
// Ownership: the world's goroutine, between ticks. Ports may be in use meanwhile.
type Hasher hash.Hasher

// NewHasher makes a hasher of a world. codecs may be nil if the world needs none;
// a component that is registered later needs its codec by the next hash.
func NewHasher(w *world.World, codecs *Codecs) *Hasher {
	if w == nil {
		panic("state: NewHasher of a nil World; make one with world.New")
	}
	return (*Hasher)(hash.New(w, (*form.Codecs)(codecs)))
}

// StateHash hashes an idle world once. See Hasher.StateHash.
func StateHash(w *world.World, codecs *Codecs) (Hash, error) {
	sum, err := NewHasher(w, codecs).hasher().StateHash("state.StateHash")
	return Hash(sum), err
}

// Stateful is an extension of a world that shows its state. All extensions must; a relation of
// package hierarchy does.
type Stateful interface {
	// AppendState appends all that decides what the extension does next to dst.
	// The same state must give the same bytes.
	AppendState(dst []byte) []byte
}

// Add adds state outside the world to the hash: what the game keeps outside of components and
// resources, and what decides what its systems do. write appends it to dst. The same state must
// give the same bytes.
func (h *Hasher) Add(name string, write func(dst []byte) []byte) { h.hasher().Add(name, write) }

// StateHash hashes everything that decides what the world does next, given the
// same systems and inputs: two worlds with the same hash stay the same. It reads
// every component of every entity once, at some gigabytes per second. The world
// must be idle. It returns ErrNoCodec with the name of the type that lacks one.
//
// The hash depends on the machine's byte order and size of int. It also differs for a world to
// which a log was played to its end: see inputlog.Player.
func (h *Hasher) StateHash() (Hash, error) {
	sum, err := h.hasher().StateHash("Hasher.StateHash")
	return Hash(sum), err
}

// Section is the hash of a part of a world's state.
type Section struct {
	Name string // such as `shard 3: component "health"`
	Hash Hash
}

// Sections returns the hashes of the parts of the state, in a fixed order. If two worlds differ,
// the first sections that differ show where. The world must be idle. Errors are those of StateHash.
func (h *Hasher) Sections() ([]Section, error) {
	sections, err := h.hasher().Sections()
	var all []Section
	for _, s := range sections {
		all = append(all, Section{s.Name, Hash(s.Hash)})
	}
	return all, err
}

// hasher returns the Hasher as what it is defined by.
func (h *Hasher) hasher() *hash.Hasher { return (*hash.Hasher)(h) }
