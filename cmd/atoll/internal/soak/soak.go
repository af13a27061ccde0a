package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/atoll-sim/atoll/world"
)

const (
	auditPeriod = 10 * time.Second
	tellPeriod  = time.Second
	quietTicks  = 3 // until the last messages are delivered
)

// soak is a run: it conducts the clients and makes the ticks.
type soak struct {
	*stage
	sampler *sampler
	began   time.Time // of what is measured, after the warm-up
	due     time.Time // of the next tick
	last    time.Time // of the newest tick
	told    uint64    // panics that steps have returned
	audits  uint32
	stats   *world.Stats // of the newest audit
	base    world.Stats  // of the first
	progress
}

// Run runs a soak until its time is over or the context ends. It writes lines about its
// progress to live. It returns an error if it could not run; violations
// are in the Summary.
func Run(ctx context.Context, c Config, live io.Writer) (*Summary, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	s, err := newStage(c, live)
	if err != nil {
		return nil, err
	}
	defer s.giveUp()
	k := &soak{stage: s, sampler: newSampler(s)}
	_, _ = fmt.Fprintf(live, "%d entities, %d clients with %d requests each, %d shards, %d workers, %d Hz, %d %% churn a second, seed %d\n%s\n\n",
		c.Entities, c.Clients, c.Queue, s.w.Shards(), s.scheduler.Workers(), c.Hz, c.Churn, c.Seed, legend)
	return k.run(ctx), nil
}

// legend says what the lines that follow it show.
const legend = `
The clients send as much as the machine does, so ticks may take longer than they should. Systems
panic now and then, on purpose. What must stay 0 is the last column. Ctrl-C ends the run early; the
last audit follows in any case.`

func (k *soak) run(ctx context.Context) *Summary {
	k.due, k.last = time.Now(), time.Now()
	k.step() // makes the herds
	var clients sync.WaitGroup
	for _, c := range k.clients {
		clients.Go(c.run)
	}
	k.play(ctx, k.config.WarmUp)
	start := k.audited()
	k.base = *k.stats
	k.began = time.Now()
	end := start
	var measured time.Duration
	for d := k.config.Duration; (d == 0 || measured < d) && ctx.Err() == nil && k.patience.Err() == nil; {
		part := auditPeriod
		if d > 0 {
			part = min(part, d-measured)
		}
		measured += k.play(ctx, part)
		end = k.audited()
	}
	k.ended.Store(true)
	k.giveUp()
	clients.Wait()
	k.compare(start, end)
	return k.summarize(start, end, measured)
}

// play makes ticks for some time, and returns how long it took.
func (k *soak) play(ctx context.Context, d time.Duration) time.Duration {
	start := time.Now()
	for time.Since(start) < d && ctx.Err() == nil && k.patience.Err() == nil {
		k.step()
		k.tell()
	}
	return time.Since(start)
}

// step makes a tick when it is due, and checks what it returns.
func (k *soak) step() {
	interval := time.Second / time.Duration(k.config.Hz)
	if wait := time.Until(k.due); wait > 0 {
		time.Sleep(wait)
	} else if -wait > interval {
		k.due = time.Now() // too late to catch up
	}
	k.due = k.due.Add(interval)
	now := time.Now()
	k.elapsed, k.last = now.Sub(k.last).Seconds(), now

	err := k.scheduler.Step(context.Background())
	k.took = max(k.took, time.Since(now))
	for _, e := range panics(err) {
		var x *world.PanicError
		if errors.As(e, &x) && errors.Is(x, errStumble) {
			k.told++
		} else {
			k.violate("tick %d returned: %v", k.w.Tick()-1, e)
		}
	}
	k.expect("panics that steps returned", k.told, k.thrown.Load())
	k.sampler.sample()
	if between := k.config.hooks.between; between != nil {
		between(k.stage)
	}
}

// panics splits what a step returned.
func panics(err error) []error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return all.Unwrap()
	}
	if err != nil {
		return []error{err}
	}
	return nil
}

// audited lets the clients rest, audits the world, and measures the
// process. If the clients do not stop, the run is over.
func (k *soak) audited() reading {
	k.rest.ask()
	deadline := time.Now().Add(k.config.hooks.patienceMax)
	for int(k.rest.parked.Load()) < len(k.clients) {
		if time.Now().After(deadline) {
			k.violate("after %v, %d of %d clients still wait for outcomes", k.config.hooks.patienceMax, len(k.clients)-int(k.rest.parked.Load()), len(k.clients))
			k.giveUp()
			break
		}
		k.step()
	}
	k.quiet = true
	for range quietTicks {
		k.step()
	}
	k.quiet = false
	var now reading
	if k.patience.Err() == nil {
		k.audits++
		k.stats = k.audit(k.audits)
		now = read()
	} else if k.stats == nil {
		k.stats = &world.Stats{}
	}
	k.last = time.Now() // the time of the audit does not count
	k.rest.release()
	return now
}
