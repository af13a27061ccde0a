package format

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// This file writes and reads the images of a world and its shards.

// AppendState appends the section of the world as a whole.
func AppendState(dst []byte, x *extend.State) []byte {
	for _, n := range []uint64{x.Tick, uint64(x.Incarnation), uint64(x.Shard), uint64(x.Run), uint64(extend.FlagsOf(x.Misrouted)), uint64(x.Moves), uint64(x.Gathered)} {
		dst = extend.AppendNumber(dst, n)
	}
	dst = extend.AppendNumbers(dst, x.Pinned)
	dst = extend.AppendNumber(dst, len(x.Hooks))
	for _, on := range x.Hooks {
		dst = extend.AppendNumber(dst, len(on))
		for _, is := range on {
			dst = append(dst, byte(extend.FlagsOf(is)))
		}
	}
	dst = extend.AppendWords(extend.AppendWords(dst, x.Ports.Slots), x.Ports.Pool)
	return extend.AppendWords(dst, x.Ports.Recalled)
}

// ReadState reads the section of the world as a whole.
func ReadState(c *extend.Cursor) (x extend.State) {
	x.Tick, x.Incarnation, x.Shard, x.Run, x.Misrouted = c.Number(), c.Word(), c.Int(), c.Int(), c.Flags(1) != 0
	x.Moves, x.Gathered, x.Pinned = c.Word(), c.Word(), c.Numbers()
	x.Hooks = extend.ListOf[[]bool](c, 1)
	for i := range x.Hooks {
		x.Hooks[i] = extend.ListOf[bool](c, 1)
		for k := range x.Hooks[i] {
			x.Hooks[i][k] = c.Flags(1) != 0
		}
	}
	x.Ports = slots.PortImage{Slots: extend.WordsOf[uint32](c), Pool: extend.WordsOf[uint32](c), Recalled: extend.WordsOf[handle.Handle](c)}
	return x
}

// AppendShard appends the section of a shard, without its rows.
func AppendShard(dst []byte, x *store.Image) []byte {
	dst = extend.AppendWords(extend.AppendWords(dst, x.Slots), x.Free)
	dst = extend.AppendNumber(dst, len(x.Tables))
	for i := range x.Tables {
		dst = appendTable(dst, &x.Tables[i])
	}
	dst = extend.AppendNumber(dst, len(x.Marked))
	for _, m := range x.Marked {
		dst = extend.AppendNumbers(extend.AppendNumber(dst, m.Table), m.Chunks)
	}
	dst = extend.AppendNumber(extend.AppendWords(dst, x.Created), len(x.Changes))
	for _, n := range x.Changes {
		dst = extend.AppendNumbers(extend.AppendNumber(extend.AppendNumber(dst, uint64(n.Handle)), n.Moves), n.Components)
	}
	dst = extend.AppendNumber(dst, len(x.Stored))
	for _, n := range x.Stored {
		dst = extend.AppendNumber(extend.AppendNumber(dst, uint64(n.Handle)), n.Component)
	}
	return dst
}

// ReadShard reads the section of a shard.
func ReadShard(c *extend.Cursor) (x store.Image) {
	x.Slots, x.Free = extend.WordsOf[uint32](c), extend.WordsOf[uint32](c)
	x.Tables = extend.ListOf[store.TableImage](c, 5)
	for i := range x.Tables {
		x.Tables[i] = readTable(c)
	}
	x.Marked = extend.ListOf[store.MarkedTable](c, 2)
	for i := range x.Marked {
		x.Marked[i] = store.MarkedTable{Table: c.Int(), Chunks: c.Numbers()}
	}
	x.Created = extend.WordsOf[handle.Handle](c)
	x.Changes = extend.ListOf[store.ChangeImage](c, 3)
	for i := range x.Changes {
		x.Changes[i].Handle, x.Changes[i].Moves, x.Changes[i].Components = c.Handle(), c.Word(), c.Numbers()
	}
	x.Stored = extend.ListOf[store.StoredImage](c, 2)
	for i := range x.Stored {
		x.Stored[i] = store.StoredImage{Handle: c.Handle(), Component: c.Int()}
	}
	return x
}

// appendTable appends a table and what its chunks have besides rows. Sets of flags without any are
// left out.
func appendTable(dst []byte, t *store.TableImage) []byte {
	dst = extend.AppendNumber(extend.AppendNumbers(dst, t.Components), extend.FlagsOf(t.Listed, t.Fragmented))
	dst = extend.AppendNumber(extend.AppendNumber(extend.AppendNumber(dst, t.Left), t.Current+1), len(t.Chunks))
	for i := range t.Chunks {
		c := &t.Chunks[i]
		dst = extend.AppendNumber(extend.AppendNumber(extend.AppendNumber(dst, c.Cap), c.Rows), extend.FlagsOf(c.Reserved))
		dst = extend.AppendNumber(dst, c.Changed)
		for _, w := range c.Written {
			dst = extend.AppendNumber(dst, w)
		}
		dst = extend.AppendSet(dst, c.Marks)
		set := 0
		for k, words := range c.Flags {
			if slices.ContainsFunc(words, func(w uint64) bool { return w != 0 }) {
				set |= 1 << k
			}
		}
		dst = extend.AppendNumber(dst, set)
		for k, words := range c.Flags {
			if set>>k&1 != 0 {
				dst = extend.AppendSet(dst, words)
			}
		}
	}
	return dst
}

// readTable reads what appendTable has appended.
func readTable(c *extend.Cursor) (t store.TableImage) {
	t.Components = c.Numbers()
	is := c.Flags(2)
	t.Listed, t.Fragmented = is&1 != 0, is&2 != 0
	t.Left, t.Current = c.Word(), c.Int()-1
	t.Chunks = extend.ListOf[store.ChunkImage](c, 6+len(t.Components))
	for i := range t.Chunks {
		x := &t.Chunks[i]
		x.Cap, x.Rows, x.Reserved, x.Changed = c.Int(), c.Int(), c.Flags(1) != 0, c.Word()
		if c.Takes(len(t.Components), 4) {
			x.Written = make([]uint32, len(t.Components))
		}
		for k := range x.Written {
			x.Written[k] = c.Word()
		}
		x.Marks = extend.WordsOf[uint64](c)
		set := c.Flags(slots.FlagsMax)
		for k := range x.Flags {
			if set>>k&1 != 0 {
				x.Flags[k] = extend.WordsOf[uint64](c)
			}
		}
	}
	return t
}
