package snapshot

import (
	"io"
	"slices"

	"github.com/atoll-sim/atoll/internal/drive"
)

func init() { drive.ReadAlso = readAlso }

// Verify reads a whole snapshot and checks each checksum. Errors are those of
// Inspect, and ErrBase for an increment: pass the result of Merge instead.
func Verify(src io.Reader) (Info, error) {
	r := sourceOf(src)
	if err := r.begin(); err != nil {
		return Info{}, err
	}
	var s section
	x, _, err := readHeader(r, &s)
	for err == nil && s.kind != endSection {
		if err = r.next(&s); err == nil {
			err = s.check()
		}
	}
	if err == nil {
		err = r.finish(&s)
	}
	return x, err
}

// readAlso is drive.ReadAlso.
func readAlso(src io.Reader, name string) ([]byte, error) {
	l := loading{r: sourceOf(src)}
	if err := l.head(); err != nil {
		return nil, err
	}
	at := slices.IndexFunc(l.names.also, func(n named) bool { return n.name == name })
	for s := (section{}); at >= 0 && s.kind != endSection; {
		if err := l.r.next(&s); err != nil {
			return nil, err
		}
		if s.kind == alsoSection && s.number == at {
			return s.unpack(new([]byte))
		}
	}
	return nil, nil
}
