package main

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/atoll-sim/atoll/world"
)

// result is one cell of the comparison: one bench at one size. Times are
// nanoseconds for each entity, medians over the rounds; nil is not measured.
type result struct {
	Bench     string             `json:"bench"`
	N         int                `json:"n"`
	AtollNS   *float64           `json:"atoll_ns"`
	BestPeer  string             `json:"best_peer"`
	PeerNS    *float64           `json:"peer_ns"`
	Ratio     *float64           `json:"ratio"`              // Atoll to the best peer: below 1, Atoll is faster
	RatioLow  *float64           `json:"ratio_q1,omitempty"` // quartiles of the ratios of single rounds
	RatioHigh *float64           `json:"ratio_q3,omitempty"`
	Shards    int                `json:"shards"`
	Rounds    int                `json:"rounds"`
	Peers     map[string]float64 `json:"peers"`
	LimitNS   *float64           `json:"limit_ns,omitempty"`
	OneNS     *float64           `json:"atoll_one_ns,omitempty"`     // with one shard
	DefaultNS *float64           `json:"atoll_default_ns,omitempty"` // with the default number
	LeftOut   map[string]string  `json:"left_out,omitempty"`         // contender to reason
	Commit    string             `json:"commit"`
}

// shardsFor is the number of shards that Atoll has in a cell.
func (b *bench) shardsFor(n int) int {
	if n < 1000 && !b.once {
		return 1
	}
	return world.DefaultShards
}

// enter sets the contenders up for a cell. Those that do not offer the bench are
// not among the entrants.
func (b *bench) enter(n int, s settings) []*entrant {
	shards := s.shards
	if shards == 0 {
		shards = b.shardsFor(n)
	}
	all := []contender{atoll(shards)}
	if s.both && s.shards == 0 {
		c := atoll(1 + world.DefaultShards - shards)
		c.role = twin
		all = append(all, c)
	}
	for _, c := range others {
		if c.role == limit || s.peers.MatchString(c.name) {
			all = append(all, c)
		}
	}
	var entrants []*entrant
	for _, c := range all {
		if e := b.enterOne(&c, n); e != nil {
			entrants = append(entrants, e)
		}
	}
	return entrants
}

func (b *bench) enterOne(c *contender, n int) *entrant {
	e := &entrant{name: c.name, role: c.role, shards: c.shards}
	offered := true
	e.guard(func() {
		if s := b.setup(c, n); s != nil {
			e.subject = *s
		} else {
			offered = false
		}
	})
	if !offered {
		return nil
	}
	return e
}

// run measures a cell until the deadline.
func (b *bench) run(n int, s settings, deadline time.Time) result {
	runtime.GC()
	entrants := b.enter(n, s)
	rounds := measure(entrants, s.plan, deadline)
	r := result{Bench: b.name, N: n, Rounds: rounds, Peers: map[string]float64{}, LeftOut: map[string]string{}}
	for _, e := range entrants {
		r.add(e)
	}
	for name, ns := range maps.All(r.Peers) {
		if r.PeerNS == nil || ns < *r.PeerNS || ns == *r.PeerNS && name < r.BestPeer {
			r.BestPeer, r.PeerNS = name, &ns
		}
	}
	if r.AtollNS != nil && r.PeerNS != nil {
		ratio := *r.AtollNS / *r.PeerNS
		r.Ratio = &ratio
		r.RatioLow, r.RatioHigh = quartiles(entrants, r.BestPeer)
	}
	return r
}

// quartiles returns those of the ratios of Atoll, which is the first entrant, to
// the best peer, round by round.
func quartiles(entrants []*entrant, best string) (low, high *float64) {
	ratios := slices.Clone(entrants[0].ns)
	for _, e := range entrants {
		if e.name == best {
			for i := range ratios {
				ratios[i] /= e.ns[i]
			}
		}
	}
	slices.Sort(ratios)
	return &ratios[len(ratios)/4], &ratios[len(ratios)*3/4]
}

func (r *result) add(e *entrant) {
	if e.out != nil {
		r.LeftOut[e.name] = e.out.Error()
		return
	}
	ns := median(e.ns)
	switch e.role {
	case peer:
		r.Peers[e.name] = ns
	case limit:
		r.LimitNS = &ns
	case own:
		r.AtollNS, r.Shards = &ns, e.shards
	case twin:
		if r.OneNS, r.DefaultNS = r.AtollNS, &ns; e.shards == 1 {
			r.OneNS, r.DefaultNS = &ns, r.AtollNS
		}
	}
}

// label names a cell for -run and for progress.
func (b *bench) label(n int) string { return fmt.Sprintf("%s/%d", b.name, n) }
