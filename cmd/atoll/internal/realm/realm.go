package realm

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/region"
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
