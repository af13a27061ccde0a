package idle_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// deed is one call on an idle world, or on a port. It draws its arguments, and answers what the
// caller learns.
type deed struct {
	name string
	do   func(h *house, by world.Actor, d *drawing) (answer any, err error)
	by   holder
}

// holder says who can do a deed.
type holder uint8

const (
	idle    holder = iota // the idle world
	either                // a port as well
	creates               // a port as well, which then places entities
)

// drawing draws arguments from what a world shows.
type drawing struct {
	*rand.Rand
	h   *house
	all []handle.Handle // in the order of handles
}

func (h *house) drawing(dice *rand.Rand) *drawing {
	d := &drawing{Rand: dice, h: h}
	for e := range h.all.Entities() {
		d.all = append(d.all, e)
	}
	slices.Sort(d.all)
	return d
}

// one draws an entity, or now and then a handle that names none.
func (d *drawing) one() handle.Handle {
	if n := d.IntN(40); len(d.all) == 0 || n == 0 {
		return handle.None
	} else if n == 1 {
		return d.all[d.IntN(len(d.all))] + 1 // of another version, or home
	} else if n == 2 {
		return handle.Handle(d.Uint64())
	}
	return d.all[d.IntN(len(d.all))]
}

func (d *drawing) some() (hs []handle.Handle) {
	for range d.IntN(6) {
		hs = append(hs, d.one())
	}
	return hs
}

// n draws a number that may be out of range.
func (d *drawing) n(below int) int { return d.IntN(below+3) - 1 }

func (d *drawing) bag() Bag {
	return Bag{Items: map[string]int32{"rope": int32(d.IntN(9)), "sail": 1}, Seen: []handle.Handle{d.one()}}
}

func (d *drawing) flags() world.Flags { return world.Flags(1 + d.IntN(3)) }

func (d *drawing) label() string {
	return "abcdefghijklmnopq"[:1+d.IntN(16)] + string(rune('a'+d.IntN(26)))
}

// deeds is the table.
var deeds []deed

// Some deeds do others, so the table cannot be the value of a variable.
func init() {
	deeds = []deed{
		{"create a boat", func(h *house, by world.Actor, d *drawing) (any, error) {
			return h.boats.Create(by, Boat{Position{float64(d.IntN(99) - 50), 1}, Hull{int32(d.IntN(40))}})
		}, creates},
		{"create a trader", func(h *house, by world.Actor, d *drawing) (any, error) {
			return h.traders.Create(by, Trader{Bag: d.bag()})
		}, creates},
		{"append wrecks", func(h *house, by world.Actor, d *drawing) (any, error) {
			return h.wrecks.AppendN(nil, by, d.n(8), func(i int, x *Wreck) { x.Points, x.Bag = int32(i), d.bag() })
		}, creates},
		{"create boats in rows", func(h *house, _ world.Actor, d *drawing) (any, error) {
			return nil, h.boats.CreateRows(h.World, d.IntN(9), func(rows world.Chunk) {
				for i := range h.hull.Slice(rows) {
					h.hull.Slice(rows)[i].Points = int32(i)
				}
			})
		}, idle},
		{"create boats without values", func(h *house, by world.Actor, d *drawing) (any, error) {
			return nil, h.boats.CreateN(by, d.n(6), nil)
		}, creates},
		{"reserve", func(h *house, _ world.Actor, d *drawing) (any, error) {
			return nil, h.wrecks.Reserve(h.World, d.n(70))
		}, idle},
		{"destroy", func(h *house, by world.Actor, d *drawing) (any, error) {
			x := d.one()
			switch by := by.(type) {
			case *world.World:
				return by.Destroy(x), nil
			case *world.Port:
				return nil, by.Destroy(x)
			}
			return nil, errors.New("who?")
		}, either},
		{"destroy some", func(_ *house, by world.Actor, d *drawing) (any, error) {
			if p, ok := by.(*world.Port); ok {
				return nil, p.DestroyN(d.some())
			}
			return nil, nil
		}, either},
		{"destroy by a query", func(h *house, _ world.Actor, d *drawing) (any, error) {
			return h.carrying.Limit(1 + d.IntN(4)).Destroy(), nil
		}, idle},
		{"set a hull", func(h *house, by world.Actor, d *drawing) (any, error) {
			return nil, h.hulls.Set(by, d.one(), Hull{int32(d.IntN(3))})
		}, either},
		{"set a bag", func(h *house, by world.Actor, d *drawing) (any, error) {
			return nil, h.bags.Set(by, d.one(), d.bag())
		}, either},
		{"set what is there", func(h *house, by world.Actor, d *drawing) (any, error) {
			x, v := d.one(), Hull{}
			if p := h.hull.Reader.Get(x); p != nil {
				v = *p
			}
			return nil, h.hulls.Set(by, x, v)
		}, idle},
		{"set hulls", func(h *house, by world.Actor, d *drawing) (any, error) {
			hs := d.some()
			return nil, h.hulls.SetN(by, hs, make([]Hull, len(hs)))
		}, either},
		{"set a boat", func(h *house, by world.Actor, d *drawing) (any, error) {
			return nil, h.boats.Set(by, d.one(), Boat{Hull: Hull{7}})
		}, either},
		{"add an anchor", func(h *house, by world.Actor, d *drawing) (any, error) {
			return nil, h.tags.Add(by, d.one(), Anchored{})
		}, either},
		{"remove an anchor", func(h *house, by world.Actor, d *drawing) (any, error) { return nil, h.tags.Remove(by, d.one()) }, either},
		{"add a bag", func(h *house, by world.Actor, d *drawing) (any, error) { return nil, h.bags.Add(by, d.one(), d.bag()) }, either},
		{"remove a bag", func(h *house, by world.Actor, d *drawing) (any, error) { return nil, h.bags.Remove(by, d.one()) }, either},
		{"make a wreck", func(h *house, by world.Actor, d *drawing) (any, error) {
			return nil, h.wrecks.Add(by, d.one(), Wreck{Bag: d.bag()}, h.positions)
		}, either},
		{"anchor some", func(h *house, _ world.Actor, d *drawing) (any, error) {
			return nil, h.tags.AddTo(h.afloat.Limit(1+d.IntN(9)), nil)
		}, idle},
		{"raise anchors", func(h *house, _ world.Actor, d *drawing) (any, error) {
			return nil, h.all.Limit(1 + d.IntN(9)).Remove(h.tags)
		}, idle},
		{"build barges", func(h *house, by world.Actor, d *drawing) (any, error) {
			return nil, h.barges.CreateN(by, d.n(40), func(i int, x *Barge) { x.Points = int32(i) })
		}, creates},
		{"load boats", func(h *house, _ world.Actor, d *drawing) (any, error) {
			return nil, h.cargos.AddTo(h.empty, func(rows world.Chunk) {
				for i := range h.cargo.Slice(rows) {
					h.cargo.Slice(rows)[i].Loads[511] = int32(i)
				}
			})
		}, idle},
		{"unload barges", func(h *house, _ world.Actor, d *drawing) (any, error) { return nil, h.laden.Remove(h.cargos) }, idle},
		{"sink barges", func(h *house, _ world.Actor, d *drawing) (any, error) {
			return h.laden.Limit(1 + d.IntN(40)).Destroy(), nil
		}, idle},
		{"copy", func(_ *house, by world.Actor, d *drawing) (any, error) { return world.Copy(by, d.one()) }, idle},
		{"copy a crew", func(h *house, by world.Actor, d *drawing) (any, error) {
			return prefab.Copy(by, d.one(), h.crews, h.holds)
		}, idle},
		{"move", func(h *house, by world.Actor, d *drawing) (any, error) {
			return nil, world.Move(by, d.one(), d.IntN(h.Shards()))
		}, either},
		{"flag", func(_ *house, by world.Actor, d *drawing) (any, error) {
			return nil, world.AddFlags(by, d.one(), d.flags())
		}, either},
		{"unflag", func(_ *house, by world.Actor, d *drawing) (any, error) {
			return nil, world.RemoveFlags(by, d.one(), d.flags())
		}, either},
		{"write a position", func(h *house, _ world.Actor, d *drawing) (any, error) {
			p := h.position.Get(d.one())
			if p != nil {
				p.X += float64(d.IntN(2))
			}
			return p != nil, nil
		}, idle},
		{"write behind a pointer", func(h *house, _ world.Actor, d *drawing) (any, error) {
			x := d.one()
			p := h.bag.Get(x)
			if p == nil || p.Items == nil {
				return nil, nil
			}
			p.Items["rope"] += int32(d.IntN(2))
			return p.Items["rope"], nil
		}, idle},
		{"write behind a pointer in a slice", func(h *house, _ world.Actor, d *drawing) (any, error) {
			n := 0
			for ch := range h.carrying.Chunks() {
				for _, b := range h.bag.Slice(ch) {
					if b.Items != nil && d.IntN(5) == 0 {
						b.Items["sail"]++
						n++
					}
				}
			}
			return n, nil
		}, idle},
		{"write where it is located", func(h *house, _ world.Actor, d *drawing) (any, error) {
			x := d.one()
			if l := h.Locate(x); l != 0 && h.Has(x, h.bags) {
				if p := h.bag.At(l); len(p.Seen) > 0 {
					p.Seen[0] = d.one()
				}
			}
			return nil, nil
		}, idle},
		{"look only", func(h *house, _ world.Actor, d *drawing) (any, error) {
			x := d.one()
			var list []any
			if p := h.bag.Reader.Get(x); p != nil {
				list = append(list, *p)
			}
			hits := h.near.Read(h.World).AppendWithin(nil, near.Point{X: float64(d.IntN(50))}, 20)
			slices.SortFunc(hits, func(a, b near.Hit) int { return cmp.Compare(a.Handle, b.Handle) })
			return append(list, h.Status(x), world.FlagsOf(h.World, x), h.all.Count(), hits, h.fuses.Len(), h.asks.Len(), h.labels.Len()), nil
		}, idle},
		{"set the era", func(h *house, _ world.Actor, d *drawing) (any, error) {
			h.era.Set(h.era.Get() + Era(d.IntN(2)))
			return h.era.Get(), nil
		}, idle},
		{"hit", func(h *house, by world.Actor, d *drawing) (any, error) { return nil, h.hits.Send(by, d.one(), Hit{1}) }, either},
		{"hit a shard", func(h *house, by world.Actor, d *drawing) (any, error) {
			return nil, h.hits.SendShard(by, d.IntN(h.Shards()), Hit{2})
		}, either},
		{"hit all shards", func(h *house, by world.Actor, _ *drawing) (any, error) { return nil, h.hits.Broadcast(by, Hit{3}) }, either},
		{"repair", func(h *house, by world.Actor, d *drawing) (any, error) {
			return nil, h.repair.Call(by, d.one(), int32(d.IntN(9)))
		}, either},
		{"deal", func(h *house, by world.Actor, d *drawing) (any, error) {
			deal := Deal{A: d.one(), B: d.one(), Seed: d.Uint64(), Ends: uint8(d.IntN(8))}
			if deal.Ends == panics && by != world.Actor(h.World) {
				deal.Ends = fails // else the tick would return it
			}
			if d.IntN(2) == 0 && by == world.Actor(h.World) {
				return h.deal.Run(by, deal)
			}
			return nil, h.deal.Call(by, deal)
		}, either},
		{"add to a crew", func(h *house, by world.Actor, d *drawing) (any, error) {
			return nil, h.crews.AddChild(by, d.one(), d.one())
		}, either},
		{"add to a crew at", func(h *house, by world.Actor, d *drawing) (any, error) {
			return nil, h.crews.AddChildAt(by, d.one(), d.one(), d.n(3))
		}, either},
		{"add some to a crew", func(h *house, by world.Actor, d *drawing) (any, error) {
			return nil, h.crews.AddChildren(by, d.one(), d.some()...)
		}, either},
		{"add to nobody's crew", func(h *house, by world.Actor, d *drawing) (any, error) { return nil, h.crews.Add(by, d.one()) }, either},
		{"move to a crew", func(h *house, by world.Actor, d *drawing) (any, error) {
			return nil, h.crews.Move(by, d.one(), d.one())
		}, either},
		{"move before", func(h *house, by world.Actor, d *drawing) (any, error) {
			return nil, h.crews.MoveBefore(by, d.one(), d.one())
		}, either},
		{"move in a crew", func(h *house, by world.Actor, d *drawing) (any, error) {
			return nil, h.crews.MoveAt(by, d.one(), d.one(), d.n(3))
		}, either},
		{"leave a crew", func(h *house, by world.Actor, d *drawing) (any, error) {
			return nil, h.crews.RemoveChild(by, d.one(), hierarchy.Close)
		}, either},
		{"remove from crews", func(h *house, by world.Actor, d *drawing) (any, error) { return nil, h.crews.Remove(by, d.one()) }, either},
		{"sort a crew", func(h *house, _ world.Actor, d *drawing) (any, error) {
			return nil, h.crews.Sort(h.World, d.one(), func(a, b handle.Handle) int { return cmp.Compare(b, a) })
		}, idle},
		{"put in a hold", func(h *house, by world.Actor, d *drawing) (any, error) {
			return nil, h.holds.Put(by, d.one(), d.one(), d.n(4))
		}, either},
		{"put anywhere in a hold", func(h *house, by world.Actor, d *drawing) (any, error) {
			return nil, h.holds.Put(by, d.one(), d.one(), hierarchy.Free)
		}, either},
		{"swap between holds", func(h *house, by world.Actor, d *drawing) (any, error) {
			return nil, h.holds.Swap(by, d.one(), d.one())
		}, either},
		{"resize a hold", func(h *house, by world.Actor, d *drawing) (any, error) {
			return nil, h.holds.SetPlaces(by, d.one(), d.n(6))
		}, either},
		{"transfer between holds", func(h *house, by world.Actor, d *drawing) (any, error) {
			return nil, h.holds.PutFrom(by, d.one(), d.one(), d.one(), d.n(3))
		}, either},
		{"close holes", func(h *house, by world.Actor, d *drawing) (any, error) { return nil, h.holds.RemoveHoles(by, d.one()) }, either},
		{"remove from holds", func(h *house, by world.Actor, d *drawing) (any, error) { return nil, h.holds.Remove(by, d.one()) }, either},
		{"label", func(h *house, by world.Actor, d *drawing) (any, error) {
			return nil, h.labels.Bind(by, d.one(), d.label())
		}, either},
		{"unlabel", func(h *house, by world.Actor, d *drawing) (any, error) { return nil, h.labels.Unbind(by, d.one()) }, either},
		{"light a fuse", func(h *house, by world.Actor, d *drawing) (any, error) {
			return h.fuses.After(by, d.one(), 1+d.IntN(5), Hit{4})
		}, either},
		{"light a fuse at", func(h *house, by world.Actor, d *drawing) (any, error) {
			return h.fuses.At(by, d.one(), h.Tick()+uint64(d.IntN(4)), Hit{5})
		}, either},
		{"light a fuse often", func(h *house, by world.Actor, d *drawing) (any, error) {
			return h.fuses.Every(by, d.one(), 1+d.IntN(5), Hit{6})
		}, either},
		{"light and stop a fuse", func(h *house, by world.Actor, d *drawing) (any, error) {
			id, err := h.fuses.After(by, d.one(), 1+d.IntN(5), Hit{7})
			if err == nil && d.IntN(2) == 0 {
				return id, h.fuses.Reset(by, id, 1+d.IntN(5))
			} else if err == nil {
				return id, h.fuses.Cancel(by, id)
			}
			return id, err
		}, idle},
		{"stop any fuse", func(h *house, by world.Actor, d *drawing) (any, error) {
			return nil, h.fuses.Cancel(by, timer.ID(d.Uint64N(1<<20)))
		}, either},
		{"ask", func(h *house, by world.Actor, d *drawing) (any, error) { return h.asks.Go(by, d.one(), 1) }, idle},
		{"make camp", func(h *house, by world.Actor, d *drawing) (any, error) {
			where := []prefab.Part{prefab.With(h.hulls, Hull{int32(d.IntN(4))})}
			if h.placed {
				where = append(where, prefab.In(d.IntN(h.Shards())))
			}
			return h.camp.Append(nil, by, where...)
		}, creates},
		{"make camps", func(h *house, by world.Actor, d *drawing) (any, error) { return h.camp.CreateN(by, d.n(3), nil) }, idle},
		{"silence a hook", func(h *house, _ world.Actor, d *drawing) (any, error) {
			h.hooks[d.IntN(len(h.hooks))].SetEnabled(d.IntN(2) == 0)
			return nil, nil
		}, idle},
		{"pin", func(h *house, _ world.Actor, d *drawing) (any, error) {
			if d.IntN(4) == 0 {
				h.Pin(h.tags)
			}
			return nil, nil
		}, idle},
		{"stop a system", func(h *house, _ world.Actor, d *drawing) (any, error) {
			return nil, h.ticks.Disable(systemNames[d.IntN(systemsN)])
		}, idle},
		{"start a system", func(h *house, _ world.Actor, d *drawing) (any, error) {
			return nil, h.ticks.Enable(systemNames[d.IntN(systemsN)])
		}, idle},
		{"insert a piece", func(h *house, _ world.Actor, d *drawing) (any, error) {
			piece := newHouse(h.seed, shape{workers: 1})
			defer piece.close()
			dice := rand.New(rand.NewPCG(d.Uint64(), 2))
			for range 12 {
				x := piece.drawing(dice)
				deed := deeds[dice.IntN(len(deeds))]
				if deed.by != idle {
					_, _ = deed.try(piece, piece.World, x)
				}
			}
			all, err := snapshot.ExtractAll(piece.World, snapshot.ExtractOptions{})
			if err != nil {
				return nil, err
			}
			got, err := snapshot.Insert(h.World, all, snapshot.InsertOptions{Shard: d.IntN(h.Shards()), WithoutNames: d.IntN(2) == 0})
			if err != nil {
				return nil, err
			}
			return got.Len(), nil
		}, idle},
	}
}

// done is what a deed was, and what came of it.
type done struct {
	name, answer string
	err          error
}

func (d done) String() string { return fmt.Sprintf("%s: %s, %v", d.name, d.answer, d.err) }

// act draws a deed and does it on the idle world.
func (h *house) act(dice *rand.Rand) done {
	d, x := h.drawing(dice), deeds[dice.IntN(len(deeds))]
	answer, err := x.try(h, h.World, d)
	return done{x.name, fmt.Sprint(answer), err}
}

// try does it. A panic because of what the caller has passed is an error, too.
func (x deed) try(h *house, by world.Actor, d *drawing) (answer any, err error) {
	defer func() {
		if v := recover(); v != nil {
			answer, err = nil, fmt.Errorf("panic: %v", v)
		}
	}()
	return x.do(h, by, d)
}

// visit opens a port, has it do some deeds, makes a tick, and closes the port.
// A port has its own turns in
// placing what it creates: they are an input, which no snapshot has.
func (h *house) visit(dice *rand.Rand, most holder) done {
	p, err := h.OpenPort()
	if err != nil {
		return done{"open a port", "", err}
	}
	all := []done{}
	outcomes := make([]*world.Completion, 0, 8)
	for range dice.IntN(8) {
		d, x := h.drawing(dice), deeds[dice.IntN(len(deeds))]
		if x.by == idle || x.by > most {
			continue
		}
		c := new(world.Completion)
		p.Notify(c)
		answer, err := x.try(h, p, d)
		all = append(all, done{x.name, fmt.Sprint(answer), err})
		if err == nil {
			outcomes = append(outcomes, c)
		}
	}
	h.mustStep()
	answer := fmt.Sprint(all)
	for _, c := range outcomes {
		answer += " " + c.Outcome().String()
	}
	p.Close()
	return done{"a port's visit", answer, nil}
}

// pass makes a tick in one of the ways there are.
func (h *house) pass(dice *rand.Rand, most holder) done {
	switch n := dice.IntN(20); {
	case n == 0:
		h.Refresh()
		return done{"refresh", "", nil}
	case n < 8:
		return h.visit(dice, most)
	}
	h.mustStep()
	return done{"a tick", "", nil}
}

func (h *house) mustStep() {
	if err := h.step(); err != nil {
		panic(err)
	}
}
