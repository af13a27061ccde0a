package world

import (
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/shard"
)

const (
	drawAtOnce = 8 // handles a port draws in one step
	givenAhead = 8 // used handles a port is given beyond what it used in a tick
)

// purse is the handles that a port has for its creates. All are pending, and
// nobody was told of them.
//
//	hand   [h h h h]   the port takes the last
//	mail ─▶[h h h h]   what the refresh gave; the port puts its empty box there for it
//
// Ownership: hand and box are the port's, used is the refresh's. What mail points
// to belongs to whoever takes it from there: the refresh leaves nil, the port
// never does.
type purse struct {
	hand  []handle.Handle
	box   *[]handle.Handle // to be put in mail
	mail  atomic.Pointer[[]handle.Handle]
	short atomic.Bool // the port had to draw: set by it, cleared by the refresh
	used  int         // creates of this refresh
}

// fill makes sure of n handles in hand. It returns ErrIndexes, and draws none, if
// the world has not as many left.
func (p *purse) fill(o *shard.Outside, n int) (err error) {
	p.openMail()
	had := len(p.hand)
	for len(p.hand) < n && err == nil {
		p.short.Store(true)
		p.hand, err = o.Take(p.hand, drawAtOnce)
	}
	if err != nil {
		o.Untake(p.hand[had:])
		p.hand = p.hand[:had]
	}
	return err
}

// openMail takes what is in the mail.
func (p *purse) openMail() {
	if q := p.mail.Load(); q != nil { // otherwise there was none, or the refresh is filling it
		p.trade(q)
	}
}

// trade takes a box that was seen in the mail, unless the refresh has taken it since, and
// leaves an empty one. The hand gives that its array if it has nothing in it.
func (p *purse) trade(q *[]handle.Handle) {
	if p.box == nil {
		p.box = new([]handle.Handle)
	}
	if len(p.hand) == 0 {
		*p.box = p.hand
	}
	if !p.mail.CompareAndSwap(q, p.box) { // publishes the empty box
		*p.box = nil // the array stays the hand's, which may hold some by the next time
		return
	}
	if len(p.hand) == 0 {
		p.hand, *q = *q, nil
	} else {
		p.hand = append(p.hand, *q...)
		*q = (*q)[:0]
	}
	p.box = q
}

// wants returns how many handles the refresh should put in the mail: as many as
// were used up, and some ahead for who ran out.
func (p *purse) wants() int {
	if p.short.Load() {
		return p.used + givenAhead
	}
	return p.used
}

// supply fills the mail.
func (p *purse) supply(o *shard.Outside) {
	want := p.wants()
	p.used = 0
	if want == 0 {
		return
	}
	p.short.Store(false)
	box := p.mail.Swap(nil)
	if box == nil {
		box = new([]handle.Handle)
	}
	if n := want - len(*box); n > 0 {
		*box = o.Give(*box, n)
	}
	p.mail.Store(box) // publishes the handles
}

// empty gives all handles back.
func (p *purse) empty(o *shard.Outside) {
	p.openMail()
	for _, h := range p.hand {
		o.Return(h)
	}
	p.hand = nil
}
