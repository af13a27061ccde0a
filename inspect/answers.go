package inspect

import (
	"context"
	"math"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/atoll-sim/atoll/internal/aside"
)

const (
	computedMax = 8               // answers that are computed at a time
	waitMax     = 2 * time.Second // for a place among them, and for the world
	answersMax  = 1024
)

// answers are computed once for all who ask the same within a short time.
//
// Ownership: mu guards byKey.
type answers struct {
	x     *Inspector
	busy  *semaphore.Weighted
	mu    sync.Mutex
	byKey map[string]*answer
}

// answer is an answer that is being computed, or was. Then ready is closed, and nothing writes it.
//
// Ownership: change as that of answers.mu; the rest belongs to the goroutine that computes.
type answer struct {
	ready  chan struct{}
	at     time.Time // when it was first requested
	change uint64    // how many changes had been made when it was begun; notBegun before
	body   []byte
	err    error
}

const notBegun = math.MaxUint64

func (a *answers) init(x *Inspector) {
	a.x, a.busy, a.byKey = x, semaphore.NewWeighted(computedMax), map[string]*answer{}
}

// of returns the answer for key if it was computed within age, and after the last change. Otherwise
// it computes it. If the first reader goes away, the computation continues for the others.
func (a *answers) of(ctx context.Context, key string, age time.Duration, compute func(context.Context) ([]byte, error)) ([]byte, error) {
	now, change := time.Now(), a.x.changes.Load()
	a.mu.Lock()
	x := a.byKey[key]
	if x == nil || now.Sub(x.at) > age || x.change < change {
		if len(a.byKey) >= answersMax {
			a.forget()
		}
		x = &answer{ready: make(chan struct{}), at: now, change: notBegun}
		start := func() {
			a.compute(x, compute)
			time.AfterFunc(age, func() { a.drop(key, x) }) // it may be large
		}
		if len(a.byKey) >= answersMax || !a.x.work.start(start) {
			a.mu.Unlock()
			return nil, errBusy
		}
		a.byKey[key] = x
	}
	a.mu.Unlock()
	select {
	case <-x.ready:
		return x.body, x.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

var errBusy = busy(http.StatusTooManyRequests, "too many queries and maps are computed at a time; ask again later")

// drop drops an answer, unless there is a newer one.
func (a *answers) drop(key string, x *answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byKey[key] == x {
		delete(a.byKey, key)
	}
}

// forget drops all answers. The lock is held.
func (a *answers) forget() {
	for key, x := range a.byKey {
		select {
		case <-x.ready:
			delete(a.byKey, key)
		default:
		}
	}
}

// computeMax is how long an answer may take.
const computeMax = 10 * time.Second

func (a *answers) compute(x *answer, f func(context.Context) ([]byte, error)) {
	defer close(x.ready)
	ctx, cancel := context.WithTimeout(a.x.ctx, computeMax)
	defer cancel()
	wait, stop := context.WithTimeoutCause(ctx, waitMax, errBusy)
	defer stop()
	if a.busy.Acquire(wait, 1) != nil {
		x.err = context.Cause(wait)
		return
	}
	defer a.busy.Release(1)
	a.mu.Lock()
	x.change = a.x.changes.Load()
	a.mu.Unlock()
	x.err = aside.Do("inspect: computing an answer", func() (err error) {
		x.body, err = f(ctx)
		return err
	})
}

// group is the goroutines that end with the Inspector.
//
// Ownership: mu guards over. It also keeps goroutines from starting while close waits.
type group struct {
	mu   sync.Mutex
	over bool
	all  sync.WaitGroup
}

// start runs f on a goroutine, unless the Inspector has ended.
func (g *group) start(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.over {
		g.all.Go(f)
	}
	return !g.over
}

// close keeps goroutines from starting, and waits for all.
func (g *group) close() {
	g.mu.Lock()
	g.over = true
	g.mu.Unlock()
	g.all.Wait()
}
