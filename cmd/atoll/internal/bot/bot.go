// Package bot plays the line protocol of docs/protocol.md as a client would: over
// a connection, with no other source of knowledge.
package bot

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/line"
	"github.com/atoll-sim/atoll/handle"
)

const (
	// DefaultAnswerWaitMax is the default of Options.AnswerWaitMax.
	DefaultAnswerWaitMax = 15 * time.Second
	// underWayMax is how many commands a bot has under way; it waits when there
	// are more. The server allows more.
	underWayMax = 8
)

// The default of Options.Pause.
const (
	DefaultPauseMin = 50 * time.Millisecond
	DefaultPauseMax = 100 * time.Millisecond
)

// Options shape a bot. The zero value means the defaults.
type Options struct {
	Seed     uint64
	Number   uint64        // of the bot: with Seed, what it will do
	PauseMin time.Duration // between commands; 0: DefaultPauseMin
	PauseMax time.Duration // 0: DefaultPauseMax, or PauseMin if that is more
	Gossip   *Gossip       // nil: none

	AnswerWaitMax time.Duration // for answers that the protocol guarantees; 0: DefaultAnswerWaitMax
}

// Bot is one client.
//
// Ownership: one goroutine at a time.
type Bot struct {
	conn     net.Conn
	lines    *line.Reader
	options  Options
	dice     *rand.Rand
	ledger   Ledger
	sent     []string // verbs of lines that are not answered yet
	underWay int      // commands accepted and without an outcome
	changing bool     // a JOIN or LEAVE is under way
	pings    int      // not answered yet
	sights   sights
	text     []byte
}

// Dial connects a bot and waits for the server's greeting.
func Dial(ctx context.Context, addr string, o Options) (*Bot, error) {
	if o.PauseMin == 0 {
		o.PauseMin = DefaultPauseMin
	}
	if o.PauseMax == 0 {
		o.PauseMax = DefaultPauseMax
	}
	o.PauseMax = max(o.PauseMin, o.PauseMax)
	if o.AnswerWaitMax == 0 {
		o.AnswerWaitMax = DefaultAnswerWaitMax
	}
	if o.Gossip == nil {
		o.Gossip = &Gossip{}
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	b := &Bot{conn: conn, lines: line.NewReader(conn, line.BytesMax), options: o, dice: rand.New(rand.NewPCG(o.Seed, o.Number))}
	if err := b.greeting(); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return b, nil
}

// greeting reads the server's first line, which has the bot's number.
func (b *Bot) greeting() error {
	if err := b.conn.SetReadDeadline(time.Now().Add(b.options.AnswerWaitMax)); err != nil {
		return err
	}
	text, err := b.lines.Next()
	if err != nil {
		return err
	}
	if _, err := fmt.Sscanf(string(text), "WELCOME client %d;", &b.ledger.Client); err != nil {
		return fmt.Errorf("greeted by %q", text)
	}
	return nil
}

// Ledger returns what the bot knows. The caller must not write its Errors.
func (b *Bot) Ledger() Ledger { return b.ledger }

// Close closes the connection.
func (b *Bot) Close() { _ = b.conn.Close() }

// Play sends a command every now and then until the context ends, and waits for
// the outcome of all that it sent.
func (b *Bot) Play(ctx context.Context) error {
	// So that bots that started together do not act together.
	next := time.Now().Add(b.pause())
	for ctx.Err() == nil {
		if err := b.listen(next, nil); err != nil {
			return b.named(err)
		}
		if len(b.sent)+b.underWay < underWayMax && !b.changing {
			if err := b.act(); err != nil {
				return b.named(err)
			}
		}
		next = time.Now().Add(b.pause())
	}
	quiet := func() bool { return len(b.sent) == 0 && b.underWay == 0 }
	if err := b.listen(time.Now().Add(b.options.AnswerWaitMax), quiet); err != nil {
		return b.named(err)
	}
	if !quiet() {
		return b.named(fmt.Errorf("%d lines have no answer and %d commands no outcome after %v", len(b.sent), b.underWay, b.options.AnswerWaitMax))
	}
	return nil
}

// Settle returns when the bot has read all that the server has sent until now.
func (b *Bot) Settle() error {
	if err := b.write("PING"); err != nil {
		return b.named(err)
	}
	b.pings++
	if err := b.listen(time.Now().Add(b.options.AnswerWaitMax), func() bool { return b.pings == 0 }); err != nil {
		return b.named(err)
	}
	if b.pings > 0 {
		return b.named(fmt.Errorf("no PONG after %v", b.options.AnswerWaitMax))
	}
	return nil
}

func (b *Bot) pause() time.Duration {
	return b.options.PauseMin + time.Duration(b.dice.Int64N(int64(b.options.PauseMax-b.options.PauseMin)+1))
}

func (b *Bot) named(err error) error { return fmt.Errorf("bot %d: %w", b.options.Number, err) }

// listen reads lines until a moment, or until done.
func (b *Bot) listen(until time.Time, done func() bool) error {
	if err := b.conn.SetReadDeadline(until); err != nil {
		return err
	}
	for done == nil || !done() {
		text, err := b.lines.Next()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
		if err == nil {
			err = b.hear(string(text))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// write sends one line.
func (b *Bot) write(text string) error {
	b.text = append(append(b.text[:0], text...), '\n')
	if err := b.conn.SetWriteDeadline(time.Now().Add(b.options.AnswerWaitMax)); err != nil {
		return err
	}
	_, err := b.conn.Write(b.text)
	return err
}

// sights is what a bot last saw.
type sights struct{ near, item handle.Handle }

// hear enters a line of the server in the ledger.
func (b *Bot) hear(text string) error {
	words := strings.Fields(text)
	l := &b.ledger
	var err error
	switch word := field(words, 0); word {
	case "ACCEPTED":
		l.Accepted++
		b.underWay++
		_, err = b.answered()
	case "REJECTED":
		l.Rejected++
		err = b.refused()
	case "ERROR":
		l.wrong(text)
		err = b.refused()
	case "APPLIED", "LATE", "REFUSED", "LOST":
		err = b.outcome(word, words[1:])
	case "DIED":
		err = l.died(field(words, 1))
	case "PONG":
		b.pings--
	default:
		return fmt.Errorf("heard %q", text)
	}
	if err != nil {
		return fmt.Errorf("heard %q: %w", text, err)
	}
	return nil
}

// answered removes the oldest line that was not answered yet.
func (b *Bot) answered() (verb string, err error) {
	if len(b.sent) == 0 {
		return "", fmt.Errorf("no line was waiting for an answer")
	}
	verb = b.sent[0]
	b.sent = append(b.sent[:0], b.sent[1:]...)
	return verb, nil
}

// refused removes a line that was not accepted.
func (b *Bot) refused() error {
	verb, err := b.answered()
	if verb == "JOIN" || verb == "LEAVE" {
		b.changing = false
	}
	return err
}

// outcome records the outcome of the oldest command under way.
func (b *Bot) outcome(word string, words []string) error {
	seq, err := number(field(words, 0))
	if err != nil {
		return err
	}
	if b.underWay == 0 {
		return fmt.Errorf("no command was under way")
	}
	b.underWay--
	verb := field(words, 1)
	if verb == "JOIN" || verb == "LEAVE" {
		b.changing = false
	}
	rest := words[min(2, len(words)):]
	if word == "APPLIED" && verb == "LOOK" {
		b.saw(rest)
	}
	return b.ledger.outcome(word, seq, verb, rest)
}

// saw remembers the result of a LOOK around, which ends with "near", a handle,
// "item" and a handle.
func (b *Bot) saw(rest []string) {
	n := len(rest)
	if field(rest, 0) != "self" || n < 4 {
		return
	}
	near, err := handle.Parse(rest[n-3])
	item, err2 := handle.Parse(rest[n-1])
	if err == nil && err2 == nil {
		b.sights = sights{near, item}
		b.options.Gossip.tell(near, item)
	}
}

// actions are what a bot does when it has an avatar, with odds out of oddsAll.
var actions = []struct {
	odds int
	line func(b *Bot) string
}{
	{30, (*Bot).steer},
	{20, func(*Bot) string { return "LOOK" }},
	{25, (*Bot).attack},
	{10, (*Bot).take},
	{3, func(*Bot) string { return "STACK" }},
	{5, (*Bot).trade},
	{6, func(*Bot) string { return "WHERE" }},
	{4, (*Bot).inspect},
	{4, (*Bot).stance},
	{1, func(*Bot) string { return "LEAVE" }},
}

// oddsAll is the sum of the odds.
var oddsAll = func() (all int) {
	for _, d := range actions {
		all += d.odds
	}
	return all
}()

// act sends one command.
func (b *Bot) act() error {
	if !b.ledger.Alive {
		return b.send("JOIN", "JOIN")
	}
	at := b.dice.IntN(oddsAll)
	for _, d := range actions {
		if at -= d.odds; at < 0 {
			text := d.line(b)
			return b.send(text, text)
		}
	}
	return nil
}

func (b *Bot) send(verb, text string) error {
	b.changing = verb == "JOIN" || verb == "LEAVE"
	b.sent = append(b.sent, verb)
	return b.write(text)
}

func (b *Bot) steer() string {
	return fmt.Sprintf("STEER %.2f %.2f", b.dice.Float64()*2-1, b.dice.Float64()*2-1)
}

func (b *Bot) stance() string {
	if b.dice.IntN(2) == 0 {
		return "STANCE calm"
	}
	return "STANCE fierce"
}

// attack chooses an entity nearby, one that was seen, or one that another bot saw.
func (b *Bot) attack() string {
	elsewhere, _ := b.options.Gossip.heard()
	return aim("ATTACK", b.choose(b.sights.near, elsewhere))
}

func (b *Bot) take() string {
	_, elsewhere := b.options.Gossip.heard()
	return aim("TAKE", b.choose(b.sights.item, elsewhere))
}

func (b *Bot) trade() string {
	elsewhere, _ := b.options.Gossip.heard()
	return aim("TRADE", b.choose(b.sights.near, elsewhere))
}

func (b *Bot) inspect() string {
	elsewhere, _ := b.options.Gossip.heard()
	return aim("LOOK", elsewhere)
}

// choose returns one of the two, or none.
func (b *Bot) choose(own, elsewhere handle.Handle) handle.Handle {
	return [...]handle.Handle{handle.None, own, elsewhere}[b.dice.IntN(3)]
}

// aim names a target, if there is one.
func aim(verb string, at handle.Handle) string {
	if at == handle.None {
		return verb
	}
	return verb + " " + at.String()
}

// Gossip shares an entity that one bot saw with other bots, so that
// those on other islands use it too. Safe for concurrent use; the zero
// value is ready.
type Gossip struct {
	seen, item atomic.Uint64
}

func (g *Gossip) tell(seen, item handle.Handle) {
	if seen != handle.None {
		g.seen.Store(uint64(seen))
	}
	if item != handle.None {
		g.item.Store(uint64(item))
	}
}

func (g *Gossip) heard() (seen, item handle.Handle) {
	return handle.Handle(g.seen.Load()), handle.Handle(g.item.Load())
}
