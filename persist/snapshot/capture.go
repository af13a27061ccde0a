package snapshot

import (
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// Captured is the state of a world at one moment. It can be written, or loaded into other worlds,
// while the world ticks on.
//
// Ownership: any goroutines, at once, as far as the functions of Options.Codecs allow that; Release
// comes after all other uses.
type Captured struct {
	s       *saving
	info    *format.Info
	parts   []format.Part
	bytes   [][]byte // by part: what it appends; nil for rows
	frozen  *engine.Frozen
	hashing extend.Hashing
	hash    onceHash
}

// onceHash is computed once. sync.OnceValue would repeat the panic of a codec for ever, and make one
// of a runtime.Goexit.
//
// Ownership: mu guards it.
type onceHash struct {
	mu    sync.Mutex
	known bool
	hash  state.Hash
}

func (x *onceHash) of(compute func() state.Hash) state.Hash {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.known {
		x.hash, x.known = compute(), true
	}
	return x.hash
}

// Capture takes the state of an idle world for Captured.Save and Captured.Load. It copies in
// memory, in parallel, the components that were handed out for writing since the frame or capture
// before. For the rest it costs what Save does, which is little, except for components of which a
// plain copy would share something with the world, such as slices, and that have no
// world.Component.CloneBy. So a server calls it in a function of Scheduler.Between, and saves on
// another goroutine.
//
// A Captured holds a frame of the world, one of world.Options.FramesMax. Capture returns
// world.ErrFrames if too many are held, and otherwise the errors of Save.
func Capture(w *world.World, o Options) (c *Captured, err error) {
	s, info, err := newSaving(w, "Capture", o)
	if err != nil {
		return nil, err
	}
	c = &Captured{s: s, info: info}
	if c.frozen, err = engine.Of(w).Freeze(nil); err != nil {
		return nil, err
	}
	taken, frozen := false, c.frozen
	defer func() {
		if taken {
			return
		}
		frozen.Release()
		v := recover()
		var failed *extend.CodecError
		if e, ok := v.(error); ok && errors.As(e, &failed) {
			c, err = nil, e
		} else if v != nil {
			panic(v)
		}
	}()
	c.take()
	c.hashing, err = extend.HashLater(w, s.o.Codecs, c.frozen.Has)
	if err != nil {
		return nil, err
	}
	taken = true
	return c, nil
}

// take makes what the parts will write independent of the world.
func (c *Captured) take() {
	s := c.s
	c.parts = s.parts(c.info)
	c.bytes = make([][]byte, len(c.parts))
	for i := range c.parts {
		if p := &c.parts[i]; p.Kind != format.RowsSection {
			c.bytes[i] = p.Body(nil)
			p.Body = func(dst []byte) []byte { return append(dst, c.bytes[i]...) }
		}
	}
	s.kept = map[column][]byte{}
	for i := range s.images {
		for k := range s.images[i].Tables {
			t := &s.images[i].Tables[k]
			for n := range t.Chunks {
				x := &t.Chunks[n]
				if x.Rows == 0 {
					continue
				}
				from := c.frozen.Chunk(i, k, n)
				x.Handles = from.Handles()
				for at, id := range t.Components {
					if c.frozen.Has(id) {
						x.Columns[at] = from.Cells(at)
					} else {
						s.kept[column{format.Place{Table: k, Chunk: n}, i, at}] = s.appendCells(nil, s.names.components[id].form, x.Columns[at])
					}
				}
			}
		}
	}
}

// image returns the image of a shard at the capture.
func (c *Captured) image(shard int) *store.Image {
	s := c.shard(shard)
	x := format.ReadShard(&extend.Cursor{Rest: s.Body})
	for i := range x.Tables {
		for k := range x.Tables[i].Chunks {
			to, from := &x.Tables[i].Chunks[k], &c.s.images[shard].Tables[i].Chunks[k]
			to.Handles, to.Columns = from.Handles, from.Columns
		}
	}
	return &x
}

// section returns a part that was captured as a section.
func (c *Captured) section(i int) format.Section {
	p := &c.parts[i]
	return format.Section{Kind: p.Kind, How: format.None, Number: p.Number, Length: len(c.bytes[i]), Body: c.bytes[i], Sure: true}
}

// shard returns the section of a shard.
func (c *Captured) shard(i int) format.Section {
	return c.section(slices.IndexFunc(c.parts, func(p format.Part) bool { return p.Kind == format.ShardSection }) + i)
}

// Hash returns the hash of the captured state: that of state.StateHash at that moment. The first
// call computes it, which takes as long as that, but no tick waits for it. It returns
// world.ErrClosed after Release.
func (c *Captured) Hash() (state.Hash, error) {
	if c.parts == nil {
		return 0, world.ErrClosed
	}
	return c.hash.of(func() state.Hash { return state.Hash(c.hashing.Hash(c.image)) }), nil
}

// Save writes the captured state: the same bytes as the function Save would have written then. It
// may be called again. It returns the error of dst, or world.ErrClosed after Release.
func (c *Captured) Save(dst io.Writer) error { return c.save(dst, nil) }

func (c *Captured) save(dst io.Writer, x *format.Chain) error {
	info := *c.info
	var err error
	if info.Hash, err = c.Hash(); err != nil {
		return err
	}
	parts := slices.Clone(c.parts)
	parts[0].Body = func(dst []byte) []byte { return format.AppendHeader(dst, &info) }
	return c.s.write(dst, parts, &info, x)
}

// Release gives the memory back. Releasing twice is no error. The collector releases a Captured
// that is forgotten.
func (c *Captured) Release() {
	if c.parts != nil {
		c.parts, c.bytes, c.s, c.hashing = nil, nil, nil, nil
		c.frozen.Release()
	}
}
