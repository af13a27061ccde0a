package link_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/ext/transit/link"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The world of the tests: one person, who has gold and gets coins.
type (
	Purse struct {
		Gold int64
		Got  uint64 // a hash of what has come, in order
		N    int
	}
	Coins struct {
		Gold int64
		N    uint64
	}
	person struct{ Purse }
	order  struct {
		From handle.Handle
		To   transit.Ref
		N    int // so many payments of one piece
	}
)

type town struct {
	*world.World
	s      *scheduler.Scheduler
	roads  *transit.Roads
	purse  *world.Component[Purse]
	pays   *world.Transaction[order, struct{}]
	people *world.Bundle[person]
	port   *world.Port
	end    func()
}

// anyone is the handle of the only person of a town.
var anyone = handle.New(0, 0, 1)

func newTown(number transit.World, o transit.Options) *town {
	w := world.MustNew(world.Options{Shards: 1, VersionsEach: 10_000, TickInterval: time.Millisecond})
	x := &town{World: w, purse: world.Register[Purse](w, "purse")}
	coins := world.RegisterMessage[Coins](w, "coins")
	o.World = number
	x.roads = transit.New(w, "roads", o)
	mail := transit.RegisterMail(x.roads, coins)
	x.people = world.NewBundle[person](w)
	x.pays = world.RegisterTransaction(w, "pay", func(tx *world.Tx, d order) (struct{}, error) {
		p := x.purse.Edit(tx, d.From)
		for n := range d.N {
			p.Gold--
			if err := mail.Tell(tx, d.From, d.To, Coins{1, uint64(n)}); err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, nil
	})
	x.s = scheduler.New(w, scheduler.Options{Workers: 1})
	x.s.MustAdd("people", func(b *world.Build) func(*world.Context) {
		purses := world.Write[Purse](b)
		in, back := world.Receive[Coins](b), world.Receive[transit.Returned[Coins]](b)
		return func(c *world.Context) {
			for _, m := range in.All() {
				p := purses.Get(m.To)
				p.Gold += m.Body.Gold
				p.Got = p.Got*1099511628211 + m.Body.N
				p.N++
			}
			for _, m := range back.All() {
				purses.Get(m.To).Gold += m.Body.Body.Gold
			}
		}
	})
	return x
}

// born makes the person.
func (x *town) born(w *world.World) error {
	h, err := x.people.Create(w, person{Purse{Gold: 1000}})
	if h != anyone {
		err = errors.Join(err, errors.New("another handle"))
	}
	return err
}

// start makes ticks until stop, in a directory if there is a path.
func (x *town) start(t testing.TB, path string) {
	var store *durable.Store
	var err error
	if path != "" {
		store, err = durable.Open(context.Background(), path, x.World, x.s, durable.Options{Interval: -1, New: x.born})
	} else {
		err = x.born(x.World)
	}
	require.NoError(t, err)
	x.port, err = x.OpenPort()
	require.NoError(t, err)
	ran := make(chan error, 1)
	go func() { ran <- x.s.Run(context.Background()) }()
	x.end = sync.OnceFunc(func() {
		x.s.Stop()
		require.NoError(t, <-ran)
		if store != nil {
			require.NoError(t, store.Close())
		}
		x.Close()
	})
	t.Cleanup(x.end)
}

func started(t testing.TB, number transit.World, o transit.Options) *town {
	x := newTown(number, o)
	x.start(t, "")
	return x
}

// pay sends payments to the person of another world.
func (x *town) pay(t testing.TB, to *town, n int) {
	_, err := x.pays.Ask(t.Context(), x.port, order{anyone, to.roads.Ref(anyone), n})
	require.NoError(t, err)
}

// has returns what the person has.
func (x *town) has(t testing.TB) Purse {
	var a world.Answer[Purse]
	require.NoError(t, x.purse.Ask(x.port, anyone, &a))
	p, err := a.Get(t.Context())
	require.NoError(t, err)
	return p
}

// gets waits until the person has got so many payments.
func (x *town) gets(t testing.TB, n int) {
	t.Helper()
	p := x.has(t)
	for ; p.N < n; p = x.has(t) {
		require.NoError(t, t.Context().Err())
	}
	require.Equal(t, n, p.N)
}

// background calls something until the test ends, or over is called, which returns its error.
func background(t testing.TB, f func(ctx context.Context) error) (over func() error) {
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	over = sync.OnceValue(func() error { end(); return <-done })
	t.Cleanup(func() { _ = over() })
	return over
}

// serve serves worlds on a loopback address.
func serve(t testing.TB, at string, o link.Options, towns ...*town) (s *link.Server, address string, over func() error) {
	l, err := net.Listen("tcp", at)
	require.NoError(t, err)
	s = link.NewServer(o)
	for _, x := range towns {
		s.Add(x.roads)
	}
	return s, l.Addr().String(), background(t, func(ctx context.Context) error { return s.Serve(ctx, l) })
}

// carry carries between a town and a world elsewhere.
func carry(t testing.TB, address string, o link.Options, x *town, to transit.World) (c *link.Client, over func() error) {
	c, err := link.NewClient(address, o)
	require.NoError(t, err)
	return c, background(t, func(ctx context.Context) error { return c.Carry(ctx, x.roads, to) })
}

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t testing.TB) *authority {
	a := &authority{pool: x509.NewCertPool()}
	a.cert, a.key = a.sign(t, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	a.pool.AddCert(a.cert)
	return a
}

func (a *authority) sign(t testing.TB, c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(1), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, by := c, key
	if a.cert != nil {
		parent, by = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), by)
	require.NoError(t, err)
	signed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return signed, key
}

// options returns the options of a process with a certificate with names.
func (a *authority) options(t testing.TB, names ...string) link.Options {
	c, key := a.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: names[0]}, DNSNames: names, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}, KeyUsage: x509.KeyUsageDigitalSignature,
	})
	return link.Options{TLS: &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{c.Raw}, PrivateKey: key}}, RootCAs: a.pool}}
}

// proxy is between a client and a server. What plan returns for each connection is how many bytes go
// each way, and whether the line is cut then or stays silent.
type proxy struct {
	address string
	mu      sync.Mutex
	conns   []net.Conn
	n       int
}

type fate struct {
	up, down int64
	silent   bool
}

func newProxy(t testing.TB, to string, plan func(n int) fate) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{address: l.Addr().String()}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			p.mu.Lock()
			f := plan(p.n)
			p.n++
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				p.mu.Unlock()
				continue
			}
			p.conns = append(p.conns, in, out)
			p.mu.Unlock()
			way := func(to, from net.Conn, n int64) {
				_, _ = io.CopyN(to, from, n)
				if f.silent {
					_, _ = io.Copy(io.Discard, from)
				}
				_ = to.Close()
				_ = from.Close()
			}
			all.Go(func() { way(out, in, f.up) })
			all.Go(func() { way(in, out, f.down) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.cut()
		all.Wait()
	})
	return p
}

// cut closes all connections, and returns how many there have been.
func (p *proxy) cut() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
	return p.n
}
