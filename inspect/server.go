package inspect

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/net/netutil"

	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/internal/figures"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// page has the files for the browser: HTML, CSS and JavaScript modules, unprocessed, and uPlot,
// which draws the charts. The page loads nothing from elsewhere.
//
//go:embed page
var page embed.FS

// policy is what the page may load: only what is served here, and nothing inline.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// kept are the paths that are served even if the world is closed or broken: they say why, and what
// was before.
var kept = map[string]bool{"/api/problems": true, "/api/history": true, "/api/recordings": true}

// route is the handler of a path.
type route struct {
	method string
	serve  handler
}

// post makes the route of a change: it reads the body and calls f. body has the values of members
// that a request leaves out. If the body is wrong f is not called.
func post[T any](f func(http.ResponseWriter, *http.Request, T) error, body T) route {
	return route{http.MethodPost, func(w http.ResponseWriter, r *http.Request) error {
		own := body
		if err := readBody(w, r, &own); err != nil {
			return err
		}
		return f(w, r, own)
	}}
}

// makeRoutes returns the routes by their paths.
func (i *Inspector) makeRoutes() map[string]route {
	get := func(f handler) route { return route{http.MethodGet, f} }
	e := i.entities
	return map[string]route{
		"/metrics":            get(i.serveMetrics),
		"/api/world":          get(i.serveWorld),
		"/api/plan":           get(i.servePlan),
		"/api/stats":          get(i.samples.serveStats),
		"/api/history":        get(i.samples.serveHistory),
		"/api/problems":       get(i.samples.serveProblems),
		"/api/events":         get(e.streams.serveEvents),
		"/api/ticks":          get(i.recorder.serveTicks),
		"/api/recordings":     get(i.recorder.serveRecordings),
		"/api/record":         post(i.recorder.record, toRecord{Ticks: 100}),
		"/api/query":          get(e.serve(e.query)),
		"/api/map":            get(e.serve(e.plane)),
		"/api/map/stream":     get(e.stream(e.drawn, "map", 500*time.Millisecond)),
		"/api/entity":         get(e.serve(e.single)),
		"/api/entity/stream":  get(e.stream(e.single, "entity", 250*time.Millisecond)),
		"/api/entity/set":     post(i.controls.set, toSet{}),
		"/api/entity/destroy": post(i.controls.destroy, toDestroy{}),
		"/api/pause":          post(i.controls.pause, struct{}{}),
		"/api/resume":         post(i.controls.resume, struct{}{}),
		"/api/step":           post(i.controls.step, toStep{1}),
		"/api/systems":        post(i.controls.enable, toEnable{}),
	}
}

// ServeHTTP serves the inspector: at the root of a server, or below a prefix with
// [http.StripPrefix]. See docs/inspector.md for the paths, and [Options.Token] for access.
func (i *Inspector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(4 * writeWait)) // if the connection has one
	if err := i.serve(w, r); err != nil {
		i.writeError(w, r, err)
	}
}

// serve finds the route of a request, and serves it if it may be. An error has sent nothing, so
// that writeError can answer.
func (i *Inspector) serve(w http.ResponseWriter, r *http.Request) error {
	at := "/" + strings.TrimPrefix(r.URL.Path, "/")
	isPage := at == "/" || strings.HasPrefix(at, "/page/")
	if err := i.mayAsk(r, isPage); err != nil {
		return err
	}
	if whole, _, _ := strings.Cut(r.RequestURI, "?"); r.URL.Path == "" && whole != "" && !strings.HasSuffix(whole, "/") {
		w.Header().Set("Location", path.Base(whole)+"/") // below a prefix, for the page's relative addresses
		w.WriteHeader(http.StatusMovedPermanently)
		return nil
	}
	to, ok := i.routes[at]
	if strings.HasPrefix(at, "/api/recordings/") {
		to, ok = route{http.MethodGet, i.recorder.serveRecording}, true
	}
	if isPage {
		to, ok = route{http.MethodGet, i.servePage}, true
	}
	switch {
	case !ok:
		return refuse(http.StatusNotFound, "there is nothing at "+at)
	case r.Method != to.method && (r.Method != http.MethodHead || to.method != http.MethodGet):
		allow := to.method
		if allow == http.MethodGet {
			allow = "GET, HEAD"
		}
		return &refusal{status: http.StatusMethodNotAllowed, text: at + " takes " + allow, header: "Allow: " + allow}
	case i.ctx.Err() != nil && !isPage && !kept[at]:
		return errClosed
	}
	return to.serve(w, r)
}

// kinds are the types of the page's files.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".png": "image/png",
}

// servePage serves a file of the page. It does not touch the world.
func (i *Inspector) servePage(w http.ResponseWriter, r *http.Request) error {
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	if name == "" {
		name = "page/index.html"
	}
	body, err := page.ReadFile(name)
	if err != nil {
		return refuse(http.StatusNotFound, "there is no file "+name)
	}
	kind, ok := kinds[path.Ext(name)]
	if !ok {
		kind = "text/plain; charset=utf-8"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(body) // if it fails, the reader is gone
	return nil
}

// writeError answers a request with an error: a refusal with its status, anything else with 500 and
// a record in the log.
func (i *Inspector) writeError(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case i.ctx.Err() != nil && errors.Is(err, context.Canceled):
		err = errClosed // while the request was served
	case errors.Is(err, context.DeadlineExceeded):
		err = errBusy // it was not computed in time
	}
	e := refusalOf(err)
	if e == nil {
		e = &refusal{status: http.StatusInternalServerError, text: err.Error()}
		i.log(levelFailed, "inspector failed", "path", r.URL.Path, "err", err)
	}
	if name, value, ok := strings.Cut(e.header, ": "); ok {
		w.Header().Set(name, value)
	}
	writeJSON(w, e.status, struct {
		Error string `json:"error"`
		At    int    `json:"at,omitempty"`
	}{e.text, e.at})
}

// mayAsk returns an error unless a request may be served: it checks token, origin and address. It
// runs before anything else of a request.
func (i *Inspector) mayAsk(r *http.Request, isPage bool) error {
	change := r.Method != http.MethodGet && r.Method != http.MethodHead
	switch {
	case i.o.Token == "" && change:
		return refuse(http.StatusForbidden, "this server has no token, so nothing can be changed; set inspect.Options.Token")
	case i.o.Token == "" && !isLocal(r):
		return refuse(http.StatusForbidden, "this server has no token, so it serves only this machine, as localhost; set inspect.Options.Token")
	case !change && (isPage || isLocal(r)):
		return nil
	}
	if err := i.origins.Check(r); err != nil {
		return refuse(http.StatusForbidden, "the request comes from a page of another site; use the inspector's own")
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	got, want := sha256.Sum256([]byte(strings.TrimSpace(token))), sha256.Sum256([]byte(i.o.Token))
	if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
		return &refusal{
			status: http.StatusUnauthorized, text: `the token is missing or wrong; send "Authorization: Bearer" and inspect.Options.Token`,
			header: `WWW-Authenticate: Bearer realm="atoll"`,
		}
	}
	return nil
}

// isLocal reports whether a request comes from this machine: not through a proxy, and not from a
// page under a foreign name that resolves to this machine.
func isLocal(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !from.Addr().Unmap().IsLoopback() {
		return false
	}
	for name := range r.Header {
		if name == "Forwarded" || name == "Via" || name == "X-Real-Ip" || strings.HasPrefix(name, "X-Forwarded-") {
			return false
		}
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return isLoopback(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
}

// isLoopback reports whether a host, a name or an address, always means this machine.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// ListenAndServe serves at an address, as in "127.0.0.1:8080", until the context ends or the
// Inspector is closed, and then returns nil, at most about a second later. Streams end with an
// event that says so. An address that other machines can reach needs a Token, and TLS or Insecure:
// without them it returns an error that says what is missing, and does not listen. If the network
// fails, it returns that error.
//
// It logs the address, which is useful with port 0.
func (i *Inspector) ListenAndServe(ctx context.Context, addr string) error {
	at, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return fmt.Errorf("inspect: %w", err)
	}
	if err := i.mayListen(at); err != nil {
		return err
	}
	l, err := net.ListenTCP("tcp", at)
	if err != nil {
		return fmt.Errorf("inspect: %w", err)
	}
	return i.Serve(ctx, l)
}

// Serve is ListenAndServe with an existing listener, for example on a port that the system chose.
// It closes the listener.
func (i *Inspector) Serve(ctx context.Context, l net.Listener) error {
	if at, ok := l.Addr().(*net.TCPAddr); ok {
		if err := i.mayListen(at); err != nil {
			return errors.Join(err, l.Close())
		}
	}
	var err error
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(i.ctx, cancel)()
	server := &http.Server{
		Handler: i, TLSConfig: i.o.TLS, BaseContext: func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
	}
	i.log(slog.LevelInfo, "inspector listens", "addr", l.Addr().String())
	ended := make(chan error, 1)
	go func() {
		ended <- aside.Do("the listener of Inspector.Serve", func() error {
			places := netutil.LimitListener(l, 2*i.o.ConnectionsMax)
			if i.o.TLS != nil {
				return server.ServeTLS(places, "", "")
			}
			return server.Serve(places)
		})
	}()
	select {
	case err = <-ended:
	case <-ctx.Done():
		out, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if server.Shutdown(out) != nil {
			_ = server.Close()
		}
		err = <-ended
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	_ = server.Close()
	return fmt.Errorf("inspect: %w", err)
}

// mayListen returns an error if the options do not allow to serve at an address.
func (i *Inspector) mayListen(at *net.TCPAddr) error {
	switch {
	case at.IP.IsLoopback():
		return nil
	case i.o.Token == "":
		return fmt.Errorf("inspect: other machines can reach %v, and there is no Token; set one, or listen at 127.0.0.1", at)
	case i.o.TLS == nil && !i.o.Insecure:
		return fmt.Errorf("inspect: other machines can reach %v, and there is no TLS; set it, or listen at 127.0.0.1, or set Insecure if the network is trusted with the token", at)
	}
	return nil
}

// serveWorld serves /api/world: it answers with the facts that do not change.
func (i *Inspector) serveWorld(w http.ResponseWriter, r *http.Request) error {
	s, err := i.schemas.now(r.Context())
	if err != nil {
		return err
	}
	components := []object{}
	for _, c := range s.Components {
		fields := []object{}
		for k := range c.Fields {
			f := &c.Fields[k]
			fields = append(fields, object{"path": f.Path, "type": f.Type.String(), "numeric": f.Numeric()})
		}
		components = append(components, object{
			"name": c.Name, "type": c.Type.String(), "size": c.Type.Size(), "framed": c.Framed, "why_not": c.WhyNot, "fields": fields,
		})
	}
	writeJSON(w, http.StatusOK, object{
		"name": i.o.Name, "version": version(), "started_ms": i.samples.began.UnixMilli(), "shards": i.w.Shards(), "workers": i.s.Workers(),
		"controls": i.o.Token != "", "components": components, "messages": s.messages, "resources": s.resources, "flags": 8,
	})
	return nil
}

// version returns the version of this module in the program, for /api/world.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == "github.com/atoll-sim/atoll" && m.Version != "" {
			return m.Version
		}
	}
	return "(devel)"
}

// serveMetrics serves /metrics: it answers with the figures for Prometheus. If the world stands
// they are the last ones.
func (i *Inspector) serveMetrics(w http.ResponseWriter, r *http.Request) error {
	body, err := i.answers.of(r.Context(), "metrics", frameAge, func(ctx context.Context) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, waitMax)
		defer cancel()
		return figures.AppendText(nil, i.figures.Read(ctx)), nil
	})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", figures.TextType)
	_, _ = w.Write(body) // if it fails, the reader is gone
	return nil
}

// servePlan serves /api/plan: it answers with the order of the systems and their fences, read
// between two ticks.
func (i *Inspector) servePlan(w http.ResponseWriter, r *http.Request) error {
	var p *scheduler.Schedule
	err := i.do(r.Context(), func(*world.World) (err error) {
		if p, err = i.s.Schedule(); err != nil {
			err = refuse(http.StatusConflict, err.Error())
		}
		return err
	})
	if err != nil {
		return err
	}
	systems, fences := []object{}, []object{}
	for _, s := range p.Systems {
		systems = append(systems, object{
			"name": s.Name, "stage": s.Stage.String(), "global": s.Global, "enabled": s.Enabled, "every": s.Every, "offset": s.Offset,
			"after": append([]string{}, s.After...), "before": append([]string{}, s.Before...), "conditions": s.Conditions, "merge": s.Merge,
		})
	}
	for _, f := range p.Fences {
		reasons := []object{}
		for _, why := range f.Reasons {
			reasons = append(reasons, object{"name": why.Name, "first": why.First, "then": why.Then})
		}
		fences = append(fences, object{"system": f.System, "after": f.After, "near": f.Near, "reasons": reasons})
	}
	writeJSON(w, http.StatusOK, object{"systems": systems, "fences": fences})
	return nil
}
