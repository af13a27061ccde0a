package bot

import (
	"fmt"
	"strconv"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/line"
	"github.com/atoll-sim/atoll/handle"
)

// Ledger is what a bot knows from its connection
// alone.
type Ledger struct {
	Client uint32 // its number, from the server's greeting
	line.Tally
	Errors []string // lines that began with ERROR, which is a failure

	Avatar handle.Handle // the last one; none: never joined
	Alive  bool
	Obeyed uint32 // commands that this avatar applied
	Sum    uint64 // of their numbers
	Items  uint32 // that this avatar took and did not stack
	Fierce bool   // its stance

	Deaths uint64 // of all its avatars
	// Items, by all its avatars.
	Taken, Stacked, Traded uint64
}

// errorsKept is how many error lines a ledger keeps.
const errorsKept = 4

// outcome records the outcome of a command: its word, number, verb and the rest.
func (l *Ledger) outcome(word string, seq uint64, verb string, rest []string) error {
	switch word {
	case "APPLIED":
		l.Tally.Applied++
	case "LATE":
		l.Late++
	case "REFUSED":
		l.Refused++
	case "LOST":
		l.Lost++
	}
	if word == "APPLIED" {
		return l.applied(seq, verb, rest)
	}
	if verb == "LEAVE" && word == "LATE" {
		l.Alive = false
	}
	return nil
}

// applied records what a command that was applied has changed.
func (l *Ledger) applied(seq uint64, verb string, rest []string) error {
	switch verb {
	case "JOIN":
		h, err := handle.Parse(field(rest, 0))
		if err != nil {
			return err
		}
		l.Avatar, l.Alive, l.Obeyed, l.Sum, l.Items, l.Fierce = h, true, 0, 0, 0, false
		return nil
	case "LEAVE":
		l.Alive = false
		return nil
	case "STANCE":
		l.Fierce = field(rest, 0) == "fierce"
		return nil
	case "TAKE":
		if field(rest, 1) == "worth" {
			l.Items++
			l.Taken++
		}
	case "STACK":
		if field(rest, 1) == "on" {
			l.Items--
			l.Stacked++
		}
	case "TRADE":
		if field(rest, 1) == "worth" {
			l.Traded++
		}
	}
	l.Obeyed++
	l.Sum += seq
	return nil
}

// died records the death of an avatar.
func (l *Ledger) died(who string) error {
	h, err := handle.Parse(who)
	if err != nil {
		return err
	}
	l.Deaths++
	if h == l.Avatar {
		l.Alive = false
	}
	return nil
}

func (l *Ledger) wrong(line string) {
	if len(l.Errors) < errorsKept {
		l.Errors = append(l.Errors, line)
	}
}

// field returns a word, or nothing if there are fewer.
func field(words []string, i int) string {
	if i < len(words) {
		return words[i]
	}
	return ""
}

// number reads a command's number.
func number(word string) (uint64, error) {
	n, err := strconv.ParseUint(word, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("bad number %q", word)
	}
	return n, nil
}
