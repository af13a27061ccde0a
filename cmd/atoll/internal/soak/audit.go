package soak

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// audit compares the whole world with all books. All clients rest, every queue is
// empty and every message is delivered.
type audit struct {
	*stage
	number uint32
	tags   *world.Reader[tag]
	values *world.Reader[value]
	ears   *world.Reader[ear]
	stats  world.Stats
	seen   int
}

// audit compares the world with the books, and returns its statistics.
func (s *stage) audit(number uint32) *world.Stats {
	a := &audit{stage: s, number: number, tags: world.Read[tag](s.w), values: world.Read[value](s.w), ears: world.Read[ear](s.w)}
	s.w.Stats(&a.stats)
	for ch := range s.w.Query(a.tags, world.WithoutFlags(s.w, hidden)).Chunks() {
		t := a.tags.Slice(ch)
		for i, h := range ch.Handles() {
			s.row(a.tags, h, &t[i])
			a.see(h, &t[i])
		}
	}
	a.unseen()
	a.totals()
	return &a.stats
}

// see finds the book that an entity is in.
func (a *audit) see(h handle.Handle, t *tag) {
	a.seen++
	switch m := t.Maker; {
	case m < uint32(len(a.herds)) && t.Place < uint32(len(a.herds[m].places)):
		p := &a.herds[m].places[t.Place]
		if p.h != h || p.serial != t.Serial || p.seen == a.number {
			a.violate("animal %v has tag %v; the book has %v, number %d", h, *t, p.h, p.serial)
		}
		p.seen = a.number
	case m >= guestMaker && m < guestMaker+uint32(len(a.clients)) && t.Place < uint32(len(a.clients[m-guestMaker].guests)):
		e := &a.clients[m-guestMaker].guests[t.Place]
		if e.h != h || e.serial != t.Serial || e.seen == a.number {
			a.violate("guest %v of client %d has tag %v; its book has %v, number %d", h, m-guestMaker, *t, e.h, e.serial)
		}
		e.seen = a.number
		a.guest(e)
	case m == veteranMaker && t.Place < veteransN && a.veterans[t.Place] == h:
	default:
		a.violate("%v has tag %v, which is in no book", h, *t)
	}
}

// guest checks everything that a client knows of its guest.
func (a *audit) guest(e *entry) {
	w := a.w
	v, x := a.values.Get(e.h), a.ears.Get(e.h)
	if v == nil || x == nil || v.N != e.value || x.Heard != e.heard {
		a.violate("guest %v has %v and %v, want value %d and %d heard", e.h, v, x, e.value, e.heard)
	}
	if w.Has(e.h, a.badges) != e.badge || w.Has(e.h, a.labels) != e.label || (world.FlagsOf(w, e.h) == hidden) != e.hidden {
		a.violate("guest %v: badge %v, label %v, flags %b, want %v, %v, hidden %v", e.h,
			w.Has(e.h, a.badges), w.Has(e.h, a.labels), world.FlagsOf(w, e.h), e.badge, e.label, e.hidden)
	}
}

// unseen finds entities that are in a book and were not seen. Loops skip hidden ones:
// they are found by their handles.
func (a *audit) unseen() {
	for _, d := range a.herds {
		for i := range d.places {
			if p := &d.places[i]; p.h != handle.None && p.seen != a.number {
				a.violate("animal %v, number %d of shard %d, is in no table; it is %v", p.h, p.serial, d.maker, a.w.Status(p.h))
			}
		}
		for _, g := range d.graves.graves {
			a.gone(g.h)
		}
	}
	for _, c := range a.clients {
		for i := range c.guests {
			e := &c.guests[i]
			if e.h == handle.None || e.seen == a.number {
				continue
			}
			if t := a.tags.Get(e.h); e.hidden && t != nil && *t == (tag{guestMaker + c.number, e.place, e.serial}) {
				a.row(a.tags, e.h, t)
				a.see(e.h, t)
				continue
			}
			a.violate("guest %v, number %d of client %d, is in no table; it is %v", e.h, e.serial, c.number, a.w.Status(e.h))
		}
		for _, g := range c.graves.graves {
			a.gone(g.h)
		}
	}
}

func (a *audit) gone(h handle.Handle) {
	if st := a.w.Status(h); st != world.Stale || a.w.Alive(h) {
		a.violate("dead %v is %v", h, st)
	}
}

// totals compares the world's counts with the sums of the books.
func (a *audit) totals() {
	var created, destroyed, rejected, told, shouts uint64
	var expected [5]uint64
	heard := make([]uint32, veteransN)
	for _, d := range a.herds {
		created, destroyed, rejected = created+d.created, destroyed+d.destroyed, rejected+d.rejected
		for v, n := range d.shouted {
			heard[v] += n
			shouts += uint64(n)
		}
	}
	told = rejected
	for _, c := range a.clients {
		created, destroyed, rejected = created+c.created, destroyed+c.destroyed, rejected+c.rejected
		told += c.port.Rejected() + c.retired
		for o, n := range c.expected {
			expected[o] += n
		}
		for v, n := range c.orders {
			heard[v] += n
		}
	}
	a.expect("entities", uint64(a.stats.Entities), uint64(a.seen))
	a.expect("entities created", a.stats.Created, created+veteransN)
	a.expect("entities destroyed", a.stats.Destroyed, destroyed)
	a.expect("requests rejected", a.stats.Rejected, rejected)
	a.expect("rejections that ports count", told, rejected)
	a.expect("requests applied", a.stats.Applied, expected[world.Applied]+shouts)
	a.expect("requests gone", a.stats.Gone, expected[world.Gone])
	a.expect("requests missing", a.stats.Missing, expected[world.Missing])
	a.expect("requests refused", a.stats.Refused, 0)
	for v, h := range a.veterans {
		if e := a.ears.Get(h); e == nil || e.Heard != heard[v] {
			a.violate("veteran %v has heard %v messages, want %d", h, e, heard[v])
		}
	}
}

const (
	sampledN   = 64  // animals and dead of each herd, after each tick
	chunksEach = 16  // one of so many chunks is sampled
	rowsMax    = 128 // of a chunk
)

// sampler checks a part of the world after each tick. The herds' books are exact
// while no tick runs.
//
// Ownership: the conductor.
type sampler struct {
	s     *stage
	rand  *rand.Rand
	tags  *world.Reader[tag]
	twins *world.Reader[twin]
	herd  *world.Query
	all   *world.Query
	stats world.Stats
}

func newSampler(s *stage) *sampler {
	tags, pos := world.Read[tag](s.w), world.Read[position](s.w)
	return &sampler{
		s: s, rand: s.config.newRand(1 << 30), tags: tags, twins: world.Read[twin](s.w),
		herd: s.w.Query(pos), all: s.w.Query(tags, world.WithoutFlags(s.w, hidden)),
	}
}

// sample is called after a tick.
func (s *sampler) sample() {
	on := s.s
	on.w.Stats(&s.stats)
	living := 0
	for _, d := range on.herds {
		living += len(d.places) - len(d.vacant)
		for range min(sampledN, len(d.places)) {
			at := s.rand.IntN(len(d.places))
			s.animal(d, uint32(at))
			if n := len(d.graves.graves); n > 0 {
				s.dead(d.graves.graves[s.rand.IntN(n)])
			}
		}
	}
	on.expect("animals in tables", uint64(s.herd.Count()), uint64(living))
	on.expect("entities of the world", uint64(s.stats.Entities), s.stats.Created-s.stats.Destroyed)
	s.chunks()
}

// animal checks an animal against its herd's book.
func (s *sampler) animal(d *herd, at uint32) {
	x := &d.places[at]
	if x.h == handle.None {
		return
	}
	t, w := s.tags.Get(x.h), s.twins.Get(x.h)
	if t == nil || w == nil || *t != (tag{d.maker, at, x.serial}) || w.Serial != x.serial {
		s.s.violate("animal %v, number %d of shard %d, is %v with tag %v", x.h, x.serial, d.maker, s.s.w.Status(x.h), t)
	}
}

func (s *sampler) dead(g grave) {
	if st := s.s.w.Status(g.h); s.s.w.Tick() >= g.due && st != world.Stale {
		s.s.violate("dead animal %v is %v", g.h, st)
	}
}

// chunks checks that rows and their handles match.
func (s *sampler) chunks() {
	n := s.rand.IntN(chunksEach)
	for ch := range s.all.Chunks() {
		if n++; n%chunksEach != 0 {
			continue
		}
		t, h := s.tags.Slice(ch), ch.Handles()
		from := s.rand.IntN(len(h))
		for i := from; i < min(from+rowsMax, len(h)); i++ {
			s.s.row(s.tags, h[i], &t[i])
		}
	}
}

// row checks that the handle of a row is alive and locates that row.
func (s *stage) row(tags *world.Reader[tag], h handle.Handle, t *tag) {
	if tags.Get(h) != t || !s.w.Alive(h) || s.w.Status(h) != world.Alive {
		s.violate("the row of %v, of tag %v, is not found by its handle, which is %v", h, *t, s.w.Status(h))
	}
}

// reading is the memory and goroutines of the process.
type reading struct {
	heap, rss  uint64 // bytes; rss 0: unknown
	goroutines int
}

// read collects garbage, returns free memory to the system, and measures. Otherwise
// the memory of the process would depend on when the collector last ran, not on what is
// needed.
func read() reading {
	runtime.GC()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return reading{heap: m.HeapAlloc, rss: resident(), goroutines: goroutines()}
}

// goroutines counts those that stay: some that are done may be about
// to end.
func goroutines() int {
	n := runtime.NumGoroutine()
	for range 20 {
		time.Sleep(time.Millisecond)
		n = min(n, runtime.NumGoroutine())
	}
	return n
}

// resident returns the process's resident memory, or 0 where it is not known.
func resident() uint64 {
	data, err := os.ReadFile("/proc/self/statm") // pages: size, resident, …
	if err != nil {
		return 0
	}
	fields := bytes.Fields(data)
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseUint(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * uint64(os.Getpagesize())
}

// Growth that is never a violation, because small worlds vary.
const (
	heapSlack = 2 << 20
	rssSlack  = 8 << 20
)

// compare checks that nothing has grown.
func (s *stage) compare(start, end reading) {
	grown := func(what string, from, to, slack uint64, most float64) {
		if most > 0 && to > from+slack && float64(to) > float64(from)*(1+most) {
			s.violate("%s grew from %.1f to %.1f MB, more than %.0f %%", what, mb(from), mb(to), most*100)
		}
	}
	grown("the live heap", start.heap, end.heap, heapSlack, s.config.heapGrowthMax)
	grown("resident memory", start.rss, end.rss, rssSlack, s.config.rssGrowthMax)
	if end.goroutines > start.goroutines {
		s.violate("%d goroutines at the end, %d at the start", end.goroutines, start.goroutines)
	}
}

// mb returns bytes in units of a million.
func mb(bytes uint64) float64 { return float64(bytes) / 1e6 }

// violationsShown is how many violations are listed; more are counted.
const violationsShown = 20

// findings are the violations of a run.
//
// Ownership: any goroutine may add.
type findings struct {
	live io.Writer

	mu struct {
		sync.Mutex
		n     uint64
		texts []string
	}
}

func (f *findings) violate(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.n++
	if len(f.mu.texts) < violationsShown {
		text := fmt.Sprintf(format, args...)
		f.mu.texts = append(f.mu.texts, text)
		_, _ = fmt.Fprintf(f.live, "VIOLATION %s\n", text)
	}
}

// expect is violated by two figures that should be the same.
func (f *findings) expect(what string, got, want uint64) {
	if got != want {
		f.violate("%s: %d, want %d", what, got, want)
	}
}

func (f *findings) all() (n uint64, texts []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.n, append([]string(nil), f.mu.texts...)
}

// Summary is the result of a run. Counts are of the whole run, including the warm-up;
// start is after the warm-up.
type Summary struct {
	Seconds  float64 `json:"seconds"` // after the warm-up
	Seed     uint64  `json:"seed"`
	Entities int     `json:"entities"` // at the end
	Clients  int     `json:"clients"`
	Shards   int     `json:"shards"`
	Workers  int     `json:"workers"`

	Ops        uint64  `json:"ops"` // requests and checks by clients
	Ticks      uint64  `json:"ticks"`
	Created    uint64  `json:"created"`
	Destroyed  uint64  `json:"destroyed"`
	Applied    uint64  `json:"applied"` // requests, as of the next three
	Gone       uint64  `json:"gone"`
	Missing    uint64  `json:"missing"`
	Rejected   uint64  `json:"rejected"`
	Panics     uint64  `json:"panics"`        // of systems, on purpose
	ChurnPart  float64 `json:"churn_percent"` // of the entities, destroyed each second after the warm-up
	Audits     uint32  `json:"audits"`        // of the whole world
	Violations uint64  `json:"violations"`

	HeapStart       float64 `json:"heap_start_mb"`
	HeapEnd         float64 `json:"heap_end_mb"`
	RSSStart        float64 `json:"rss_start_mb"`
	RSSEnd          float64 `json:"rss_end_mb"`
	GoroutinesStart int     `json:"goroutines_start"`
	GoroutinesEnd   int     `json:"goroutines_end"`

	// Texts are those of the first violations.
	Texts []string `json:"violation_texts,omitempty"`
}

// OK reports whether nothing was wrong.
func (s *Summary) OK() bool { return s.Violations == 0 }

// summarize makes the result of the run.
func (s *soak) summarize(start, end reading, measured time.Duration) *Summary {
	sum := &Summary{
		Seconds: measured.Seconds(), Seed: s.config.Seed, Entities: s.stats.Entities, Clients: len(s.clients),
		Shards: s.w.Shards(), Workers: s.scheduler.Workers(),
		Ops: s.operations(), Ticks: s.w.Tick(), Created: s.stats.Created, Destroyed: s.stats.Destroyed,
		Applied: s.stats.Applied, Gone: s.stats.Gone, Missing: s.stats.Missing, Rejected: s.stats.Rejected,
		Panics: s.told, Audits: s.audits,
		HeapStart: mb(start.heap), HeapEnd: mb(end.heap), RSSStart: mb(start.rss), RSSEnd: mb(end.rss),
		GoroutinesStart: start.goroutines, GoroutinesEnd: end.goroutines,
	}
	if sum.Entities > 0 && measured > 0 {
		sum.ChurnPart = 100 * float64(s.stats.Destroyed-s.base.Destroyed) / float64(sum.Entities) / measured.Seconds()
	}
	sum.Violations, sum.Texts = s.all()
	return sum
}

// Write writes the result for people.
func (s *Summary) Write(w io.Writer) {
	_, _ = fmt.Fprintf(w, "\n%d operations in %d ticks, %.0f s after the warm-up; %d audits of the whole world\n", s.Ops, s.Ticks, s.Seconds, s.Audits)
	_, _ = fmt.Fprintf(w, "%d entities; %d created, %d destroyed: %.0f %% replaced each second; %d panics of its own systems, on purpose\n", s.Entities, s.Created, s.Destroyed, s.ChurnPart, s.Panics)
	_, _ = fmt.Fprintf(w, "requests: %d applied, %d gone, %d missing, %d rejected\n", s.Applied, s.Gone, s.Missing, s.Rejected)
	_, _ = fmt.Fprintf(w, "heap %.1f → %.1f MB, resident %.1f → %.1f MB, goroutines %d → %d\n",
		s.HeapStart, s.HeapEnd, s.RSSStart, s.RSSEnd, s.GoroutinesStart, s.GoroutinesEnd)
	_, _ = fmt.Fprintf(w, "%d violations\n", s.Violations)
}
