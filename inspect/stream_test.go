package inspect_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/inspect"
)

// events reads a stream until f returns false, or the stream ends.
func events(t testing.TB, body io.Reader, f func(event string, data string) bool) {
	lines := bufio.NewReader(body)
	event := ""
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "event":
			event = value
		case "data":
			if !json.Valid([]byte(value)) {
				t.Errorf("%s: %s", event, value)
			}
			if !f(event, value) {
				return
			}
		}
	}
}

// serve serves the inspector on this machine.
func (f *fixture) serve() *httptest.Server {
	s := httptest.NewServer(f.x)
	f.t.Cleanup(s.Close)
	return s
}

func open(t testing.TB, url string) *http.Response {
	t.Helper()
	r, err := http.Get(url)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, r.StatusCode)
	require.Equal(t, "text/event-stream", r.Header.Get("Content-Type"))
	t.Cleanup(func() { r.Body.Close() })
	return r
}

// TestStreams reads each stream.
func TestStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		h := f.one("Health.HP == 7")
		for target, want := range map[string]string{
			"/api/events": "stats", "/api/events?shards=1": "stats", mapPath[:8] + "/stream" + mapPath[8:]: "map", "/api/entity/stream?handle=" + h: "entity",
		} {
			n := 0
			began := time.Now()
			f.stream(target, func(event, data string) bool {
				if event == "problem" {
					return true // a tick that took too long, on a busy machine
				}
				require.Equal(t, want, event)
				if n++; target == "/api/events?shards=1" {
					require.Contains(t, data, `"last_ns"`)
				} else {
					require.NotContains(t, data, `"last_ns"`)
				}
				return n < 4
			})
			require.Equal(t, 4, n, target)
			require.Greater(t, time.Since(began), 500*time.Millisecond)
			require.Less(t, time.Since(began), 5*time.Second)
		}
	})
}

// TestStreamsEnd tells readers that the Inspector ends.
func TestStreamsEnd(t *testing.T) {
	f := newFixture(t)
	r := open(t, f.serve().URL+"/api/events")
	last := ""
	events(t, r.Body, func(event, _ string) bool {
		if last == "" {
			go f.x.Close()
		}
		last = event
		return true
	})
	require.Equal(t, "bye", last)
}

// TestStreamsMax opens more streams than there may be.
func TestStreamsMax(t *testing.T) {
	f := newWorld(t, 1, 1).inspect(inspect.Options{ConnectionsMax: 2}).run()
	s := f.serve()
	first := open(t, s.URL+"/api/events")
	open(t, s.URL+"/api/events")
	r, err := http.Get(s.URL + "/api/events")
	require.NoError(t, err)
	defer r.Body.Close()
	require.Equal(t, "1", r.Header.Get("Retry-After"))
	require.Contains(t, f.answer(503, r)["error"], "ConnectionsMax")
	require.NoError(t, first.Body.Close())
	require.Eventually(t, func() bool {
		r, err := http.Get(s.URL + "/api/events")
		require.NoError(t, err)
		r.Body.Close()
		return r.StatusCode == http.StatusOK
	}, 5*time.Second, 10*time.Millisecond)
}

// TestManyStreams opens a thousand streams, all of which are served, while the world ticks on.
func TestManyStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		const n = 1000
		var all sync.WaitGroup
		var served atomic.Int32
		ticks := f.w.Tick()
		for i := range n {
			all.Go(func() {
				seen := 0
				f.stream([]string{"/api/events", "/api/events", mapPath[:8] + "/stream" + mapPath[8:]}[i%3], func(string, string) bool {
					seen++
					return seen < 3
				})
				if seen == 3 {
					served.Add(1)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, n, served.Load())
		require.Greater(t, f.w.Tick()-ticks, uint64(3), "ticks go on")
	})
}

// stuck is a writer for whom nothing can be written.
type stuck struct {
	http.ResponseWriter
	deadline atomic.Int64
	begun    chan struct{}
	once     sync.Once
}

func (s *stuck) SetWriteDeadline(at time.Time) error {
	s.deadline.Store(time.Until(at).Milliseconds())
	return nil
}

func (s *stuck) FlushError() error { return nil }

func (s *stuck) Write(b []byte) (int, error) {
	s.once.Do(func() { close(s.begun) })
	time.Sleep(50 * time.Millisecond)
	return 0, fmt.Errorf("deadline exceeded")
}

// TestSlowReader drops a reader to whom nothing can be written.
func TestSlowReader(t *testing.T) {
	f := newFixture(t)
	w := &stuck{ResponseWriter: httptest.NewRecorder(), begun: make(chan struct{})}
	done := make(chan struct{})
	go func() {
		f.x.ServeHTTP(w, request(http.MethodGet, "/api/events", ""))
		close(done)
	}()
	<-w.begun
	require.InDelta(t, 5000, w.deadline.Load(), 2000, "it is busy here")
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Fatal("the stream goes on")
	}
}

// TestSlowReaderNewest reads slowly: what comes is new, and nothing is kept for later.
func TestSlowReaderNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		l, client := f.pipe()
		s := &http.Server{Handler: f.x}
		go func() { _ = s.Serve(l) }()
		defer s.Close()
		var ticks []uint64
		events(t, askEvents(t, client).Body, func(_, data string) bool {
			var x struct{ Tick uint64 }
			require.NoError(t, json.Unmarshal([]byte(data), &x))
			ticks = append(ticks, x.Tick)
			if len(ticks) == 2 {
				time.Sleep(1500 * time.Millisecond)
			}
			return len(ticks) < 5
		})
		require.Len(t, ticks, 5)
		require.Less(t, f.w.Tick()-ticks[4], uint64(150), "the last one is new: %v", ticks)
	})
}

// pipe returns a listener with one connection, and the other end of that. It has no buffer.
func (f *fixture) pipe() (net.Listener, net.Conn) {
	server, client := net.Pipe()
	l := &oneListener{c: make(chan net.Conn, 1)}
	l.c <- server
	f.t.Cleanup(func() { client.Close() })
	return l, client
}

// askEvents asks for the stream of events by a connection.
func askEvents(t *testing.T, client net.Conn) *http.Response {
	_, err := fmt.Fprintf(client, "GET /api/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", token)
	require.NoError(t, err)
	r, err := http.ReadResponse(bufio.NewReaderSize(client, 16), nil)
	require.NoError(t, err)
	require.Equal(t, 200, r.StatusCode)
	return r
}

type oneListener struct{ c chan net.Conn }

func (l *oneListener) Accept() (net.Conn, error) {
	c, ok := <-l.c
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (l *oneListener) Close() error   { close(l.c); return nil }
func (l *oneListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// TestNoGoroutines closes inspectors in the middle of all that they can do.
func TestNoGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("use", func(t *testing.T) {
		f := newFixture(t)
		s := f.serve()
		for range 5 {
			open(t, s.URL+"/api/events")
		}
		f.get(200, "/api/ticks")
		f.post(200, "/api/record", `{"ticks":1000,"go":true}`)
		f.get(200, mapPath)
		require.NoError(t, f.x.Close())
		g := newWorld(t, 1, 1).inspect(inspect.Options{}) // nobody steps it
		r, cancel := context.WithCancel(t.Context())
		defer time.AfterFunc(20*time.Millisecond, func() { g.x.Close() }).Stop()
		g.do(request(http.MethodGet, "/api/query?q=Position", "").WithContext(r))
		cancel()
		http.DefaultClient.CloseIdleConnections()
	})
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before)
}
