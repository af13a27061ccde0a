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
	"time"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/line"
)

const (
	// LineBytesMax is the length of the longest line that a bot reads.
	LineBytesMax = 256
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
	b := &Bot{conn: conn, lines: line.NewReader(conn, LineBytesMax), options: o, dice: rand.New(rand.NewPCG(o.Seed, o.Number))}
	if err := b.greeting(); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return b, nil
}

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
