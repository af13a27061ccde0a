package link_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/ext/transit/link"
)

// raw speaks HTTP/2 in the clear, and says anything.
type raw struct {
	*http.Transport
	address string
}

func newRaw(t *testing.T, address string) *raw {
	p := &http.Protocols{}
	p.SetUnencryptedHTTP2(true)
	r := &raw{&http.Transport{Protocols: p}, address}
	t.Cleanup(r.CloseIdleConnections)
	return r
}

// ask returns the code of an answer.
func (r *raw) ask(t *testing.T, method, path string, body io.Reader) (status int, code string) {
	q, err := http.NewRequestWithContext(t.Context(), method, "http://"+r.address+path, body)
	require.NoError(t, err)
	a, err := r.RoundTrip(q)
	require.NoError(t, err)
	_, _ = io.Copy(io.Discard, a.Body)
	require.NoError(t, a.Body.Close())
	return a.StatusCode, a.Header.Get("Atoll-Code")
}

// TestHostile sends what no Client sends: nothing happens.
func TestHostile(t *testing.T) {
	x := started(t, 1, transit.Options{})
	_, address, _ := serve(t, "127.0.0.1:0", link.Options{}, x)
	r := newRaw(t, address)
	big := strings.Repeat("x", link.PacketBytesMax+1)
	const packet = "\x02\x01\x00\x00\x00\x00" // of world 2 to world 1, which only asks
	for _, c := range []struct {
		method, path string
		body         io.Reader
		status       int
		code         string
	}{
		{"GET", "/", nil, 404, ""},
		{"GET", "/atoll/transit/1/arrive/1/2", nil, 405, ""},
		{"POST", "/atoll/transit/2/arrive/1/2", strings.NewReader(packet), 404, ""},
		{"POST", "/atoll/transit/1/arrive/1/2", strings.NewReader(packet), 200, "ok"},
		{"POST", "/atoll/transit/1/arrive/1/3", strings.NewReader(packet), 400, "carrier"},
		{"POST", "/atoll/transit/1/arrive/1/1", strings.NewReader("\x01\x01\x00\x00\x00\x00"), 400, "carrier"},
		{"POST", "/atoll/transit/1/arrive/1/0", strings.NewReader("\x00\x01\x00\x00\x00\x00"), 400, "carrier"},
		{"POST", "/atoll/transit/1/arrive/9/2", strings.NewReader(packet), 404, "world"},
		{"POST", "/atoll/transit/1/arrive/1/x", strings.NewReader(packet), 400, "carrier"},
		{"POST", "/atoll/transit/1/arrive/1/4294967296", strings.NewReader(packet), 400, "carrier"},
		{"POST", "/atoll/transit/1/arrive/1/2", strings.NewReader(""), 400, "carrier"},
		{"POST", "/atoll/transit/1/arrive/1/2", strings.NewReader(packet[:4] + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), 400, "carrier"},
		{"POST", "/atoll/transit/1/arrive/1/2", strings.NewReader(packet + "items"), 400, "carrier"},
		{"POST", "/atoll/transit/1/arrive/1/2", strings.NewReader("\x02\x01\x00\x05\x00\x00"), 409, "older"},
		{"POST", "/atoll/transit/1/arrive/1/2", strings.NewReader(big), 400, "carrier"},
		{"POST", "/atoll/transit/1/arrive/1/2", io.MultiReader(strings.NewReader(packet)), 400, "carrier"}, // of unknown length
		{"POST", "/atoll/transit/1/turn/1/2", strings.NewReader("\x02\x01\x00\x00\x00\x00"), 400, "carrier"},
		{"POST", "/atoll/transit/1/turn/1/2", strings.NewReader("\x01\x02\x00\x00\x07\x00"), 409, "older"},
		{"POST", "/atoll/transit/1/turn/1/2", strings.NewReader(big[:1<<17]), 400, "carrier"},
	} {
		status, code := r.ask(t, c.method, c.path, c.body)
		require.Equal(t, c.code, code, "%+v", c)
		require.Equal(t, c.status, status, "%+v", c)
	}
	y := started(t, 2, transit.Options{})
	carry(t, address, link.Options{}, y, 1)
	x.pay(t, y, 5)
	y.pay(t, x, 5)
	check(t, x, y, 5, 5)

	// HTTP/1, which a page in a browser could speak, is not spoken.
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	_, err = conn.Write([]byte("POST /atoll/transit/1/arrive/1/2 HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\n" + packet))
	require.NoError(t, err)
	said, _ := io.ReadAll(conn) // until the server closes it
	require.NotContains(t, string(said), "200 OK")
	require.NoError(t, conn.Close())
}

// records counts what is logged.
type records struct {
	n     *atomic.Int64
	level slog.Level
}

func (r records) Enabled(context.Context, slog.Level) bool { return true }
func (r records) Handle(_ context.Context, x slog.Record) error {
	if x.Level == r.level {
		r.n.Inc()
	}
	return nil
}
func (r records) WithAttrs([]slog.Attr) slog.Handler { return r }
func (r records) WithGroup(string) slog.Handler      { return r }

// TestLogs logs one record a second of what is refused, and one for all that a client tries meanwhile.
func TestLogs(t *testing.T) {
	x, y := started(t, 1, transit.Options{}), started(t, 2, transit.Options{})
	served, warned, healed := atomic.NewInt64(0), atomic.NewInt64(0), atomic.NewInt64(0)
	s, address, _ := serve(t, "127.0.0.1:0", link.Options{Logger: slog.New(records{served, slog.LevelWarn})}, x)
	r := newRaw(t, address)
	for range 100 {
		_, code := r.ask(t, "POST", "/atoll/transit/1/arrive/1/2", strings.NewReader("x"))
		require.Equal(t, "carrier", code)
	}
	require.Positive(t, served.Load())
	require.Less(t, served.Load(), int64(50))

	s.Remove(x.roads)
	both := slog.New(records{warned, slog.LevelWarn})
	client, _ := carry(t, address, link.Options{Logger: both}, y, 1)
	eventually(t, client, "world 1 is not served here")
	other, _ := carry(t, address, link.Options{Logger: slog.New(records{healed, slog.LevelInfo})}, y, 1)
	eventually(t, other, "world 1 is not served here")
	s.Add(x.roads)
	x.pay(t, y, 1)
	y.pay(t, x, 1)
	check(t, x, y, 1, 1)
	for client.Err() != nil || other.Err() != nil || healed.Load() == 0 {
		require.NoError(t, t.Context().Err())
		runtime.Gosched()
	}
	require.LessOrEqual(t, warned.Load(), int64(2), "one direction may hear of it after the other goes on")
	require.LessOrEqual(t, healed.Load(), int64(2))
}

// TestBusy refuses more than a number of requests, of one pair of worlds and in all.
func TestBusy(t *testing.T) {
	defer link.SetPatience(time.Minute)()
	x := started(t, 1, transit.Options{})
	const most = link.PairMost + 2
	_, address, _ := serve(t, "127.0.0.1:0", link.Options{Requests: most}, x)
	r := newRaw(t, address)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	turn := func(far string) {
		for ctx.Err() == nil { // a request of ask may have its place
			q, _ := http.NewRequestWithContext(ctx, "POST", "http://"+address+"/atoll/transit/1/turn/1/"+far, strings.NewReader("\x01"+string(far[0]-'0')+"\x00\x00\x00\x00"))
			if a, err := r.RoundTrip(q); err == nil {
				_ = a.Body.Close()
			}
		}
		ended <- struct{}{}
	}
	ask := func(far string) string {
		_, code := r.ask(t, "POST", "/atoll/transit/1/arrive/1/"+far, strings.NewReader(string(far[0]-'0')+"\x01\x00\x00\x00\x00"))
		return code
	}
	for range link.PairMost {
		go turn("2")
	}
	for ask("2") != "busy" {
		require.NoError(t, t.Context().Err())
	}
	require.Equal(t, "ok", ask("3"))
	go turn("4")
	go turn("4")
	for ask("3") != "busy" {
		require.NoError(t, t.Context().Err())
	}
	end()
	for range most {
		<-ended
	}
	for ask("2") != "ok" {
		require.NoError(t, t.Context().Err())
	}
}

// TestStranger goes on trying if what answers is no Server.
func TestStranger(t *testing.T) {
	p := &http.Protocols{}
	p.SetUnencryptedHTTP2(true)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &http.Server{Protocols: p, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") })}
	go func() { _ = s.Serve(l) }()
	defer func() { _ = s.Close() }()
	y := started(t, 2, transit.Options{})
	client, over := carry(t, l.Addr().String(), link.Options{}, y, 1)
	eventually(t, client, "what answers there is no Server of this version of package link: 200 OK")
	require.NoError(t, over())
	require.NoError(t, client.Err())
}
