package bot_test

import (
	"bufio"
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/bot"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/line"
	"github.com/atoll-sim/atoll/handle"
)

// play has a bot play against a server that greets and then answers each line as
// told, until it is told to stop and the bot is done.
func play(t *testing.T, greeting string, answer func(line string, stop func()) string) (bot.Ledger, error) {
	t.Helper()
	noLeaks(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	var g errgroup.Group
	g.Go(func() error {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		_, _ = conn.Write([]byte(greeting + "\n"))
		in := bufio.NewScanner(conn)
		for in.Scan() {
			_, _ = conn.Write([]byte(answer(in.Text(), stop)))
		}
		return nil
	})
	defer func() {
		require.NoError(t, g.Wait())
		stop()
		require.NoError(t, l.Close())
	}()
	b, err := bot.Dial(ctx, l.Addr().String(), bot.Options{
		Number: 4, PauseMin: time.Millisecond, PauseMax: time.Millisecond, AnswerWaitMax: 100 * time.Millisecond,
	})
	if err != nil {
		return bot.Ledger{}, err
	}
	defer b.Close()
	if err := b.Play(ctx); err != nil {
		return b.Ledger(), err
	}
	return b.Ledger(), b.Settle()
}

const greeting = "WELCOME client 17; HELP lists the commands"

// TestLedger checks what a bot makes of what it is told.
func TestLedger(t *testing.T) {
	joined, n := false, 0
	l, err := play(t, greeting, func(line string, stop func()) string {
		verb := strings.Fields(line)[0]
		if verb == "LEAVE" {
			return "REJECTED LEAVE: not now\n"
		}
		if n++; n == 12 {
			stop()
		}
		switch {
		case n == 1:
			require.Equal(t, "JOIN", line)
			return "REJECTED JOIN: no room\n"
		case n == 2:
			joined = true
			return "ACCEPTED 1\nAPPLIED 1 JOIN 8:3@1\n"
		case n == 3:
			return "ACCEPTED 2\nAPPLIED 2 TAKE 1:1@1 worth 7 items 1\nDIED 8:0@1\n"
		case n == 4:
			return "ACCEPTED 3\nAPPLIED 3 TAKE none items 1\n"
		case n == 5:
			return "ACCEPTED 4\nAPPLIED 4 STANCE fierce\n"
		case n == 6:
			return "ACCEPTED 5\nREFUSED 5 ATTACK\n"
		case n == 7:
			return "ACCEPTED 6\nLOST 6 ATTACK\n"
		case n == 8:
			return "ACCEPTED 7\nAPPLIED 7 LOOK self at 1.00 2.00 health 9 items 1 near 0:1@1 item none\n"
		case n == 9:
			return "ERROR that was wrong\n"
		case n == 10:
			return "ACCEPTED 8\nDIED 8:3@1\nLATE 8 WHERE\n"
		case verb == "PING":
			return "PONG\n"
		}
		require.Equal(t, "JOIN", line, "the bot's avatar is dead")
		return "REJECTED JOIN: no room\n"
	})
	require.NoError(t, err)
	require.True(t, joined)
	rejected := l.Rejected
	require.NotZero(t, rejected)
	require.Equal(t, bot.Ledger{
		Client: 17,
		Tally:  line.Tally{Accepted: 8, Applied: 5, Late: 1, Refused: 1, Lost: 1, Rejected: rejected},
		Errors: []string{"ERROR that was wrong"},
		Avatar: handle.New(8, 3, 1), Obeyed: 3, Sum: 2 + 3 + 7, Items: 1, Fierce: true,
		Deaths: 2, Taken: 1,
	}, l)
	require.Equal(t, l.Accepted, l.Decided())
}

// TestBadServer checks that a bot does not play with a server that breaks the
// protocol, and says how.
func TestBadServer(t *testing.T) {
	for name, test := range map[string]struct {
		greeting, answer, want string
	}{
		"no greeting":     {"HELLO", "", `greeted by "HELLO"`},
		"silence":         {greeting, "", "1 lines have no answer and 0 commands no outcome after 100ms"},
		"no outcome":      {greeting, "ACCEPTED 1\n", "0 lines have no answer and 1 commands no outcome after 100ms"},
		"nonsense":        {greeting, "WHAT\n", `bot 4: heard "WHAT"`},
		"answer too many": {greeting, "ACCEPTED 1\nACCEPTED 2\n", `heard "ACCEPTED 2": no line was waiting`},
		"outcome first":   {greeting, "APPLIED 1 JOIN 8:3@1\n", "no command was under way"},
		"bad number":      {greeting, "ACCEPTED 1\nAPPLIED x JOIN 8:3@1\n", `bad number "x"`},
		"bad handle":      {greeting, "ACCEPTED 1\nAPPLIED 1 JOIN me\n", `heard "APPLIED 1 JOIN me"`},
		"bad death":       {greeting, "DIED\n", `heard "DIED"`},
		"long line":       {greeting, strings.Repeat("x", 1000) + "\n", "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := play(t, test.greeting, func(_ string, stop func()) string {
				stop()
				return test.answer
			})
			require.ErrorContains(t, err, test.want)
		})
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
