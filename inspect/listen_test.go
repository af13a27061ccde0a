package inspect_test

import (
	"bufio"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/inspect"
)

// addresses is a handler of logs that tells where the inspector listens.
type addresses chan string

func (a addresses) Enabled(context.Context, slog.Level) bool { return true }
func (a addresses) WithAttrs([]slog.Attr) slog.Handler       { return a }
func (a addresses) WithGroup(string) slog.Handler            { return a }
func (a addresses) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(x slog.Attr) bool {
		if x.Key == "addr" {
			a <- x.Value.String()
		}
		return true
	})
	return nil
}

// TestListen serves this machine, and ends in several ways.
func TestListen(t *testing.T) {
	for name, end := range map[string]func(f *fixture, cancel func()){
		"context": func(_ *fixture, cancel func()) { cancel() },
		"close":   func(f *fixture, _ func()) { f.x.Close() },
		"world": func(f *fixture, _ func()) {
			<-f.s.Between(nothing)
			f.s.Stop()
			time.Sleep(50 * time.Millisecond)
			f.w.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits
			at := make(addresses, 1)
			f := newWorld(t, 1, 1).inspect(inspect.Options{Logger: slog.New(at)}).run()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			go func() { done <- f.x.ListenAndServe(ctx, "localhost:0") }()
			addr := <-at
			r := open(t, "http://"+addr+"/api/events")
			idle, err := net.Dial("tcp", addr)
			require.NoError(t, err)
			defer idle.Close()
			last := ""
			events(t, r.Body, func(event, _ string) bool {
				if last == "" {
					go end(f, cancel)
				}
				last = event
				return true
			})
			require.Equal(t, "bye", last)
			select {
			case err := <-done:
				require.NoError(t, err)
			case <-time.After(10 * time.Second):
				t.Fatal("it does not return")
			}
			_, err = net.Dial("tcp", addr)
			require.Error(t, err)
		})
	}
}

// TestListenRefused refuses addresses that other machines can reach, unless that is safe.
func TestListenRefused(t *testing.T) {
	pattern := httptest.NewTLSServer(http.NotFoundHandler())
	defer pattern.Close()
	with := pattern.TLS.Clone()
	for _, test := range []struct {
		o    inspect.Options
		addr string
		says string // "" if it may
	}{
		{inspect.Options{}, "127.0.0.1:0", ""},
		{inspect.Options{}, "[::1]:0", ""},
		{inspect.Options{}, ":0", "there is no Token"},
		{inspect.Options{}, "0.0.0.0:0", "there is no Token"},
		{inspect.Options{}, "[::]:0", "there is no Token"},
		{inspect.Options{Insecure: true}, ":0", "there is no Token"},
		{inspect.Options{TLS: with}, ":0", "there is no Token"},
		{inspect.Options{Token: token}, ":0", "there is no TLS"},
		{inspect.Options{Token: token, Insecure: true}, ":0", ""},
		{inspect.Options{Token: token, TLS: with}, ":0", ""},
		{inspect.Options{}, "nothing", "missing port"},
		{inspect.Options{}, "127.0.0.1:99999", "port"},
	} {
		f := newWorld(t, 1, 1).inspect(test.o)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		err := f.x.ListenAndServe(ctx, test.addr)
		cancel()
		if test.says == "" {
			if err != nil && strings.Contains(err.Error(), "cannot assign") {
				continue // no IPv6 here
			}
			require.NoError(t, err, "%+v", test)
		} else {
			require.ErrorContains(t, err, test.says)
		}
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	f := newWorld(t, 1, 1).inspect(inspect.Options{})
	require.ErrorContains(t, f.x.ListenAndServe(t.Context(), taken.Addr().String()), "in use")
}

// TestListenTLS serves with TLS.
func TestListenTLS(t *testing.T) {
	pattern := httptest.NewTLSServer(http.NotFoundHandler())
	defer pattern.Close()
	at := make(addresses, 1)
	f := newWorld(t, 1, 1).inspect(inspect.Options{Logger: slog.New(at), TLS: pattern.TLS.Clone()}).run()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.x.ListenAndServe(ctx, "127.0.0.1:0") }()
	r, err := pattern.Client().Get("https://" + <-at + "/api/world")
	require.NoError(t, err)
	defer r.Body.Close()
	f.answer(200, r)
	cancel()
	require.NoError(t, <-done)
}

// TestListenLongStream reads a stream for longer than a request may take to come.
func TestListenLongStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newWorld(t, 1, 1).inspect(inspect.Options{Token: token}).run()
		l, client := f.pipe()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- f.x.Serve(ctx, l) }()
		began := time.Now()
		events(t, askEvents(t, client).Body, func(event, _ string) bool {
			return event != "bye" && time.Since(began) < 11*time.Second
		})
		require.Greater(t, time.Since(began), 11*time.Second)
		cancel()
		require.NoError(t, <-done)
	})
}

// TestListenMany opens more connections than there may be: the others wait.
func TestListenMany(t *testing.T) {
	t.Parallel() // it waits
	at := make(addresses, 1)
	f := newWorld(t, 1, 1).inspect(inspect.Options{Logger: slog.New(at), ConnectionsMax: 1}).run()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.x.ListenAndServe(ctx, "127.0.0.1:0") }()
	addr := <-at
	var all []net.Conn
	for range 3 {
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		defer c.Close()
		all = append(all, c)
	}
	ask := func(c net.Conn) error {
		_, err := c.Write([]byte("GET /api/world HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
		require.NoError(t, err)
		require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Second/2)))
		_, err = http.ReadResponse(bufio.NewReader(c), nil)
		return err
	}
	require.Error(t, ask(all[2]), "two others are open")
	require.NoError(t, ask(all[0]))
	require.NoError(t, all[2].SetReadDeadline(time.Now().Add(5*time.Second)))
	_, err := http.ReadResponse(bufio.NewReader(all[2]), nil)
	require.NoError(t, err)
	cancel()
	require.NoError(t, <-done)
}
