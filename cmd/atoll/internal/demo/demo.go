// Package demo is the demo command: a realm full of creatures, served to bots
// over TCP, watched once a second and audited at the end.
//
// A run ends from the outside in, so that nothing changes during the audit: the bots
// stop sending and receive the outcomes of all that they sent; the server accepts
// nothing more and drains; the ticks end; the bots receive the last deaths; the
// books are compared; then the connections are closed.
package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/bot"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/server"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/setting"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/inspect"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// The ranges of the settings in a Config.
var (
	BotsRange      = setting.Range{Min: 0, Max: 2000}
	CreaturesRange = setting.Range{Min: 0, Max: 4_000_000}
	ShardsRange    = setting.Range{Min: 0, Max: handle.HomeMax}
	WorkersRange   = setting.Range{Min: 0, Max: 1024}
	HzRange        = setting.Range{Min: 1, Max: 1000}
)

// clientsSpare is how many clients may come in addition to the bots.
const clientsSpare = 256

// Config says what to run. See Default.
type Config struct {
	Duration  time.Duration // 0: until the context ends
	Bots      int
	Creatures int
	Shards    int // 0: the world's default
	Workers   int // 0: GOMAXPROCS
	Hz        int // ticks per second
	Seed      uint64
	Listen    string // host:port; port 0: any
	State     string // the directory that keeps the world, and from which it continues; empty: none
	Inspect   string // host:port to serve the inspector on; empty: none
	Token     string // for changes by the inspector; empty: a new one, which is printed
	Describe  bool   // add a description of the world at the end to the Summary

	hooks hooks
}

// hooks are for tests that inject a fault, to see that the audit finds it.
type hooks struct {
	deliver        func(realm.Command) int                                          // how often to send a command
	outcomeWaitMax time.Duration                                                    // of the server
	pauseMax       time.Duration                                                    // of bots, between commands
	system         scheduler.System                                                 // one more, after the others
	beforeAudit    func(*realm.Realm)                                               // when nothing runs any more
	view           func(who handle.Handle, carries []handle.Handle) []handle.Handle // what the audit sees in an inventory
	dead           func([]handle.Handle) []handle.Handle                            // the handles to check at the end
	watched        func([]handle.Handle) []handle.Handle                            // the handles to check each second
}

// Default returns the Config of a run without settings.
func Default() Config {
	return Config{Duration: 20 * time.Second, Bots: 200, Creatures: 20_000, Hz: 20, Seed: 1, Listen: "127.0.0.1:0"}
}

// validate names each setting that is out of its range.
func (c *Config) validate() error {
	err := setting.Check("demo",
		setting.Value{Name: "Bots", Value: c.Bots, Range: BotsRange},
		setting.Value{Name: "Creatures", Value: c.Creatures, Range: CreaturesRange},
		setting.Value{Name: "Shards", Value: c.Shards, Range: ShardsRange},
		setting.Value{Name: "Workers", Value: c.Workers, Range: WorkersRange},
		setting.Value{Name: "Hz", Value: c.Hz, Range: HzRange},
	)
	if c.Duration < 0 {
		err = errors.Join(err, fmt.Errorf("demo: Duration is %v, want 0 or more", c.Duration))
	}
	return err
}

// budget is the time that a tick may take.
func (c *Config) budget() time.Duration { return time.Second / time.Duration(c.Hz) }

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

	meter     meter
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

// newDemo makes the world, or restores it, and listens.
func newDemo(ctx context.Context, c Config, live io.Writer) (*demo, error) {
	r, err := realm.New(realm.Options{
		Creatures: c.Creatures, Shards: c.Shards, TickInterval: c.budget(), Seed: c.Seed,
		ClientsMax: c.Bots + clientsSpare, QueueRequests: server.QueueRequests, Kept: c.State != "",
	})
	if err != nil {
		return nil, err
	}
	d := &demo{config: c, realm: r, meter: meter{warmUp: uint64(c.Hz)}, sampleDue: watchPeriod, samples: make(chan *sample, 1), still: make(chan struct{})}
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

// inspector serves the inspector of the world.
type inspector struct {
	*inspect.Inspector
	at net.Listener
}

// newInspector listens, and prints the address, and the token if it is a new one.
func newInspector(ctx context.Context, s *scheduler.Scheduler, c Config, live io.Writer) (*inspector, error) {
	token := c.Token
	if token == "" {
		token = rand.Text()
	}
	x, err := inspect.New(s, inspect.Options{Name: "atoll demo", Token: token})
	if err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	at, err := lc.Listen(ctx, "tcp", c.Inspect)
	if err != nil {
		_ = x.Close()
		return nil, err
	}
	_, _ = fmt.Fprintf(live, "look at the world at http://%s/", at.Addr())
	if c.Token == "" {
		_, _ = fmt.Fprintf(live, " (to change it: token %s)", token)
	}
	_, _ = fmt.Fprintln(live)
	return &inspector{x, at}, nil
}

func (i *inspector) serve(ctx context.Context) error { return i.Serve(ctx, i.at) }
