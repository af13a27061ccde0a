package world

import (
	"fmt"

	"github.com/atoll-sim/atoll/internal/store"
)

// digest is the hash of a component's rows in a shard.
type digest struct {
	component int
	sum       uint64
}

// digest hashes the components that a system must not write, before the system runs. Check
// build only.
func (c *Context) digest(components store.Set) {
	c.read = c.read[:0]
	for id := range components.All {
		c.read = append(c.read, digest{id, c.sum(id)})
	}
}

// sum hashes a component's rows in the shard, or for a global system in all shards.
func (c *Context) sum(component int) uint64 {
	if c.shard != nil {
		return c.shard.Digest(component)
	}
	sum := uint64(0)
	for _, s := range c.w.shards {
		sum = mix(sum ^ s.Digest(component))
	}
	return sum
}

// mustBeUnwritten panics if one of the hashed components has changed: only the system can have
// done that. Check build only.
func (c *Context) mustBeUnwritten() {
	for _, d := range c.read {
		if c.sum(d.component) != d.sum {
			info := c.w.components[d.component]
			panic(fmt.Sprintf("world: %s wrote component %q, which it asked to read; ask with world.Write[%v](b) in its constructor",
				c.who(), info.name, info.typ))
		}
	}
}

// digest hashes all components when the idle world is left. Check build only.
func (w *World) digest() {
	w.lefts = w.lefts[:0]
	for id := range w.components {
		w.lefts = append(w.lefts, w.sum(id))
	}
}

// mustBeAsLeft panics if a component has changed, while nothing was handed out for writing. What
// pointers in the component point to is not looked at. Check build only.
func (w *World) mustBeAsLeft() {
	for id, sum := range w.lefts {
		if w.sum(id) != sum {
			info := w.components[id]
			w.digest() // it is told once
			panic(fmt.Sprintf("world: the idle world's component %q was written through what is for reading, or was handed out for writing before the last tick or function of Scheduler.Between, so no log has it; ask world.Write[%v](w) again where you write",
				info.name, info.typ))
		}
	}
}

func (w *World) sum(component int) uint64 { return w.contexts[len(w.shards)].sum(component) }
