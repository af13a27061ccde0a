package check

import (
	"fmt"
	"math/bits"
)

// Guard stands before something that was made for one user: it panics when that
// is used out of turn. The zero Guard lets everything pass. In a release build it
// takes no room.
//
// Two shards that use each other's things while both run the same system pass:
// a Guard knows no goroutines. The race detector does.
//
// Ownership: the user's, while it has its turn.
type Guard [Count]*guard

type guard struct {
	user *User
	what string   // as in `the Reader of component "health"`
	lent []uint64 // numbers of the chunks whose rows were handed out, a set
}

// NewGuard makes the guard of something that was made for a user.
func NewGuard(u *User, what string) (g Guard) {
	for i := range g {
		g[i] = &guard{user: u, what: what}
	}
	return g
}

// get returns what is behind g, or nil.
func (g *Guard) get() *guard {
	for _, x := range g {
		return x
	}
	return nil
}

// Must panics if it is not the user's turn.
func (g *Guard) Must() {
	x := g.get()
	if x == nil {
		return
	}
	now := x.user.turn.now.Load()
	if now == x.user {
		return
	}
	whose := "nobody's turn"
	if now != nil {
		whose = "the turn of " + now.name
	}
	panic(fmt.Sprintf("world: %s, made for %s, is used out of turn: it is %s; %s", x.what, x.user.name, whose, x.user.hint))
}

// Borrow notes that rows of a chunk are handed out.
func (g *Guard) Borrow(chunk int) {
	x := g.get()
	if x == nil {
		return
	}
	for len(x.lent) <= chunk/64 {
		x.lent = append(x.lent, 0)
	}
	x.lent[chunk/64] |= 1 << (chunk % 64)
}

// Lent calls f with each chunk of which rows were handed out since the last time,
// and forgets them.
func (g *Guard) Lent(f func(chunk int)) {
	x := g.get()
	if x == nil {
		return
	}
	for i, word := range x.lent {
		for ; word != 0; word &= word - 1 {
			f(i*64 + bits.TrailingZeros64(word))
		}
	}
	clear(x.lent)
}
