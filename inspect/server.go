package inspect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path"
	"strings"
	"time"

	"golang.org/x/net/netutil"

	"github.com/atoll-sim/atoll/internal/aside"
)

const (
	levelChanged = slog.LevelInfo
	levelFailed  = slog.LevelWarn
)

// kept are the paths that are served even if the world is closed or broken: they say why, and what
// was before.
var kept = map[string]bool{"/api/problems": true, "/api/history": true, "/api/recordings": true}

// route is the handler of a path.
type route struct {
	method string
	serve  func(w http.ResponseWriter, r *http.Request) error
}

func (x *Inspector) makeRoutes() map[string]route {
	get := func(f func(http.ResponseWriter, *http.Request) error) route { return route{http.MethodGet, f} }
	post := func(f func(http.ResponseWriter, *http.Request) error) route { return route{http.MethodPost, f} }
	return map[string]route{
		"/metrics":            get(x.serveMetrics),
		"/api/world":          get(x.serveWorld),
		"/api/stats":          get(x.serveStats),
		"/api/history":        get(x.serveHistory),
		"/api/plan":           get(x.servePlan),
		"/api/events":         get(x.streamEvents),
		"/api/problems":       get(x.serveProblems),
		"/api/ticks":          get(x.serveTicks),
		"/api/recordings":     get(x.serveRecordings),
		"/api/record":         post(x.record),
		"/api/query":          get(x.serveQuery),
		"/api/map":            get(x.serveMap),
		"/api/map/stream":     get(x.streamMap),
		"/api/entity":         get(x.serveEntity),
		"/api/entity/stream":  get(x.streamEntity),
		"/api/entity/set":     post(x.set),
		"/api/entity/destroy": post(x.destroy),
		"/api/pause":          post(x.pause),
		"/api/resume":         post(x.resume),
		"/api/step":           post(x.step),
		"/api/systems":        post(x.enable),
	}
}

// writeWait is how long a write may take.
const writeWait = 5 * time.Second

// ServeHTTP serves the inspector: at the root of a server, or below a prefix with
// [http.StripPrefix]. See docs/inspector.md for the paths, and [Options.Token] for access.
func (x *Inspector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(4 * writeWait)) // if the connection has one
	if err := x.serve(w, r); err != nil {
		x.writeError(w, r, err)
	}
}

func (x *Inspector) serve(w http.ResponseWriter, r *http.Request) error {
	at := "/" + strings.TrimPrefix(r.URL.Path, "/")
	isPage := at == "/" || strings.HasPrefix(at, "/page/")
	if err := x.mayAsk(r, isPage); err != nil {
		return err
	}
	if whole, _, _ := strings.Cut(r.RequestURI, "?"); r.URL.Path == "" && whole != "" && !strings.HasSuffix(whole, "/") {
		w.Header().Set("Location", path.Base(whole)+"/") // below a prefix, for the page's relative addresses
		w.WriteHeader(http.StatusMovedPermanently)
		return nil
	}
	to, ok := x.routes[at]
	if strings.HasPrefix(at, "/api/recordings/") {
		to, ok = route{http.MethodGet, x.serveRecording}, true
	}
	if isPage {
		to, ok = route{http.MethodGet, x.servePage}, true
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
	case x.ctx.Err() != nil && !isPage && !kept[at]:
		return errClosed
	}
	return to.serve(w, r)
}

// kinds are the types of the page's files.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".png": "image/png",
}

func (x *Inspector) servePage(w http.ResponseWriter, r *http.Request) error {
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

// ListenAndServe serves at an address, as in "127.0.0.1:8080", until the context ends or the
// Inspector is closed, and then returns nil, at most about a second later. Streams end with an
// event that says so. An address that other machines can reach needs a Token, and TLS or Insecure:
// without them it returns an error that says what is missing, and does not listen. If the network
// fails, it returns that error.
//
// It logs the address, which is useful with port 0.
func (x *Inspector) ListenAndServe(ctx context.Context, addr string) error {
	at, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return fmt.Errorf("inspect: %w", err)
	}
	if err := x.mayListen(at); err != nil {
		return err
	}
	l, err := net.ListenTCP("tcp", at)
	if err != nil {
		return fmt.Errorf("inspect: %w", err)
	}
	return x.Serve(ctx, l)
}

// Serve is ListenAndServe with an existing listener, for example on a port that the system chose.
// It closes the listener.
func (x *Inspector) Serve(ctx context.Context, l net.Listener) error {
	if at, ok := l.Addr().(*net.TCPAddr); ok {
		if err := x.mayListen(at); err != nil {
			return errors.Join(err, l.Close())
		}
	}
	var err error
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(x.ctx, cancel)()
	server := &http.Server{
		Handler: x, TLSConfig: x.o.TLS, BaseContext: func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
	}
	x.log(slog.LevelInfo, "inspector listens", "addr", l.Addr().String())
	ended := make(chan error, 1)
	go func() {
		ended <- aside.Do("the listener of Inspector.Serve", func() error {
			places := netutil.LimitListener(l, 2*x.o.ConnectionsMax)
			if x.o.TLS != nil {
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
func (x *Inspector) mayListen(at *net.TCPAddr) error {
	switch {
	case at.IP.IsLoopback():
		return nil
	case x.o.Token == "":
		return fmt.Errorf("inspect: other machines can reach %v, and there is no Token; set one, or listen at 127.0.0.1", at)
	case x.o.TLS == nil && !x.o.Insecure:
		return fmt.Errorf("inspect: other machines can reach %v, and there is no TLS; set it, or listen at 127.0.0.1, or set Insecure if the network is trusted with the token", at)
	}
	return nil
}
