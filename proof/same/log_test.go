package same_test

import (
	"fmt"
	"math/rand/v2"
)

// verb is what an entry of a log asks for.
type verb int

const (
	create verb = iota
	destroy
	set
	add
	remove
	exchange
	hide
	show
	push
	move
	attach // the rest where ticks are those of the log alone
	detach
	bind
	verbs
)

func (v verb) String() string {
	return [...]string{"create", "destroy", "set", "add", "remove", "exchange", "hide", "show", "push", "move", "attach", "detach", "bind"}[v]
}

// entry is one request on the entity of a key.
type entry struct {
	verb  verb
	key   int64
	value int64
	tick  bool // a tick follows
}

func (e entry) String() string { return fmt.Sprintf("%v %d %d", e.verb, e.key, e.value) }

// newLog draws a log. Keys are used again when their entity was destroyed, and asked about
// before it is created: the requests of a log depend on each other. Some ticks have so
// much to do that the refresh goes to work in parallel.
func newLog(r *rand.Rand, entries int) []entry {
	log := make([]entry, entries)
	keys := int64(20 + r.IntN(400))
	for i := range log {
		e := entry{verb: verb(r.IntN(int(verbs))), key: r.Int64N(keys), value: r.Int64N(1 << 20)}
		if r.IntN(4) == 0 {
			e.verb = create
		}
		e.tick = r.IntN(50) == 0
		if i%5000 > 3000 { // two thousand in one tick
			e.tick = false
		}
		log[i] = e
	}
	return log
}
