package linear_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// verb is what was done.
type verb uint8

const (
	create  verb = iota // a handle was given; by a port its create is sent with it
	destroy             // a mark in the own shard, a request elsewhere
	told                // the outcome of a request was heard
	look                // Status
	check               // Alive

	// The steps of a refresh, in this order. All that is known of when each
	// happened is when the refresh did.
	cut
	store
	sweep
	settle
)

func (v verb) String() string {
	return [...]string{"create", "destroy", "told", "look", "check", "cut", "store", "sweep", "settle"}[v]
}

// holder is as what the client acted on the handle.
type holder uint8

const (
	port      holder = iota
	owner            // a system on the shard that holds the atom
	elsewhere        // a system on another shard
	idle             // the world between ticks
)

// record is one operation of a client, or one step of a refresh.
type record struct {
	client  int
	verb    verb
	holder  holder
	h       handle.Handle
	rank    uint8  // of the sender of a request: ports by number, then shards
	request uint16 // names a request whose outcome somebody waits for; 0 for none

	ok      bool // check: alive; destroy: marked, or accepted
	status  world.Status
	outcome world.Outcome

	called, returned int64
	dawdled          bool // others were let in between the two
}

func (r *record) String() string {
	s := fmt.Sprintf("%d–%d client %d: %v %v", r.called, r.returned, r.client, r.verb, r.h)
	switch r.verb {
	case create:
		s += fmt.Sprintf(" request %d of rank %d", r.request, r.rank)
	case destroy:
		s += fmt.Sprintf(" request %d of rank %d → %t", r.request, r.rank, r.ok)
	case told:
		s += fmt.Sprintf(" request %d → %v", r.request, r.outcome)
	case look:
		s += fmt.Sprintf(" → %v", r.status)
	case check:
		s += fmt.Sprintf(" → %t", r.ok)
	}
	return s
}

// place is the slot that a handle names: home and index.
type place uint64

func placeOf(h handle.Handle) place { return place(h >> handle.VersionBits) }

// clock gives out points in time.
type clock struct{ atomic.Int64 }

func (c *clock) now() int64 { return c.Add(1) }

// ledger is what one client did, in order.
type ledger struct {
	client  int
	clock   *clock
	r       *rand.Rand
	records []record
}

// begin notes the call of an operation. What is returned is good until the next. Now
// and then others run before the operation does, or after it: clients meet on a
// machine with one processor, too.
func (l *ledger) begin(v verb, by holder, h handle.Handle) *record {
	l.records = append(l.records, record{client: l.client, verb: v, holder: by, h: h, called: l.clock.now()})
	r := &l.records[len(l.records)-1]
	l.pause(r)
	return r
}

// end notes that it returned.
func (l *ledger) end(r *record) {
	l.pause(r)
	r.returned = l.clock.now()
}

func (l *ledger) pause(r *record) {
	if l.r.IntN(16) == 0 {
		r.dawdled = true
		runtime.Gosched()
	}
}

// drop forgets the newest record: the operation was refused and did nothing.
func (l *ledger) drop() { l.records = l.records[:len(l.records)-1] }
