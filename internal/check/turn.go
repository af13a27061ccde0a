package check

import "sync/atomic"

// Turn says who has the use of a shard at present, or whether the world is idle.
//
// Ownership: users are made between ticks. Whoever runs the shard begins and ends
// their turns; anyone may ask whose it is.
type Turn struct {
	now   atomic.Pointer[User]
	users map[string]*User
}

// User is one who takes turns: a system on one shard, or the idle world.
type User struct {
	turn *Turn
	name string // as in `system "move" on shard 3`
	hint string // what to do instead of using the user's things out of turn
}

// User returns the user of a key, made when first asked for. The name and the hint
// are for messages.
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

// Begin begins the turn of the user of a key, or nobody's if there is none.
func (t *Turn) Begin(key string) { t.now.Store(t.users[key]) }

// End ends the turn.
func (t *Turn) End() { t.now.Store(nil) }
