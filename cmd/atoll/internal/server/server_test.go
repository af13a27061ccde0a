package server_test

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/line"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
	"github.com/atoll-sim/atoll/cmd/atoll/internal/server"
	"github.com/atoll-sim/atoll/handle"
)

// TestWrongLines checks that each wrong line gets an error that names what is
// wrong, and that the connection lives.
func TestWrongLines(t *testing.T) {
	s := serve(t, realm.Options{}, server.Options{})
	p := s.connect(t)
	const noAvatar = " needs an avatar; JOIN first"
	for _, test := range []struct{ line, want string }{
		{"", "line is empty; HELP lists the commands"},
		{" \t ", "line is empty; HELP lists the commands"},
		{"DANCE", `"DANCE" is no command; HELP lists them`},
		{"\x00\xff\x1b[2J", `"\x00\xff\x1b[2J" is no command; HELP lists them`},
		{strings.Repeat("é", 100), `"` + strings.Repeat(`\u00e9`, 16) + `"… is no command; HELP lists them`},
		{"JOIN me", "JOIN has 1 arguments, want: JOIN"},
		{"STEER", "STEER has 0 arguments, want: STEER x y"},
		{"steer 1", "STEER has 1 arguments, want: STEER x y"},
		{"STEER 1 2 3", "STEER has 3 arguments, want: STEER x y"},
		{"STEER up 0", `STEER: x is "up", want a number from -1 to 1`},
		{"STEER 0 1.01", `STEER: y is "1.01", want a number from -1 to 1`},
		{"STEER NaN 0", `STEER: x is "NaN", want a number from -1 to 1`},
		{"STEER 0 -Inf", `STEER: y is "-Inf", want a number from -1 to 1`},
		{"STEER 0 0", "STEER" + noAvatar},
		{"STANCE", "STANCE has 0 arguments, want: STANCE calm|fierce"},
		{"STANCE wild", `STANCE: "wild" is no stance, want calm or fierce`},
		{"STANCE calm", "STANCE" + noAvatar},
		{"ATTACK a b", "ATTACK has 2 arguments, want: ATTACK [entity]"},
		{"ATTACK 1", `ATTACK: "1" is no handle, want the form shard:index@version`},
		{"ATTACK none", `ATTACK: "none" is no handle, want the form shard:index@version`},
		{"ATTACK 9999:1@1", `ATTACK: "9999:1@1" is no handle, want the form shard:index@version`},
		{"ATTACK", "ATTACK" + noAvatar},
		{"TAKE 1:1@0", `TAKE: "1:1@0" is no handle, want the form shard:index@version`},
		{"TAKE", "TAKE" + noAvatar},
		{"LOOK -1:1@1", `LOOK: "-1:1@1" is no handle, want the form shard:index@version`},
		{"LOOK 1:1@1", "LOOK" + noAvatar},
		{"WHERE to", "WHERE has 1 arguments, want: WHERE"},
		{"WHERE", "WHERE" + noAvatar},
		{"LEAVE", "LEAVE" + noAvatar},
		{"QUIT now", "QUIT has 1 arguments, want: QUIT"},
		{strings.Repeat("x", line.BytesMax+1), "line is longer than 256 bytes; the rest of it is skipped"},
		{strings.Repeat("JOIN\t", 100_000), "line is longer than 256 bytes; the rest of it is skipped"},
	} {
		t.Run(test.line[:min(len(test.line), 20)], func(t *testing.T) {
			p.t = t
			p.send(test.line + "\n")
			require.Equal(t, "ERROR "+test.want, p.line())
			p.send("PING\r\n")
			require.Equal(t, "PONG", p.line())
		})
	}
	totals := s.Totals()
	require.Zero(t, totals.Accepted+totals.Rejected)
	require.NotZero(t, totals.Errors)
}

func TestHelp(t *testing.T) {
	p := serve(t, realm.Options{}, server.Options{}).connect(t)
	p.send("help\nPING\n")
	var help []string
	for text := p.line(); text != "PONG"; text = p.line() {
		require.True(t, strings.HasPrefix(text, "HELP "))
		help = append(help, text)
	}
	verbs := []string{
		"JOIN", "STEER x y", "STANCE calm|fierce", "ATTACK [entity]", "TAKE [item]", "STACK", "TRADE [entity]", "LOOK [entity]",
		"WHERE", "LEAVE", "PING", "HELP", "QUIT", "limits:",
	}
	require.Len(t, help, len(verbs))
	for i, verb := range verbs {
		require.True(t, strings.HasPrefix(help[i], "HELP "+verb+" "), help[i])
	}
}

// TestLife plays every command.
func TestLife(t *testing.T) {
	s := serve(t, realm.Options{Creatures: 4000, Shards: 1}, server.Options{})
	p := s.connect(t)
	joined := p.do("JOIN")
	require.Regexp(t, `^APPLIED JOIN \d+:\d+@\d+$`, joined)
	self := strings.Fields(joined)[2]
	p.send("JOIN\n")
	require.Equal(t, "ERROR JOIN: you have avatar "+self+"; LEAVE first", p.line())
	require.Equal(t, "APPLIED STEER -0.5 1", p.do("steer -0.5 1.0"))
	require.Equal(t, "APPLIED STANCE fierce", p.do("STANCE Fierce"))
	require.Regexp(t, `^APPLIED WHERE \d+\.\d\d \d+\.\d\d$`, p.do("WHERE"))
	look := p.do("LOOK")
	require.Regexp(t, `^APPLIED LOOK self at \S+ \S+ health \d+ items 0 near \S+ item \S+$`, look)
	words := strings.Fields(look)
	near := words[len(words)-3]
	require.Regexp(t, `^APPLIED LOOK (creature `+near+` at \S+ \S+ health \d+|none)$`, p.do("LOOK "+near))
	require.Regexp(t, `^APPLIED LOOK avatar `+self+` at`, p.do("LOOK "+self))
	require.Equal(t, "APPLIED LOOK none", p.do("LOOK 0:9999999@5"))
	require.Regexp(t, `^APPLIED ATTACK (`+near+`|none)$`, p.do("ATTACK "+near))
	require.Regexp(t, `^APPLIED ATTACK \S+$`, p.do("ATTACK"))
	require.Equal(t, "APPLIED ATTACK none", p.do("ATTACK 0:9999999@5"))
	require.Regexp(t, `^APPLIED TAKE none items 0$`, p.do("TAKE "+near))
	require.Equal(t, "APPLIED STACK none items 0", p.do("STACK"))
	require.Equal(t, "APPLIED TRADE none items 0", p.do("TRADE "+near))
	require.Equal(t, "APPLIED LEAVE", p.do("LEAVE"))
	require.NotEqual(t, joined, p.do("JOIN"))
	p.send("QUIT\n")
	require.Equal(t, "BYE", p.line())
	p.ended()
	eventually(t, "the client is gone", func() bool { return s.Totals().Here == 0 })
	totals := s.Totals()
	require.Equal(t, totals.Accepted, totals.Applied)
	require.EqualValues(t, 2, totals.Joined)
	require.EqualValues(t, 2, totals.Left)
	s.stop()
	require.Zero(t, s.realm.Census().Alive[realm.Avatars])
}

// TestTake lives among many creatures until it has taken an item.
func TestTake(t *testing.T) {
	s := serve(t, realm.Options{Creatures: 8000, Shards: 1}, server.Options{})
	p := s.connect(t)
	p.do("JOIN")
	for deadline := time.Now().Add(answerMax); ; {
		require.True(t, time.Now().Before(deadline), "no item was near")
		outcome := p.do("TAKE")
		if outcome == "LATE TAKE" {
			p.do("JOIN")
			continue
		}
		if outcome != "APPLIED TAKE none items 0" {
			require.Regexp(t, `^APPLIED TAKE \d+:\d+@\d+ worth \d+ items 1$`, outcome)
			return
		}
	}
}

// TestDeath lets one client kill another's avatar: what was sent too late is
// told so, and a new avatar may come.
func TestDeath(t *testing.T) {
	s := serve(t, realm.Options{}, server.Options{})
	killer, victim := s.connect(t), s.connect(t)
	target := strings.Fields(victim.do("JOIN"))[2]
	killer.do("JOIN")
	killer.do("STANCE fierce")
	for range 7 { // of 60, against 400
		require.Equal(t, "APPLIED ATTACK "+target, killer.do("ATTACK "+target))
	}
	require.Equal(t, "DIED "+target, victim.line())
	require.Equal(t, "LATE STEER", victim.do("STEER 1 1"))
	require.Equal(t, "LATE STANCE", victim.do("STANCE calm"))
	require.Equal(t, "LATE LEAVE", victim.do("LEAVE"))
	victim.send("WHERE\n")
	require.Equal(t, "ERROR WHERE needs an avatar; JOIN first", victim.line())
	require.NotEqual(t, target, strings.Fields(victim.do("JOIN"))[2])
	eventually(t, "the dead avatar is no target", func() bool { return killer.do("ATTACK "+target) == "APPLIED ATTACK none" })
	totals := s.Totals()
	require.EqualValues(t, 3, totals.Late)
	require.EqualValues(t, 3, totals.Joined)
	require.Zero(t, totals.Left)
}

// TestJoinAtDeath joins again at the very moment of hearing of a death, which is
// before the refresh that ends the avatar.
func TestJoinAtDeath(t *testing.T) {
	s := serve(t, realm.Options{TickInterval: 20 * time.Millisecond}, server.Options{})
	killer, victim := s.connect(t), s.connect(t)
	killer.do("JOIN")
	killer.do("STANCE fierce")
	for range 8 {
		avatar := strings.Fields(victim.do("JOIN"))[2]
		killer.send(strings.Repeat("ATTACK "+avatar+"\n", 7) + "PING\n")
		require.Equal(t, "DIED "+avatar, victim.line())
		for killer.line() != "PONG" {
		}
	}
	require.EqualValues(t, 8, s.Totals().Joined-1)
}

// TestDeathBeforeJoin checks that no death is told before its birth.
func TestDeathBeforeJoin(t *testing.T) {
	here, there := net.Pipe()
	go func() {
		server.DeathBeforeJoin(there, handle.New(8, 3, 1))
		_ = there.Close()
	}()
	told, err := io.ReadAll(here)
	require.NoError(t, err)
	require.Equal(t, "JOINED\nDIED 8:3@1\n", string(told))
}
