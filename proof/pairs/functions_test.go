package pairs_test

import (
	"errors"
	"strings"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// What the function does beside writing a component and a flag, by its argument.
const (
	dies = iota
	breeds
	panics
	hunts
	ways = 9 // any other: nothing
)

var errAsked = errors.New("the function was asked to panic")

// order is the argument of the function.
type orderTo struct {
	n     int64
	other handle.Handle
}

// functions calls a function that writes, flags, dies, creates, panics and asks for the
// death of others.
func functions() *feature {
	return &feature{
		name: "functions", rate: 800, by: byAny &^ byGlobal,
		prepare: func(o *objects) {
			o.made["function"] = world.RegisterFunc(o.World, "function", func(self *world.EntityContext, x orderTo) { o.function(self, x) })
		},
		draw: func(d *drawer) *act {
			x := orderTo{d.next(), d.someone()}
			return on("call", d.someone(), func(o *objects, by world.Actor, h handle.Handle) (err error) {
				if by == world.Actor(o.World) { // a panic is the caller's
					defer func() {
						if r := recover(); r != nil {
							err = r.(error)
						}
					}()
				}
				return o.made["function"].(*world.Func[orderTo]).Call(by, h, x)
			}, func(m *model, e *entity) world.Outcome { return m.call(e, x.n) })
		},
	}
}

func (o *objects) function(self *world.EntityContext, x orderTo) {
	h, i := self.Handle(), self.Shard()
	o.parts[x.n%partsN].write(self, x.n)
	_ = world.AddFlags(self, h, world.Flags(1<<(x.n%7)))
	switch x.n % ways {
	case dies:
		_ = self.Destroy(h)
	case breeds:
		o.breed(self, x.n)
	case panics:
		panic(errAsked)
	case hunts:
		a := kill(x.other)
		a.own = false
		if x.other != h { // its own goes at once
			_, err := a.do(o, self)
			o.late[i] = append(o.late[i], deed{a, nil, err})
		}
	}
}

// breed creates an entity, or an instance of a prefab.
func (o *objects) breed(self *world.EntityContext, n int64) {
	i := self.Shard()
	if o.made["grove"] == nil {
		if made, err := o.bundles[1].create(self, n); err == nil {
			o.children[i] = append(o.children[i], child{n, []handle.Handle{made}})
		}
		return
	}
	if made, err := o.instance(self, 1, n); err == nil {
		o.children[i] = append(o.children[i], child{n, made})
		for _, l := range links(made) {
			o.late[i] = append(o.late[i], deed{l, nil, nil})
		}
	}
}

func (m *model) call(e *entity, n int64) world.Outcome {
	if e == nil {
		return world.Gone
	}
	m.write(e, 1<<(n%partsN), alike(n))
	m.flag(e, world.Flags(1<<(n%7)), 0)
	switch n % ways {
	case dies:
		m.destroy(e)
	case breeds:
		for k, h := range m.children[n] {
			m.create(h, bundleParts[1], instanceValue(n, k), e.shard, false)
		}
		delete(m.children, n)
	case panics:
		return world.Failed
	}
	return world.Applied
}

// expected reports whether an error of a tick was asked for: by one function, or by more
// than details are kept of.
func expected(err error) bool {
	var system *world.PanicError
	if errors.As(err, &system) && system.In == "system" {
		return false
	}
	return errors.Is(err, errAsked) || strings.Contains(err.Error(), "more functions panicked")
}
