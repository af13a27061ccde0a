package snapshot

import (
	"errors"
	"io"

	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/driver"
	"github.com/atoll-sim/atoll/world"
)

// Captured is the state of a world at one moment, to be written, or loaded into other worlds, while
// the world ticks on.
//
// Ownership: any goroutines, at once, as far as the functions of Options.Codecs allow that; Release
// is behind all other uses.
type Captured struct {
	s      *saving
	parts  []part
	frozen drive.Frozen
}

// Capture takes the state of an idle world for Captured.Save and Captured.Load. It costs a copy in memory, in
// parallel, of the components that were handed out for writing since the frame or capture before;
// of the rest what Save costs, which is little: but for components of which a copy would share
// something with the world, such as slices, unless they have a world.Component.CloneBy. So it is
// what a server calls in a function of Scheduler.Between, and then saves on another goroutine.
//
// A Captured holds a frame of the world, one of world.Options.FramesMax. It returns
// world.ErrFrames if there are too many, and else the errors of Save.
func Capture(w *world.World, o Options) (c *Captured, err error) {
	s, info, err := newSaving(w, "Capture", o)
	if err != nil {
		return nil, err
	}
	c = &Captured{s: s}
	if c.frozen, err = driver.Of(w).Freeze(); err != nil {
		return nil, err
	}
	taken := false
	defer func() {
		if taken {
			return
		}
		c.frozen.Release()
		v := recover()
		var failed *drive.CodecError
		if e, ok := v.(error); ok && errors.As(e, &failed) {
			c, err = nil, e
		} else if v != nil {
			panic(v)
		}
	}()
	c.take(info)
	taken = true
	return c, nil
}

// take makes what the parts are written of independent of the world.
func (c *Captured) take(info *Info) {
	s := c.s
	c.parts = s.parts(info)
	for i := range c.parts {
		if p := &c.parts[i]; p.kind != rowsSection {
			p.bytes = p.body(nil)
			p.body = func(dst []byte) []byte { return append(dst, p.bytes...) }
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
						s.kept[column{place{k, n}, i, at}] = s.appendCells(nil, s.names.components[id].form, x.Columns[at])
					}
				}
			}
		}
	}
}

// Save writes what was captured, as the function Save would have, but without the hash. It may be
// called again. It returns the error of dst, or world.ErrClosed after Release.
func (c *Captured) Save(dst io.Writer) error {
	if c.parts == nil {
		return world.ErrClosed
	}
	return c.s.write(dst, c.parts)
}

// Release gives the memory back. Releasing twice is no error. A Captured that is forgotten is
// released by the collector.
func (c *Captured) Release() {
	if c.parts != nil {
		c.parts, c.s = nil, nil
		c.frozen.Release()
	}
}
