package crash

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net"
)

// client is a trader. It lives longer than servers do.
//
// Ownership: its goroutine while a server lives, the audit between. The mutex of the books guards
// last while it runs.
type client struct {
	name  uint64
	order Order    // the last that was sent
	waits bool     // it may be done, and was not answered
	last  Receipt  // of the last order that is known to be done
	seen  []uint64 // the wares that it got last
}

// seenMax is how many wares of each client are asked for.
const seenMax = 8

// trade sends orders until the server is dead. It begins with what was sent last: it has the same
// number, so it must have the same answer if there was one, and is not done twice.
func (c *client) trade(ctx context.Context, b *books, address string, dice *rand.Rand) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return // it is dead
	}
	defer func() { _ = conn.Close() }()
	out, in := json.NewEncoder(conn), json.NewDecoder(conn)
	switch {
	case c.waits:
	case c.last.Number > 0:
		c.order = c.last.Order
	default:
		c.order = c.next(b, dice)
	}
	for ; ; c.order = c.next(b, dice) {
		times := 1
		if dice.IntN(8) == 0 { // as if it had not heard of it
			times = 2
		}
		c.waits = c.order.Number > c.last.Number
		for range times {
			if out.Encode(&c.order) != nil {
				return
			}
		}
		for again := true; again; {
			again = false
			for range times {
				var a answer
				if in.Decode(&a) != nil {
					return
				}
				b.note(c, &a)
				again = a.Status == full || a.Status == unknown
			}
			if times = 1; again && out.Encode(&c.order) != nil {
				return
			}
		}
		c.waits = false
	}
}

// next thinks of an order. Many are to be refused.
func (c *client) next(b *books, dice *rand.Rand) Order {
	b.Lock()
	defer b.Unlock()
	o := Order{Client: c.name, Number: c.last.Number + 1}
	switch n := dice.IntN(200); {
	case n == 0:
		o.Kind = Curse
	case n < 60:
		o.Kind, o.To = Pay, 1+dice.Uint64N(uint64(len(b.clients)-1))
	case n < 90:
		o.Kind, o.Ware = Craft, c.name<<32|o.Number
		return o
	case n < 120:
		o.Kind = Melt
	default:
		o.Kind = Buy
	}
	if o.Kind != Pay { // a ware that somebody may have
		of := c
		if o.Kind != Melt || dice.IntN(8) == 0 {
			of = b.clients[1+dice.IntN(len(b.clients)-1)]
		}
		if n := len(of.seen); n > 0 {
			o.Ware = of.seen[dice.IntN(n)]
		}
	}
	if o.Kind != Melt {
		o.Gold = dice.Int64N(max(1, c.last.Left*4/3))
	}
	return o
}
