package server

import "sync/atomic"

// Tally counts what became of commands.
type Tally struct {
	Accepted uint64 // got a number
	Applied  uint64 // were applied
	Late     uint64 // came too late: the avatar had died
	Refused  uint64 // met a limit of the world at the refresh or in a system
	Lost     uint64 // got no outcome in time, which is a failure
	Rejected uint64 // not accepted, because too much was under way
}

// Decided returns how many commands have an outcome.
func (t Tally) Decided() uint64 { return t.Applied + t.Late + t.Refused + t.Lost }

// Totals are the counts of a server.
type Totals struct {
	Tally
	Obeyed  uint64 // of the applied, those that an island replied to
	Stray   uint64 // replies to no command under way, which is a failure
	Joined  uint64 // avatars created
	Left    uint64 // avatars destroyed by a request, not by a system
	Errors  uint64 // lines that were wrong
	Clients uint64 // that ever connected
	Here    int    // connected now
}

// counters are the running counts of a client or of a server.
//
// Ownership: any client's goroutines count, any goroutine reads. Each counter is exact.
// Together they are consistent only when no command is under way.
type counters struct {
	accepted, applied, late, refused, lost, rejected atomic.Uint64
	obeyed, stray, joined, left, errors, clients     atomic.Uint64
}

func (c *counters) tally() Tally {
	return Tally{
		Accepted: c.accepted.Load(), Applied: c.applied.Load(), Late: c.late.Load(),
		Refused: c.refused.Load(), Lost: c.lost.Load(), Rejected: c.rejected.Load(),
	}
}

// count counts an event for the client and for the server.
func (c *client) count(which func(*counters) *atomic.Uint64) {
	which(&c.counters).Add(1)
	which(&c.server.counters).Add(1)
}

// The counters, for count.
func accepted(c *counters) *atomic.Uint64 { return &c.accepted }
func applied(c *counters) *atomic.Uint64  { return &c.applied }
func late(c *counters) *atomic.Uint64     { return &c.late }
func refused(c *counters) *atomic.Uint64  { return &c.refused }
func lost(c *counters) *atomic.Uint64     { return &c.lost }
func rejected(c *counters) *atomic.Uint64 { return &c.rejected }
