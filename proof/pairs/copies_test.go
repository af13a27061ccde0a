package pairs_test

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// copies copies entities, on the idle world and in systems.
func copies() *feature {
	return &feature{
		name: "copies", rate: 500, by: byIdle | bySystem,
		draw: func(d *drawer) *act {
			if d.crowd > population*3/2 {
				return nil
			}
			h := d.someone()
			return &act{name: "copy", h: h, born: &creation{copies: true, of: h}, do: func(_ *objects, by world.Actor) ([]handle.Handle, error) {
				twin, err := world.Copy(by, h)
				if err != nil {
					return nil, err
				}
				return []handle.Handle{twin}, nil
			}}
		},
	}
}
