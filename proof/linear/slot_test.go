package linear_test

import (
	"cmp"
	"hash/maphash"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// slot is the sequential specification of one slot: what a single thread that did
// all operations in order would see.
//
//	        a port draws         create sent          store            sweep
//	free ────────────────▶ drawn ───────────▶ pending ─────▶ alive ─────────────▶ free, version + 1
//	  ◀──── a port closes ────┘   alive at once by a shard's system          └──▶ retired, at the limit
//
// A refresh is cut, store, sweep and settle. What was sent before the cut is
// decided: creates at the store, the others at the sweep, in order of the senders.
type slot struct {
	version uint32
	state   state
	marked  bool     // by its owner
	hidden  bool     // from systems of other shards: created in this tick
	settled bool     // drawn before the last cut, as far as is known: systems see no other slot of ports
	done    verb     // the last step of the refresh under way, settle if there is none
	sent    requests // since the last cut
	taken   requests // by the refresh under way
	decided requests // whose outcome nobody has heard yet
}

type state uint8

const (
	free state = iota
	drawn
	pending
	alive
	retired
)

// request is one request on the slot.
type request struct {
	rank    uint8
	create  bool
	version uint32
	number  uint16
	outcome world.Outcome
}

// rules is what the specification depends on. A flaw makes it wrong on purpose, to
// see that the checker notices.
type rules struct {
	versionMax uint32
	outside    uint32 // the home of what ports create
	flaw       flaw
}

type flaw string

const (
	none         flaw = ""
	destroysNow  flaw = "a request to destroy takes effect when it is sent"
	createsNow   flaw = "a port's entity is alive when its create is sent"
	lastWins     flaw = "the last request in order destroys"
	wraps        flaw = "a slot whose versions are used up starts again"
	losesCreates flaw = "a create is dropped by the refresh"
	keepsVersion flaw = "a slot that is free again keeps its version"
	marksShow    flaw = "a mark shows to everybody at once"
)

var flaws = []flaw{destroysNow, createsNow, lastWins, wraps, losesCreates, keepsVersion, marksShow}

// model is the specification in the words of the checker.
func (u rules) model(slots func([]porcupine.Operation) [][]porcupine.Operation) porcupine.Model {
	seed := maphash.MakeSeed()
	return porcupine.Model{
		Partition: slots,
		Init:      func() any { return slot{version: 1, done: settle} },
		Step: func(s, input, _ any) (bool, any) {
			next, ok := u.step(s.(slot), input.(*record))
			return ok, next
		},
		Hash:              func(s any) uint64 { return maphash.Comparable(seed, s.(slot)) },
		DescribeOperation: func(input, _ any) string { return input.(*record).String() },
	}
}

// step does one operation and reports whether its answer was right.
func (u rules) step(s slot, r *record) (slot, bool) {
	switch r.verb {
	case create:
		return u.create(s, r)
	case destroy:
		return u.destroy(s, r)
	case told:
		return s.told(r)
	case look:
		return u.look(s, r)
	case check:
		return s, r.ok == (s.isAlive(r.h) && !s.hides(r))
	default:
		return u.refresh(s, r.verb)
	}
}

func (s slot) isAlive(h handle.Handle) bool { return s.state == alive && s.version == h.Version() }

// hides reports whether the atom is hidden from who asks.
func (s slot) hides(r *record) bool { return s.hidden && r.holder == elsewhere }

func (u rules) create(s slot, r *record) (slot, bool) {
	if r.h.Version() != s.version || (s.state != free && s.state != drawn) {
		return s, false // given before, or not to be given yet
	}
	if r.holder != port {
		s.state, s.hidden = alive, r.holder == owner
		return s, r.h.Home() != u.outside
	}
	s.state = pending
	if u.flaw == createsNow {
		s.state = alive
	}
	s.sent = s.sent.with(request{rank: r.rank, create: true, version: s.version, number: r.request})
	return s, r.h.Home() == u.outside
}

func (u rules) destroy(s slot, r *record) (slot, bool) {
	switch r.holder {
	case idle: // told whether it marked it
		marks := s.isAlive(r.h) && !s.marked
		s.marked = s.marked || marks
		return s, r.ok == marks
	case owner: // marking twice is no error
		s.marked = s.marked || s.isAlive(r.h)
		return s, r.ok == s.isAlive(r.h)
	case elsewhere: // asks first
		if seen := s.isAlive(r.h) && !s.hides(r); !r.ok || !seen {
			return s, r.ok == seen
		}
	}
	if u.flaw == destroysNow && s.isAlive(r.h) {
		return u.free(s), true
	}
	s.sent = s.sent.with(request{rank: r.rank, version: r.h.Version(), number: r.request})
	return s, true
}

// told is right if the refresh has decided so and is done with the slot.
func (s slot) told(r *record) (slot, bool) {
	for i, d := range s.decided.all() {
		if d.number == r.request {
			s.decided = s.decided.without(i)
			return s, d.outcome == r.outcome
		}
	}
	return s, false
}

func (u rules) look(s slot, r *record) (slot, bool) {
	bySystem := r.holder == owner || r.holder == elsewhere
	if bySystem && r.h.Home() == u.outside && !s.settled {
		if r.status == world.Forged {
			return s, true
		}
		s.settled = true // its port had it in hand
	}
	switch v := r.h.Version(); {
	case v < s.version:
		return s, r.status == world.Stale
	case v > s.version:
		return s, r.status == world.Forged
	}
	switch s.state {
	case free, drawn: // a port may draw it at any time, and find that its queue is full
		if r.h.Home() != u.outside {
			return s, r.status == world.Unused
		}
		if r.status == world.Pending && !bySystem {
			s.state = drawn
		}
		return s, r.status == world.Pending || r.status == world.Unused && !bySystem
	case pending:
		return s, r.status == world.Pending
	case retired:
		return s, r.status == world.Stale
	}
	if s.hides(r) {
		return s, r.status == world.Unused
	}
	sees := r.holder == owner || r.holder == idle || u.flaw == marksShow
	if s.marked && sees {
		return s, r.status == world.Dying
	}
	return s, r.status == world.Alive
}

// refresh does one step of a refresh, if it is the next.
func (u rules) refresh(s slot, step verb) (slot, bool) {
	if step != s.done+1 && (step != cut || s.done < sweep) {
		return s, false
	}
	s.done = step
	switch step {
	case cut:
		s.taken, s.sent = s.sent, nothing
		s.hidden = false
		s.settled = s.settled || s.state != free || s.version > 1
	case store:
		for _, q := range s.taken.all() {
			if q.create && s.state == pending {
				s.state = alive
				if u.flaw == losesCreates {
					s = u.free(s)
				}
			}
		}
	case sweep:
		s = u.decide(s)
		if s.marked {
			s = u.free(s)
		}
	case settle:
		if s.state == drawn { // its port may have closed
			s.state = free
		}
	}
	return s, true
}

// decide gives each request that was taken its outcome: the first to destroy does.
func (u rules) decide(s slot) slot {
	all := s.taken.all()
	if u.flaw == lastWins {
		slices.Reverse(all)
	}
	for _, q := range all {
		q.outcome = world.Gone
		if q.create {
			q.outcome = world.Applied
		} else if s.state == alive && q.version == s.version && !s.marked {
			q.outcome, s.marked = world.Applied, true
		}
		if q.number != 0 {
			s.decided = s.decided.with(q)
		}
	}
	s.taken = nothing
	return s
}

// free frees the slot of a dead atom, or retires it.
func (u rules) free(s slot) slot {
	s.marked = false
	switch {
	case u.flaw == keepsVersion:
		s.state = free
	case s.version < u.versionMax:
		s.state, s.version = free, s.version+1
	case u.flaw == wraps:
		s.state, s.version = free, 1
	default:
		s.state = retired
	}
	return s
}

// requests is a list of requests in order of the ranks of their senders, as a
// string, so that slots can be compared.
type requests string

const nothing requests = ""

const requestSize = 8

func (l requests) all() []request {
	list := make([]request, 0, len(l)/requestSize)
	for ; len(l) > 0; l = l[requestSize:] {
		list = append(list, request{
			rank: l[0], create: l[1] == 1, outcome: world.Outcome(l[2]), number: uint16(l[3])<<8 | uint16(l[4]),
			version: uint32(l[5])<<16 | uint32(l[6])<<8 | uint32(l[7]),
		})
	}
	return list
}

func pack(list []request) requests {
	b := make([]byte, 0, len(list)*requestSize)
	for _, q := range list {
		created := byte(0)
		if q.create {
			created = 1
		}
		b = append(b, q.rank, created, byte(q.outcome), byte(q.number>>8), byte(q.number),
			byte(q.version>>16), byte(q.version>>8), byte(q.version))
	}
	return requests(b)
}

// with adds a request behind those of senders that do not come after it.
func (l requests) with(q request) requests {
	list := append(l.all(), q)
	slices.SortStableFunc(list, func(a, b request) int { return cmp.Compare(a.rank, b.rank) })
	return pack(list)
}

func (l requests) without(i int) requests { return pack(slices.Delete(l.all(), i, i+1)) }
