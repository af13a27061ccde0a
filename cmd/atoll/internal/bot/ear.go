package bot

import (
	"fmt"
	"strings"

	"github.com/atoll-sim/atoll/handle"
)

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
