package server_test

import (
	"bufio"
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/line"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/server"
)

// TestTooMuch sends more at once than is allowed: each line is either accepted,
// and gets its outcome, or rejected.
func TestTooMuch(t *testing.T) {
	s := serve(t, realm.Options{TickInterval: 100 * time.Millisecond}, server.Options{})
	p := s.connect(t)
	p.do("JOIN")
	const lines = 100
	p.send(strings.Repeat("WHERE\n", lines) + "PING\n")
	answers := map[string]int{}
	for text := p.line(); text != "PONG"; text = p.line() {
		words := strings.Fields(text)
		if words[0] == "REJECTED" {
			require.Contains(t, []string{
				"REJECTED WHERE: world: queue is full until the next refresh",
				"REJECTED WHERE: 32 commands are under way; wait for an outcome",
			}, text)
		}
		answers[words[0]]++
	}
	require.Equal(t, lines, answers["ACCEPTED"]+answers["REJECTED"])
	require.NotZero(t, answers["REJECTED"])
	// The queue may still count JOIN, whose outcome is told before its room is given
	// back.
	require.GreaterOrEqual(t, answers["ACCEPTED"], server.QueueRequests-1)
	require.Equal(t, answers["ACCEPTED"], answers["APPLIED"])
	require.EqualValues(t, answers["REJECTED"], s.Totals().Rejected)
	require.Regexp(t, "^APPLIED WHERE", p.do("WHERE"), "there is room again")
}

// TestLeaveWaits checks that what was commanded before LEAVE finds its avatar.
func TestLeaveWaits(t *testing.T) {
	p := serve(t, realm.Options{}, server.Options{}).connect(t)
	for range 10 {
		p.send("JOIN\nWHERE\nSTEER 1 1\nTAKE\nLEAVE\nPING\n")
		var outcomes []string
		for text := p.line(); text != "PONG"; text = p.line() {
			if words := strings.Fields(text); words[0] != "ACCEPTED" {
				outcomes = append(outcomes, words[0]+" "+words[2])
			}
		}
		require.Equal(t, []string{"APPLIED JOIN", "APPLIED WHERE", "APPLIED STEER", "APPLIED TAKE", "APPLIED LEAVE"}, outcomes)
	}
}

// TestWindow sends commands that take several ticks, faster than they end: when
// too many are under way, more are rejected.
func TestWindow(t *testing.T) {
	s := serve(t, realm.Options{TickInterval: 100 * time.Millisecond}, server.Options{})
	p := s.connect(t)
	self := strings.Fields(p.do("JOIN"))[2] // no item, so that taking it fails, but not at once
	const bursts, lines = 10, 20
	for range bursts {
		p.send(strings.Repeat("TAKE "+self+"\n", lines))
		time.Sleep(30 * time.Millisecond)
	}
	p.send("PING\n")
	answers := map[string]int{}
	for text := p.line(); text != "PONG"; text = p.line() {
		if !strings.HasPrefix(text, "REJECTED") {
			text, _, _ = strings.Cut(text, " ")
		}
		answers[text]++
	}
	require.NotZero(t, answers["REJECTED TAKE: 32 commands are under way; wait for an outcome"], "%v", answers)
	require.Equal(t, answers["ACCEPTED"], answers["APPLIED"])
	require.EqualValues(t, answers["ACCEPTED"]+1, s.Totals().Accepted)
	require.EqualValues(t, bursts*lines-answers["ACCEPTED"], s.Totals().Rejected)
}

// TestDisconnect checks that nothing of a client stays, however it goes.
func TestDisconnect(t *testing.T) {
	const clients = 30
	s := serve(t, realm.Options{ClientsMax: clients + 10}, server.Options{})
	came := uint64(0)
	for name, last := range map[string]string{
		"at once": "", "half a line": "JOI", "joined": "JOIN\n", "half a line after": "JOIN\nSTEER 1",
		"much under way": "JOIN\n" + strings.Repeat("TAKE\n", 30), "joining again": "JOIN\nLEAVE\nJOIN\n", "quit": "JOIN\nQUIT\n",
	} {
		t.Run(name, func(t *testing.T) {
			var g errgroup.Group
			for range clients {
				g.Go(func() error {
					conn, err := net.Dial("tcp", s.Addr())
					if err != nil {
						return err
					}
					if _, err := conn.Write([]byte(last)); err != nil {
						return err
					}
					return conn.Close()
				})
			}
			require.NoError(t, g.Wait())
			came += clients
			eventually(t, "all clients came", func() bool { return s.Totals().Clients == came })
			eventually(t, "all clients are gone", func() bool { return s.Totals().Here == 0 })
		})
	}
	totals := s.Totals()
	require.Equal(t, totals.Accepted, totals.Applied)
	require.Equal(t, totals.Joined, totals.Left)
	require.Zero(t, totals.Errors)
	s.stop()
	require.Zero(t, s.realm.Census().Alive[realm.Avatars])
	require.Zero(t, s.realm.Ledger().Unheard)
}

// TestFull checks that a server that is full says so, and has room again later.
func TestFull(t *testing.T) {
	s := serve(t, realm.Options{ClientsMax: 2}, server.Options{})
	a := s.connect(t)
	s.connect(t)
	conn, err := net.Dial("tcp", s.Addr())
	require.NoError(t, err)
	p := &peer{t, conn, nil}
	p.in = bufio.NewReader(conn)
	require.Equal(t, "ERROR realm: too many clients: 2 are here; come again later", p.line())
	p.ended()
	a.send("QUIT\n")
	require.Equal(t, "BYE", a.line())
	a.ended()
	eventually(t, "one is gone", func() bool { return s.Totals().Here == 1 })
	s.connect(t)
}

// slow makes a client that asks and never reads. It returns when what it asks is no
// longer taken either, for blocked, or the connection is closed.
func slow(t *testing.T, s *served, blocked time.Duration) {
	p := s.connect(t)
	p.send("JOIN\n")
	for {
		require.NoError(t, p.conn.SetWriteDeadline(time.Now().Add(blocked)))
		if _, err := p.conn.Write([]byte(strings.Repeat("HELP\nWHERE\n", 100))); err != nil {
			return
		}
	}
}

// TestSlowClient has a client that asks and never reads: the others do not notice.
func TestSlowClient(t *testing.T) {
	s := serve(t, realm.Options{}, server.Options{WriteWaitMax: time.Hour})
	other := s.connect(t)
	other.do("JOIN")
	slow(t, s, 300*time.Millisecond)
	for range 20 {
		require.Regexp(t, "^APPLIED WHERE", other.do("WHERE"))
	}
	require.Equal(t, 2, s.Totals().Here, "it is still here")
}

// TestSlowClientDropped waits only so long for such a client.
func TestSlowClientDropped(t *testing.T) {
	s := serve(t, realm.Options{}, server.Options{WriteWaitMax: 300 * time.Millisecond})
	other := s.connect(t)
	other.do("JOIN")
	slow(t, s, time.Minute)
	eventually(t, "the slow client is gone", func() bool { return s.Totals().Here == 1 })
	eventually(t, "its avatar is gone", func() bool { return s.Totals().Left == 1 })
	other.do("WHERE")
}

func TestIdleClient(t *testing.T) {
	s := serve(t, realm.Options{}, server.Options{IdleMax: 50 * time.Millisecond})
	p := s.connect(t)
	require.Equal(t, "ERROR nothing came for 50ms; good bye", p.line())
	p.ended()
	p = s.connect(t)
	p.send("JOI") // half a line is nothing
	require.Equal(t, "ERROR nothing came for 50ms; good bye", p.line())
	p.ended()
}

// TestDrain checks that a drained server accepts nothing more, and has told the
// outcome of all that it accepted.
func TestDrain(t *testing.T) {
	s := serve(t, realm.Options{}, server.Options{})
	p := s.connect(t)
	p.send("JOIN\nWHERE\nWHERE\n")
	eventually(t, "all is accepted", func() bool { return s.Totals().Accepted == 3 })
	require.NoError(t, s.Drain(context.Background()))
	totals := s.Totals()
	require.EqualValues(t, 3, totals.Applied)
	s.connect(t).send("JOIN\n")
	for range 6 {
		p.line()
	}
	p.send("WHERE\nPING\n")
	require.Equal(t, "REJECTED WHERE: the server is closing", p.line())
	require.Equal(t, "PONG", p.line())
	require.NoError(t, s.Drain(context.Background()), "twice is no error")
	tally, ok := s.ClientTally(0)
	require.True(t, ok)
	require.Equal(t, line.Tally{Accepted: 3, Applied: 3, Rejected: 1}, tally)
}

// TestLost loses a command on its way: it is told so, and those after it are
// not held up for long.
func TestLost(t *testing.T) {
	s := serve(t, realm.Options{}, server.Options{
		OutcomeWaitMax: 2 * time.Second,
		Deliver: func(c realm.Command) int {
			if c.Verb == realm.Attack {
				return 0
			}
			return 1
		},
	})
	p := s.connect(t)
	p.do("JOIN")
	require.Equal(t, "LOST ATTACK", p.do("ATTACK"))
	require.Regexp(t, "^APPLIED WHERE", p.do("WHERE"))
	totals := s.Totals()
	require.EqualValues(t, 1, totals.Lost)
	require.EqualValues(t, totals.Accepted, totals.Decided())
}
