package link

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/ext/transit/internal/ends"
	"github.com/atoll-sim/atoll/internal/aside"
)

// Client reaches the worlds that a Server of another process serves, over one connection. It
// connects when something is to be carried, and again after a break. Its methods may be called from
// any goroutine.
type Client struct {
	address string
	options Options
	http    *http.Transport
	scheme  string
	probe   chan struct{} // has room for one: who tries until there is a line

	mu    sync.Mutex // guards what follows
	users int        // calls of Carry
	lines int        // how often there was a line
	up    bool       // there is one, as far as is known
	wrong map[string]string
	conns map[*held]bool
}

// NewClient returns a Client for the address of a Server: a host and a port. It does not connect. It
// returns ErrClear for an address that is not of this machine, without TLS, and ErrCertificates.
func NewClient(address string, o Options) (*Client, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("link: NewClient needs a host and a port, as in eu1.example:7000: %w", err)
	}
	c := &Client{address: address, options: o.mustFill("NewClient"), scheme: "https", probe: make(chan struct{}, 1), wrong: map[string]string{}, conns: map[*held]bool{}}
	config, err := c.options.config()
	if err != nil {
		return nil, err
	}
	if ip := net.ParseIP(host); config == nil {
		if c.scheme = "http"; host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return nil, fmt.Errorf("%w; the address is %s", ErrClear, address)
		}
	}
	c.http = &http.Transport{
		DialContext: c.dial, TLSClientConfig: config, TLSHandshakeTimeout: openMost, Protocols: o.protocols(), HTTP2: c.options.line(),
		DisableCompression: true, MaxResponseHeaderBytes: headersMax, IdleConnTimeout: time.Minute,
	}
	return c, nil
}

// connecting is in the context of a request that may connect. All others use the connection that is
// there, or fail: otherwise each of them would connect when a line breaks.
type connecting struct{}

// dial connects. A name may stand for any address.
func (c *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if ctx.Value(connecting{}) == nil {
		return nil, errors.New("there is no connection")
	}
	d := net.Dialer{Timeout: openMost}
	conn, err := d.DialContext(ctx, network, address)
	switch {
	case err != nil:
		return nil, err
	case c.options.TLS == nil && !loopback(conn.RemoteAddr()):
		_ = conn.Close()
		return nil, fmt.Errorf("%w; %s is %v", ErrClear, c.address, conn.RemoteAddr())
	}
	x := &held{conn, c}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users == 0 {
		return nil, errors.Join(errors.New("nothing is to be carried any more"), conn.Close())
	}
	c.conns[x] = true
	return x, nil
}

// held is a connection of a Client.
type held struct {
	net.Conn
	c *Client
}

// Close closes it.
func (h *held) Close() error {
	h.c.mu.Lock()
	delete(h.c.conns, h)
	h.c.mu.Unlock()
	return h.Conn.Close()
}

// Carry carries between a world of this process and one that the Server has, in both directions,
// until ctx ends or an error comes that waiting does not heal. One Client carries for any number of
// pairs at once. As transit.Carry, it holds no state, may be ended at any time and called again, and
// several for one pair do no harm, in one or both processes.
//
// What a durable world sends leaves the process when it is on disk, and what it has decided is
// acknowledged when that is on disk.
//
// It returns nil when ctx has ended; an error that wraps transit.ErrOlder if a world was restored to an
// older day than the other knows, with nothing acknowledged; transit.ErrPeers; transit.ErrCarrier for
// what no Server sends; and the errors of this world's port and store. For all else it waits, and
// tries again: see Err. It panics if both worlds have the same number.
func (c *Client) Carry(ctx context.Context, r *transit.Roads, to transit.World) error {
	switch {
	case r == nil:
		panic("link: Client.Carry with nil Roads; pass what transit.New returned")
	case to == 0 || r.World() == to:
		panic(fmt.Sprintf("link: Client.Carry of %q, world %d, to world %d; give each world a number of its own, from 1 on", r.Name(), r.World(), to))
	}
	c.use(1)
	defer c.use(-1)
	end := ends.Of(r)
	defer end.Close()
	f := &far{c: c, here: r.World(), there: to}
	defer c.forget(f.key())
	if err := end.Carry(ctx, uint32(to), f); ctx.Err() == nil {
		return err
	}
	return nil
}

// use counts calls of Carry. After the last one the connection is closed.
func (c *Client) use(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users += n; c.users > 0 {
		return
	}
	c.up = false
	delete(c.wrong, "")
	for x := range c.conns {
		_ = x.Conn.Close() // package http closes x then
	}
}

// Err returns why nothing is carried now between some of the worlds that Carry was called for: there
// is no line, the Server does not have the world, or a certificate is not accepted. It returns nil if
// nothing is known to be wrong.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if text := c.wrong[""]; text != "" {
		return errors.New(text)
	}
	for _, text := range c.wrong {
		return errors.New(text)
	}
	return nil
}

// ill notes and logs what is wrong with the line, or with a pair of worlds.
func (c *Client) ill(key string, err error) {
	text := fmt.Sprintf("link: %s: %v", c.address, err)
	c.mu.Lock()
	news := c.wrong[key] == ""
	c.wrong[key] = text
	c.mu.Unlock()
	if news {
		aside.Log(c.options.Logger, slog.LevelWarn, text, "then", "it is tried again until it works")
	}
}

// well notes and logs that it works.
func (c *Client) well(key string) {
	c.mu.Lock()
	text := c.wrong[key]
	delete(c.wrong, key)
	c.mu.Unlock()
	if text != "" {
		aside.Log(c.options.Logger, slog.LevelInfo, "link: "+c.address+" is carried to again", "was", text)
	}
}

// forget forgets what is wrong with a pair of worlds that is carried for no more.
func (c *Client) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.wrong, key)
}

// connect waits until there is a line, and returns its number. One goroutine tries for all.
func (c *Client) connect(ctx context.Context) (line int, err error) {
	if line, up := c.line(); up {
		return line, nil
	}
	select {
	case c.probe <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	defer func() { <-c.probe }()
	var pause pause
	for {
		if line, up := c.line(); up {
			return line, nil
		}
		if line, err := c.hello(ctx); err == nil {
			return line, nil
		}
		if err := pause.wait(ctx); err != nil {
			return 0, err
		}
	}
}

func (c *Client) line() (line int, up bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lines, c.up
}

// hello connects.
func (c *Client) hello(ctx context.Context) (line int, err error) {
	soon, cancel := context.WithTimeout(context.WithValue(ctx, connecting{}, true), openMost)
	defer cancel()
	_, _, err = c.send(soon, http.MethodGet, helloPath, nil, textMax)
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case err != nil:
		c.ill("", err)
		return 0, err
	}
	c.well("")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.up = true
	c.lines++
	return c.lines, nil
}

// broke notes that a line is broken.
func (c *Client) broke(line int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if line == c.lines {
		c.up = false
	}
}

// send sends a request, and returns its answer.
func (c *Client) send(ctx context.Context, method, path string, body []byte, bytesMax int64) ([]byte, *tls.ConnectionState, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.scheme+"://"+c.address+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	a, err := c.http.RoundTrip(r)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = a.Body.Close() }() // all is read
	out, err := io.ReadAll(io.LimitReader(a.Body, bytesMax+1))
	switch {
	case err != nil:
		return nil, nil, err
	case a.Header.Get(codeHeader) != codeOK:
		return nil, nil, told(a, out)
	case int64(len(out)) > bytesMax:
		return nil, nil, fmt.Errorf("%w: an answer of more than %d bytes", transit.ErrCarrier, bytesMax)
	}
	return out, a.TLS, nil
}

// told returns the error that a Server tells.
func told(a *http.Response, text []byte) error {
	why := strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(text[:min(len(text), textMax)]), "?"))
	switch code := a.Header.Get(codeHeader); code {
	case codeOlder:
		return saidError{why, transit.ErrOlder}
	case codeCarrier:
		return saidError{why, transit.ErrCarrier}
	case codePeers:
		return saidError{why, transit.ErrPeers}
	case "":
		return fmt.Errorf("what answers there is no Server of this version of package link: %s", a.Status)
	default:
		return saidError{why, errors.New(code)}
	}
}

// saidError is an error that a Server has told.
type saidError struct {
	text string
	is   error
}

func (e saidError) Error() string { return e.text }
func (e saidError) Unwrap() error { return e.is }

// far is a world that the Server has, and one here.
type far struct {
	c           *Client
	here, there transit.World
}

func (f *far) key() string { return fmt.Sprintf("worlds %d and %d", f.here, f.there) }

func (f *far) Arrive(ctx context.Context, packet []byte) ([]byte, error) {
	return f.call(ctx, arrivePath, packet, ends.AnswersBytesMax)
}

func (f *far) Turn(ctx context.Context, answers []byte) ([]byte, error) {
	return f.call(ctx, turnPath, answers, ends.PacketBytesMax)
}

// call makes a request until it has succeeded, or never will.
func (f *far) call(ctx context.Context, path string, body []byte, bytesMax int64) ([]byte, error) {
	path = fmt.Sprintf("%s%d/%d", path, f.there, f.here)
	var pause pause
	for {
		line, err := f.c.connect(ctx)
		if err != nil {
			return nil, err
		}
		out, state, err := f.c.send(ctx, http.MethodPost, path, body, bytesMax)
		if err == nil {
			if no := f.c.options.refuses(state, f.there); no != nil {
				err = saidError{no.Error(), errForbidden}
			}
		}
		var said saidError
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil:
			f.c.well(f.key())
			return out, nil
		case errors.Is(err, transit.ErrOlder), errors.Is(err, transit.ErrPeers), errors.Is(err, transit.ErrCarrier):
			return nil, fmt.Errorf("link: %s: %w", f.c.address, err)
		case errors.As(err, &said):
			f.c.ill(f.key(), fmt.Errorf("%s: %w", f.key(), err))
		default:
			f.c.broke(line)
		}
		if err := pause.wait(ctx); err != nil {
			return nil, err
		}
	}
}

var errForbidden = errors.New(codeForbidden)

// pause waits longer each time.
type pause struct{ last time.Duration }

// wait waits, or until ctx ends.
func (p *pause) wait(ctx context.Context) error {
	p.last = min(max(2*p.last, retryMin), retryMax)
	t := time.NewTimer(p.last/2 + rand.N(p.last/2+1)) // not all at once
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
