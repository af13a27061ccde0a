package snapshot

import (
	"io"

	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
)

// Chain writes a sequence of snapshots. The first is whole. Each later one is an increment, which
// has only what has changed since the one before. Merge makes whole snapshots of them. The zero
// value is ready.
//
// A Chain remembers a digest of 16 bytes for each piece of 256 bytes that it wrote last.
//
// Ownership: one goroutine at a time saves. Another may save a Captured without the Chain
// meanwhile.
type Chain struct {
	x format.Chain
}

// Save writes a capture. The errors are those of Captured.Save; after one, the
// Chain is unchanged. If what was written is lost later, use a new Chain: increments cannot
// be read without their base.
func (x *Chain) Save(dst io.Writer, c *Captured) error { return c.save(dst, &x.x) }

// Merge returns a reader of the whole snapshot that a base and increments on it make: the same
// bytes that Save would have written at the time of the last increment. Pass the increments in
// their order, each based on the one before; the base is whole. To make one file of a chain, copy
// to it:
//
//	_, err := io.Copy(file, snapshot.Merge(base, first, second))
//
// Load, Verify and everything else that reads a snapshot accepts the reader, too; then nothing is
// compressed again. All files are read at the same time, from beginning to end, a section of each
// at a time. Errors are those of Verify, with the number of the file, and ErrBase for files that do
// not belong together.
func Merge(base io.Reader, increments ...io.Reader) io.Reader {
	return format.Merge(base, increments...)
}
