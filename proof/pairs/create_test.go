package pairs_test

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// create creates entities, by everybody, one by one.
func create() *feature {
	return &feature{
		name: "create", rate: 600, by: byAny &^ byOther,
		draw: func(d *drawer) *act {
			if d.crowd > population*3/2 {
				return nil
			}
			return spawn(d, 1)
		},
	}
}

// spawn is the act of creating count entities of one bundle, in one call if several.
func spawn(d *drawer, count int) *act {
	i, first := d.n(4), d.next()
	for range count - 1 {
		d.next()
	}
	a := &act{name: "create", born: &creation{has: bundleParts[i], value: func(k int) values { return alike(first + int64(k)) }}}
	a.do = func(o *objects, by world.Actor) ([]handle.Handle, error) {
		if count > 1 {
			return o.bundles[i].appendN(nil, by, count, first)
		}
		h, err := o.bundles[i].create(by, first)
		if err != nil {
			return nil, err
		}
		return []handle.Handle{h}, nil
	}
	return a
}

// bundleParts is what the bundles have.
var bundleParts = [...]parts{0b00001, 0b00011, 0b01101, 0b10110}
