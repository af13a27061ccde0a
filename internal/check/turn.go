package check

import "sync/atomic"

// Turn says which user has the shard at present: a system, or the idle world.
//
// Ownership: users are made between ticks. The goroutine that runs the shard begins and ends their
// turns; any goroutine may check whose turn it is.
type Turn struct {
	now   atomic.Pointer[User]
	users map[string]*User
}

// User is what can have a turn: a system on one shard, or the idle world.
type User struct {
	turn *Turn
	name string // as in `system "move" on shard 3`
	hint string // what to do instead of using the user's things out of turn
}

// User returns the user of a key, made on the first call. The name and the hint are for messages.
// The world calls it, between ticks.
func (t *Turn) User(key, name, hint string) *User {
	if u := t.users[key]; u != nil {
		return u
	}
	if t.users == nil {
		t.users = map[string]*User{}
	}
	u := &User{turn: t, name: name, hint: hint}
	t.users[key] = u
	return u
}

// Begin begins the turn of the user of a key. If the key has no user, it is nobody's turn. The
// goroutine that runs the shard calls it.
func (t *Turn) Begin(key string) { t.now.Store(t.users[key]) }

// End ends the turn.
func (t *Turn) End() { t.now.Store(nil) }
