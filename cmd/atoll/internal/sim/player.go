package sim

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

const (
	// commandsMax is how many commands a player sends in a tick.
	commandsMax = 3
	// mailboxSize has room for the replies to a player in a tick.
	mailboxSize = 64
	// knownMax is how many entities a player remembers.
	knownMax = 16
)

// player is a client that follows a script.
//
// Ownership: the goroutine that runs the sim, between ticks.
type player struct {
	realm   *realm.Realm
	port    *world.Port
	box     <-chan realm.Reply
	number  uint32
	dice    *rand.Rand
	avatar  handle.Handle // none: it has yet to join
	seq     uint32
	nth     uint32          // of the avatar's commands
	known   []handle.Handle // entities in its replies; they may be dead by now
	rivals  []*player       // all players
	replies []realm.Reply
}

// newPlayer makes a player; one that does not act has no port.
func newPlayer(r *realm.Realm, seed uint64, number int, act bool) (*player, error) {
	client, box, err := r.OpenMailbox(mailboxSize)
	if err != nil {
		return nil, err
	}
	var port *world.Port
	if act {
		if port, err = r.World.OpenPort(); err != nil {
			return nil, err
		}
	}
	return &player{realm: r, port: port, box: box, number: client, dice: rand.New(rand.NewPCG(seed, ^uint64(number)))}, nil
}

// play does what the player does before a tick.
func (p *player) play() error {
	p.listen()
	if p.avatar == handle.None {
		return p.join()
	}
	for range p.dice.IntN(commandsMax + 1) {
		if err := p.act(); err != nil {
			return fmt.Errorf("player %d: %w", p.number, err)
		}
	}
	return nil
}

// listen takes the islands' replies of the last tick. They were sent at the same
// time, so their order means nothing.
func (p *player) listen() {
	p.replies = p.replies[:0]
	for len(p.box) > 0 {
		p.replies = append(p.replies, <-p.box)
	}
	slices.SortFunc(p.replies, func(a, b realm.Reply) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Verb, b.Verb), cmp.Compare(a.Who, b.Who))
	})
	for _, r := range p.replies {
		if r.Death {
			if r.Who == p.avatar {
				p.avatar = handle.None
			}
			continue
		}
		for _, h := range [...]handle.Handle{r.Who, r.Item} {
			if h != handle.None && h != p.avatar {
				p.learn(h)
			}
		}
	}
}

func (p *player) learn(h handle.Handle) {
	if len(p.known) < knownMax {
		p.known = append(p.known, h)
	} else {
		p.known[p.dice.IntN(knownMax)] = h
	}
}

// someone returns an entity of an earlier reply, or none.
func (p *player) someone() handle.Handle {
	if len(p.known) == 0 {
		return handle.None
	}
	return p.known[p.dice.IntN(len(p.known))]
}

func (p *player) join() (err error) {
	if p.dice.IntN(4) > 0 {
		return nil
	}
	p.seq++
	p.nth = 0
	p.avatar, err = p.realm.Join(p.port, p.number, p.seq)
	return err
}

// act does one thing.
func (p *player) act() error {
	switch chance := p.dice.IntN(1000); {
	case chance < 280:
		return p.command(realm.Command{Verb: realm.Steer, X: p.dice.Float32()*2 - 1, Y: p.dice.Float32()*2 - 1})
	case chance < 450:
		return p.command(realm.Command{Verb: realm.Look})
	case chance < 530:
		return p.command(realm.Command{Verb: realm.Look, Target: p.someone()})
	case chance < 580:
		return p.command(realm.Command{Verb: realm.Attack, Target: p.someone()})
	case chance < 680:
		return p.command(realm.Command{Verb: realm.Attack, Target: p.rivals[p.dice.IntN(len(p.rivals))].avatar})
	case chance < 780:
		return p.command(realm.Command{Verb: realm.Take})
	case chance < 800:
		return p.command(realm.Command{Verb: realm.Stack})
	case chance < 820:
		return p.command(realm.Command{Verb: realm.Trade})
	case chance < 840:
		return p.command(realm.Command{Verb: realm.Trade, Target: p.rivals[p.dice.IntN(len(p.rivals))].avatar})
	case chance < 860:
		return p.command(realm.Command{Verb: realm.Where})
	case chance < 900:
		return p.realm.SetStance(p.port, p.avatar, realm.Stance{Fierce: p.dice.IntN(2) == 0})
	case chance < 940:
		return p.port.Destroy(p.someone())
	case chance < 994:
		return world.Move(p.port, p.someone(), p.dice.IntN(p.realm.World.Shards()))
	}
	leaving := p.avatar
	p.avatar = handle.None
	return p.port.Destroy(leaving)
}

// command sends a command to the avatar, unless that died meanwhile.
func (p *player) command(c realm.Command) error {
	p.seq++
	p.nth++
	c.Client, c.Seq, c.Nth = p.number, p.seq, p.nth
	if err := p.realm.Command(p.port, p.avatar, c); !errors.Is(err, world.ErrStale) {
		return err
	}
	return nil
}
