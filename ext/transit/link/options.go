package link

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/ext/transit/internal/ends"
	"github.com/atoll-sim/atoll/internal/aside"
)

// Options shape a Server and a Client. The zero value works on loopback addresses.
type Options struct {
	// TLS has the certificate of this process, and in RootCAs or ClientCAs the authorities whose
	// certificates are accepted. Certificates are for servers and clients, in their extended key
	// usage. The rest is set: TLS 1.3, HTTP/2, and a certificate of the other side. Without TLS,
	// only loopback addresses are accepted.
	TLS *tls.Config
	// Allow reports whether the process with a certificate may speak for a world. It is called for each
	// request, on any goroutine. Default: Named.
	Allow func(cert *x509.Certificate, w transit.World) bool
	// Logger, if not nil, gets records of what keeps worlds from each other, of the end of that,
	// and of requests that a Server refuses, one a second. A panic of its handler is written to
	// standard error.
	Logger *slog.Logger
	// Requests is how many requests a Server has in hand at once. Each pair of worlds has one most of
	// the time, and two at times. Beyond it, carriers wait. Default: 8,192.
	Requests int
}

const (
	requestsDefault = 8192
	requestsMax     = 1 << 20
	requestsPair    = 8 // of a pair of worlds, at once

	// PacketBytesMax is how many bytes a packet may have on the line.
	PacketBytesMax = ends.PacketBytesMax
)

// Times. Tests set them.
var (
	patience  = 30 * time.Second // that a request for items waits for some
	slowest   = 30 * time.Second // for a body, or an answer, to go over the line
	openMost  = 10 * time.Second // for a connection
	pingAfter = 10 * time.Second // of silence
	pingMost  = 10 * time.Second // for an answer to a ping
	retryMin  = 50 * time.Millisecond
	retryMax  = 5 * time.Second
)

var (
	// ErrClear is wrapped by errors about a link without TLS to another machine.
	ErrClear = errors.New("link: without TLS only loopback addresses are allowed; set Options.TLS")
	// ErrCertificates is wrapped by errors about Options.TLS.
	ErrCertificates = errors.New("link: Options.TLS lets this process not be known, or others not be verified")
)

// Named reports whether a certificate names a world: by a DNS name world-7, or one that begins with
// world-7 and a dot, or world-*, which is all.
func Named(cert *x509.Certificate, w transit.World) bool {
	name := fmt.Sprintf("world-%d", w)
	for _, x := range cert.DNSNames {
		if first, _, _ := strings.Cut(x, "."); first == name || first == "world-*" {
			return true
		}
	}
	return false
}

// mustFill returns options with the defaults filled in.
func (o Options) mustFill(call string) Options {
	if o.Requests < 0 || o.Requests > requestsMax {
		panic(fmt.Sprintf("link: %s with Options.Requests %d; use 1 to %d, or 0 for the default", call, o.Requests, requestsMax))
	}
	o.Requests = cmp.Or(o.Requests, requestsDefault)
	if o.Allow == nil {
		o.Allow = Named
	}
	return o
}

// config returns the configuration of TLS: nil in the clear.
func (o *Options) config() (*tls.Config, error) {
	if o.TLS == nil {
		return nil, nil
	}
	c := o.TLS.Clone()
	if c.RootCAs == nil {
		c.RootCAs = c.ClientCAs
	}
	if c.ClientCAs == nil {
		c.ClientCAs = c.RootCAs
	}
	switch {
	case c.RootCAs == nil:
		return nil, fmt.Errorf("%w: set RootCAs to the authorities of your processes", ErrCertificates)
	case len(c.Certificates) == 0 && (c.GetCertificate == nil || c.GetClientCertificate == nil):
		return nil, fmt.Errorf("%w: set Certificates, or both GetCertificate and GetClientCertificate", ErrCertificates)
	case c.InsecureSkipVerify || c.GetConfigForClient != nil:
		return nil, fmt.Errorf("%w: do not set InsecureSkipVerify or GetConfigForClient", ErrCertificates)
	}
	c.MinVersion, c.MaxVersion = tls.VersionTLS13, 0
	c.NextProtos, c.ClientAuth = []string{"h2"}, tls.RequireAndVerifyClientCert
	return c, nil
}

// refuses returns why the other side of a connection may not speak for a world, or nil.
func (o *Options) refuses(s *tls.ConnectionState, w transit.World) error {
	if o.TLS == nil {
		return nil
	}
	ok := false
	err := aside.Do("Options.Allow", func() error {
		ok = o.Allow(s.PeerCertificates[0], w) // TLS has verified it
		return nil
	})
	switch {
	case err != nil:
		aside.Log(o.Logger, slog.LevelError, "link: "+err.Error(), aside.Stack(err)...)
		return errors.New("Options.Allow panicked")
	case !ok:
		return fmt.Errorf("the certificate of %q may not speak for world %d; give it the DNS name world-%[2]d, or set Options.Allow", s.PeerCertificates[0].Subject, w)
	}
	return nil
}

// protocols returns HTTP/2 over TLS, or in the clear. HTTP/1 is not spoken.
func (o *Options) protocols() *http.Protocols {
	p := &http.Protocols{}
	p.SetHTTP2(o.TLS != nil)
	p.SetUnencryptedHTTP2(o.TLS == nil)
	return p
}

// line says how HTTP/2 finds a line that is dead. A connection has room for more than a Server's
// requests, so that who is too many is told so, and does not wait behind others.
func (o *Options) line() *http.HTTP2Config {
	return &http.HTTP2Config{MaxConcurrentStreams: 2 * o.Requests, SendPingTimeout: pingAfter, PingTimeout: pingMost, WriteByteTimeout: pingMost}
}

// loopback reports whether an address is one of this machine.
func loopback(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}
