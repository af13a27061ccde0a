package main

import (
	"time"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

const (
	lobbyNumber = 1
	partySize   = 4
	monsters    = 8
	hoard       = 40  // gold of a dungeon
	startGold   = 100 // of a player
	bankGold    = 100_000
)

type (
	Purse  struct{ Gold int }
	Player struct {
		Ready   bool // to go
		Quests  int
		Hungers int // how often the timer was due
	}
	Monster struct{ Life int }
	Loot    struct{ Worth int }
	Hoard   struct{ Filled bool } // of a dungeon; in the lobby it is the bank

	Hungry struct{}           // a timer's message to a player, wherever that is
	Coins  struct{ Gold int } // from the bank to a hoard
	Visit  struct{}           // what a player says at a gate

	// Party is who goes to a dungeon, and its hoard, which the bank fills.
	Party struct {
		Members [partySize]handle.Handle
		To      transit.Ref
	}
)

// place is a world: the lobby or a dungeon. Both are made alike, so all travels between them.
type place struct {
	world   *world.World
	systems *scheduler.Scheduler
	roads   *transit.Roads
	gate    *transit.Gate[Visit]
	mail    *transit.Mail[Coins]
	coins   *world.Message[Coins]
	purses  *world.Component[Purse]
	carries *hierarchy.Relation
	named   *names.Names[string]
	hunger  *timer.Timers[Hungry]
	depart  *world.Transaction[Party, struct{}]
	hero    *prefab.Prefab
	cave    *prefab.Prefab
	loot    *prefab.Prefab
}

func newPlace(number transit.World, tick time.Duration, onTick func(scheduler.Report)) (*place, error) {
	w, err := world.New(world.Options{Shards: 1, TickInterval: tick, Seed: uint64(number)})
	if err != nil {
		return nil, err
	}
	p := &place{world: w, purses: world.Register[Purse](w, "purse")}
	players, mobs := world.Register[Player](w, "player"), world.Register[Monster](w, "monster")
	worth, hoards := world.Register[Loot](w, "loot"), world.Register[Hoard](w, "hoard")
	p.carries = hierarchy.New(w, "carries", hierarchy.Options{})
	p.named = names.New[string](w, "named", names.Options{})
	p.hunger = timer.New(w, "hunger", world.RegisterMessage[Hungry](w, "hungry"), timer.Options{})
	p.coins = world.RegisterMessage[Coins](w, "coins")
	p.roads = transit.New(w, "roads", transit.Options{World: number})
	p.gate = transit.RegisterGate[Visit](p.roads, "gate")
	p.mail = transit.RegisterMail(p.roads, p.coins)

	p.loot = prefab.New(w, "loot", prefab.With(worth, Loot{5}))
	p.hero = prefab.New(w, "hero", prefab.With(players, Player{}), prefab.With(p.purses, Purse{startGold}))
	rooms := []prefab.Part{prefab.With(hoards, Hoard{}), prefab.With(p.purses, Purse{})}
	for i := range monsters {
		rooms = append(rooms, prefab.Child(p.carries, i, prefab.With(mobs, Monster{12})))
	}
	p.cave = prefab.New(w, "cave", rooms...)

	// A party leaves as a whole, with gold for the hoard, or not at all.
	p.depart = world.RegisterTransaction(w, "depart", func(tx *world.Tx, o Party) (none struct{}, err error) {
		for _, h := range o.Members {
			x := players.Edit(tx, h)
			if x == nil || !x.Ready {
				return none, world.ErrRefused
			}
			x.Ready = false
			x.Quests++
			if err := p.gate.Send(tx, h, o.To.World(), Visit{}); err != nil {
				return none, err
			}
		}
		bank, _ := p.named.Read(tx).Lookup("bank")
		p.purses.Edit(tx, bank).Gold -= hoard
		return none, p.mail.Tell(tx, bank, o.To, Coins{hoard})
	})
	p.systems = scheduler.New(w, scheduler.Options{Workers: 1, OnTick: onTick})
	p.systems.MustAdd("receive", p.receive)
	if number == lobbyNumber {
		p.systems.MustAdd("trade", p.trade)
	} else {
		p.systems.MustAdd("fight", p.fight)
	}
	return p, nil
}

// receive is the system that takes what has come, or is back.
func (p *place) receive(b *world.Build) func(*world.Context) {
	coins, back := world.Receive[Coins](b), world.Receive[transit.Returned[Coins]](b)
	hungry := world.Receive[Hungry](b)
	purses, hoards, players := world.Write[Purse](b), world.Write[Hoard](b), world.Write[Player](b)
	return func(*world.Context) {
		for _, m := range coins.All() {
			purses.Get(m.To).Gold += m.Body.Gold
			hoards.Get(m.To).Filled = true
		}
		for _, m := range back.All() {
			purses.Get(m.To).Gold += m.Body.Body.Gold
		}
		for _, m := range hungry.All() {
			if x := players.Get(m.To); x != nil { // nil: it is under way
				x.Hungers++
				x.Ready = p.roads.World() == lobbyNumber
			}
		}
	}
}

// trade is the system of the lobby: the bank buys the loot of those who are back.
func (p *place) trade(b *world.Build) func(*world.Context) {
	arrived := world.Receive[transit.Arrived[Visit]](b)
	purses, worth, carries := world.Write[Purse](b), world.Read[Loot](b), p.carries.Read(b)
	named := p.named.Read(b)
	return func(c *world.Context) {
		bank, _ := named.Lookup("bank")
		for _, m := range arrived.All() {
			for _, h := range carries.Children(m.To) {
				if x := worth.Get(h); x != nil && c.Destroy(h) == nil {
					purses.Get(bank).Gold -= x.Worth
					purses.Get(m.To).Gold += x.Worth
				}
			}
			rich := max(0, purses.Get(m.To).Gold-2*startGold) // what the bank gets
			purses.Get(m.To).Gold -= rich
			purses.Get(bank).Gold += rich
		}
	}
}

// fight is the system of a dungeon. Who slays a monster gets a share of the hoard, and loot. When no
// monster is left, all go home, and the last one closes the roads.
func (p *place) fight(b *world.Build) func(*world.Context) {
	purses, hoards := world.Write[Purse](b), world.Read[Hoard](b)
	players, mobs := world.Read[Player](b), world.Write[Monster](b)
	here, foes, chests := b.Query(players), b.Query(mobs), b.Query(hoards)
	b.Creates(p.loot)
	var heroes, alive []handle.Handle
	return func(c *world.Context) {
		chest := handle.None
		for h := range chests.Entities() {
			chest = h
		}
		if !hoards.Get(chest).Filled {
			return
		}
		heroes, alive = heroes[:0], alive[:0]
		for h := range here.Entities() {
			heroes = append(heroes, h)
		}
		for h := range foes.Entities() {
			alive = append(alive, h)
		}
		if len(alive) == 0 && len(heroes) == 0 && p.roads.Close(c) == nil {
			return
		}
		for _, hero := range heroes {
			if len(alive) == 0 {
				_ = p.gate.Send(c, hero, lobbyNumber, Visit{}) // if it is refused, the next tick tries again
				continue
			}
			foe := mobs.Get(alive[0])
			if foe.Life -= 1 + c.Rand().IntN(3); foe.Life > 0 {
				continue
			}
			share := purses.Get(chest).Gold / len(alive)
			purses.Get(chest).Gold -= share
			purses.Get(hero).Gold += share
			if h, err := p.loot.Create(c); err == nil {
				_ = p.carries.AddChild(c, hero, h)
			}
			_ = c.Destroy(alive[0])
			alive = alive[1:]
		}
	}
}
