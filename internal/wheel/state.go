package wheel

import (
	"fmt"
	"math"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/form"
	"github.com/atoll-sim/atoll/internal/mem"
)

// appendState appends all that decides what the wheel does next: its generations, and the order of
// the free entries and of those that are set, with their bodies. The caller has
// the idle world, or a step in which the wheel does not change.
func (w *Of[M]) appendState(dst []byte, bodies form.Form) []byte {
	dst = extend.AppendNumber(extend.AppendNumber(dst, len(w.slots)), w.used)
	for k := range w.used {
		dst = extend.AppendNumber(dst, w.At(k).generation-1)
	}
	dst = extend.AppendNumber(dst, w.free.len)
	for at := w.free.first; at != 0; at = w.At(int(at - 1)).next {
		dst = extend.AppendNumber(dst, at-1)
	}
	for _, l := range w.slots {
		for at := l.first; at != 0; {
			x := w.At(int(at - 1))
			for _, n := range [...]uint64{uint64(at - 1), uint64(x.To), x.due, x.armed, x.Period} {
				dst = extend.AppendNumber(dst, n)
			}
			dst = bodies.Append(dst, mem.CellOf(w.Body(int(at-1))))
			at = x.next
		}
	}
	return dst
}

// load makes the wheel what appendState wrote. now is the tick. The idle world calls it; after an
// error the wheel holds a part of that, and must not be used.
func (w *Of[M]) load(c *extend.Cursor, now uint64, bodies form.Form) error {
	slots, used := c.Int(), c.Count(1)
	switch {
	case c.Err != nil:
		return c.Err
	case slots < slotsFirst || slots > slotsMost || slots&(slots-1) != 0:
		return fmt.Errorf("it has %d slots (%w)", slots, extend.ErrImage)
	case used > Most:
		return fmt.Errorf("it has had %d entries, and %d is the most (%w)", used, Most, extend.ErrImage)
	}
	w.Wheel = Wheel{slots: make([]list, slots)}
	for range used {
		w.At(w.take()).generation = 1 + uint32(c.Below(generationMost))
	}
	w.count = 0
	free, seen := int(c.Below(uint64(used)+1)), make([]bool, used)
	next := func() (index int, ok bool) {
		if index = int(c.Below(uint64(used))); c.Err != nil || seen[index] {
			return 0, false
		}
		seen[index] = true
		return index, true
	}
	for range free {
		index, ok := next()
		if !ok {
			return wrong(c)
		}
		w.append(&w.free, index)
	}
	for range used - free {
		from := len(c.Rest)
		index, ok := next()
		to, due, armed, period := handle.Handle(c.Number()), c.Number(), c.Number(), c.Number()
		if !ok || c.Err != nil || due <= now || armed > now || period > math.MaxInt64 {
			return wrong(c)
		}
		if err := bodies.Take(w.pageBytes(index), from-len(c.Rest)+bodies.Least()); err != nil {
			return err
		}
		rest, err := bodies.Read(c.Rest, mem.CellOf(w.Body(index)))
		if err != nil {
			return err
		}
		c.Rest = rest
		x := w.At(index)
		x.To, x.Period = to, period
		w.Set(index, due, armed)
		w.count++
	}
	return nil
}

// wrong returns the error of a wheel with an entry in the wrong place, or of bytes that ended too
// soon.
func wrong(c *extend.Cursor) error {
	if c.Err != nil {
		return c.Err
	}
	return fmt.Errorf("an entry is where none can be (%w)", extend.ErrImage)
}
