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
