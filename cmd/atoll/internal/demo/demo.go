package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/bot"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/server"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// drainWaitMax is how long the last commands may take to get their outcomes.
const drainWaitMax = 15 * time.Second

// demo is a run.
//
// Ownership: meter, stats and sampleDue belong to the goroutine that makes
// ticks, bots to the one that conducts.
type demo struct {
	config    Config
	realm     *realm.Realm
	scheduler *scheduler.Scheduler
	server    *server.Server
	inspector *inspector // nil without Config.Inspect
	watcher   watcher
	bots      []*bot.Bot
	store     *durable.Store // nil without Config.State
	before    past
	began     time.Time
	summary   *Summary

	meter     *meter
	stats     world.Stats
	sampleDue time.Duration
	samples   chan *sample
	still     chan struct{} // closed when ticks have ended and the watcher is done
}

// Run runs a demo until its time is over or the context ends, and audits it.
// It writes lines about its progress to live. It returns an error if it could not
// run to its end; violations found by the audit are in the Summary.
func Run(ctx context.Context, c Config, live io.Writer) (*Summary, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	d, err := newDemo(ctx, c, live)
	if err != nil {
		return nil, err
	}
	err = d.run(ctx)
	if d.inspector != nil {
		err = errors.Join(err, d.inspector.Close())
	}
	if d.store != nil {
		err = errors.Join(err, d.store.Close())
	}
	if err != nil {
		return nil, err
	}
	return d.summary, nil
}

func newDemo(ctx context.Context, c Config, live io.Writer) (*demo, error) {
	r, err := realm.New(realm.Options{
		Creatures: c.Creatures, Shards: c.Shards, TickInterval: c.budget(), Seed: c.Seed,
		ClientsMax: c.Bots + clientsSpare, QueueRequests: server.QueueRequests, Kept: c.State != "",
	})
	if err != nil {
		return nil, err
	}
	d := &demo{config: c, realm: r, meter: newMeter(c.Hz), sampleDue: watchPeriod, samples: make(chan *sample, 1), still: make(chan struct{})}
	d.scheduler = scheduler.New(r.World, scheduler.Options{Workers: c.Workers, OnTick: d.onTick})
	if err := r.AddSystems(d.scheduler); err != nil {
		return nil, err
	}
	if c.hooks.system != nil {
		d.scheduler.MustAdd("hook", c.hooks.system)
	}
	if c.State != "" {
		if err := d.open(ctx, live); err != nil {
			return nil, err
		}
	}
	port, err := r.World.OpenPort()
	if err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	d.server = server.New(r, listener, server.Options{Deliver: c.hooks.deliver, OutcomeWaitMax: c.hooks.outcomeWaitMax})
	d.watcher = watcher{out: live, budget: c.budget(), port: port, totals: d.server.Totals, last: sample{ledger: r.Ledger()}}
	if c.Inspect != "" {
		if d.inspector, err = newInspector(ctx, d.scheduler, c, live); err != nil {
			return nil, fmt.Errorf("demo: %w", err)
		}
	}
	_, _ = fmt.Fprintf(live, "listening on %s (try: nc %s)\n%d creatures and %d bots, %d shards, %d workers, %d Hz, seed %d\n%s\n\n",
		d.server.Addr(), nc(d.server.Addr()), c.Creatures, c.Bots, r.World.Shards(), d.scheduler.Workers(), c.Hz, c.Seed, legend)
	return d, nil
}

// legend says what the lines that follow it show.
const legend = `
Each second a line: how long ticks took; how many creatures, items and avatars live; what systems
create and destroy; what became of the bots' commands; how many entities each shard has. The first
ticks make the world, and take longer. On a busy machine others do, too: -creatures 2000 is less to
do, and 1000000 more. Ctrl-C ends the run early; the audit follows in any case.`

// nc returns an address as arguments of nc.
func nc(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	return host + " " + port
}

// run runs the parts. If one fails, all end.
func (d *demo) run(ctx context.Context) error {
	d.began = time.Now()
	g, alive := errgroup.WithContext(context.WithoutCancel(ctx))
	ticking, stopTicks := context.WithCancel(alive)
	serving, stopServing := context.WithCancel(alive)
	g.Go(func() error {
		defer close(d.samples)
		return d.scheduler.Run(ticking)
	})
	g.Go(func() error { return d.server.Serve(serving) })
	if d.inspector != nil {
		g.Go(func() error { return d.inspector.serve(serving) })
	}
	g.Go(func() error {
		defer close(d.still)
		d.watcher.watch(d.samples)
		return nil
	})
	g.Go(func() error {
		defer stopServing()
		defer stopTicks()
		playing, stop := d.playtime(ctx, alive)
		defer stop()
		return d.conduct(alive, playing, stopTicks)
	})
	return g.Wait()
}

// playtime returns the time for which bots play: until it is over, the user or a
// failure interrupts.
func (d *demo) playtime(ctx, alive context.Context) (context.Context, context.CancelFunc) {
	playing, interrupt := context.WithCancel(alive)
	stop := context.AfterFunc(ctx, interrupt)
	over := interrupt
	if d.config.Duration > 0 {
		playing, over = context.WithDeadline(playing, d.began.Add(d.config.Duration))
	}
	return playing, func() {
		stop()
		over()
		interrupt()
	}
}

// conduct runs the steps of a run, as the package comment describes them.
func (d *demo) conduct(alive, playing context.Context, stopTicks func()) error {
	defer d.dismiss()
	if err := d.play(alive, playing); err != nil {
		return err
	}
	<-playing.Done()
	if err := alive.Err(); err != nil {
		return err
	}
	took := time.Since(d.began)
	draining, cancel := context.WithTimeout(alive, drainWaitMax)
	defer cancel()
	undone := d.server.Drain(draining)
	stopTicks()
	<-d.still
	if err := alive.Err(); err != nil {
		return err
	}
	if err := d.each(func(b *bot.Bot) error { return b.Settle() }); err != nil {
		return err
	}
	if hook := d.config.hooks.beforeAudit; hook != nil {
		hook(d.realm)
	}
	d.summary = d.summarize(d.gather(undone), took)
	return nil
}

// play connects the bots and lets them play.
func (d *demo) play(alive, playing context.Context) error {
	o := bot.Options{Seed: d.config.Seed, Gossip: &bot.Gossip{}, PauseMin: d.config.hooks.pauseMax / 2, PauseMax: d.config.hooks.pauseMax}
	for i := range d.config.Bots {
		o.Number = uint64(i)
		b, err := bot.Dial(alive, d.server.Addr(), o)
		if err != nil {
			return fmt.Errorf("demo: bot %d: %w", i, err)
		}
		d.bots = append(d.bots, b)
	}
	return d.each(func(b *bot.Bot) error { return b.Play(playing) })
}

// each runs f for every bot at the same time.
func (d *demo) each(f func(*bot.Bot) error) error {
	var g errgroup.Group
	for _, b := range d.bots {
		g.Go(func() error { return f(b) })
	}
	return g.Wait()
}

// dismiss closes the bots' connections.
func (d *demo) dismiss() {
	for _, b := range d.bots {
		b.Close()
	}
}

// gather collects what the audit compares. Nothing runs any more.
func (d *demo) gather(undone error) *evidence {
	e := &evidence{
		before: d.before, realm: d.realm, ledger: d.realm.Ledger(), census: d.realm.Census(), totals: d.server.Totals(), tally: d.server.ClientTally,
		where: d.realm.Possessions(d.config.hooks.view),
		dead:  d.realm.AppendDead(nil, d.realm.GravesMax()), risen: d.watcher.risen, checks: d.watcher.checks, undone: undone,
	}
	if hook := d.config.hooks.dead; hook != nil {
		e.dead = hook(e.dead)
	}
	for _, b := range d.bots {
		e.bots = append(e.bots, b.Ledger())
	}
	return e
}
