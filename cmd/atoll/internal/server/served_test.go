package server_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/server"
	"github.com/atoll-sim/atoll/scheduler"
)

// answerMax is how long a test waits for a line.
const answerMax = time.Minute

// served is a realm that is ticked and served until the test ends.
type served struct {
	*server.Server
	realm *realm.Realm
	stop  func() // ends ticks and clients; the world is idle then
}

func serve(t *testing.T, ro realm.Options, so server.Options) *served {
	t.Helper()
	noLeaks(t)
	if ro.TickInterval == 0 {
		ro.TickInterval = 5 * time.Millisecond
	}
	ro.QueueRequests = server.QueueRequests
	r, err := realm.New(ro)
	require.NoError(t, err)
	ticks := scheduler.New(r.World, scheduler.Options{})
	require.NoError(t, r.AddSystems(ticks))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := server.New(r, l, so)

	ctx, cancel := context.WithCancel(context.Background())
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return ticks.Run(ctx) })
	g.Go(func() error { return s.Serve(ctx) })
	stopped := false
	stop := func() {
		if !stopped {
			stopped = true
			cancel()
			require.NoError(t, g.Wait())
		}
	}
	t.Cleanup(stop)
	return &served{s, r, stop}
}

// peer is a client by hand.
type peer struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func (s *served) connect(t *testing.T) *peer {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	p := &peer{t, conn, bufio.NewReader(conn)}
	require.Regexp(t, `^WELCOME client \d+; HELP lists the commands$`, p.line())
	return p
}

// send writes text as it is.
func (p *peer) send(text string) {
	p.t.Helper()
	require.NoError(p.t, p.conn.SetWriteDeadline(time.Now().Add(answerMax)))
	_, err := p.conn.Write([]byte(text))
	require.NoError(p.t, err)
}

// line reads a line.
func (p *peer) line() string {
	p.t.Helper()
	require.NoError(p.t, p.conn.SetReadDeadline(time.Now().Add(answerMax)))
	text, err := p.in.ReadString('\n')
	require.NoError(p.t, err)
	return strings.TrimSuffix(text, "\n")
}

// ended checks that the server has closed the connection.
func (p *peer) ended() {
	p.t.Helper()
	require.NoError(p.t, p.conn.SetReadDeadline(time.Now().Add(answerMax)))
	_, err := p.in.ReadString('\n')
	var timeout net.Error
	require.Error(p.t, err)
	require.False(p.t, errors.As(err, &timeout) && timeout.Timeout(), "still open")
}

// do sends a command and returns its outcome, without the number.
func (p *peer) do(command string) string {
	p.t.Helper()
	p.send(command + "\n")
	answer := p.answer()
	n, ok := strings.CutPrefix(answer, "ACCEPTED ")
	require.True(p.t, ok, "%s: %s", command, answer)
	words := strings.SplitN(p.answer(), " ", 3)
	require.Equal(p.t, n, words[1])
	return words[0] + " " + words[2]
}

// answer reads a line that does not tell of a death.
func (p *peer) answer() string {
	p.t.Helper()
	for {
		if text := p.line(); !strings.HasPrefix(text, "DIED ") {
			return text
		}
	}
}

// eventually waits until something is true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(answerMax); !ok(); time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "not in time: %s", what)
	}
}

// noLeaks fails the test if goroutines that it starts from here on are still there behind
// it. On a busy machine one that has told that it is done may stay for a while.
func noLeaks(t testing.TB) {
	t.Helper()
	known := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		require.EventuallyWithT(t, func(c *assert.CollectT) { assert.NoError(c, goleak.Find(known)) }, time.Minute, time.Millisecond)
	})
}
