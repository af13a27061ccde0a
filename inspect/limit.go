package inspect

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"sync"
	"time"
)

// limit bounds how many of something there are at a time. A send takes a place.
type limit chan struct{}

func newLimit(n int) limit { return make(limit, n) }

// try takes a place, if there is one.
func (l limit) try() bool {
	select {
	case l <- struct{}{}:
		return true
	default:
		return false
	}
}

// leave gives a place back.
func (l limit) leave() { <-l }

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
	busy  limit
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
	a.x, a.busy, a.byKey = x, newLimit(computedMax), map[string]*answer{}
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
	place := time.NewTimer(waitMax)
	defer place.Stop()
	select {
	case a.busy <- struct{}{}:
		defer a.busy.leave()
	case <-place.C:
		x.err = errBusy
		return
	case <-ctx.Done():
		x.err = ctx.Err()
		return
	}
	a.mu.Lock()
	x.change = a.x.changes.Load()
	a.mu.Unlock()
	returned := false
	defer func() {
		if !returned {
			x.err = fmt.Errorf("inspect: computing an answer panicked: %v", recover())
		}
	}()
	x.body, x.err = f(ctx)
	returned = true
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

// listener accepts a limited number of connections at a time; others wait.
type listener struct {
	net.Listener
	places limit
}

func (l listener) Accept() (net.Conn, error) {
	l.places <- struct{}{}
	c, err := l.Listener.Accept()
	if err != nil {
		l.places.leave()
		return nil, err
	}
	return &conn{Conn: c, close: sync.OnceFunc(l.places.leave)}, nil
}

// conn gives its place back when it is closed.
type conn struct {
	net.Conn
	close func()
}

func (c *conn) Close() error {
	defer c.close()
	return c.Conn.Close()
}
