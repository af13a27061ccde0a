package inputlog

import (
	"encoding/binary"
	"errors"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
)

// A tick's body has the following, as numbers of one to ten bytes each except for values,
// and then the requests:
//
//	tick  by | rung<<2  drawn  sum of parts of the state before the tick, or 0: 8 bytes
//	n recalled   {handle}
//	n released   {handle}
//	n shifts     {from, to, entities}
func appendTick(dst []byte, in *extend.Inputs) []byte {
	dst = binary.AppendUvarint(dst, in.Tick)
	dst = binary.AppendUvarint(dst, uint64(in.By)|uint64(in.Rung)<<2)
	dst = binary.AppendUvarint(dst, uint64(in.Drawn))
	dst = binary.LittleEndian.AppendUint64(dst, in.Sum)
	dst = appendHandles(dst, in.Recalled)
	dst = appendHandles(dst, in.Released)
	dst = binary.AppendUvarint(dst, uint64(len(in.Transfers)))
	for _, x := range in.Transfers {
		for _, n := range [...]int{x.From, x.To, x.Entities} {
			dst = binary.AppendUvarint(dst, uint64(n))
		}
	}
	return dst
}

func appendHandles(dst []byte, hs []handle.Handle) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(hs)))
	for _, h := range hs {
		dst = appendHandle(dst, h)
	}
	return dst
}

// readTick reads what appendTick wrote. It leaves the requests.
func (c *cursor) readTick(in *extend.Inputs) {
	in.Tick = c.number()
	by := c.below(extend.RungsMax << 2)
	if in.By, in.Rung = extend.Refresh(by&3), uint8(by>>2); in.By > extend.ByClear {
		c.fail(errors.New("a refresh is of no kind that there is"))
	}
	in.Drawn = uint32(c.below(1 << 32))
	in.Sum = c.word()
	in.Recalled = c.handles(in.Recalled[:0])
	in.Released = c.handles(in.Released[:0])
	in.Transfers = in.Transfers[:0]
	for range c.times {
		from, to, n := c.below(handle.HomeMax), c.below(handle.HomeMax), c.below(1<<31)
		in.Transfers = append(in.Transfers, extend.Transfer{From: int(from), To: int(to), Entities: int(n)})
	}
}

func (c *cursor) handles(to []handle.Handle) []handle.Handle {
	for range c.times {
		to = append(to, c.handle())
	}
	return to
}

// drawnFree is how many indexes ports may have drawn in addition to one for each byte of the log.
//
// Ports draw several indexes at a time, and send what they create with them later, or never. So the
// log does not show what they were drawn for. Replaying them takes memory, which a wrong number
// must not decide. If a world has drawn more, the Recorder pads the tick.
const drawnFree = 1 << 18

// unexplained returns how many more bytes the ticks of a log must have for the number of indexes
// that were drawn since it began.
func unexplained(drawn, before uint32, bytes int) int {
	return int(drawn) - int(before) - drawnFree - bytes
}
