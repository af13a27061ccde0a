// Package crash is the crash command: a trading server that is killed, again and again, and an audit
// of what is left.
//
// The server is a process of its own, which keeps its world by package durable. Its clients are
// goroutines of this process. They send numbered orders over TCP: pay, buy a ware, craft one, melt
// one, each a transaction. They remember what they were told. The server is killed while it opens,
// trades, or saves, or by itself right after it has told an answer, and started again. Then
// everything that it finds is compared with the books of the clients, and each client sends its last
// order again.
//
// With several worlds, each is a town in a process of its own, and its clients send gold to those of
// the others. Package link carries. One process is killed, or several at once.
package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/setting"
)

// The ranges of the settings in a Config.
var (
	KillsRange   = setting.Range{Min: 1, Max: 1_000_000}
	WorldsRange  = setting.Range{Min: 1, Max: 16}
	ClientsRange = setting.Range{Min: 1, Max: 1000}
	HzRange      = setting.Range{Min: 1, Max: 1000}
)

// Config says what to run. See Default.
type Config struct {
	Kills   int
	Worlds  int // 1: a market; more: towns, between which gold is sent
	Clients int // of each world
	Hz      int
	Seed    uint64
	Sealed  bool
	State   string // the directory of the world, which must be new or empty; empty: a temporary one

	fault fault
}

// Default returns the Config of a run without settings.
func Default() Config { return Config{Kills: 100, Worlds: 1, Clients: 16, Hz: 200, Seed: 1} }

func (c *Config) validate() error {
	return setting.Check("crash",
		setting.Value{Name: "Kills", Value: c.Kills, Range: KillsRange},
		setting.Value{Name: "Worlds", Value: c.Worlds, Range: WorldsRange},
		setting.Value{Name: "Clients", Value: c.Clients, Range: ClientsRange},
		setting.Value{Name: "Hz", Value: c.Hz, Range: HzRange},
	)
}

const (
	openWaitMax = time.Minute            // for a server to open
	longestLife = 400 * time.Millisecond // of a server that has opened
	tellPeriod  = time.Second
)

// run is a run.
type run struct {
	config  Config
	program string
	path    string
	live    io.Writer
	dice    *rand.Rand
	books   *books
	began   time.Time
	told    time.Time
	opening time.Duration // how long a server takes to open, at most
	wrong   bool          // an audit has found something, in all or since clients did
	*Summary
}

// Run kills servers until it has killed enough, the audit finds something, or the context ends. It
// writes lines about its progress to live. A server is program, which is to call Serve if ServerEnv
// is set.
func Run(ctx context.Context, c Config, program string, live io.Writer) (s *Summary, err error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	if c.Worlds > 1 {
		return runTowns(ctx, c, program, live)
	}
	r := &run{config: c, program: program, path: c.State, live: live, dice: rand.New(rand.NewPCG(c.Seed, 0)), books: newBooks(c.Clients)}
	r.began, r.told, r.opening = time.Now(), time.Now(), 50*time.Millisecond
	r.Summary = &Summary{Sealed: c.Sealed, Clients: c.Clients, Hz: c.Hz, Seed: c.Seed}
	if r.path, err = directory(c.State); err != nil {
		return nil, err
	}
	_, _ = fmt.Fprintf(live, "%d kills, %d clients, %d Hz, seed %d, sealed: %v; the world is kept in %s\n", c.Kills, c.Clients, c.Hz, c.Seed, c.Sealed, r.path)
	for r.Kills < c.Kills && ctx.Err() == nil && len(r.books.findings) == 0 {
		if err := r.life(ctx, true); err != nil {
			return nil, fmt.Errorf("crash: server %d: %w; the world is kept in %s", r.Kills+1, err, r.path)
		}
		r.tell()
	}
	if !r.wrong && ctx.Err() == nil {
		if err := r.life(ctx, false); err != nil {
			return nil, fmt.Errorf("crash: the last server: %w; the world is kept in %s", err, r.path)
		}
	}
	r.counts, r.Audit, r.Seconds = r.books.counts, auditOK, time.Since(r.began).Seconds()
	switch {
	case len(r.books.findings) > 0:
		r.Audit, r.kept = r.books.findings, r.path
	case c.State == "":
		err = os.RemoveAll(r.path)
	}
	return r.Summary, err
}

// directory returns a directory that is empty.
func directory(path string) (string, error) {
	if path == "" {
		return os.MkdirTemp("", "atoll-crash-")
	}
	all, err := os.ReadDir(path)
	if len(all) > 0 {
		err = fmt.Errorf("crash: %s has files of an earlier run, of which the clients know nothing; take another directory, or empty it", path)
	}
	if errors.Is(err, os.ErrNotExist) {
		err = nil // it is made
	}
	return path, err
}

// process is a server.
type process struct {
	*exec.Cmd
	in     io.WriteCloser
	out    io.ReadCloser
	errors bytes.Buffer
}

// start starts a server, which is told its life.
func start(program, kind string, life any) (*process, error) {
	p := &process{Cmd: exec.Command(program)}
	p.Env = append(os.Environ(), ServerEnv+"="+kind)
	p.Stderr = &p.errors
	var err error
	if p.in, err = p.StdinPipe(); err != nil {
		return nil, err
	}
	if p.out, err = p.StdoutPipe(); err != nil {
		return nil, err
	}
	if err = p.Start(); err == nil {
		if err = json.NewEncoder(p.in).Encode(life); err != nil {
			_ = p.kill()
		}
	}
	return p, err
}

// kill kills a server, which may be dead. It returns an error if it has died of something else.
func (p *process) kill() error {
	_ = p.Process.Kill()
	return p.end()
}

// end waits until a server has ended.
func (p *process) end() error {
	_ = p.in.Close()
	_ = p.Wait() // it was killed
	if p.errors.Len() > 0 {
		return fmt.Errorf("it has said: %s", bytes.TrimSpace(p.errors.Bytes()))
	}
	return nil
}

// life draws how a server lives that keeps its world at a path.
func (c *Config) life(path string, dice *rand.Rand) life {
	return life{
		Path: path, Sealed: c.Sealed, Clients: c.Clients, Seed: c.Seed, Workers: 1 + dice.IntN(3),
		Interval: time.Second / time.Duration(c.Hz), Save: time.Duration(20+dice.IntN(100)) * time.Millisecond,
		Increments: dice.IntN(4), Fault: c.fault,
	}
}

// life starts a server, audits what it finds, trades, and kills it. The last one is closed.
func (r *run) life(ctx context.Context, kill bool) error {
	l := r.config.life(r.path, r.dice)
	before := time.Duration(r.dice.Int64N(int64(longestLife)))
	if r.dice.IntN(2) == 0 {
		l.Answers = 1 + r.dice.Uint64N(400)
		before *= 2
	}
	early := kill && r.Kills > 0 && r.dice.IntN(6) == 0
	began := time.Now()
	p, err := start(r.program, marketServer, &l)
	if err != nil {
		return err
	}
	if early {
		time.Sleep(time.Duration(r.dice.Int64N(int64(r.opening))))
		r.Kills++
		r.Early++
		return p.kill()
	}
	found, err := p.look()
	if err != nil {
		return errors.Join(err, p.kill())
	}
	r.opening = max(time.Since(began), r.opening*7/8)
	if r.books.audit(found); len(r.books.findings) > 0 {
		r.wrong = true
		return p.kill()
	}
	err = r.trade(ctx, p, found.Address, before, kill)
	if kill {
		r.Kills++
	}
	return err
}

// look returns what a server finds.
func (p *process) look() (*look, error) {
	timer := time.AfterFunc(openWaitMax, func() { _ = p.Process.Kill() })
	defer timer.Stop()
	l := &look{}
	return l, json.NewDecoder(p.out).Decode(l)
}

// trade has the clients trade with a server, and ends it.
func (r *run) trade(ctx context.Context, p *process, address string, before time.Duration, kill bool) error {
	var clients sync.WaitGroup
	for _, c := range r.books.clients[1:] {
		dice := rand.New(rand.NewPCG(r.dice.Uint64(), c.name))
		clients.Go(func() { c.trade(ctx, r.books, address, dice) })
	}
	gone := make(chan struct{})
	go func() {
		clients.Wait()
		close(gone)
	}()
	select {
	case <-gone: // it has killed itself
	case <-ctx.Done():
	case <-time.After(before):
	}
	end := p.kill
	if !kill {
		end = p.end
	}
	err := end()
	<-gone
	return err
}

// tell writes a line now and then.
func (r *run) tell() {
	if time.Since(r.told) < tellPeriod {
		return
	}
	r.told = time.Now()
	b := r.books
	_, _ = fmt.Fprintf(r.live, "%6.0fs %6d kills │ tick %7d, %d wares │ %8d done, %d unheard of, %d refused, %d repeated │ %d lost, %d doubled\n",
		time.Since(r.began).Seconds(), r.Kills, b.tick, len(b.wares), b.Done, b.Unheard, b.Refused, b.Repeated, b.Lost, b.Doubled)
}

// Summary is the result of a run.
type Summary struct {
	Kills   int     `json:"kills"`
	Early   int     `json:"kills_before_open"` // while the server opened
	Worlds  int     `json:"worlds,omitempty"`
	Sealed  bool    `json:"sealed"`
	Clients int     `json:"clients"`
	Hz      int     `json:"hz"`
	Seed    uint64  `json:"seed"`
	Seconds float64 `json:"seconds"`
	counts
	Audit any `json:"audit"` // "ok", or the list of what is wrong

	kept string // where the world is, if something is wrong
}

// auditOK is the Audit of a run without findings.
const auditOK = "ok"

// OK reports whether the audit found nothing wrong.
func (s *Summary) OK() bool { return s.Audit == auditOK }

// Write writes the result for people.
func (s *Summary) Write(w io.Writer) {
	_, _ = fmt.Fprintf(w, "\n%d kills in %.0f s, %d of them while the server opened; %d audits; %d ticks played\n", s.Kills, s.Seconds, s.Early, s.Audits, s.Played)
	if s.Worlds > 1 {
		_, _ = fmt.Fprintf(w, "%d worlds; %d payments arrived in another, %d came back\n", s.Worlds, s.Arrived, s.Returned)
	}
	_, _ = fmt.Fprintf(w, "%d orders told done, %d more done, %d told refused, %d told failed, %d repeated, %d unknown\n", s.Done, s.Unheard, s.Refused, s.Failed, s.Repeated, s.Unknown)
	_, _ = fmt.Fprintf(w, "%d told and lost, %d doubled\n", s.Lost, s.Doubled)
	if s.OK() {
		_, _ = fmt.Fprintln(w, "audit ok")
		return
	}
	for _, x := range s.Audit.([]string) {
		_, _ = fmt.Fprintf(w, "WRONG %s\n", x)
	}
	_, _ = fmt.Fprintf(w, "the world is kept in %s\n", s.kept)
}
