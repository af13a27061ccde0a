package link_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/rand/v2"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/ext/transit/link"
	"github.com/atoll-sim/atoll/internal/seed"
)

const forever = 1 << 40 // bytes

// check checks that two towns have what they should: each has paid the other n pieces, in some calls of
// each many.
func check(t *testing.T, x, y *town, n, each int) {
	t.Helper()
	var got uint64
	for i := range n {
		got = got*1099511628211 + uint64(i%each)
	}
	for _, x := range []*town{x, y} {
		x.gets(t, n)
		require.Equal(t, Purse{1000, got, n}, x.has(t), "in order")
	}
}

// TestCarry carries in the clear and with certificates, dialed by one or by both.
func TestCarry(t *testing.T) {
	a := newAuthority(t)
	for name, secure := range map[string]bool{"clear": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			var one, two link.Options
			if secure {
				one, two = a.options(t, "paris", "world-1.eu"), a.options(t, "rome", "world-2")
			}
			x, y := started(t, 1, transit.Options{}), started(t, 2, transit.Options{})
			_, address, ended := serve(t, "127.0.0.1:0", one, x)
			client, over := carry(t, address, two, y, 1)
			const each = 50
			for range 4 {
				x.pay(t, y, each)
				y.pay(t, x, each)
			}
			check(t, x, y, 4*each, each)
			require.NoError(t, client.Err())

			_, address, ended2 := serve(t, "127.0.0.1:0", two, y) // now both dial
			_, over2 := carry(t, address, one, x, 2)
			for range 4 {
				x.pay(t, y, each)
				y.pay(t, x, each)
			}
			check(t, x, y, 8*each, each)
			for _, over := range []func() error{over, over2, ended, ended2} {
				require.NoError(t, over())
			}
		})
	}
}

// TestBreaks cuts each connection after a number of bytes, or lets it stay silent then.
func TestBreaks(t *testing.T) {
	dice := rand.New(rand.NewPCG(seed.Of(t), 0))
	a := newAuthority(t)
	one, two := a.options(t, "paris", "world-1"), a.options(t, "rome", "world-2")
	x, y := started(t, 1, transit.Options{}), started(t, 2, transit.Options{})
	_, address, _ := serve(t, "127.0.0.1:0", one, x)
	p := newProxy(t, address, func(n int) fate {
		f := fate{int64(dice.IntN(20_000)), int64(dice.IntN(20_000)), n%8 == 3}
		if dice.IntN(2) == 0 {
			f.up = forever // the other way alone
		}
		return f
	})
	_, over := carry(t, p.address, two, y, 1)
	const each = 30
	for i := 1; i <= 10; i++ {
		x.pay(t, y, each)
		y.pay(t, x, each)
		if i%3 == 0 {
			check(t, x, y, i*each, each)
			p.cut()
		}
	}
	check(t, x, y, 10*each, each)
	require.NoError(t, over())
	require.Greater(t, p.cut(), 3, "connections")
}

// TestRestart ends a server, its durable world, and its client's line, and begins anew at the same
// place.
func TestRestart(t *testing.T) {
	path, address := t.TempDir(), "127.0.0.1:0"
	y := started(t, 2, transit.Options{})
	var x *town
	var client *link.Client
	for i := 1; i <= 3; i++ {
		x = newTown(1, transit.Options{})
		x.start(t, path)
		x.pay(t, y, 20)
		y.pay(t, x, 20)
		var ended func() error
		_, address, ended = serve(t, address, link.Options{}, x)
		if client == nil {
			client, _ = carry(t, address, link.Options{}, y, 1)
		}
		check(t, x, y, 20*i, 20)
		if i < 3 {
			x.pay(t, y, 0)
			require.NoError(t, ended())
			x.end()
		}
	}
}

// TestOlder ends Carry with an error if the other world has lost what it has told.
func TestOlder(t *testing.T) {
	x, y := started(t, 1, transit.Options{}), started(t, 2, transit.Options{})
	_, address, ended := serve(t, "127.0.0.1:0", link.Options{}, x)
	_, over := carry(t, address, link.Options{}, y, 1)
	y.pay(t, x, 20)
	x.pay(t, y, 20)
	check(t, x, y, 20, 20)
	require.NoError(t, over())
	require.NoError(t, ended())

	x = started(t, 1, transit.Options{}) // which remembers nothing
	_, address, _ = serve(t, address, link.Options{}, x)
	client, err := link.NewClient(address, link.Options{})
	require.NoError(t, err)
	err = client.Carry(t.Context(), y.roads, 1)
	require.ErrorIs(t, err, transit.ErrOlder)
	require.ErrorContains(t, err, "world 1 is older than world 2 knows it")
	require.Zero(t, x.has(t).N)
}

// eventually waits until an error of a client contains a text.
func eventually(t *testing.T, c *link.Client, text string) {
	t.Helper()
	var err error
	for began := time.Now(); err == nil && time.Since(began) < 20*time.Second; err = c.Err() {
		runtime.Gosched()
	}
	require.ErrorContains(t, err, text)
}

// TestUnknownWorld waits until a world is served, and while it is not.
func TestUnknownWorld(t *testing.T) {
	x, y := started(t, 1, transit.Options{}), started(t, 2, transit.Options{})
	s, address, _ := serve(t, "127.0.0.1:0", link.Options{})
	client, _ := carry(t, address, link.Options{}, y, 1)
	eventually(t, client, "world 1 is not served here")
	s.Add(x.roads)
	x.pay(t, y, 5)
	y.pay(t, x, 5)
	check(t, x, y, 5, 5)
	require.NoError(t, client.Err())
	require.PanicsWithValue(t, `link: Server.Add of "roads": world 1 is served already; Remove it first, or give each world a number of its own`, func() { s.Add(x.roads) })
	s.Remove(x.roads)
	s.Remove(x.roads)
	eventually(t, client, "world 1 is not served here")
}

// TestNoServer waits for a server.
func TestNoServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	x, y := started(t, 1, transit.Options{}), started(t, 2, transit.Options{})
	client, over := carry(t, l.Addr().String(), link.Options{}, y, 1)
	eventually(t, client, "connection refused")
	serve(t, l.Addr().String(), link.Options{}, x)
	x.pay(t, y, 5)
	y.pay(t, x, 5)
	check(t, x, y, 5, 5)
	require.NoError(t, client.Err())
	require.NoError(t, over())
}

// TestCertificates carries nothing for those who may not speak.
func TestCertificates(t *testing.T) {
	a, others := newAuthority(t), newAuthority(t)
	mine, named := a.options(t, "paris", "world-1"), a.options(t, "rome", "world-2")
	panics := mine
	panics.Allow = func(*x509.Certificate, transit.World) bool { panic("no") }
	for name, c := range map[string]struct {
		server, client link.Options
		want           string
	}{
		"of another authority":     {mine, others.options(t, "rome", "world-2"), "certificate"},
		"of a server of another":   {others.options(t, "paris", "world-1"), named, "certificate signed by unknown authority"},
		"a client of other worlds": {mine, a.options(t, "rome", "world-22", "aworld-2"), `the certificate of "CN=rome" may not speak for world 2; give it the DNS name world-2, or set Options.Allow`},
		"a server of other worlds": {a.options(t, "paris", "world-3"), named, `the certificate of "CN=paris" may not speak for world 1`},
		"a client in the clear":    {mine, link.Options{}, ""},
		"a server in the clear":    {link.Options{}, named, ""},
		"Allow panics":             {panics, named, "Options.Allow panicked"},
	} {
		t.Run(name, func(t *testing.T) {
			x, y := started(t, 1, transit.Options{}), started(t, 2, transit.Options{})
			_, address, ended := serve(t, "127.0.0.1:0", c.server, x)
			y.pay(t, x, 5)
			x.pay(t, y, 5)
			client, over := carry(t, address, c.client, y, 1)
			eventually(t, client, c.want)
			require.NoError(t, over())
			require.NoError(t, ended())
			require.Zero(t, x.has(t).N+y.has(t).N)
		})
	}
	t.Run("Allow", func(t *testing.T) {
		x, y := started(t, 1, transit.Options{}), started(t, 2, transit.Options{})
		one, two := mine, a.options(t, "rome", "world-*")
		one.Allow = func(c *x509.Certificate, w transit.World) bool { return w == 2 && c.Subject.CommonName == "rome" }
		_, address, _ := serve(t, "127.0.0.1:0", one, x)
		carry(t, address, two, y, 1)
		x.pay(t, y, 5)
		y.pay(t, x, 5)
		check(t, x, y, 5, 5)
	})
}

// TestClear refuses to speak in the clear to other machines, and certificates that prove nothing.
func TestClear(t *testing.T) {
	for _, address := range []string{"192.0.2.1:7000", "eu1.example:7000", "[2001:db8::1]:7000", ":7000", "0.0.0.0:7000"} {
		_, err := link.NewClient(address, link.Options{})
		require.ErrorIs(t, err, link.ErrClear, address)
	}
	for _, address := range []string{"127.0.0.1:7000", "localhost:7000", "[::1]:7000"} {
		_, err := link.NewClient(address, link.Options{})
		require.NoError(t, err)
	}
	_, err := link.NewClient("eu1.example", link.Options{})
	require.ErrorContains(t, err, "link: NewClient needs a host and a port, as in eu1.example:7000: ")
	l, err := net.Listen("tcp", ":0")
	require.NoError(t, err)
	soon, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	err = link.NewServer(link.Options{}).Serve(soon, l)
	require.ErrorIs(t, err, link.ErrClear)

	good := newAuthority(t).options(t, "x").TLS
	for want, c := range map[string]*tls.Config{
		"set RootCAs":         {Certificates: good.Certificates},
		"set Certificates":    {RootCAs: good.RootCAs},
		"InsecureSkipVerify":  {RootCAs: good.RootCAs, Certificates: good.Certificates, InsecureSkipVerify: true},
		"GetConfigForClient;": nil,
	} {
		if c == nil {
			continue
		}
		_, err = link.NewClient("eu1.example:7000", link.Options{TLS: c})
		require.ErrorIs(t, err, link.ErrCertificates)
		require.ErrorContains(t, err, want)
	}
}

// TestServe ends in each way.
func TestServe(t *testing.T) {
	x := started(t, 1, transit.Options{})
	s, address, over := serve(t, "127.0.0.1:0", link.Options{}, x)
	y := started(t, 2, transit.Options{})
	_, ended := carry(t, address, link.Options{}, y, 1)
	y.pay(t, x, 1)
	x.gets(t, 1)
	require.NoError(t, over(), "while carriers wait for something")
	l, err := net.Listen("tcp", address)
	require.NoError(t, err, "it has left its place")
	require.ErrorContains(t, s.Serve(t.Context(), l), "a Server serves once")
	require.NoError(t, ended())

	l, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	require.ErrorIs(t, link.NewServer(link.Options{}).Serve(t.Context(), l), net.ErrClosed)
}

// TestPressure lets a world stand still: the outbox to it is full then, and not the line.
func TestPressure(t *testing.T) {
	x, y := started(t, 1, transit.Options{}), started(t, 2, transit.Options{Max: 100})
	_, address, _ := serve(t, "127.0.0.1:0", link.Options{}, x)
	carry(t, address, link.Options{}, y, 1)
	x.s.Pause()
	y.pay(t, x, 60)
	_, err := y.pays.Ask(t.Context(), y.port, order{anyone, x.roads.Ref(anyone), 60})
	require.ErrorIs(t, err, transit.ErrFull)
	x.s.Resume()
	x.gets(t, 60)
	for err = errors.New("not yet"); err != nil && t.Context().Err() == nil; { // until that is told
		_, err = y.pays.Ask(t.Context(), y.port, order{anyone, x.roads.Ref(anyone), 60})
	}
	x.gets(t, 120)
}

// TestClosed ends Carry when its own world is closed, and waits when the other is.
func TestClosed(t *testing.T) {
	x, y := started(t, 1, transit.Options{}), started(t, 2, transit.Options{})
	_, address, _ := serve(t, "127.0.0.1:0", link.Options{}, x)
	client, err := link.NewClient(address, link.Options{})
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- client.Carry(context.Background(), y.roads, 1) }()
	y.pay(t, x, 1)
	x.gets(t, 1)
	y.end()
	x.pay(t, y, 1)
	require.ErrorContains(t, <-done, "closed")

	z := started(t, 3, transit.Options{})
	client, _ = carry(t, address, link.Options{}, z, 1)
	x.end()
	eventually(t, client, "closed")
}

// TestMany carries between all worlds of two processes over one connection, and that again when it was
// cut.
func TestMany(t *testing.T) {
	const each = 4
	var here, there []*town
	for i := range transit.World(each) {
		here, there = append(here, started(t, 1+i, transit.Options{})), append(there, started(t, 11+i, transit.Options{}))
	}
	_, address, _ := serve(t, "127.0.0.1:0", link.Options{}, here...)
	p := newProxy(t, address, func(int) fate { return fate{forever, forever, false} })
	client, err := link.NewClient(p.address, link.Options{})
	require.NoError(t, err)
	for _, y := range there {
		for _, x := range here {
			background(t, func(ctx context.Context) error { return client.Carry(ctx, y.roads, x.roads.World()) })
		}
	}
	for i := 1; i <= 2; i++ {
		for _, y := range there {
			for _, x := range here {
				x.pay(t, y, 3)
				y.pay(t, x, 3)
			}
		}
		for _, x := range append(here, there...) {
			x.gets(t, 3*each*i)
		}
		require.Equal(t, i, p.cut(), "connections")
	}
}

// TestSilent finds a line that takes what is sent and brings nothing, in either direction.
func TestSilent(t *testing.T) {
	for name, f := range map[string]fate{"up": {500, forever, true}, "down": {forever, 500, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, y := started(t, 1, transit.Options{}), started(t, 2, transit.Options{})
			_, address, _ := serve(t, "127.0.0.1:0", link.Options{}, x)
			p := newProxy(t, address, func(n int) fate {
				if n == 0 {
					return f
				}
				return fate{forever, forever, false}
			})
			carry(t, p.address, link.Options{}, y, 1)
			for i := 1; i <= 5; i++ {
				x.pay(t, y, 100)
				y.pay(t, x, 100)
				check(t, x, y, i*100, 100)
			}
			require.Equal(t, 2, p.cut())
		})
	}
}
