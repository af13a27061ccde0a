package transit

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// Carry carries between two worlds of this process, in both directions, until ctx ends or an error
// comes. It holds no state: it may be ended at any time, also by the death of the process, and called
// again; two at once do no harm. Both worlds have to make ticks meanwhile, each of which takes and
// gives. It opens two ports in each. Package link carries between processes.
//
// What a durable world sends leaves it when it is on disk, and what it has decided is acknowledged
// when that is on disk. With durable.Options.Sync that is so at once; otherwise Carry calls
// Store.Wait.
//
// It returns nil when ctx has ended; an error that wraps ErrOlder if a world was restored to an older
// day than the other knows, with nothing acknowledged; ErrPeers if one knows PeersMax others, and not
// this one; and the errors of the worlds' ports and stores, as when a world is closed. It panics if
// both worlds have the same number.
func Carry(ctx context.Context, a, b *Roads) error {
	switch {
	case a == nil || b == nil:
		panic("transit: Carry with nil Roads; pass what New returned")
	case a.world == b.world:
		panic(fmt.Sprintf("transit: Carry between %q and %q, both of which are world %d; give each world a number of its own", a.name, b.name, a.world))
	}
	here, there := &end{roads: a}, &end{roads: b}
	defer here.Close()
	defer there.Close()
	if err := both(ctx, here, there); ctx.Err() == nil {
		return err
	}
	return nil
}

// side is one of two worlds, as a carrier sees it. What comes twice changes nothing.
type side interface {
	number() World
	// arrive brings a packet, and returns the answers when they are on disk.
	arrive(ctx context.Context, p packet) (answers, error)
	// turn brings answers, and returns the next packet when its items are on disk. It waits for
	// something to tell, and may return a packet that tells nothing.
	turn(ctx context.Context, a answers) (packet, error)
}

// both carries in both directions.
func both(ctx context.Context, a, b side) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return carry(ctx, a, b) })
	g.Go(func() error { return carry(ctx, b, a) })
	return g.Wait()
}

// carry carries items from one world to another.
func carry(ctx context.Context, from, to side) error {
	p := packet{From: from.number(), To: to.number()}
	for {
		a, err := to.arrive(ctx, p)
		if err != nil {
			return err
		}
		for told := false; !told; told = p.tells(&a) {
			if p, err = from.turn(ctx, a); err != nil {
				return err
			}
		}
	}
}

// tells reports whether a packet tells a world something that its answers do not know.
func (p *packet) tells(a *answers) bool {
	return p.Items != "" || p.Acked != a.Acked || p.Era != a.Era
}
