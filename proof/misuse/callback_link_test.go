package misuse_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"math/big"
	"net"
	"time"

	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/ext/transit/link"
	"github.com/atoll-sim/atoll/world"
)

// linkCallbacks are the functions that package link calls.
func linkCallbacks() []callbackRow {
	// carry carries until a function has failed.
	carry := func(x *callbackScene, address string, o link.Options) {
		roads := transit.New(world.MustNew(world.Options{}), "roads", transit.Options{World: 2})
		ctx, cancel := context.WithCancel(x.t.Context())
		ended := make(chan error)
		client := must(link.NewClient(address, o))
		go func() { ended <- client.Carry(ctx, roads, 1) }()
		for x.armed.Load() {
			time.Sleep(time.Millisecond)
		}
		cancel()
		must(0, <-ended)
	}
	return []callbackRow{
		{of: "link.Options.Logger", on: onOther, do: func(x *callbackScene) string {
			l := must(net.Listen("tcp", "127.0.0.1:0"))
			must(0, l.Close())
			carry(x, l.Addr().String(), link.Options{Logger: slog.New(handler{x})})
			return inStderr
		}},
		{of: "link.Options.Allow", on: onOther, do: func(x *callbackScene) string {
			l, o := must(net.Listen("tcp", "127.0.0.1:0")), link.Options{TLS: selfSigned()}
			served := o
			served.Logger = slog.New(slog.NewTextHandler(&x.log, nil))
			served.Allow = func(*x509.Certificate, transit.World) bool {
				x.fail()
				return true
			}
			ctx, cancel := context.WithCancel(x.t.Context())
			ended := make(chan error)
			go func() { ended <- link.NewServer(served, x.roads).Serve(ctx, l) }()
			carry(x, l.Addr().String(), o)
			cancel()
			must(0, <-ended)
			return inLogger
		}},
		{of: "link.Server.Serve l", on: onOther, twice: true, do: func(x *callbackScene) string {
			limit := 10 * time.Second
			if !x.armed.Load() { // it serves for as long
				limit = 100 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(x.t.Context(), limit)
			defer cancel()
			return x.heard(link.NewServer(link.Options{}).Serve(ctx, listener{must(net.Listen("tcp", "127.0.0.1:0")), x}), inCall)
		}},
	}
}

// selfSigned returns a configuration for both sides.
func selfSigned() *tls.Config {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		DNSNames: []string{"world-*"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der := must(x509.CreateCertificate(rand.Reader, c, c, key.Public(), key))
	pool := x509.NewCertPool()
	pool.AddCert(must(x509.ParseCertificate(der)))
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, RootCAs: pool}
}
