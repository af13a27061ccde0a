package world

import (
	"fmt"
	"slices"

	"github.com/atoll-sim/atoll/internal/drive"
)

// extensionView is an extension as a Viewable.
type extensionView struct {
	w      *World
	number int
	name   string
}

// view returns the Viewable of an extension, if frames can have it.
func (w *World) view(x any, name string) *extensionView {
	v := &extensionView{w, len(w.framed), name}
	if of, ok := x.(drive.Framed); ok {
		w.framed = append(w.framed, of)
	}
	return v
}

func (x *extensionView) enter(v *View) {
	if x.w != v.w {
		panic(fmt.Sprintf("world: World.NewView: %q belongs to another world; use that world's own", x.name))
	}
	v.extensions = append(v.extensions, x.number)
}

func (x *extensionView) framed() (*World, int) { return x.w, x.number }

// itself returns the Frame, also from a type that embeds it.
func (f *Frame) itself() *Frame { return f }

// copyOf returns the frame's copy of an extension.
func (f *Frame) copyOf(x *extensionView, call string) drive.Copy {
	if !slices.Contains(f.extensions, x.number) {
		panic(fmt.Sprintf("world: %s: %q is not in the view that the frame is of; name it in World.NewView", call, x.name))
	}
	return f.image.copies[x.number].Copy
}

// extensionCopy is a copy of an extension for frames.
//
// Ownership: as for capturing; lost as for frames.mu.
type extensionCopy struct {
	drive.Copy
	made uint64 // the capture that copied into it
	used uint64 // the newest capture whose frame has it and is held, or at which one was
	lost bool   // it may be read although no frame is known to have it: it is not written again
}

// framed has the copies of an extension for frames. While the extension does not change, frames
// share one.
type framed struct {
	of     drive.Framed
	copies []*extensionCopy
	newest *extensionCopy // nil if it must be copied anew
}

// copyUnused is the number of captures after which a copy that no frame had is given back.
const copyUnused = 64

// extensionJob is a part of the copying of an extension.
type extensionJob struct {
	drive.Copy
	part int
}

// survey finds out which copies frames have. frames.mu is held.
func (c *capturing) survey(w *World) {
	for _, of := range w.framed[len(c.framed):] {
		c.framed = append(c.framed, framed{of: of})
	}
	c.number++
	for _, x := range c.f.mu.held {
		for _, y := range x.copies {
			if y != nil {
				y.used = c.number
			}
		}
	}
	for i := range c.framed {
		e := &c.framed[i]
		e.drop(func(x *extensionCopy) bool {
			return x.used < c.number && (x.lost || c.number-x.used > copyUnused)
		})
	}
}

// drop leaves copies to the collector.
func (e *framed) drop(which func(*extensionCopy) bool) {
	if e.newest != nil && which(e.newest) {
		e.newest = nil
	}
	e.copies = slices.DeleteFunc(e.copies, which)
}

// plan finds what a frame has of the extensions, and what of that must be copied. It returns the
// bytes, or false if the copies would take too much memory.
func (c *capturing) plan(x *image) (bytes int, ok bool) {
	c.jobs = c.jobs[:0]
	clear(x.copies)
	x.copies = append(x.copies[:0], make([]*extensionCopy, len(c.framed))...)
	for i := range c.framed {
		e := &c.framed[i]
		if !c.extensions[i] {
			continue
		}
		if e.newest == nil || e.of.Changed() {
			n, ok := c.planOne(e)
			if !ok {
				return 0, false
			}
			bytes += n
		}
		e.newest.used = c.number
		x.copies[i] = e.newest
	}
	return bytes, true
}

// planOne finds the memory for a copy: that of the copy that no frame has and that is closest to
// the present state.
func (c *capturing) planOne(e *framed) (bytes int, ok bool) {
	var x *extensionCopy
	for _, y := range e.copies {
		if y.used < c.number && (x == nil || y.made > x.made) {
			x = y
		}
	}
	var had uint64
	if x != nil {
		had = x.Bytes()
	}
	if c.bytes()-had+max(had, e.of.CopySize()) > uint64(c.copies.BytesMax) {
		return 0, false
	}
	if x == nil {
		x = new(extensionCopy)
		e.copies = append(e.copies, x)
	}
	var parts int
	x.Copy, parts, bytes = e.of.Copy(x.Copy)
	for i := range parts {
		c.jobs = append(c.jobs, extensionJob{x.Copy, i})
	}
	x.made, e.newest = c.number, x
	return bytes, true
}

// bytes returns the memory of all copies, of rows and extensions.
func (c *capturing) bytes() uint64 { return c.copies.Bytes + c.extensionBytes() }

func (c *capturing) extensionBytes() (bytes uint64) {
	for _, e := range c.framed {
		for _, x := range e.copies {
			bytes += x.Bytes()
		}
	}
	return bytes
}

// dropCopies gives up the copies of extensions that a capture made.
func (c *capturing) dropCopies() {
	for i := range c.framed {
		c.framed[i].drop(func(x *extensionCopy) bool { return x.made == c.number })
	}
}

// forgetCopies gives all copies of extensions back.
func (c *capturing) forgetCopies() {
	for i := range c.framed {
		e := &c.framed[i]
		e.copies, e.newest = nil, nil
		e.of.Forget()
	}
}
