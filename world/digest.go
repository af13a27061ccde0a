package world

import (
	"fmt"

	"github.com/atoll-sim/atoll/shard"
)

// digest is the hash of a component's rows in a shard.
type digest struct {
	component int
	sum       uint64
}

// digest hashes components before a system runs that must not write them. Check
// build only.
func (c *Context) digest(components shard.Set) {
	c.read = c.read[:0]
	for id := range components.All {
		c.read = append(c.read, digest{id, c.shard.Digest(id)})
	}
}

// mustBeUnwritten panics if one of them has changed: nobody but the system can
// have done that. Check build only.
func (c *Context) mustBeUnwritten() {
	for _, d := range c.read {
		if c.shard.Digest(d.component) != d.sum {
			info := c.w.components[d.component]
			panic(fmt.Sprintf("world: system %q on shard %d wrote component %q, which it asked to read; ask with world.Write[%v](b) in its constructor",
				c.system, c.Shard(), info.name, info.typ))
		}
	}
}
