package transit_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// The world of the tests: people have gold, and send it to people of other worlds.
type (
	Purse struct {
		Gold int64
		Got  uint64 // a hash of what has come, in order
		N    int
	}
	Coins struct {
		Gold int64
		N    uint64 // which payment it is
	}
	person struct{ Purse }
	wish   struct{ order } // a hook sends what it says
	order  struct {
		From handle.Handle
		To   transit.Ref
		Gold int64
		N    uint64
	}
)

// town is a world with roads.
type town struct {
	*world.World
	s      *scheduler.Scheduler
	roads  *transit.Roads
	coins  *transit.Mail[Coins]
	purse  *world.Component[Purse]
	wishes *world.Component[wish]
	people *world.Bundle[person]
	// The ways in which a payment is sent: by a transaction, by a function, and by a system that
	// finds a message. A person without enough gold sends nothing.
	pays  *world.Transaction[order, struct{}]
	calls *world.Func[order]
	asks  *world.Message[order]
	chest *world.Resource[int64]                      // of gold whose receiver has died meanwhile
	saves *world.Transaction[int64, struct{}]         // puts it there
	dies  *world.Transaction[handle.Handle, struct{}] // a person, who leaves the gold
	store *durable.Store
	harbour
	port *world.Port
}

// hashed adds to a hash of what has come.
func (p *Purse) hashed(c Coins) {
	p.Gold += c.Gold
	p.Got = p.Got*1099511628211 + c.N
	p.N++
}

func newTown(number transit.World, workers int, o transit.Options) *town {
	return newTownOf(number, 2, workers, o)
}

func newTownOf(number transit.World, shards, workers int, o transit.Options) *town {
	w := world.MustNew(world.Options{Shards: shards, VersionsEach: 100_000, Seed: 5})
	x := &town{World: w, purse: world.Register[Purse](w, "purse")}
	message := world.RegisterMessage[Coins](w, "coins")
	x.asks = world.RegisterMessage[order](w, "order")
	x.chest = world.RegisterResource(w, "chest", int64(0))
	x.people = world.NewBundle[person](w)
	o.World = number
	x.build(w, number)
	x.roads = transit.New(w, "roads", o)
	x.coins = transit.RegisterMail(x.roads, message)
	x.openGates(w, number)
	x.pays = world.RegisterTransaction(w, "pay", func(tx *world.Tx, d order) (struct{}, error) {
		p := x.purse.Edit(tx, d.From)
		if p == nil || p.Gold < d.Gold {
			return struct{}{}, world.ErrRefused
		}
		p.Gold -= d.Gold
		return struct{}{}, x.coins.Tell(tx, d.From, d.To, Coins{d.Gold, d.N})
	})
	x.saves = world.RegisterTransaction(w, "save", func(tx *world.Tx, gold int64) (struct{}, error) {
		*x.chest.Edit(tx) += gold
		return struct{}{}, nil
	})
	x.dies = world.RegisterTransaction(w, "die", func(tx *world.Tx, h handle.Handle) (struct{}, error) {
		p, ok := x.purse.Get(tx, h)
		if !ok {
			return struct{}{}, world.ErrStale
		}
		*x.chest.Edit(tx) += p.Gold
		for _, ship := range slices.Clone(x.in.Read(tx).Children(h)) { // those that are away become roots by themselves
			if _, _, away := x.roads.Away(tx, ship); !away {
				if err := x.in.RemoveChild(tx, ship, hierarchy.Close); err != nil {
					return struct{}{}, err
				}
			}
		}
		return struct{}{}, tx.Destroy(h)
	})
	x.calls = world.RegisterFunc(w, "call", func(self *world.EntityContext, d order) {
		if p := x.purse.Write(self); p.Gold >= d.Gold && x.coins.Tell(self, d.From, d.To, Coins{d.Gold, d.N}) == nil {
			p.Gold -= d.Gold
		}
	})
	x.wishes = world.Register[wish](w, "wish")
	w.Observe("wishes", world.OnAdd, func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
		wishes, purses := world.Read[wish](b), world.Write[Purse](b)
		return func(c *world.Context, _ world.Event, hs []handle.Handle) {
			for _, h := range hs {
				d := wishes.Get(h)
				if p := purses.Get(h); p.Gold >= d.Gold && x.coins.Tell(c, h, d.To, Coins{d.Gold, d.N}) == nil {
					p.Gold -= d.Gold
				}
			}
		}
	}, x.wishes)
	x.s = scheduler.New(w, scheduler.Options{Workers: workers})
	x.s.MustAdd("people", func(b *world.Build) func(*world.Context) {
		purses := world.Write[Purse](b)
		coins, orders := world.Receive[Coins](b), world.Receive[order](b)
		back := world.Receive[transit.Returned[Coins]](b)
		return func(c *world.Context) {
			for _, m := range coins.All() {
				if p := purses.Get(m.To); p != nil {
					p.hashed(m.Body)
				} else {
					_ = x.saves.Call(c, m.Body.Gold)
				}
			}
			for _, m := range back.All() {
				if p := purses.Get(m.To); p != nil {
					p.Gold += m.Body.Body.Gold
				} else {
					_ = x.saves.Call(c, m.Body.Body.Gold)
				}
			}
			for _, m := range orders.All() {
				p := purses.Get(m.To)
				if p != nil && p.Gold >= m.Body.Gold && x.coins.Tell(c, m.To, m.Body.To, Coins{m.Body.Gold, m.Body.N}) == nil {
					p.Gold -= m.Body.Gold
				}
			}
		}
	})
	x.addPilots()
	return x
}

// born makes a person.
func (x *town) born(t testing.TB, gold int64) handle.Handle {
	h, err := x.people.Create(x.World, person{Purse{Gold: gold}})
	require.NoError(t, err)
	return h
}

func (x *town) gold(h handle.Handle) int64 { return world.Read[Purse](x.World).Get(h).Gold }

func (x *town) step(t testing.TB) {
	t.Helper()
	require.NoError(t, x.s.Step(context.Background()))
}

func (x *town) hash(t testing.TB) string {
	sum, err := state.StateHash(x.World, nil)
	require.NoError(t, err)
	return sum.String()
}
