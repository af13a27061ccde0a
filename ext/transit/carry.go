package transit

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/atoll-sim/atoll/world"
)

// Carry carries between two worlds of this process, in both directions, until ctx ends or an error
// comes. It holds no state: it may be ended at any time, also by the death of the process, and called
// again; two at once do no harm. Both worlds have to make ticks meanwhile, each of which takes and
// gives. It opens two ports in each.
//
// What a durable world sends leaves it when it is on disk, and what it has decided is acknowledged
// when that is on disk. With durable.Options.Sync that is so at once; otherwise Carry calls
// Store.Wait.
//
// It returns nil when ctx has ended; an error that wraps ErrOlder if a world was restored to an older
// day than the other knows, with nothing acknowledged; ErrPeers if one knows PeersMax others, and not
// this one; and the errors of the worlds' ports and stores, as when a world is closed. It panics if both worlds have the same number.
func Carry(ctx context.Context, a, b *Roads) error {
	switch {
	case a == nil || b == nil:
		panic("transit: Carry with nil Roads; pass what New returned")
	case a.world == b.world:
		panic(fmt.Sprintf("transit: Carry between %q and %q, both of which are world %d; give each world a number of its own", a.name, b.name, a.world))
	}
	g, both := errgroup.WithContext(ctx)
	for _, x := range [][2]*Roads{{a, b}, {b, a}} {
		g.Go(func() error { return carry(both, x[0], x[1]) })
	}
	if err := g.Wait(); ctx.Err() == nil {
		return err
	}
	return nil
}

// carry carries items from one world to another.
func carry(ctx context.Context, from, to *Roads) error {
	here, err := from.w.OpenPort()
	if err != nil {
		return err
	}
	defer here.Close()
	there, err := to.w.OpenPort()
	if err != nil {
		return err
	}
	defer there.Close()
	wake, over := from.watch(to.world)
	defer over()
	x := carrier{here, there, from, to}
	p := packet{From: from.world, To: to.world}
	for {
		a, err := x.arrive(ctx, p)
		if err != nil {
			return err
		}
		for told := a.Acked; ; {
			if p, err = x.turn(ctx, a); err != nil {
				return err
			}
			if p.Items != "" || p.Acked != told || p.Era != a.Era {
				break
			}
			select {
			case <-wake:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// carrier carries items from one world to another.
type carrier struct {
	here, there *world.Port
	from, to    *Roads
}

// arrive brings a packet, and returns the answers when they are on disk.
func (x *carrier) arrive(ctx context.Context, p packet) (answers, error) {
	var a world.Answer[answers]
	if err := x.to.arriving.Send(x.there.Within(ctx), p, &a); err != nil {
		return answers{}, err
	}
	return await(ctx, x.to, &a, answerEarly)
}

// turn brings answers, and returns the next packet when its items are on disk.
func (x *carrier) turn(ctx context.Context, a answers) (packet, error) {
	var p world.Answer[packet]
	if err := x.from.turning.Send(x.here.Within(ctx), a, &p); err != nil {
		return packet{}, err
	}
	return await(ctx, x.from, &p, sendEarly)
}

// await waits for an answer of a world, and until what it tells is on disk.
func await[R any](ctx context.Context, r *Roads, a *world.Answer[R], early mistake) (v R, err error) {
	if v, err = a.Get(ctx); err == nil && planted != early {
		err = r.engine.Wait(ctx)
	}
	return v, err
}
