package transit_test

import (
	"fmt"
	"sync/atomic"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// Ships travel between towns with all that is aboard.
type (
	// Hold is a ship, or something aboard. It never changes but for its gold and Last.
	Hold struct {
		Serial uint64
		Gold   int64
		Last   uint64 // the number of the owner's last call
		Times  uint64 // how many calls were done: as many
		Friend handle.Handle
		Parent uint64 // the serial of what it is in
		With   uint64 // the serial of Friend, if that is aboard
		Called uint64
		Marks  world.Flags
		Bells  int // how many timers it has
	}
	Pass struct{ Fee int64 } // what a ship says at the gate
	Bell struct{ N uint64 }  // a timer
	// odd has another form in each other world.
	odd1 struct{ Weight int32 }
	odd2 struct{ Weight string }
	hold struct{ Hold }
	// voyage is the wish to send a ship.
	voyage struct {
		Ship   handle.Handle
		To     transit.World
		Fee    int64
		Secret bool // by the gate that some worlds do not have
	}
	// call is the call number N of the owner of a ship, which is to be done once.
	call struct {
		Ship handle.Handle
		N    uint64
	}
)

// harbour is what a town has for ships.
type harbour struct {
	in      *hierarchy.Relation
	called  *names.Names[uint64]
	bells   *timer.Timers[Bell]
	holds   *world.Component[Hold]
	ships   *world.Bundle[hold]
	odd     world.ComponentSet
	makeOdd func(by world.Actor, h handle.Handle) error
	gate    *transit.Gate[Pass]
	secret  *transit.Gate[Secret]
	sails   *world.Transaction[voyage, struct{}]
	hails   *world.Func[voyage]
	wants   *world.Message[voyage]
	works   *world.Transaction[call, struct{}]
	told    func(h handle.Handle, why transit.Reason) // what Returned says
	aside   map[handle.Handle]uint64                  // a mistake: the number of the last call stays beside the entity
}

// Secret is what a ship says at the gate that some worlds do not have.
type Secret struct{ Fee int64 }

// strays counts ships that came back as others.
var strays atomic.Int64

// numberBeside is a mistake of a program: a number that does not travel with its entity.
var numberBeside bool

// bellsMost is how many timers a shard may have. In simulations it is so low that worlds have no
// room for ships, at times.
var bellsMost = 24

// build makes the harbour of a town.
func (x *town) build(w *world.World, number transit.World) {
	x.holds = world.Register[Hold](w, "hold")
	x.ships = world.NewBundle[hold](w)
	bell := world.RegisterMessage[Bell](w, "bell")
	x.wants = world.RegisterMessage[voyage](w, "voyage")
	x.in = hierarchy.New(w, "in", hierarchy.Options{})
	x.called = names.New[uint64](w, "called", names.Options{})
	x.bells = timer.New(w, "bells", bell, timer.Options{Max: bellsMost})
	if number%2 == 1 {
		c := world.Register[odd1](w, "odd")
		x.odd, x.makeOdd = c, func(by world.Actor, h handle.Handle) error { return c.Add(by, h, odd1{3}) }
	} else {
		c := world.Register[odd2](w, "odd")
		x.odd, x.makeOdd = c, func(by world.Actor, h handle.Handle) error { return c.Add(by, h, odd2{"three"}) }
	}
	if numberBeside {
		x.aside = map[handle.Handle]uint64{}
	}
}

// openGates makes the gates of a town, and how ships are sent.
func (x *town) openGates(w *world.World, number transit.World) {
	x.gate = transit.RegisterGate[Pass](x.roads, "pass")
	if number != 2 {
		x.secret = transit.RegisterGate[Secret](x.roads, "secret")
	}
	x.sails = world.RegisterTransaction(w, "sail", func(tx *world.Tx, v voyage) (struct{}, error) {
		h := x.holds.Edit(tx, v.Ship)
		if h == nil || h.Gold < v.Fee {
			return struct{}{}, world.ErrRefused
		}
		h.Gold -= v.Fee
		return struct{}{}, x.send(tx, v)
	})
	x.hails = world.RegisterFunc(w, "hail", func(self *world.EntityContext, v voyage) {
		if h := x.holds.Write(self); h != nil && h.Gold >= v.Fee && x.send(self, v) == nil {
			h.Gold -= v.Fee
		}
	})
	x.works = world.RegisterTransaction(w, "work", func(tx *world.Tx, d call) (struct{}, error) {
		h := x.holds.Edit(tx, d.Ship)
		switch {
		case h == nil:
			return struct{}{}, world.ErrRefused
		case x.aside != nil && x.aside[d.Ship] >= d.N, x.aside == nil && h.Last >= d.N:
			return struct{}{}, nil // it is done
		case x.aside != nil:
			x.aside[d.Ship] = d.N
		}
		h.Last = d.N
		h.Times++
		return struct{}{}, nil
	})
}

// send sends a ship by one gate or the other.
func (x *town) send(by world.Actor, v voyage) error {
	if v.Secret && x.secret != nil {
		return x.secret.Send(by, v.Ship, v.To, Secret{v.Fee})
	}
	return x.gate.Send(by, v.Ship, v.To, Pass{v.Fee})
}

// addPilots adds the system that reads what happens to ships.
func (x *town) addPilots() {
	x.s.MustAdd("ships", func(b *world.Build) func(*world.Context) {
		holds := world.Write[Hold](b)
		arrived, returned := world.Receive[transit.Arrived[Pass]](b), world.Receive[transit.Returned[Pass]](b)
		wants := world.Receive[voyage](b)
		var arrived2 *world.Receiver[transit.Arrived[Secret]]
		var returned2 *world.Receiver[transit.Returned[Secret]]
		if x.secret != nil {
			arrived2, returned2 = world.Receive[transit.Arrived[Secret]](b), world.Receive[transit.Returned[Secret]](b)
		}
		return func(c *world.Context) {
			refund := func(to handle.Handle, fee int64) {
				if h := holds.Get(to); h != nil {
					h.Gold += fee
				} else {
					_ = x.saves.Call(c, fee)
				}
			}
			for _, m := range arrived.All() {
				refund(m.To, m.Body.Body.Fee)
			}
			for _, m := range returned.All() {
				x.back(m.To, m.Body.From, m.Body.Why)
				refund(m.To, m.Body.Body.Fee)
			}
			for _, m := range wants.All() {
				if h := holds.Get(m.To); h != nil && h.Gold >= m.Body.Fee && x.send(c, m.Body) == nil {
					h.Gold -= m.Body.Fee
				}
			}
			if arrived2 == nil {
				return
			}
			for _, m := range arrived2.All() {
				refund(m.To, m.Body.Body.Fee)
			}
			for _, m := range returned2.All() {
				x.back(m.To, m.Body.From, m.Body.Why)
				refund(m.To, m.Body.Body.Fee)
			}
		}
	})
}

// back notes that a ship is back.
func (x *town) back(to, from handle.Handle, why transit.Reason) {
	if to != handle.None && to != from {
		strays.Add(1)
	}
	if x.told != nil {
		x.told(to, why)
	}
}

// launch makes a ship on the idle world: with things in it, of which each knows another.
func (x *town) launch(serial, called uint64, things int, oddly bool) (ship handle.Handle, err error) {
	all := make([]handle.Handle, 1+things)
	for i := range all {
		v := Hold{Serial: serial + uint64(i), Gold: 100, Marks: world.Flags(i + 1), Parent: serial}
		switch {
		case i == 0:
			v.Parent, v.Called, v.Bells = 0, called, 1
		case i > 2:
			v.Parent = serial + 2 // deeper
		}
		if things > 0 {
			v.With = serial + uint64((i+1)%len(all))
		}
		if all[i], err = x.ships.Create(x.World, hold{v}); err != nil {
			return handle.None, err
		}
		if err = world.AddFlags(x.World, all[i], v.Marks); err != nil {
			return handle.None, err
		}
	}
	w := world.Write[Hold](x.World)
	for i, h := range all {
		if things > 0 {
			w.Get(h).Friend = all[(i+1)%len(all)]
		}
		if p := w.Get(h).Parent; p != 0 {
			if err = x.in.AddChild(x.World, all[p-serial], h); err != nil {
				return handle.None, err
			}
		}
	}
	if called != 0 {
		if err = x.called.Bind(x.World, all[0], called); err != nil {
			return handle.None, err
		}
	}
	if oddly {
		if err = x.makeOdd(x.World, all[0]); err != nil {
			return handle.None, err
		}
	}
	_, err = x.bells.Every(x.World, all[0], 3, Bell{serial})
	return all[0], err
}

// thing is a Hold as it is found.
type thing struct {
	serial uint64
	handle handle.Handle
	gold   int64
	last   uint64
	bells  int
	fixed  string // what never changes, as it is found
}

// fixedOf is what a Hold must be found with.
func fixedOf(v *Hold) string {
	return fmt.Sprintf("parent %d, friend %d, called %d, flags %d, calls %d", v.Parent, v.With, v.Called, v.Marks, v.Times)
}

// things returns all that is here. A piece that was inserted without names has none.
func (x *town) things(named bool) (all []thing, problem string) {
	holds := world.Read[Hold](x.World)
	reader := x.in.Read(x.World)
	for ch := range x.Query(holds).Chunks() {
		for i, h := range ch.Handles() {
			v := holds.Slice(ch)[i]
			found := v
			found.Parent, found.With, found.Called, found.Marks, found.Times = 0, 0, v.Called, world.FlagsOf(x.World, h), v.Last
			if p := reader.Parent(h); p != handle.None && holds.Get(p) != nil {
				found.Parent = holds.Get(p).Serial
			}
			if f := holds.Get(v.Friend); f != nil {
				found.With = f.Serial
			}
			if named && v.Called != 0 {
				if found.Called = 0; true {
					if name, ok := x.called.NameOf(h); ok {
						found.Called = name
					}
				}
			}
			if a, b := fixedOf(&v), fixedOf(&found); a != b {
				return all, fmt.Sprintf("thing %d at %v has %s, and should have %s", v.Serial, h, b, a)
			}
			all = append(all, thing{v.Serial, h, v.Gold, v.Last, v.Bells, fixedOf(&v)})
		}
	}
	return all, ""
}
