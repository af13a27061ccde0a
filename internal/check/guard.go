package check

import (
	"fmt"
	"math/bits"
)

// Guard protects something that was made for one user: it panics when that is used out of turn. The
// zero Guard allows everything. In a release build it takes no room.
//
// If two shards run the same system and use each other's accessors, no Guard notices: a Guard does
// not know which goroutine calls. The race detector finds that.
//
// Ownership: the user's, while it has its turn.
type Guard [Count]*guard

type guard struct {
	user *User
	what string   // as in `the Reader of component "health"`
	lent []uint64 // the set of the numbers of the chunks whose rows were handed out
}

// NewGuard makes the guard of something that was made for a user. The world calls it, between
// ticks.
func NewGuard(u *User, what string) (g Guard) {
	for i := range g {
		g[i] = &guard{user: u, what: what}
	}
	return g
}

// get returns the guard that g holds, or nil.
func (g *Guard) get() *guard {
	for _, x := range g {
		return x
	}
	return nil
}

// Must panics if it is not the user's turn. Only the check build calls it, wherever something that
// was made for one user is used.
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

// Borrow records that rows of a chunk are handed out. The goroutine that has the user's turn calls
// it.
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

// Lent calls f with each chunk whose rows were handed out since the last call, and forgets them.
// The coordinator calls it, in the refresh.
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
