package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/server"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// saveEvery is how often a world that is kept is saved.
const saveEvery = 10 * time.Second

// past has the counts from before this process.
type past struct {
	ledger  realm.Ledger
	stats   world.Stats
	avatars uint64       // of clients of earlier processes
	left    uint64       // of them, those that had to go
	settled realm.Ledger // when they were gone
}

// open restores the world of an earlier process, and audits it. It removes that world's avatars,
// because their clients are gone.
func (d *demo) open(ctx context.Context, live io.Writer) (err error) {
	r, w := d.realm, d.realm.World
	d.store, err = durable.Open(ctx, d.config.State, w, d.scheduler, durable.Options{
		New: func(*world.World) error { return r.Fill() }, Interval: saveEvery,
		Snapshot: snapshot.Options{Compression: snapshot.S2, Extras: []snapshot.Extra{r.Saved()}},
		OnError:  func(err error) { _, _ = fmt.Fprintf(live, "the world is not kept: %v\n", err) },
	})
	if err != nil {
		return fmt.Errorf("demo: %s: %w", d.config.State, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.store.Close())
		}
	}()
	avatars, books := r.Avatars(), BooksOf(r)
	d.before = books.before
	if x := d.store.Recovered(); !x.New {
		_, _ = fmt.Fprintf(live, "goes on at tick %d, from %s and %d ticks of log, in %v; incarnation %d; %d entities\n",
			w.Tick(), x.Snapshot.Path, x.Ticks, x.Took.Round(time.Millisecond), x.Incarnation, d.before.stats.Entities)
		if err := books.Audit(live); err != nil {
			return fmt.Errorf("demo: %s: what was restored is wrong: %w", d.config.State, err)
		}
	}
	d.before.left, err = d.dismissAvatars(ctx, avatars)
	d.before.settled = r.Ledger()
	return err
}

// Books are for the audit of a realm that was loaded. No tick may be running.
type Books struct {
	realm  *realm.Realm
	before past
}

// BooksOf returns the books of a realm that was just loaded.
func BooksOf(r *realm.Realm) *Books {
	b := &Books{r, past{ledger: r.Ledger(), avatars: uint64(len(r.Avatars()))}}
	r.World.Stats(&b.before.stats)
	return b
}

// Audit compares the books of a realm without clients, and writes what it finds. It
// returns an error that says what is wrong.
func (b *Books) Audit(live io.Writer) error {
	r := b.realm
	e := &evidence{before: b.before, realm: r, ledger: r.Ledger(), census: r.Census(), where: r.Possessions(nil), dead: r.AppendDead(nil, r.GravesMax())}
	all := []*finding{e.entities(), e.items(), e.handles()}
	writeAudit(live, all)
	if wrong := violations(all); wrong != nil {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}

// dismissAvatars destroys avatars and returns how many. It uses a port, so that the log has it.
func (d *demo) dismissAvatars(ctx context.Context, avatars []handle.Handle) (gone uint64, err error) {
	port, err := d.realm.World.OpenPort()
	if err != nil {
		return 0, err
	}
	defer port.Close()
	for some := range slices.Chunk(avatars, server.QueueRequests) {
		outcomes := make([]world.Completion, len(some))
		for i, h := range some {
			if err := port.Notify(&outcomes[i]).Destroy(h); err != nil {
				return gone, err
			}
		}
		if err := d.scheduler.Step(ctx); err != nil {
			return gone, err
		}
		for i := range outcomes {
			if outcomes[i].Outcome() == world.Applied {
				gone++
			}
		}
	}
	return gone, d.scheduler.Step(ctx)
}
