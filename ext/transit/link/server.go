package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.uber.org/atomic"

	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/ext/transit/internal/ends"
	"github.com/atoll-sim/atoll/internal/aside"
)

// Server lets carriers of other processes come to worlds of this one. It holds no state of theirs.
// Its methods may be called from any goroutine.
type Server struct {
	options  Options
	talk     talk
	requests sync.WaitGroup // in hand

	mu     sync.Mutex // guards what follows
	worlds map[transit.World]served
	pairs  map[pair]int // requests in hand
	inHand int
	begun  bool // Serve was called
	ended  bool // no request begins any more
}

// served is a world that is served.
type served struct {
	roads *transit.Roads
	end   ends.End
}

// pair is a world here and one elsewhere.
type pair struct{ near, far transit.World }

// NewServer returns a Server for some worlds. It panics for two with the same number.
func NewServer(o Options, worlds ...*transit.Roads) *Server {
	s := &Server{options: o.mustFill("NewServer"), worlds: map[transit.World]served{}, pairs: map[pair]int{}}
	s.talk.logger = s.options.Logger
	for _, r := range worlds {
		s.Add(r)
	}
	return s
}

// Add adds a world to those that are served. It panics if another with its number is.
func (s *Server) Add(r *transit.Roads) {
	if r == nil {
		panic("link: Server.Add with nil Roads; pass what transit.New returned")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.worlds[r.World()]; taken {
		panic(fmt.Sprintf("link: Server.Add of %q: world %d is served already; Remove it first, or give each world a number of its own", r.Name(), r.World()))
	}
	s.worlds[r.World()] = served{r, ends.Of(r)}
}

// Remove removes a world. Carriers to it wait until it is added again, and log that.
func (s *Server) Remove(r *transit.Roads) {
	if r == nil {
		panic("link: Server.Remove with nil Roads; pass what transit.New returned")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.worlds[r.World()]; x.roads == r {
		x.end.Close()
		delete(s.worlds, r.World())
	}
}

// Serve serves the worlds on a listener, which it closes, until ctx ends. It returns nil then, and
// otherwise the listener's error; ErrClear for a listener that other machines reach, without TLS; and
// ErrCertificates. A Server serves once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if l == nil {
		panic("link: Server.Serve with a nil listener; listen first")
	}
	defer func() { _ = l.Close() }() // as a rule it is closed
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	h, err := s.server(inner, l)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		ended <- aside.Do("the listener of Server.Serve", func() error {
			if h.TLSConfig != nil {
				return h.ServeTLS(l, "", "")
			}
			return h.Serve(l)
		})
	}()
	select {
	case err = <-ended:
		_ = h.Close()
	case <-ctx.Done():
		_ = h.Close() // what is cut comes again
		err = <-ended
	}
	cancel()
	s.finish()
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("link: %w", err)
}

// finish waits for the requests in hand, which end soon, and closes the ports.
func (s *Server) finish() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.requests.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.worlds {
		x.end.Close()
	}
}

// server returns what serves on a listener.
func (s *Server) server(ctx context.Context, l net.Listener) (*http.Server, error) {
	config, err := s.options.config()
	switch {
	case err != nil:
		return nil, err
	case config == nil && !loopback(l.Addr()):
		return nil, fmt.Errorf("%w; the listener is on %v", ErrClear, l.Addr())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun {
		return nil, errors.New("link: a Server serves once; make a new one")
	}
	s.begun = true
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+helloPath, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set(codeHeader, codeOK) })
	mux.HandleFunc("POST "+arrivePath+"{near}/{far}", func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, arrives) })
	mux.HandleFunc("POST "+turnPath+"{near}/{far}", func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, turns) })
	return &http.Server{
		Handler: mux, TLSConfig: config, Protocols: s.options.protocols(), HTTP2: s.options.line(),
		ReadHeaderTimeout: openMost, IdleTimeout: 10 * time.Minute, MaxHeaderBytes: headersMax,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    log.New(&s.talk, "", 0),
	}, nil
}

const (
	helloPath  = "/atoll/transit/1/hello"
	arrivePath = "/atoll/transit/1/arrive/"
	turnPath   = "/atoll/transit/1/turn/"
	headersMax = 16 << 10
	textMax    = 1 << 10 // of an error
	codeHeader = "Atoll-Code"
)

// Codes of answers, by which a Client knows what to do.
const (
	codeOK        = "ok"
	codeOlder     = "older"     // transit.ErrOlder
	codeCarrier   = "carrier"   // transit.ErrCarrier
	codePeers     = "peers"     // transit.ErrPeers
	codeWorld     = "world"     // it is not served
	codeForbidden = "forbidden" // the certificate does not name the world
	codeBusy      = "busy"      // too many requests
	codeFailed    = "failed"    // the world does not work
)

// verb is what a request asks for.
type verb struct {
	bytesMax int64
	do       func(ctx context.Context, e ends.End, far uint32, body []byte) ([]byte, error)
}

var (
	arrives = verb{ends.PacketBytesMax, func(ctx context.Context, e ends.End, far uint32, body []byte) ([]byte, error) {
		return e.Arrive(ctx, far, body)
	}}
	turns = verb{ends.AnswersBytesMax, func(ctx context.Context, e ends.End, far uint32, body []byte) ([]byte, error) {
		return e.Turn(ctx, far, body, patience)
	}}
)

// refusal is an error that a Client hears of.
type refusal struct {
	status int
	code   string
	error
}

// answer answers a request.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, v verb) {
	out, err := s.do(w, r, v)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(slowest)) // HTTP/2 has it
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	if err == nil {
		h.Set(codeHeader, codeOK)
		_, _ = w.Write(out) // the other side asks again
		return
	}
	x := refusalOf(err)
	if x.code != codeWorld && x.code != codeBusy && r.Context().Err() == nil { // these a Client logs
		s.talk.say(slog.LevelWarn, "link: "+x.Error(), "from", r.RemoteAddr)
	}
	h.Set(codeHeader, x.code)
	w.WriteHeader(x.status)
	text := x.Error()
	_, _ = io.WriteString(w, text[:min(len(text), textMax)])
}

// refusalOf says what a Client hears of an error.
func refusalOf(err error) refusal {
	var x refusal
	switch {
	case errors.As(err, &x):
	case errors.Is(err, transit.ErrOlder):
		x = refusal{http.StatusConflict, codeOlder, err}
	case errors.Is(err, transit.ErrCarrier):
		x = refusal{http.StatusBadRequest, codeCarrier, err}
	case errors.Is(err, transit.ErrPeers):
		x = refusal{http.StatusConflict, codePeers, err}
	default:
		x = refusal{http.StatusServiceUnavailable, codeFailed, err}
	}
	return x
}

// do does what a request asks for.
func (s *Server) do(w http.ResponseWriter, r *http.Request, v verb) ([]byte, error) {
	near, err := strconv.ParseUint(r.PathValue("near"), 10, 32)
	far, err2 := strconv.ParseUint(r.PathValue("far"), 10, 32)
	if err != nil || err2 != nil || r.ContentLength < 0 || r.ContentLength > v.bytesMax {
		return nil, refusal{http.StatusBadRequest, codeCarrier, fmt.Errorf("a request %.100q of %d bytes; the numbers of two worlds and up to %d bytes are allowed", r.URL.Path, r.ContentLength, v.bytesMax)}
	}
	p := pair{transit.World(near), transit.World(far)}
	if err := s.options.refuses(r.TLS, p.far); err != nil {
		return nil, refusal{http.StatusForbidden, codeForbidden, err}
	}
	end, err := s.enter(p)
	if err != nil {
		return nil, err
	}
	defer s.leave(p)
	line := http.NewResponseController(w)
	_ = line.SetReadDeadline(time.Now().Add(slowest)) // HTTP/2 has it
	body := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, body); err != nil {
		return nil, refusal{http.StatusBadRequest, codeFailed, fmt.Errorf("the body of a request from world %d did not come: %w", far, err)}
	}
	_ = line.SetReadDeadline(time.Time{})
	return v.do(r.Context(), end, uint32(p.far), body)
}

// enter begins a request of a pair of worlds.
func (s *Server) enter(p pair) (ends.End, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x, known := s.worlds[p.near]
	switch {
	case s.ended:
		return nil, refusal{http.StatusServiceUnavailable, codeFailed, errors.New("the Server ends")}
	case !known:
		return nil, refusal{http.StatusNotFound, codeWorld, fmt.Errorf("world %d is not served here", p.near)}
	case s.inHand >= s.options.Requests:
		return nil, refusal{http.StatusServiceUnavailable, codeBusy, fmt.Errorf("%d requests are in hand; raise Options.Requests of the Server", s.inHand)}
	case s.pairs[p] >= requestsPair:
		return nil, refusal{http.StatusServiceUnavailable, codeBusy, fmt.Errorf("%d requests between worlds %d and %d are in hand; too many carriers carry between these", requestsPair, p.near, p.far)}
	}
	s.pairs[p]++
	s.inHand++
	s.requests.Add(1)
	return x.end, nil
}

// leave ends it.
func (s *Server) leave(p pair) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests.Done()
	s.inHand--
	if s.pairs[p]--; s.pairs[p] == 0 {
		delete(s.pairs, p)
	}
}

// talk logs at most one record a second, whatever others do. It is the writer of a log of package
// http.
type talk struct {
	logger *slog.Logger
	last   atomic.Int64 // when
	missed atomic.Int64
}

// say logs a record, or counts it.
func (t *talk) say(level slog.Level, text string, args ...any) {
	now, last := time.Now().UnixNano(), t.last.Load()
	if now-last < int64(time.Second) || !t.last.CompareAndSwap(last, now) {
		t.missed.Add(1)
		return
	}
	if n := t.missed.Swap(0); n > 0 {
		args = append(args, "more_before", n)
	}
	aside.Log(t.logger, level, text, args...)
}

// Write logs what package http says.
func (t *talk) Write(b []byte) (int, error) {
	t.say(slog.LevelWarn, "link: "+strings.TrimSpace(string(b)))
	return len(b), nil
}
