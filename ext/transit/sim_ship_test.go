package transit_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/persist/snapshot"
)

// fillHarbour makes the ships of a new world: each world has the same names.
func (x *node) fillHarbour(first bool) error {
	for i := range 2 {
		serial := uint64(x.number)*1000 + uint64(i)*100
		things := i * (int(x.number) + 1)
		ship, err := x.launch(serial, uint64(i+1), things, i == 0 && x.number%2 == 0)
		if err == nil && i == 1 {
			err = x.in.AddChild(x.World, x.people[2], ship)
		}
		if err != nil {
			return err
		}
		for k := range things + 1 {
			if first {
				x.sim.gold += 100
				x.sim.fleet[serial+uint64(k)] = 1
			}
		}
	}
	return nil
}

// ships returns the ships that are here.
func (x *node) ships() (all []thing) {
	things, problem := x.things(true)
	if problem != "" {
		x.sim.fail("world %d: %s", x.number, problem)
	}
	return slices.DeleteFunc(things, func(v thing) bool { return v.serial%100 != 0 })
}

// sail sends a ship to another world, or destroys, or names, or sends again, what is away.
func (s *sim) sail() {
	from, to := s.pick()
	s.sailFrom(s.nodes[from], s.somewhere(to))
}

func (s *sim) sailFrom(x, y *node) {
	ships := x.ships()
	if len(ships) == 0 {
		return
	}
	v := voyage{ships[s.dice.IntN(len(ships))].handle, y.number, s.dice.Int64N(3), s.dice.IntN(5) == 0}
	switch s.dice.IntN(4) {
	case 0:
		_, _ = request(x, x.sails, v)
	case 1:
		if x.openPorts() {
			_ = x.hails.Call(x.port, v.Ship, v)
		}
	case 2:
		if x.openPorts() {
			_ = x.wants.Send(x.port, v.Ship, v)
		}
	case 3:
		if _, ok := request(x, x.sails, v); !ok || !x.openPorts() {
			return
		}
		if _, _, away := x.roads.Away(x.World, v.Ship); away { // nobody can do this to it
			_ = x.port.Destroy(v.Ship)
			_, _ = request(x, x.sails, v)
		}
	}
	if s.dice.IntN(2) == 0 {
		x.step()
	}
}

// work makes a call of the owner of a ship: the next, or the last one again, wherever the ship is now.
func (s *sim) work() {
	x := s.one()
	ships := x.ships()
	if len(ships) == 0 {
		return
	}
	v := ships[s.dice.IntN(len(ships))]
	n := v.last
	if n == 0 || s.dice.IntN(2) == 0 {
		n++
	}
	_, _ = request(x, x.works, call{v.handle, n})
}

// scratch are worlds into which pieces are inserted to look at them: by whose they are, odd or even.
var scratch = map[bool]*town{}

func (x *node) scratch() *town {
	odd := x.number%2 == 1
	if scratch[odd] == nil {
		number := transit.World(100)
		if odd {
			number++
		}
		scratch[odd] = newTownOf(number, 2, 1, transit.Options{})
	}
	return scratch[odd]
}

// travellers calls f with what is in the pieces that another world has not accepted.
func (x *node) travellers(y *node, f func(all []thing, fee int64)) {
	look := func(piece *snapshot.Piece, fee int64) {
		at := x.scratch()
		if _, err := snapshot.Insert(at.World, piece, snapshot.InsertOptions{WithoutNames: true}); err != nil {
			x.sim.fail("a piece of world %d: %v", x.number, err)
		}
		all, problem := at.things(false)
		if problem != "" {
			x.sim.fail("a piece of world %d: %s", x.number, problem)
		}
		f(all, fee)
		at.Clear()
	}
	for n, v := range underWay(y, x.gate.Waiting, x.gate.Unaccepted) {
		x.husks(y, n, v.Piece)
		look(v.Piece, v.Body.Fee)
	}
	if x.secret == nil {
		return
	}
	for n, v := range underWay(y, x.secret.Waiting, x.secret.Unaccepted) {
		x.husks(y, n, v.Piece)
		look(v.Piece, v.Body.Fee)
	}
}

// husks checks that what may come back has its handles.
func (x *node) husks(y *node, n uint64, piece *snapshot.Piece) {
	for h := range piece.Handles() {
		if to, at, ok := x.roads.Away(x.World, h); !ok || to != y.number || at != n {
			x.sim.fail("world %d: %v is not away by item %d to %d", x.number, h, n, y.number)
		}
	}
}

// fees adds up the gold of travellers.
func (x *node) fees(y *node) (sum int64) {
	x.travellers(y, func(all []thing, fee int64) {
		sum += fee
		for _, v := range all {
			sum += v.gold
		}
	})
	return sum
}

// count counts all things.
func (s *sim) count() (all map[uint64]int, away int) {
	all = map[uint64]int{}
	for _, x := range s.nodes {
		if x.buried {
			continue
		}
		things, problem := x.things(true)
		if problem != "" {
			s.fail("world %d: %s", x.number, problem)
		}
		bells := 0
		for _, v := range things {
			all[v.serial]++
			bells += v.bells
		}
		if n := x.bells.Len(); n != bells {
			s.fail("world %d has %d timers, and should have %d", x.number, n, bells)
		}
		for _, y := range s.nodes {
			if x == y {
				continue
			}
			x.travellers(y, func(things []thing, _ int64) {
				for _, v := range things {
					all[v.serial]++
					away++
				}
			})
		}
	}
	return all, away
}

// muster checks that each thing is in one place.
func (s *sim) muster() {
	all, _ := s.count()
	for _, k := range slices.Sorted(maps.Keys(s.fleet)) {
		if all[k] != s.fleet[k] {
			s.fail("there are %d of thing %d, and should be %d", all[k], k, s.fleet[k])
		}
		delete(all, k)
	}
	if len(all) > 0 {
		s.fail("there are things that should not be: %v", all)
	}
	if n := strays.Load(); n > 0 {
		s.fail("%d ships came back under other handles", n)
	}
}

// goldOf adds up the gold of things.
func (x *node) goldOf() (sum int64) {
	all, _ := x.things(true)
	for _, v := range all {
		sum += v.gold
	}
	return sum
}

// TestNumberBeside plants a mistake of a program: the number of a client's last call stays beside the
// entity, and does not travel with it.
func TestNumberBeside(t *testing.T) {
	if check.Enabled {
		t.Skip("too slow, and it shows no races")
	}
	numberBeside = true
	defer func() { numberBeside = false }()
	from := seed.Of(t) >> 16
	for i := range uint64(2000) {
		if problem, _ := simulate(from+i, 1, nil); problem != "" {
			t.Logf("found by seed %d, %d, of them: %s", i+1, from+i, problem)
			return
		}
	}
	t.Error("2,000 seeds have not found it")
}
