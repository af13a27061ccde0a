package inspect_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/inspect"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestRefusals asks for what is refused, each with one thing wrong.
func TestRefusals(t *testing.T) {
	with := newFixture(t)
	without := newWorld(t, 1, 1).inspect(inspect.Options{}).run()
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	host := func(host string) func(*http.Request) { return func(r *http.Request) { r.Host = host } }
	from := func(addr string) func(*http.Request) { return func(r *http.Request) { r.RemoteAddr = addr } }
	ok := func(*http.Request) {}
	for _, test := range []struct {
		name   string
		of     *fixture
		method string
		target string
		body   string
		change func(*http.Request)
		status int
		says   string
		header string // "Name: value" that the answer has
	}{
		{"good", with, "GET", "/api/world", "", ok, 200, "", ""},
		{"good change", with, "POST", "/api/pause", "{}", ok, 200, "", ""},
		{"good from this machine without a token", without, "GET", "/api/world", "", ok, 200, "", ""},
		{"good by IPv6", without, "GET", "/api/world", "", func(r *http.Request) { r.RemoteAddr, r.Host = "[::1]:5", "[::1]:80" }, 200, "", ""},
		{"good by mapped IPv4", without, "GET", "/api/world", "", from("[::ffff:127.0.0.1]:5"), 200, "", ""},
		{"head", with, "HEAD", "/api/world", "", ok, 200, "", ""},

		{"from elsewhere", without, "GET", "/api/world", "", from("10.0.0.1:5"), 403, "no token", ""},
		{"page from elsewhere", without, "GET", "/", "", from("10.0.0.1:5"), 403, "no token", ""},
		{"bad address", without, "GET", "/api/world", "", from("@"), 403, "no token", ""},
		{"another name leads here", without, "GET", "/api/world", "", host("evil.example"), 403, "no token", ""},
		{"name that begins as localhost", without, "GET", "/api/world", "", host("localhost.evil.example:80"), 403, "no token", ""},
		{"no host", without, "GET", "/api/world", "", host(""), 403, "no token", ""},
		{"by a proxy", without, "GET", "/api/world", "", header("X-Forwarded-For", "127.0.0.1"), 403, "no token", ""},
		{"by a proxy of now", without, "GET", "/api/world", "", header("Forwarded", "for=127.0.0.1"), 403, "no token", ""},
		{"by a proxy that says so", without, "GET", "/api/world", "", header("Via", "1.1 proxy"), 403, "no token", ""},
		{"by a proxy that names an address", without, "GET", "/api/world", "", header("X-Real-IP", "127.0.0.1"), 403, "no token", ""},
		{"by a proxy that names a host", without, "GET", "/api/world", "", header("X-Forwarded-Host", "localhost"), 403, "no token", ""},
		{"change without a token", without, "POST", "/api/pause", "{}", ok, 403, "no token", ""},
		{"change of what is not there without a token", without, "DELETE", "/api/pause", "", ok, 403, "no token", ""},

		{"from elsewhere, without the token", with, "GET", "/api/world", "", from("10.0.0.1:5"), 401, "token is missing", `WWW-Authenticate: Bearer realm="atoll"`},
		{"from elsewhere, with it", with, "GET", "/api/world", "", func(r *http.Request) { from("10.0.0.1:5")(r); header("Authorization", "bearer "+token)(r) }, 200, "", ""},
		{"page from elsewhere, without it", with, "GET", "/", "", from("10.0.0.1:5"), 200, "", ""},
		{"metrics of what is not there from elsewhere", with, "GET", "/nothing", "", from("10.0.0.1:5"), 401, "token", ""},
		{"by a proxy, without it", with, "GET", "/api/world", "", header("X-Forwarded-For", "127.0.0.1"), 401, "token", ""},
		{"another name leads here, without it", with, "GET", "/api/world", "", host("evil.example"), 401, "token", ""},
		{"change without it", with, "POST", "/api/pause", "{}", func(r *http.Request) { r.Header.Del("Authorization") }, 401, "token is missing", `WWW-Authenticate: Bearer realm="atoll"`},
		{"change with another", with, "POST", "/api/pause", "{}", header("Authorization", "Bearer "+strings.ToUpper(token)), 401, "token", ""},
		{"change with a part of it", with, "POST", "/api/pause", "{}", header("Authorization", "Bearer "+token[:15]), 401, "token", ""},
		{"change with more", with, "POST", "/api/pause", "{}", header("Authorization", "Bearer "+token+"0"), 401, "token", ""},
		{"change with another scheme", with, "POST", "/api/pause", "{}", header("Authorization", "Basic "+token), 401, "token", ""},
		{"change by the page of another site", with, "POST", "/api/pause", "{}", header("Sec-Fetch-Site", "cross-site"), 403, "another site", ""},
		{"change by another origin", with, "POST", "/api/pause", "{}", header("Origin", "http://evil.example"), 403, "another site", ""},

		{"change that is no JSON", with, "POST", "/api/pause", "{}", header("Content-Type", "text/plain"), 415, "Content-Type", ""},
		{"change without a type", with, "POST", "/api/pause", "{}", func(r *http.Request) { r.Header.Del("Content-Type") }, 415, "Content-Type", ""},
		{"large", with, "POST", "/api/step", `{"ticks":` + strings.Repeat(" ", 65<<10) + `1}`, ok, 413, "64 KB", ""},
		{"large behind the object", with, "POST", "/api/step", `{"ticks":1}` + strings.Repeat(" ", 65<<10), ok, 413, "64 KB", ""},
		{"no object", with, "POST", "/api/step", "", ok, 400, "not the JSON", ""},
		{"broken", with, "POST", "/api/step", "{", ok, 400, "not the JSON", ""},
		{"another member", with, "POST", "/api/step", `{"tick":1}`, ok, 400, "unknown field", ""},
		{"another type", with, "POST", "/api/step", `{"ticks":"1"}`, ok, 400, "not the JSON", ""},
		{"two objects", with, "POST", "/api/step", `{"ticks":1}{}`, ok, 400, "behind the object", ""},
		{"no ticks", with, "POST", "/api/step", `{"ticks":0}`, ok, 400, "want 1 to 1000", ""},
		{"many ticks", with, "POST", "/api/step", `{"ticks":1001}`, ok, 400, "want 1 to 1000", ""},
		{"no such system", with, "POST", "/api/systems", `{"name":"x","enabled":true}`, ok, 404, `no system "x"`, ""},
		{"system neither way", with, "POST", "/api/systems", `{"name":"move"}`, ok, 400, "enabled is missing", ""},

		{"nothing there", with, "GET", "/api/nothing", "", ok, 404, "nothing at", ""},
		{"no such file", with, "GET", "/page/nothing.js", "", ok, 404, "no file", ""},
		{"file above", with, "GET", "/page/../page.go", "", ok, 404, "no", ""},
		{"file above, escaped", with, "GET", "/page/%2e%2e/page.go", "", ok, 404, "no", ""},
		{"folder", with, "GET", "/page/", "", ok, 404, "no file", ""},
		{"post to look", with, "POST", "/api/world", "{}", ok, 405, "takes GET", "Allow: GET, HEAD"},
		{"get to change", with, "GET", "/api/pause", "", ok, 405, "takes POST", "Allow: POST"},
		{"put", with, "PUT", "/api/pause", "", header("Authorization", "Bearer "+token), 405, "takes POST", "Allow: POST"},
		{"post to the page", with, "POST", "/", "{}", ok, 405, "takes GET", "Allow: GET, HEAD"},

		{"bad escape", with, "GET", "/api/query?q=%zz", "", ok, 400, "bad escape", ""},
		{"another parameter", with, "GET", "/api/query?query=x", "", ok, 400, `no parameter "query"`, ""},
		{"parameter twice", with, "GET", "/api/query?q=Dead&q=Health", "", ok, 400, "twice", ""},
		{"limit", with, "GET", "/api/query?limit=0", "", ok, 400, "limit", ""},
		{"limit of a million", with, "GET", "/api/query?limit=1000000", "", ok, 400, "limit", ""},
		{"cursor", with, "GET", "/api/query?after=7", "", ok, 400, "after", ""},
		{"components to show", with, "GET", "/api/query?show=Nothing", "", ok, 400, "show", ""},
		{"query", with, "GET", "/api/query?q=Nothing", "", ok, 400, "no component", ""},
		{"handle", with, "GET", "/api/entity?handle=x", "", ok, 400, "handle", ""},
		{"no handle", with, "GET", "/api/entity", "", ok, 400, "missing", ""},
		{"stream of no handle", with, "GET", "/api/entity/stream", "", ok, 400, "missing", ""},
		{"span", with, "GET", "/api/history?span=year", "", ok, 400, "span", ""},
		{"events", with, "GET", "/api/events?shards=2", "", ok, 400, "shards", ""},
		{"map without axes", with, "GET", "/api/map", "", ok, 400, "x and y", ""},
		{"map of a text", with, "GET", "/api/map?x=Label.Text&y=Position.Y", "", ok, 400, "want a number", ""},
		{"map of what is not there", with, "GET", "/api/map?x=Position.Z&y=Position.Y", "", ok, 400, "x: Position has no field Z", ""},
		{"map of what is in no frame", with, "GET", "/api/map?x=Bag.Items&y=Position.Y", "", ok, 400, "Bag", ""},
		{"map of another query", with, "GET", "/api/map?x=Position.X&y=Position.Y&where=Nothing", "", ok, 400, "no component", ""},
		{"map of a broken query", with, "GET", "/api/map?x=Position.X&y=Position.Y&where=,", "", ok, 400, "want", ""},
		{"colour", with, "GET", "/api/map?x=Position.X&y=Position.Y&color=red", "", ok, 400, "color", ""},
		{"box", with, "GET", "/api/map?x=Position.X&y=Position.Y&box=1,2,3", "", ok, 400, "box", ""},
		{"box that is turned round", with, "GET", "/api/map?x=Position.X&y=Position.Y&box=1,2,0,3", "", ok, 400, "box", ""},
		{"box without end", with, "GET", "/api/map?x=Position.X&y=Position.Y&box=0,0,Inf,NaN", "", ok, 400, "box", ""},
		{"cells", with, "GET", "/api/map?x=Position.X&y=Position.Y&cells=257", "", ok, 400, "cells", ""},
		{"stream of a bad map", with, "GET", "/api/map/stream?x=Position.X", "", ok, 400, "x and y", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := request(test.method, test.target, test.body)
			test.change(r)
			got := test.of.do(r)
			if name, value, ok := strings.Cut(test.header, ": "); ok {
				require.Equal(t, value, got.Header.Get(name))
			}
			require.Equal(t, "nosniff", got.Header.Get("X-Content-Type-Options"))
			require.Equal(t, "no-referrer", got.Header.Get("Referrer-Policy"))
			require.Contains(t, got.Header.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'")
			if test.status == http.StatusOK {
				require.Equal(t, test.status, got.StatusCode)
				return
			}
			test.of.t = t
			require.Equal(t, "no-store", got.Header.Get("Cache-Control"))
			require.Contains(t, test.of.answer(test.status, got)["error"], test.says)
		})
	}
	with.t, without.t = t, t
}

// TestOptions refuses options that are wrong, and a world that is closed.
func TestOptions(t *testing.T) {
	f := newWorld(t, 1, 1)
	_, err := inspect.New(f.s, inspect.Options{Token: "short"})
	require.ErrorContains(t, err, "Token has 5 characters, want 16 or more")
	_, err = inspect.New(f.s, inspect.Options{ConnectionsMax: -1})
	require.ErrorContains(t, err, "ConnectionsMax is -1")
	require.PanicsWithValue(t, "inspect: New for a nil Scheduler; make one with scheduler.New", func() { _, _ = inspect.New(nil, inspect.Options{}) })
	w := world.MustNew(world.Options{})
	s := scheduler.New(w, scheduler.Options{})
	w.Close()
	_, err = inspect.New(s, inspect.Options{})
	require.ErrorIs(t, err, world.ErrClosed)
}

// TestPrefix mounts the inspector below a prefix.
func TestPrefix(t *testing.T) {
	f := newFixture(t)
	mounted := http.StripPrefix("/inspect", f.x)
	for target, want := range map[string]int{"/inspect/": 200, "/inspect/api/world": 200, "/inspect": 301, "/inspect?x=1": 301, "/other": 404} {
		w := record(mounted, request(http.MethodGet, target, ""))
		require.Equal(t, want, w.Code, target)
		if want == 301 {
			require.Equal(t, "inspect/", w.Header().Get("Location"))
		}
	}
}
