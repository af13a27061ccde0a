package transactions_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// The components of the scene.
type (
	Purse struct{ Gold int64 }
	Bag   struct {
		Size  int32
		Alarm timer.ID
	}
	Note  struct{ Text string } // has a pointer
	Owner struct{ Of handle.Handle }
	Ring  struct{ At int64 } // a message

	Player struct {
		Purse
		Note
	}
	Item struct{ Owner }
)

// Deed is the argument of the transaction: a script that a seed draws.
type Deed struct {
	Seed  uint64
	Fails uint8 // how it ends: 0 well, 1 by an error, 2 by a panic, 3 by an error of one that it calls
}

// scene is a world with something of everything that takes part in transactions.
type scene struct {
	*world.World
	t      testing.TB
	s      *scheduler.Scheduler
	hasher *state.Hasher
	purse  *world.Component[Purse]
	bag    *world.Component[Bag]
	note   *world.Component[Note]
	owner  *world.Component[Owner]
	ring   *world.Message[Ring]
	total  *world.Resource[int64]
	player *world.Bundle[Player]
	item   *world.Bundle[Item]
	names  *names.Names[string]
	kin    *hierarchy.Relation
	slots  *hierarchy.Relation
	timers *timer.Timers[Ring]
	camp   *prefab.Prefab
	deed   *world.Transaction[Deed, uint64]
	inner  *world.Transaction[Deed, uint64]
	hs     []handle.Handle // that the scripts know
	made   []handle.Handle // by the transaction under way
	model  *model          // nil: there is none
	draft  *model          // of the transaction under way
	codecs *state.Codecs
	away   []away // what was taken from the world
	leave  []away // away, as the transaction under way leaves it
}

func codecs() *state.Codecs {
	c := new(state.Codecs)
	state.Register(c, state.Codec[Note]{
		Append: func(dst []byte, v *Note) []byte { return append(dst, v.Text...) },
		Read:   func(src []byte, v *Note) error { v.Text = string(src); return nil },
	})
	return c
}

func newScene(t testing.TB, workers int) *scene {
	w := world.MustNew(world.Options{Shards: 3, Seed: 7, VersionMax: 1000})
	engine.Of(w).Scatter(16)
	x := &scene{World: w, t: t, codecs: codecs()}
	x.purse, x.bag = world.Register[Purse](w, "purse"), world.Register[Bag](w, "bag")
	x.note, x.owner = world.Register[Note](w, "note"), world.Register[Owner](w, "owner")
	x.ring = world.RegisterMessage[Ring](w, "ring")
	x.total = world.RegisterResource(w, "total", int64(0))
	x.player, x.item = world.NewBundle[Player](w), world.NewBundle[Item](w)
	x.names = names.New[string](w, "names", names.Options{})
	x.kin = hierarchy.New(w, "kin", hierarchy.Options{OnParentDeath: hierarchy.Grandparent})
	x.slots = hierarchy.New(w, "slots", hierarchy.Options{Places: 4, OnChildDeath: hierarchy.Hole, OnParentDeath: hierarchy.Orphan})
	x.timers = timer.New(w, "timers", x.ring, timer.Options{})
	x.camp = prefab.New(w, "camp", prefab.With(x.owner, Owner{}),
		prefab.Child(x.kin, -1, prefab.With(x.owner, Owner{prefab.Local(0)})), prefab.Child(x.slots, 2, prefab.With(x.note, Note{"tent"})))
	x.inner = world.RegisterTransaction(w, "inner", func(tx *world.Tx, d Deed) (uint64, error) {
		if sum, err := x.act(tx, d, 3); d.Fails == 0 {
			return sum, err
		}
		return 0, errNoDeal
	})
	x.deed = world.RegisterTransaction(w, "deed", x.do)
	for _, event := range []world.Event{world.OnCreate, world.OnAdd, world.OnRemove, world.OnSet, world.OnDestroy} {
		w.Observe(fmt.Sprint(event), event, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
			return func(c *world.Context, e world.Event, hs []handle.Handle) {
				for _, h := range hs {
					_ = x.ring.SendShard(c, 0, Ring{int64(h) + int64(e)})
				}
			}
		}, x.purse)
	}
	x.s = scheduler.New(w, scheduler.Options{Workers: workers})
	x.s.MustAdd("live", x.live)
	x.hasher = state.NewHasher(w, x.codecs)
	for i := range 60 {
		h, err := x.player.Create(w, Player{Purse{int64(i) * 10}, Note{fmt.Sprint(i)}})
		require.NoError(t, err)
		x.hs = append(x.hs, h)
	}
	return x
}

// live has systems destroy and write in the tick whose refresh runs transactions.
func (x *scene) live(b *world.Build) func(*world.Context) {
	purse, rings := world.Write[Purse](b), world.Receive[Ring](b)
	all := b.Query(purse)
	return func(c *world.Context) {
		n := int64(len(rings.All()))
		for _, e := range rings.All() {
			n = n*31 + e.Body.At + int64(e.To)
		}
		for ch := range all.Chunks() {
			hs, rows := ch.Handles(), purse.Slice(ch)
			for i := range rows {
				if c.Rand().IntN(400) == 0 {
					_ = c.Destroy(hs[i])
				}
				if n != 0 && c.Rand().IntN(8) == 0 {
					_ = world.AddFlags(c, hs[i], world.Flags(n))
				}
			}
		}
	}
}

var errNoDeal = errors.New("no deal")

// do is the transaction.
func (x *scene) do(tx *world.Tx, d Deed) (uint64, error) {
	x.made = x.made[:0]
	x.leave = slices.Clone(x.away)
	if x.model != nil {
		x.draft = x.model.clone()
	}
	sum, err := x.act(tx, d, 8)
	if d.Seed%5 == 0 {
		more, _ := x.inner.Run(tx, Deed{Seed: d.Seed + 1})
		sum += more
	}
	switch d.Fails {
	case 1:
		return sum, errNoDeal
	case 2:
		panic("no deal")
	case 3:
		_, _ = x.inner.Run(tx, Deed{Seed: d.Seed + 1, Fails: 1})
		return sum, nil
	}
	if err == nil {
		if x.model != nil {
			x.model = x.draft
		}
		x.away = x.leave
		x.hs = append(x.hs, x.made...)
		if len(x.hs) > 300 {
			x.hs = append(x.hs[:0:0], x.hs[len(x.hs)-200:]...)
		}
	}
	return sum, err
}

// someone draws an entity: one that is known, or that the transaction has made.
func (x *scene) someone(dice *rand.Rand) handle.Handle {
	if n := len(x.made); n > 0 && dice.IntN(3) == 0 {
		return x.made[dice.IntN(n)]
	}
	if dice.IntN(50) == 0 {
		return handle.None
	}
	return x.hs[dice.IntN(len(x.hs))]
}

// act does some things. Errors of calls are part of the script: they have changed nothing.
func (x *scene) act(tx *world.Tx, d Deed, most int) (sum uint64, err error) {
	dice := rand.New(rand.NewPCG(d.Seed, 1))
	note := func(err error) { sum = sum*3 + uint64(len(fmt.Sprint(err))) }
	m := x.draft
	for range 1 + dice.IntN(most) {
		h, to, n := x.someone(dice), x.someone(dice), dice.Int64N(100)
		sum = sum*31 + uint64(tx.Status(h))
		switch dice.IntN(29) {
		case 0, 1, 2:
			from, into := x.purse.Edit(tx, h), x.purse.Edit(tx, to)
			if from != nil && into != nil {
				from.Gold -= n
				into.Gold += n
				m.pay(h, -n)
				m.pay(to, n)
			}
		case 3:
			err := x.purse.Set(tx, h, Purse{n})
			note(err)
			m.set(err, h, n)
		case 4, 5:
			made, err := x.player.Create(tx, Player{Purse{n}, Note{fmt.Sprint("made ", n)}})
			note(err)
			x.made = append(x.made, made)
			m.set(err, made, n)
		case 6:
			note(tx.Destroy(h))
		case 7:
			note(x.bag.Add(tx, h, Bag{Size: int32(n)}))
		case 8:
			note(x.bag.Remove(tx, h))
		case 9:
			err := x.purse.Remove(tx, h)
			note(err)
			m.remove(err, h)
		case 10:
			err := x.purse.Add(tx, h, Purse{n})
			note(err)
			m.set(err, h, n)
		case 11:
			if p := x.note.Edit(tx, h); p != nil {
				p.Text = fmt.Sprint(p.Text, n%10)[len(p.Text)/20:]
			}
		case 12:
			made, err := world.Copy(tx, h)
			note(err)
			if err == nil {
				x.made = append(x.made, made)
				if v, ok := x.purse.Get(tx, made); ok {
					m.set(nil, made, v.Gold)
				}
			}
		case 13:
			note(world.Move(tx, h, int(n)%3))
		case 14:
			note(world.AddFlags(tx, h, world.Flags(n)))
			note(world.RemoveFlags(tx, to, world.Flags(n/2)))
			sum += uint64(world.FlagsOf(tx, h))
		case 15:
			note(x.ring.Send(tx, h, Ring{n}))
			note(x.ring.Broadcast(tx, Ring{-n}))
		case 16:
			*x.total.Edit(tx) += n
		case 17:
			err := x.names.Bind(tx, h, fmt.Sprint("name ", n%30))
			note(err)
			if err == nil {
				holder, ok := x.names.Read(tx).Lookup(fmt.Sprint("name ", n%30))
				require.True(x.t, ok)
				require.Equal(x.t, h, holder)
			}
		case 18:
			note(x.names.Unbind(tx, h))
		case 19, 20:
			sum += x.relate(tx, dice, h, to, int(n))
		case 21:
			id, err := x.timers.After(tx, h, int(n)%20, Ring{n})
			note(err)
			note(x.bag.Set(tx, h, Bag{Alarm: id}))
			if b, ok := x.bag.Get(tx, to); ok {
				if n%2 == 0 {
					note(x.timers.Cancel(tx, b.Alarm))
				} else {
					note(x.timers.Reset(tx, b.Alarm, int(n)%9))
				}
			}
		case 22:
			made, err := x.camp.Append(nil, tx)
			note(err)
			x.made = append(x.made, made...)
		case 23:
			sum += tx.Rand().Uint64()
			if _, err := x.item.Create(tx, Item{Owner{h}}); err != nil {
				note(err)
			}
		case 24, 25, 26, 27:
			sum += x.travel(tx, h, int(n))
		case 28:
			sum += x.comeBack(tx)
		}
	}
	return sum, err
}

// relate changes relations.
func (x *scene) relate(tx *world.Tx, dice *rand.Rand, h, to handle.Handle, n int) (sum uint64) {
	r := x.kin
	if n%2 == 0 {
		r = x.slots
	}
	var err error
	switch dice.IntN(12) {
	case 0, 1:
		err = r.AddChild(tx, to, h)
	case 2, 3:
		err = r.Move(tx, h, to)
	case 4:
		err = r.Remove(tx, h)
	case 5:
		err = r.RemoveChild(tx, h, hierarchy.Gap(n%3))
	case 6:
		err = r.Put(tx, h, to, n%5)
	case 7:
		err = r.Swap(tx, h, to)
	case 8:
		err = r.SetPlaces(tx, to, n%7)
	case 9:
		err = r.Sort(tx, to, func(a, b handle.Handle) int { return a.Compare(b) })
	case 10:
		err = r.Add(tx, h)
	case 11:
		err = r.MoveBefore(tx, h, to)
	}
	sum = uint64(len(fmt.Sprint(err)))
	for _, child := range r.Read(tx).Children(to) {
		sum = sum*7 + uint64(child)
	}
	return sum
}

func (x *scene) hash() state.Hash {
	h, err := x.hasher.StateHash()
	require.NoError(x.t, err)
	return h
}
