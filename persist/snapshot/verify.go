package snapshot

import (
	"io"
	"slices"

	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

func init() { extend.ReadAlso = readAlso }

// Info is the head of a snapshot.
type Info struct {
	// Options are those of the saved world: a world that is made with them can load it.
	Options world.Options
	Layout  world.Layout
	Tick    uint64
	// Hash is the hash of the saved world's state, by package state.
	Hash state.Hash
	// Entities is the number of entities, including marked ones.
	Entities int
	// Increment says that the snapshot has only what has changed since another, with BaseTick
	// and BaseHash. It cannot be loaded without that; Merge makes a whole snapshot of both.
	Increment bool
	BaseTick  uint64
	BaseHash  state.Hash
}

// Inspect reads the head of a snapshot, which may be an increment. It returns ErrNoSnapshot,
// ErrVersion, ErrTruncated or ErrAltered, or the error of src.
func Inspect(src io.Reader) (Info, error) {
	r := format.SourceOf(src)
	if err := r.Begin(); err != nil {
		return Info{}, err
	}
	x, err := format.ReadAnyHeader(r, new(format.Section))
	return Info(x.Info), err
}

// Verify reads a whole snapshot and checks each checksum. Errors are those of
// Inspect, and ErrBase for an increment: pass the result of Merge instead.
func Verify(src io.Reader) (Info, error) {
	r := format.SourceOf(src)
	if err := r.Begin(); err != nil {
		return Info{}, err
	}
	var s format.Section
	x, err := format.ReadHeader(r, &s)
	for err == nil && s.Kind != format.EndSection {
		if err = r.Next(&s); err == nil {
			err = s.Check()
		}
	}
	if err == nil {
		err = r.Finish(&s)
	}
	return Info(x.Info), err
}

// readAlso is extend.ReadAlso.
func readAlso(src io.Reader, name string) ([]byte, error) {
	r := format.SourceOf(src)
	_, names, err := format.ReadHead(r)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(names.Also, func(n format.Named) bool { return n.Name == name })
	for s := (format.Section{}); at >= 0 && s.Kind != format.EndSection; {
		if err := r.Next(&s); err != nil {
			return nil, err
		}
		if s.Kind == format.AlsoSection && s.Number == at {
			return s.Unpack(new([]byte))
		}
	}
	return nil, nil
}
