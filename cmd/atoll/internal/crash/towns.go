package crash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/atoll-sim/atoll/ext/transit"
)

const (
	auditKills = 20          // from one audit over all towns to the next
	settleMax  = time.Minute // for all that is under way to arrive
	settleTick = 5           // ticks until what has arrived was read
)

// towns is a run with several worlds.
type towns struct {
	config  Config
	program string
	path    string
	live    io.Writer
	dice    *rand.Rand
	ledger  *ledger
	all     []*lodging
	began   time.Time
	told    time.Time
	opening time.Duration // how long a town takes to open, at most
	audited int           // kills at the last audit over all
	*Summary
}

// lodging is where a town is: its process, if it lives, and its clients.
type lodging struct {
	number transit.World
	at     string // for links
	p      *process
	out    *json.Decoder
	stop   context.CancelFunc // of the clients
	gone   chan struct{}      // when all clients have gone
}

// runTowns is Run with several worlds.
func runTowns(ctx context.Context, c Config, program string, live io.Writer) (s *Summary, err error) {
	r := &towns{config: c, program: program, live: live, dice: rand.New(rand.NewPCG(c.Seed, 0)), ledger: newLedger(c.Worlds, c.Clients)}
	r.began, r.told, r.opening = time.Now(), time.Now(), 50*time.Millisecond
	r.Summary = &Summary{Worlds: c.Worlds, Sealed: c.Sealed, Clients: c.Clients, Hz: c.Hz, Seed: c.Seed}
	if r.path, err = directory(c.State); err != nil {
		return nil, err
	}
	for i := range c.Worlds {
		at, err := freeAddress(ctx)
		if err != nil {
			return nil, err
		}
		r.all = append(r.all, &lodging{number: transit.World(i + 1), at: at})
	}
	_, _ = fmt.Fprintf(live, "%d kills, %d worlds of %d clients, %d Hz, seed %d, sealed: %v; the worlds are kept in %s\n", c.Kills, c.Worlds, c.Clients, c.Hz, c.Seed, c.Sealed, r.path)
	if err = r.play(ctx); err != nil {
		return nil, fmt.Errorf("crash: after %d kills: %w; the worlds are kept in %s", r.Kills, err, r.path)
	}
	r.counts, r.Audit, r.Seconds = r.ledger.counts, auditOK, time.Since(r.began).Seconds()
	switch {
	case r.ledger.wrong():
		r.Audit, r.kept = r.ledger.findings, r.path
	case c.State == "":
		err = os.RemoveAll(r.path)
	}
	return r.Summary, err
}

// freeAddress returns an address that nobody listens on.
func freeAddress(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// play opens towns, has them trade, kills some, and audits all, until that is enough.
func (r *towns) play(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, r.endAll()) }()
	for r.Kills < r.config.Kills && ctx.Err() == nil && !r.ledger.wrong() {
		if err := r.openAll(ctx, true); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(r.dice.Int64N(int64(longestLife)))):
		}
		r.killSome()
		if r.Kills-r.audited >= auditKills && !r.ledger.wrong() {
			if err := r.settle(ctx); err != nil {
				return err
			}
		}
		r.tell()
	}
	if !r.ledger.wrong() && ctx.Err() == nil {
		return r.settle(ctx)
	}
	return nil
}

// openAll opens the towns that are dead. Some die again while they open.
func (r *towns) openAll(ctx context.Context, mayDie bool) error {
	fresh := r.ledger.handles[0] == nil
	for _, t := range r.all {
		for t.p == nil {
			early := mayDie && !fresh && r.dice.IntN(6) == 0
			if err := r.open(t, early); err != nil {
				return fmt.Errorf("town %d: %w", t.number, err)
			}
		}
	}
	for _, t := range r.all {
		if t.gone == nil {
			r.trade(ctx, t)
		}
	}
	return nil
}

// open opens a town, and audits what it finds alone.
func (r *towns) open(t *lodging, early bool) error {
	l := townLife{life: r.config.life(filepath.Join(r.path, fmt.Sprint("world-", t.number)), r.dice), Number: t.number, At: t.at}
	if r.dice.IntN(3) == 0 {
		l.Answers = 1 + r.dice.Uint64N(400)
	}
	for _, x := range r.all { // the later ones dial, and some of the others do as well
		address := x.at
		if x.number == t.number || x.number > t.number && r.dice.IntN(3) > 0 {
			address = ""
		}
		l.Dials = append(l.Dials, address)
	}
	began := time.Now()
	p, err := start(r.program, townServer, &l)
	if err != nil {
		return err
	}
	if early {
		time.Sleep(time.Duration(r.dice.Int64N(int64(r.opening))))
		r.Kills++
		r.Early++
		return p.kill()
	}
	t.p, t.out = p, json.NewDecoder(p.out)
	found, err := t.look(false)
	if err != nil {
		t.p = nil
		return errors.Join(err, p.kill())
	}
	r.opening = max(time.Since(began), r.opening*7/8)
	r.ledger.opened(t.number, found)
	return nil
}

// trade has the clients of a town send orders, until it is dead or stopped.
func (r *towns) trade(ctx context.Context, t *lodging) {
	ctx, t.stop = context.WithCancel(ctx)
	t.gone = make(chan struct{})
	var all sync.WaitGroup
	for _, c := range r.ledger.senders[t.number-1] {
		dice, address := rand.New(rand.NewPCG(r.dice.Uint64(), c.name)), r.ledger.addresses[t.number-1]
		all.Go(func() { c.trade(ctx, r.ledger, address, dice) })
	}
	gone := t.gone
	go func() {
		all.Wait()
		close(gone)
	}()
}

// quiet waits until the clients of a town have gone.
func (t *lodging) quiet() {
	if t.gone != nil {
		t.stop()
		<-t.gone
		t.gone = nil
	}
}

// killSome kills a town, or several at once, and takes note of those that have killed themselves.
func (r *towns) killSome() {
	doomed := map[int]bool{r.dice.IntN(len(r.all)): true}
	for range r.dice.IntN(len(r.all)) * r.dice.IntN(2) {
		doomed[r.dice.IntN(len(r.all))] = true
	}
	for i, t := range r.all {
		if doomed[i] {
			_ = t.p.Process.Kill() // the others before anybody waits for it
		}
	}
	for i, t := range r.all {
		select {
		case <-t.gone:
			doomed[i] = true
		default:
		}
		if doomed[i] {
			r.dead(t)
		}
	}
}

// dead takes note of a town that is dead.
func (r *towns) dead(t *lodging) {
	err := t.p.kill()
	t.quiet()
	t.p = nil
	r.Kills++
	if err != nil {
		r.ledger.say("town %d: %v", t.number, err)
	}
}

// look returns what a town finds: at its start, or when it is asked.
func (t *lodging) look(ask bool) (*townLook, error) {
	timer := time.AfterFunc(openWaitMax, func() { _ = t.p.Process.Kill() })
	defer timer.Stop()
	l := &townLook{}
	if ask {
		if _, err := t.p.in.Write([]byte("true\n")); err != nil {
			return nil, err
		}
	}
	return l, t.out.Decode(l)
}

// settle waits until nothing is under way between the towns, all of which live, and audits them
// together.
func (r *towns) settle(ctx context.Context) error {
	r.audited = r.Kills
	looks, since, began := make([]*townLook, len(r.all)), make([]uint64, len(r.all)), time.Now()
	for ctx.Err() == nil {
		if err := r.openAll(ctx, false); err != nil {
			return err
		}
		for _, t := range r.all {
			t.quiet()
		}
		items, settled := 0, true
		for i, t := range r.all {
			l, err := t.look(true)
			if err != nil { // it has killed itself
				r.dead(t)
				items = 1
				continue
			}
			looks[i] = l
			items += l.Items
			settled = settled && since[i] > 0 && l.Tick >= since[i]+settleTick
		}
		switch {
		case items > 0:
			clear(since)
		case settled:
			r.ledger.audit(looks)
			return nil
		case since[0] == 0:
			for i, l := range looks {
				since[i] = l.Tick
			}
		}
		if r.ledger.wrong() {
			return nil
		}
		if time.Since(began) > settleMax {
			r.ledger.say("after %v, %d payments are still under way", settleMax, items)
			return nil
		}
		time.Sleep(5 * time.Millisecond) // towns make ticks meanwhile
	}
	return nil
}

// endAll ends the towns that live.
func (r *towns) endAll() error {
	var errs []error
	for _, t := range r.all {
		if t.p != nil {
			t.quiet()
			_ = t.p.in.Close() // all end at once
		}
	}
	for _, t := range r.all {
		if t.p != nil {
			errs = append(errs, t.p.end())
		}
	}
	if r.ledger.wrong() {
		return nil // which says enough
	}
	return errors.Join(errs...)
}

// tell writes a line now and then.
func (r *towns) tell() {
	if time.Since(r.told) < tellPeriod {
		return
	}
	r.told = time.Now()
	l := r.ledger
	l.Lock()
	defer l.Unlock()
	_, _ = fmt.Fprintf(r.live, "%6.0fs %6d kills │ %d audits │ %8d done, %d unheard of, %d refused, %d repeated │ %d arrived, %d came back │ %d lost, %d doubled\n",
		time.Since(r.began).Seconds(), r.Kills, l.Audits, l.Done, l.Unheard, l.Refused, l.Repeated, l.Arrived, l.Returned, l.Lost, l.Doubled)
}
