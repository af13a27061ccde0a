package inspect

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/atoll-sim/atoll/internal/figures"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

const (
	sampleRest = time.Second            // between samples without readers
	sampleLook = 250 * time.Millisecond // between samples with readers
	sampleMost = 4 * time.Second        // if samples take long
	lookFor    = 5 * time.Second        // for how long after a request there is a reader
	windowMax  = 10                     // seconds that quantiles cover
)

// samples reads the statistics regularly.
//
// Ownership: turn belongs to the goroutine that takes a sample, and guards the fields after it. mu
// guards those after mu. The rest is for any goroutine.
type samples struct {
	*visitor
	schemas *schemas
	kept    *scheduler.Overruns // the ticks that overran
	flights flights
	began   time.Time
	readers atomic.Int32  // streams
	fulls   atomic.Int32  // streams with what each system did on each shard
	asked   atomic.Int64  // when a reader last asked, in nanoseconds since began
	took    atomic.Int64  // how long the world waited for the newest sample, in nanoseconds
	wakes   chan struct{} // makes the next sample come soon

	turn   *semaphore.Weighted // of one
	last   sample
	window []moment // one each second, the oldest first
	signs  signs    // its problems are for any goroutine

	mu      sync.Mutex
	history history
	newest  atomic.Pointer[edition] // stored under mu
}

// edition is a published sample.
//
// Ownership: nothing writes it, but newer is closed when there is a newer one.
type edition struct {
	body   [2][]byte // short, and full with what each system did on each shard; without their age
	fed    [2][]byte // for streams, with the age that they had
	at     time.Time
	change uint64 // how many changes had been made
	whole  bool   // all of it is from then: sets and others are read only while there are readers
	newer  chan struct{}
}

// has reports whether there is a sample with all changes up to a number.
func (e *edition) has(change uint64) bool { return e.body[0] != nil && e.change >= change }

// newSamples makes the samples of an Inspector, for New, which then starts run.
func newSamples(v *visitor, schemas *schemas) *samples {
	s := &samples{visitor: v, schemas: schemas, began: time.Now(), turn: semaphore.NewWeighted(1), wakes: make(chan struct{}, 1)}
	s.newest.Store(&edition{newer: make(chan struct{})})
	s.history.init()
	s.asked.Store(int64(-lookFor))
	return s
}

// look notes that a stream begins or ends. The goroutine of its request calls it.
func (s *samples) look(n int32) {
	s.readers.Add(n)
	s.wake()
}

// wake makes the next sample come soon. Any goroutine may call it.
func (s *samples) wake() {
	s.asked.Store(int64(time.Since(s.began)))
	select {
	case s.wakes <- struct{}{}:
	default:
	}
}

// looks reports whether there are readers.
func (s *samples) looks() bool {
	return s.readers.Load() > 0 || time.Since(s.began)-time.Duration(s.asked.Load()) < lookFor
}

// least returns the least time between samples. With many systems on many shards a sample takes
// long, and the world must wait at most a hundredth of the time.
func (s *samples) least() time.Duration {
	return min(max(sampleLook, 100*time.Duration(s.took.Load())), sampleMost)
}

// run takes samples until the Inspector ends: seldom, or often while there are readers. It is a
// goroutine of the Inspector's. An error of a sample does not end it.
func (s *samples) run() {
	for s.ctx.Err() == nil {
		if err := s.refresh(s.ctx); err != nil {
			s.stands(err)
		}
		wait := s.least()
		if !s.looks() {
			wait = max(wait, sampleRest)
		}
		select {
		case <-time.After(wait):
		case <-s.wakes:
			select { // however often it is woken
			case <-time.After(s.least() / 5):
			case <-s.ctx.Done():
			}
		case <-s.ctx.Done():
		}
	}
}

// stands publishes the last sample again, with its greater age, and notes why there is no newer
// one. Only run calls it.
func (s *samples) stands(err error) {
	if errors.Is(err, errStands) && s.s.Running() && !s.s.Paused() {
		s.signs.add(problem{Kind: "stuck", Tick: s.w.Tick(), What: "no tick ends", Detail: "a system does not return, or takes more than 2 seconds"})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	last := *s.newest.Load()
	if last.body[1] == nil {
		last.body[1] = last.body[0] // streams of full samples get the short one
	}
	s.publish(last)
}

// isFresh reports whether the newest sample has all changes, and is not much older than streams'
// samples are.
func (s *samples) isFresh() bool {
	e := s.newest.Load()
	return e.whole && e.change >= s.changes.Load() && time.Since(e.at) < s.least()
}

// refresh takes a sample unless the newest one is fresh. The goroutine of run and HTTP requests
// call it; those that wait for their turn share the sample. After an error there is no newer one.
func (s *samples) refresh(ctx context.Context) error {
	if s.isFresh() {
		return nil
	}
	if err := s.turn.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.turn.Release(1)
	if s.isFresh() {
		return nil
	}
	return s.take(ctx)
}

// follow takes a sample if there was a change since the newest one, and the world lets it. HTTP
// requests call it before they answer.
func (s *samples) follow(ctx context.Context) {
	if change := s.changes.Load(); change > 0 && !s.newest.Load().has(change) {
		ctx, cancel := context.WithTimeout(ctx, waitMax/4)
		defer cancel()
		_ = s.refresh(ctx) // on an error there is nothing newer
	}
}

// take takes a sample between two ticks, looks for problems in it, and publishes its report. It is
// the caller's turn. After an error the last sample stays the newest.
func (s *samples) take(ctx context.Context) error {
	looks, full, change := false, s.fulls.Load() > 0, uint64(0)
	var is *schema
	was, now := s.last.moment, &s.last
	now.scheduler, now.world = fresh(&was)
	err := s.do(ctx, func(w *world.World) error {
		began := time.Now()
		defer func() { s.took.Store(int64(time.Since(began))) }()
		s.s.Stats(&now.scheduler)
		now.takePairs(s.s, full)
		w.Stats(&now.world)
		is, change = s.schemas.of(w), s.changes.Load()
		if looks = s.looks() || !s.newest.Load().has(change); looks {
			now.sets, now.others = figures.SetsOf(w), figures.Others(w)
			if len(now.stages) != len(now.scheduler.Systems) {
				now.stages = stagesOf(s.s)
			}
		}
		now.paused = s.s.Paused()
		return nil
	})
	if err != nil {
		now.moment = was
		return err
	}
	now.at = time.Now()
	if last := s.signs.overruns(s.kept.Traces()); last != "" {
		s.flights.keep(last)
	}
	if !was.at.IsZero() {
		s.signs.compare(&now.moment, &was)
	}
	before := &now.moment
	if len(s.window) > 0 {
		before = &s.window[0]
	}
	r := reportOf(s.visitor, is, now, before, s.second())
	body := [2][]byte{r.encode(false), nil}
	if full {
		body[1] = r.encode(true)
	}
	if n := len(s.window); n == 0 || now.at.Sub(s.window[n-1].at) >= sampleRest-sampleLook/2 {
		if n > 1 {
			s.window[n-2].scheduler.Waits = nil // it is more than a second old
		}
		if s.window = append(s.window, now.moment); n >= windowMax {
			s.window = slices.Delete(s.window, 0, 1)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if body[1] == nil && s.newest.Load().body[1] != nil {
		body[1] = body[0] // a stream may expect one
	}
	s.history.add(&now.moment)
	s.publish(edition{body: body, at: now.at, change: change, whole: looks})
	return nil
}

// fresh returns statistics to be filled, with room for as much as there was, so that the world need
// not wait for memory. The goroutine that takes a sample calls it before.
func fresh(was *moment) (s scheduler.Stats, w world.Stats) {
	s.Systems = make([]scheduler.SystemStats, 0, len(was.scheduler.Systems))
	s.Shards = make([]scheduler.ShardTimes, 0, len(was.scheduler.Shards))
	s.Waits = make([]scheduler.Wait, 0, len(was.scheduler.Waits))
	w.Shards = make([]world.ShardStats, 0, len(was.world.Shards))
	w.Steps = make([]world.StepStats, 0, len(was.world.Steps))
	return s, w
}

// takePairs reads what each system did on each shard, if anyone asks for it. It runs between two
// ticks.
func (s *sample) takePairs(from *scheduler.Scheduler, full bool) {
	s.pairs = s.pairs[:0]
	for i := 0; full && i < len(s.scheduler.Systems); i++ {
		s.pairs = slices.Grow(s.pairs, 1)[:i+1]
		s.pairs[i], _ = from.AppendShards(s.pairs[i][:0], s.scheduler.Systems[i].Name)
	}
}

// stagesOf returns the stages of systems by their names, or none if there is no plan. The world is
// idle.
func stagesOf(s *scheduler.Scheduler) map[string]string {
	stages := map[string]string{}
	if p, err := s.Schedule(); err == nil {
		for _, of := range p.Systems {
			stages[of.Name] = of.Stage.String()
		}
	}
	return stages
}

// second returns the moment a second before the newest sample, or the oldest. It is the caller's
// turn.
func (s *samples) second() *moment {
	for i := range slices.Backward(s.window) {
		if s.last.at.Sub(s.window[i].at) >= sampleRest-sampleLook/2 {
			return &s.window[i]
		}
	}
	if len(s.window) > 0 {
		return &s.window[0]
	}
	return &s.last.moment
}

// publish gives an edition, with its age, to streams. The lock is held.
func (s *samples) publish(e edition) {
	for i, body := range e.body {
		if body != nil {
			e.fed[i] = withAge(body, time.Since(e.at))
		}
	}
	e.newer = make(chan struct{})
	close(s.newest.Swap(&e).newer)
}

// serveStats serves /api/stats: it answers with a sample that has all changes. If the world allows
// it, the sample is not much older than the samples of streams. If there is no such sample, it
// returns why.
func (s *samples) serveStats(w http.ResponseWriter, r *http.Request) error {
	s.asked.Store(int64(time.Since(s.began)))
	wait, change := waitMax/4, s.changes.Load()
	if !s.newest.Load().has(change) {
		wait = waitMax // there is no older one to answer with
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	err := s.refresh(ctx)
	if e := s.newest.Load(); e.has(change) {
		writeBody(w, http.StatusOK, withAge(e.body[0], time.Since(e.at)))
		return nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errStands // the sampler with the turn waited for a tick
	}
	return err
}

// serveHistory serves /api/history: it answers with the points of a span.
func (s *samples) serveHistory(w http.ResponseWriter, r *http.Request) error {
	p := parametersOf(r, "span")
	span, ok := spans[p.Get("span")]
	if !ok {
		p.fail("span is %q, want minute, hour or day", p.Get("span"))
	}
	if p.err != nil {
		return p.err
	}
	s.follow(r.Context())
	s.mu.Lock()
	body := s.history.append(nil, span)
	s.mu.Unlock()
	writeBody(w, http.StatusOK, body)
	return nil
}

// serveProblems serves /api/problems: it answers with the last problems.
func (s *samples) serveProblems(w http.ResponseWriter, r *http.Request) error {
	if p := parametersOf(r); p.err != nil {
		return p.err
	}
	s.follow(r.Context())
	writeJSON(w, http.StatusOK, object{"problems": s.signs.list()})
	return nil
}
