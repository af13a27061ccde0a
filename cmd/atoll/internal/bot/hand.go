package bot

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
)

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
