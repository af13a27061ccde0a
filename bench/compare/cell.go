package main

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/atoll-sim/atoll/world"
)

// defaultShards is the number of shards of a world with default options.
var defaultShards = world.MustNew(world.Options{}).Options().Shards

// cell is one bench at one size.
type cell struct {
	*bench
	n int
}

// result is the measurement of a cell. Times are nanoseconds for each entity,
// medians over the rounds. Ratios are medians of the ratios of single rounds, so that
// a phase in which the machine is slow counts for both sides. nil means not measured.
type result struct {
	Bench     string             `json:"bench"`
	N         int                `json:"n"`
	AtollNS   *float64           `json:"atoll_ns"`
	BestPeer  string             `json:"best_peer"` // the one with the largest ratio
	PeerNS    *float64           `json:"peer_ns"`
	Ratio     *float64           `json:"ratio"`              // Atoll to the best peer: below 1, Atoll is faster
	RatioLow  *float64           `json:"ratio_q1,omitempty"` // quartiles of the ratios of single rounds
	RatioHigh *float64           `json:"ratio_q3,omitempty"`
	Shards    int                `json:"shards"`
	Rounds    int                `json:"rounds"`
	Peers     map[string]float64 `json:"peers"`
	Ratios    map[string]float64 `json:"ratios"` // Atoll to each peer
	LimitNS   *float64           `json:"limit_ns,omitempty"`
	// LimitRatio is Atoll to the limit.
	LimitRatio *float64        `json:"limit_ratio,omitempty"`
	ByShards   map[int]float64 `json:"atoll_ns_by_shards,omitempty"`
	verdict
	LeftOut map[string]string `json:"left_out,omitempty"` // contender to reason
	Commit  string            `json:"commit"`
}

// shardCounts are the numbers of shards that Atoll is shown with.
var shardCounts = []int{1, defaultShards, 16, 256}

// manyFrom is the number of entities from which on many shards are shown.
const manyFrom = 1000

// quickShardsN is the one size that -quick shows with all numbers of shards.
const quickShardsN = 16_000

// shardsShown lists the numbers of shards that Atoll has in a cell. The default comes first, and is
// the one that is judged.
func (b *bench) shardsShown(n int, s settings) []int {
	if s.shards != 0 {
		return []int{s.shards}
	}
	list := []int{defaultShards}
	var beside []int
	switch {
	case n < manyFrom && !b.once:
		beside = []int{1}
	case s.full || n == quickShardsN || b.once:
		beside = shardCounts
	}
	for _, shards := range beside {
		if shards != list[0] {
			list = append(list, shards)
		}
	}
	return list
}

// enter sets the contenders up for a cell, Atoll first. It leaves out those that do not offer
// the bench.
func (b *bench) enter(n int, s settings) []*entrant {
	var all []contender
	for i, shards := range b.shardsShown(n, s) {
		c := atollWith(world.Options{Shards: shards, HugePages: s.huge})
		if i > 0 {
			c.role = twin
			c.name = fmt.Sprintf("%s, %d shards", c.name, shards)
		}
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

// run measures a cell, and ends by the deadline or soon after.
func (c cell) run(s settings, deadline time.Time) result {
	runtime.GC()
	entrants := c.enter(c.n, s)
	p := s.plan
	p.enough = func(rounds int) bool { return c.result(entrants).decided(rounds) }
	rounds := measure(entrants, p, deadline)
	r := c.result(entrants)
	r.Rounds = rounds
	return r
}

// result summarizes the entrants' measurements.
func (c cell) result(entrants []*entrant) result {
	r := result{Bench: c.name, N: c.n, Peers: map[string]float64{}, Ratios: map[string]float64{}, ByShards: map[int]float64{}, LeftOut: map[string]string{}}
	for _, e := range entrants {
		r.add(e)
		if r.AtollNS == nil || e.out != nil {
			continue
		}
		ratios := byRound(entrants[0], e)
		switch ratio := median(ratios); e.role {
		case peer:
			r.Ratios[e.name] = ratio
			if r.Ratio == nil || ratio > *r.Ratio {
				r.BestPeer, r.Ratio = e.name, &ratio
				r.RatioLow, r.RatioHigh = &ratios[len(ratios)/4], &ratios[len(ratios)*3/4]
			}
		case limit:
			r.LimitRatio = &ratio
		}
	}
	if r.AtollNS == nil {
		for name, ns := range r.Peers {
			if best := valueOf(r.Peers, r.BestPeer); best == nil || ns < *best || ns == *best && name < r.BestPeer {
				r.BestPeer = name
			}
		}
	}
	r.PeerNS = valueOf(r.Peers, r.BestPeer)
	r.verdict = c.judge(&r)
	return r
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
		r.ByShards[e.shards] = ns
	case twin:
		r.ByShards[e.shards] = ns
	}
}

// byRound returns the ratios of an entrant's times to those of another, in the
// rounds in which both took part, in order of size.
func byRound(e, other *entrant) []float64 {
	ratios := make([]float64, min(len(e.ns), len(other.ns)))
	for i := range ratios {
		ratios[i] = e.ns[i] / other.ns[i]
	}
	slices.Sort(ratios)
	return ratios
}

// closeTo is how near to a bound a ratio must be to be measured longer, at least.
const closeTo = 0.02

// decided reports whether more rounds would hardly change on which side of 1 and of its
// bar the cell is: both are outside of the interval of a box plot's notch
// around the median.
func (r result) decided(rounds int) bool {
	if r.Ratio == nil {
		return true
	}
	notch := 1.57 * (*r.RatioHigh - *r.RatioLow) / math.Sqrt(float64(rounds))
	margin := max(notch, closeTo)
	near := func(ratio, bound float64) bool { return math.Abs(ratio-bound) < margin }
	switch {
	case near(*r.Ratio, 1):
		return false
	case r.Target != nil && near(*r.Ratio, *r.Target*(1+tolerance)):
		return false
	}
	return true
}
