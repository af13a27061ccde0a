package snapshot

import "io"

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
