package state

import (
	"slices"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/mem"
)

// cells hashes values of a type that learn has seen.
func (h *Hasher) cells(c mem.Cells) {
	h.sum.number(uint64(c.Len))
	x := h.writers[c.Type]
	switch {
	case x.codec != nil:
		h.scratch = x.codec.each(c, h.scratch, h.add)
	case x.form != nil:
		h.scratch = x.form.AppendAll(h.scratch[:0], c)
		h.sum.bytes(h.scratch)
	default:
		h.plain(x.layout, c.Bytes)
	}
}

// resource hashes a resource: its value and its parts.
func (h *Hasher) resource(v *engine.Survey, i int) {
	value, parts := v.Resource(i)
	h.cells(value)
	h.sum.number(uint64(parts))
	for k := range parts {
		h.cells(v.ResourcePart(i, k))
	}
}

// plain hashes values without pointers.
func (h *Hasher) plain(l *layout, rows []byte) {
	if l.whole {
		h.sum.bytes(rows)
	} else {
		h.masked(l, rows)
	}
}

// maskedAtOnce is about how many bytes are masked before they are hashed, so that they
// stay in the processor's first cache.
const maskedAtOnce = 8 << 10

func (h *Hasher) masked(l *layout, rows []byte) {
	if l.size == 0 {
		return
	}
	step := max(1, maskedAtOnce/(8*len(l.mask))) * 8 * len(l.mask)
	h.scratch = slices.Grow(h.scratch[:0], step)[:step]
	for len(rows) > 0 {
		n := min(step, len(rows))
		l.masked(h.scratch[:n], rows[:n])
		h.sum.bytes(h.scratch[:n])
		rows = rows[n:]
	}
}
