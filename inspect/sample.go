package inspect

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/figures"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
	"github.com/atoll-sim/atoll/world/stats"
)

const (
	sampleRest = time.Second            // between samples without readers
	sampleLook = 250 * time.Millisecond // between samples with readers
	sampleMost = 4 * time.Second        // if samples take long
	lookFor    = 5 * time.Second        // for how long after a request there is a reader
	windowMax  = 10                     // seconds that quantiles cover
	setsMax    = 100
)

// samples reads the statistics regularly.
//
// Ownership: turn belongs to the goroutine that takes a sample, and guards the fields after it. mu
// guards those after mu. The rest is for any goroutine.
type samples struct {
	x        *Inspector
	began    time.Time
	streams  atomic.Int32
	fulls    atomic.Int32
	asked    atomic.Int64 // when a reader last asked, in nanoseconds since began
	took     atomic.Int64 // how long the world waited for the newest sample, in nanoseconds
	wakes    chan struct{}
	short    feed // the newest, as JSON
	full     feed // with what each system did on each shard
	problems problems

	turn      *semaphore.Weighted // of one
	scheduler scheduler.Stats
	pairs     [][]scheduler.ShardStats // by system; none if nobody asks for them
	world     world.Stats
	sets      []componentSet
	others    []figures.Family
	window    []moment // one each second, the oldest first
	before    signs    // of the sample before

	mu      sync.Mutex
	body    [2][]byte // short and full, without their age
	at      time.Time
	change  uint64 // how many changes had been made
	whole   bool   // all of it is from then: sets and others are read only while there are readers
	history history
}

// moment is what windows are computed from.
type moment struct {
	at      time.Time
	ticks   uint64
	time    stats.Histogram
	between stats.Histogram
	latency stats.Histogram
	systems []stats.Histogram
	steps   []stats.Histogram
	shards  []shardTimes
	total   []time.Duration  // of systems
	waited  []time.Duration  // likewise
	waits   []scheduler.Wait // none but in the newest moments
}

type shardTimes struct{ busy, waited, heldUp time.Duration }

// componentSet is the entities with one set of components.
type componentSet struct {
	set    store.Set
	n      int
	shards []int
}

func (m *samples) init(x *Inspector) {
	m.x, m.began, m.turn, m.wakes = x, time.Now(), semaphore.NewWeighted(1), make(chan struct{}, 1)
	m.history.init()
	m.asked.Store(int64(-lookFor))
}

// look notes that a stream begins or ends.
func (m *samples) look(n int32) {
	m.streams.Add(n)
	m.wake()
}

func (m *samples) lookFull(n int32) { m.fulls.Add(n) }

// wake makes the next sample come soon.
func (m *samples) wake() {
	m.asked.Store(int64(time.Since(m.began)))
	select {
	case m.wakes <- struct{}{}:
	default:
	}
}

// looks reports whether there are readers.
func (m *samples) looks() bool {
	return m.streams.Load() > 0 || time.Since(m.began)-time.Duration(m.asked.Load()) < lookFor
}

// least returns the least time between samples. With many systems on many shards a sample takes
// long, and the world must wait at most a hundredth of the time.
func (m *samples) least() time.Duration {
	return min(max(sampleLook, 100*time.Duration(m.took.Load())), sampleMost)
}

// run takes samples until the Inspector ends.
func (m *samples) run() {
	for m.x.ctx.Err() == nil {
		if err := m.refresh(m.x.ctx); err != nil {
			m.stands(err)
		}
		wait := time.NewTimer(m.least())
		if !m.looks() {
			wait.Reset(max(m.least(), sampleRest))
		}
		select {
		case <-wait.C:
		case <-m.wakes:
			m.pause() // however often it is woken
		case <-m.x.ctx.Done():
		}
		wait.Stop()
	}
}

// pause waits a little.
func (m *samples) pause() {
	select {
	case <-time.After(m.least() / 5):
	case <-m.x.ctx.Done():
	}
}

// stands publishes the last sample again, with its greater age, and notes why there is no newer
// one.
func (m *samples) stands(err error) {
	if errors.Is(err, errStands) && m.x.s.Running() && !m.x.s.Paused() {
		m.problems.add(problem{Kind: "stuck", Tick: m.x.w.Tick(), What: "no tick ends", Detail: "a system does not return, or takes more than 2 seconds"})
	}
	m.mu.Lock()
	if m.body[1] == nil {
		m.body[1] = m.body[0] // streams of full samples get the short one
	}
	m.mu.Unlock()
	m.publish()
}

// has reports whether there is a sample that is newer than the changes up to a number.
func (m *samples) has(change uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.body[0] != nil && m.change >= change
}

// isFresh reports whether the newest sample has all changes, and is not much older than streams'
// samples are.
func (m *samples) isFresh() bool {
	change := m.x.changes.Load()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.whole && m.change >= change && time.Since(m.at) < m.least()
}

// refresh takes a sample unless the newest one is fresh. Goroutines that wait for their turn share
// it.
func (m *samples) refresh(ctx context.Context) error {
	if m.isFresh() {
		return nil
	}
	if err := m.turn.Acquire(ctx, 1); err != nil {
		return err
	}
	defer m.turn.Release(1)
	if m.isFresh() {
		return nil
	}
	return m.take(ctx)
}

// follow takes a sample if there was a change since the newest one, and the world lets it.
func (m *samples) follow(ctx context.Context) {
	if change := m.x.changes.Load(); change > 0 && !m.has(change) {
		ctx, cancel := context.WithTimeout(ctx, waitMax/4)
		defer cancel()
		_ = m.refresh(ctx) // on an error there is nothing newer
	}
}

// take takes a sample. It is the caller's turn.
func (m *samples) take(ctx context.Context) error {
	looks, paused, full, change := false, false, m.fulls.Load() > 0, uint64(0)
	var s *schema
	err := m.x.asks.do(ctx, func(w *world.World) {
		began := time.Now()
		defer func() { m.took.Store(int64(time.Since(began))) }()
		m.x.s.Stats(&m.scheduler)
		m.takePairs(full)
		w.Stats(&m.world)
		s, change = m.x.schemas.of(w), m.x.changes.Load()
		if looks = m.looks() || !m.has(change); looks {
			m.sets, m.others = setsOf(w), figures.Others(w)
			if known := m.x.stages.Load(); known == nil || len(*known) != len(m.scheduler.Systems) {
				_, _ = m.x.planNow(w) // without one there are no stages
			}
		}
		paused = m.x.s.Paused()
	})
	if err != nil {
		return err
	}
	now := m.moment()
	m.findProblems()
	before := &now
	if len(m.window) > 0 {
		before = &m.window[0]
	}
	r := m.report(s, &now, before, paused)
	body := [2][]byte{r.encode(false), nil}
	if full {
		body[1] = r.encode(true)
	}
	m.mu.Lock()
	if body[1] == nil && m.body[1] != nil {
		body[1] = body[0] // a stream may expect one
	}
	m.body, m.at, m.change, m.whole = body, now.at, change, looks
	m.history.add(&now, &m.scheduler, &m.world)
	m.mu.Unlock()
	if n := len(m.window); n == 0 || now.at.Sub(m.window[n-1].at) >= sampleRest-sampleLook/2 {
		if n > 1 {
			m.window[n-2].waits = nil // it is more than a second old
		}
		if m.window = append(m.window, now); n >= windowMax {
			m.window = slices.Delete(m.window, 0, 1)
		}
	}
	m.publish()
	return nil
}

// takePairs reads what each system did on each shard, if anyone asks for it.
func (m *samples) takePairs(full bool) {
	m.pairs = m.pairs[:0]
	for i := 0; full && i < len(m.scheduler.Systems); i++ {
		m.pairs = slices.Grow(m.pairs, 1)[:i+1]
		m.pairs[i], _ = m.x.s.AppendShards(m.pairs[i][:0], m.scheduler.Systems[i].Name)
	}
}

// publish gives the newest sample, with its age, to streams.
func (m *samples) publish() {
	for i, f := range []*feed{&m.short, &m.full} {
		if body, change := m.newest(i); body != nil {
			f.put(body, change)
		}
	}
}

// newest returns the newest sample with its age, or nil, and how many changes had been made.
func (m *samples) newest(i int) (body []byte, change uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.body[i] == nil {
		return nil, 0
	}
	return withAge(m.body[i], time.Since(m.at)), m.change
}

// setsOf returns the sets of components, those with most entities first.
func setsOf(w *world.World) (all []componentSet) {
	survey := engine.Of(w).Survey()
	places := map[store.Set]int{}
	for i := range w.Shards() {
		for _, t := range survey.Shard(i).Tables() {
			if t.Rows() == 0 {
				continue
			}
			at, ok := places[t.Set()]
			if !ok {
				at = len(all)
				places[t.Set()] = at
				all = append(all, componentSet{set: t.Set(), shards: make([]int, w.Shards())})
			}
			all[at].n += t.Rows()
			all[at].shards[i] += t.Rows()
		}
	}
	slices.SortStableFunc(all, func(a, b componentSet) int { return cmp.Compare(b.n, a.n) })
	return all[:min(len(all), setsMax)]
}

// moment keeps of the sample what windows are computed from.
func (m *samples) moment() moment {
	now := moment{
		at: time.Now(), ticks: m.scheduler.Ticks, time: m.scheduler.Time, between: m.scheduler.Between, latency: m.world.Latency,
		shards: make([]shardTimes, len(m.world.Shards)), waits: slices.Clone(m.scheduler.Waits),
	}
	for i := range m.scheduler.Systems {
		x := &m.scheduler.Systems[i]
		now.systems, now.total, now.waited = append(now.systems, x.Time), append(now.total, x.Total), append(now.waited, x.Waited)
	}
	for k, x := range m.scheduler.Shards {
		now.shards[k] = shardTimes{busy: x.Busy, waited: x.Waited, heldUp: x.HeldUp}
	}
	for i := range m.world.Steps {
		now.steps = append(now.steps, m.world.Steps[i].Time)
	}
	return now
}

// second returns the moment a second ago, or the oldest.
func (m *samples) second(now *moment) *moment {
	for i := len(m.window) - 1; i >= 0; i-- {
		if now.at.Sub(m.window[i].at) >= sampleRest-sampleLook/2 {
			return &m.window[i]
		}
	}
	if len(m.window) > 0 {
		return &m.window[0]
	}
	return now
}

// serveStats answers with a sample that has all changes. If the world allows it, the sample is not
// much older than those of streams.
func (x *Inspector) serveStats(w http.ResponseWriter, r *http.Request) error {
	m := &x.samples
	m.asked.Store(int64(time.Since(m.began)))
	wait, change := waitMax/4, x.changes.Load()
	if !m.has(change) {
		wait = waitMax // there is no older one to answer with
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	err := m.refresh(ctx)
	if m.has(change) {
		body, _ := m.newest(0)
		writeBody(w, http.StatusOK, body)
		return nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errStands // the sampler with the turn waited for a tick
	}
	return err
}

func (x *Inspector) serveHistory(w http.ResponseWriter, r *http.Request) error {
	p := parametersOf(r, "span")
	span, ok := spans[p.Get("span")]
	if !ok {
		p.fail("span is %q, want minute, hour or day", p.Get("span"))
	}
	if p.err != nil {
		return p.err
	}
	x.samples.follow(r.Context())
	x.samples.mu.Lock()
	body := x.samples.history.append(nil, span)
	x.samples.mu.Unlock()
	writeBody(w, http.StatusOK, body)
	return nil
}
