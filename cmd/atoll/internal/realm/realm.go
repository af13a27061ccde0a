// Package realm is the game world of the demo: islands full of creatures that
// wander, fight, die, drop what they carry and are replaced, with avatars among them
// that clients steer.
//
// Each shard of the world is one island. The islands lie side by side in a grid. An entity that
// walks across a border is moved to the other island's shard. The systems run in
// this order:
//
//	wander   creatures turn, everything that has a velocity moves
//	sense    the island's grids are rebuilt
//	obey     avatars do what clients commanded
//	fight    creatures choose a neighbour, or an entity of a rumour, and attack
//	strike   attacks land; entities that die drop what they carry
//	expire   items that lay too long are gone
//	spawn    new creatures replace those that died
//	deal     avatars take items, stack them and trade
//	sight    answers what clients asked about entities on any island
//	cross    entities that have crossed a border are moved to the island there
//
// Systems are deterministic: what they do depends on the seed, on the tick and
// on what was delivered, never on time or on the order of a map.
//
// The realm keeps books of its own besides the world's: a Ledger for each island,
// which only the island's systems write, and a sample of the dead. An audit
// compares them with a Census, which is a full scan of the world.
package realm

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/region"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Options shape a realm. The zero value means the defaults.
type Options struct {
	Creatures     int           // that live at a time, over all islands
	Shards        int           // islands; 0: the world's default
	TickInterval  time.Duration // 0: the world's default
	Seed          uint64
	ClientsMax    int  // 0: DefaultClientsMax
	QueueRequests int  // of a client's port under way; 0: the world's default
	Kept          bool // the world is to be kept by package durable: it is new until Fill, or a snapshot, fills it
}

// DefaultClientsMax is the default of Options.ClientsMax.
const DefaultClientsMax = 1024

const (
	// portsPerClient allows for clients that come before the refresh at which the
	// ports of former clients are free again.
	portsPerClient = 4
	// versionsEach is how often a slot is used in each incarnation of a realm that is kept.
	versionsEach = 10_000
	// portsSpare is how many ports there are in addition to those of the clients.
	portsSpare = 16
)

// Realm is a world with the game's components, messages and systems.
//
// Ownership: as for the World it holds. Clients' methods, which take a Port, are
// safe from any goroutine that owns the Port.
type Realm struct {
	World *world.World

	// Inventory relates items to their carriers, and to the items that they are stacked on.
	Inventory *hierarchy.Relation

	position *world.Component[Position]
	litter   *world.Component[Litter]
	stance   *world.Component[Stance]
	commands *world.Message[Command]
	blows    *world.Message[blow]
	rumours  *world.Message[rumour]

	creatures *world.Bundle[creature]
	items     *world.Bundle[item]
	avatars   *world.Bundle[avatar]
	dens      *world.Bundle[den]

	chart     *region.Grid[Position]
	islands   []island
	mailboxes *mailboxes
	inspector *rand.Rand // for what does not affect the game
}

// New makes a realm. Its creatures are created in the first tick.
func New(o Options) (*Realm, error) {
	if o.ClientsMax == 0 {
		o.ClientsMax = DefaultClientsMax
	}
	if o.ClientsMax < 0 || o.Creatures < 0 {
		return nil, fmt.Errorf("realm: %d creatures and %d clients at most, want 0 or more", o.Creatures, o.ClientsMax)
	}
	each := uint32(0)
	if o.Kept {
		each = versionsEach
	}
	w, err := world.New(world.Options{
		VersionsEach: each,
		Shards:       o.Shards, TickInterval: o.TickInterval, Seed: o.Seed, QueueRequests: o.QueueRequests, PortsMax: portsPerClient*o.ClientsMax + portsSpare,
	})
	if err != nil {
		return nil, err
	}
	r := &Realm{
		World:     w,
		islands:   make([]island, w.Shards()),
		mailboxes: newMailboxes(o.ClientsMax),
		chart:     newChart(w),
		inspector: rand.New(rand.NewPCG(o.Seed, 0)),
	}
	r.register(w)
	r.Inventory = newInventory(w, o.Creatures)
	for i := range r.islands {
		share := o.Creatures / w.Shards()
		if i < o.Creatures%w.Shards() {
			share++
		}
		r.islands[i].init(i, r.corner(i), share, o.Seed)
	}
	if o.Kept {
		return r, nil
	}
	return r, r.Fill()
}

// Fill creates the entities that exist before the first tick. That creates the creatures.
func (r *Realm) Fill() error {
	n := 0
	for i := range r.islands {
		n += r.islands[i].share
	}
	if err := r.reserve(n); err != nil {
		return fmt.Errorf("realm: no room for %d creatures: %w", n, err)
	}
	for i := range r.islands {
		if _, err := r.dens.Create(r.World, den{Den{Island: uint32(i)}}); err != nil {
			return err
		}
		r.islands[i].created(Dens)
	}
	return nil
}

// register registers the game's components, messages and bundles.
func (r *Realm) register(w *world.World) {
	r.position = world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	world.Register[Health](w, "health")
	world.Register[Creature](w, "creature")
	world.Register[Item](w, "item")
	r.litter = world.Register[Litter](w, "litter")
	world.Register[Avatar](w, "avatar")
	world.Register[Den](w, "den")
	r.stance = world.Register[Stance](w, "stance")

	r.commands = world.RegisterMessage[Command](w, "command")
	r.blows = world.RegisterMessage[blow](w, "blow")
	r.rumours = world.RegisterMessage[rumour](w, "rumour")

	r.creatures = world.NewBundle[creature](w)
	r.items = world.NewBundle[item](w)
	r.dens = world.NewBundle[den](w).PlaceBy(func(d den) int { return int(d.Island) })
	r.avatars = world.NewBundle[avatar](w).PlaceBy(func(a avatar) int { return r.chart.Shard(a.Position) })
}

// reserve makes room, so that the first ticks do not allocate.
func (r *Realm) reserve(creatures int) error {
	if err := r.creatures.Reserve(r.World, creatures); err != nil {
		return err
	}
	return r.items.Reserve(r.World, creatures)
}

// AddSystems adds the game's systems to a scheduler of the realm's world.
func (r *Realm) AddSystems(s *scheduler.Scheduler) error {
	for _, x := range []struct {
		name      string
		construct scheduler.System
	}{
		{"wander", r.wander},
		{"sense", r.sense},
		{"obey", r.obey},
		{"fight", r.fight},
		{"strike", r.strike},
		{"expire", r.expire},
		{"spawn", r.spawn},
		{"deal", r.deal},
		{"sight", r.sight},
		{"cross", r.chart.System},
	} {
		if err := s.Add(x.name, x.construct); err != nil {
			return err
		}
	}
	return nil
}

// island returns the island of the Build's shard.
func (r *Realm) island(b *world.Build) *island { return &r.islands[b.Shard()] }

// tell sends a client a reply.
func (r *Realm) tell(i *island, client uint32, reply Reply) {
	if !r.mailboxes.post(client, reply) {
		i.ledger.Unheard++
	}
}

// newChart places the islands of a world side by side, each of them the region of
// one shard.
func newChart(w *world.World) *region.Grid[Position] {
	columns, rows := region.Divide(w.Shards())
	chart, err := region.New(w, Position.coordinates, region.Options{
		Width: Side * float64(columns), Height: Side * float64(rows), Columns: columns, Rows: rows, Margin: cellSide,
	})
	if err != nil { // the realm's options cannot cause it
		panic(err)
	}
	return chart
}

func (p Position) coordinates() (x, y float64) { return float64(p.X), float64(p.Y) }

// corner returns the least coordinates of an island.
func (r *Realm) corner(island int) Position {
	x, y := r.chart.Corner(island)
	return Position{float32(x), float32(y)}
}

// extent returns the greatest coordinates of all islands: the shore.
func (r *Realm) extent() Position {
	o := r.chart.Options()
	return Position{float32(o.Width), float32(o.Height)}
}

// AppendState appends the islands' state outside of the world that decides
// what their systems do, for a hash of the state. No tick may be running.
func (r *Realm) AppendState(dst []byte) []byte {
	for i := range r.islands {
		isle := &r.islands[i]
		dst, _ = isle.chance.AppendBinary(dst) // which never fails
		dst, _ = binary.Append(dst, binary.LittleEndian, &isle.ledger)
	}
	return dst
}

// chanceBytes is what rand.PCG appends.
const chanceBytes = 20

var errState = fmt.Errorf("%w: it is not the state of so many islands; start with as many shards as before", snapshot.ErrOtherWorld)

// Saved is what a snapshot needs besides the realm's world: what AppendState appends, and the
// sample of dead handles.
func (r *Realm) Saved() snapshot.Extra {
	return snapshot.Extra{Name: "islands", Append: r.save, Read: r.load}
}

func (r *Realm) save(dst []byte) []byte {
	dst = r.AppendState(dst)
	for i := range r.islands {
		g := &r.islands[i].graveyard
		dst = binary.LittleEndian.AppendUint64(dst, g.dead)
		for _, h := range g.graves {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(h))
		}
	}
	return dst
}

// load reads what save has written.
func (r *Realm) load(src []byte) error {
	for i := range r.islands {
		isle := &r.islands[i]
		size := chanceBytes + binary.Size(&isle.ledger)
		if len(src) < size || isle.chance.UnmarshalBinary(src[:chanceBytes]) != nil {
			return errState
		}
		_, _ = binary.Decode(src[chanceBytes:size], binary.LittleEndian, &isle.ledger) // it has the size
		src = src[size:]
	}
	for i := range r.islands {
		g := &r.islands[i].graveyard
		if len(src) < 8 {
			return errState
		}
		g.dead, src = binary.LittleEndian.Uint64(src), src[8:]
		n := min(g.dead, gravesMax)
		if uint64(len(src)) < 8*n {
			return errState
		}
		g.graves = g.graves[:0]
		for range n {
			g.graves, src = append(g.graves, handle.Handle(binary.LittleEndian.Uint64(src))), src[8:]
		}
	}
	if len(src) > 0 {
		return errState
	}
	return nil
}

// denOf returns the den of an island, the one entity of it that every other island knows: Fill
// creates it first, and it is never destroyed.
func denOf(island int) handle.Handle { return handle.New(uint32(island), 0, 1) }

// Avatars returns the avatars. No tick may be running.
func (r *Realm) Avatars() (all []handle.Handle) {
	for h := range r.World.Query(world.With[Avatar](r.World)).Entities() {
		all = append(all, h)
	}
	return all
}
