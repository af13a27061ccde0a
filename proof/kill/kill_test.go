package kill_test

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/seed"
)

var kills = flag.Int("kills", 6, "processes that TestKill kills")

// teller is what the clients know of all servers until now.
type teller struct {
	t       *testing.T
	dice    *rand.Rand
	number  uint64            // of the last request
	given   map[string]uint64 // by handle: what for
	of      map[uint64]string // the handle that was given for a number
	made    map[uint64]bool   // things that were told durable, and not to be destroyed
	listed  map[uint64]bool   // what the idle world was told to have listed
	named   map[uint64]bool   // things whose names were told durable, and not to be destroyed
	dying   map[uint64]bool   // things that are to be destroyed
	gone    map[string]bool   // handles that were told destroyed
	paid    [clientsMax]uint64
	sent    [clientsMax]uint64
	durable uint64 // the highest tick that was told durable
	alive   []string
	lives   int
	inc     uint64
}

// TestKill kills servers in the middle of what they do.
func TestKill(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process is killed otherwise there")
	}
	path := t.TempDir()
	b := &teller{
		t: t, dice: rand.New(rand.NewPCG(seed.Of(t), 0)), given: map[string]uint64{}, of: map[uint64]string{}, made: map[uint64]bool{},
		listed: map[uint64]bool{}, named: map[uint64]bool{}, dying: map[uint64]bool{}, gone: map[string]bool{},
	}
	for range *kills {
		b.life(path)
		if b.lives++; b.lives%100 == 0 {
			t.Logf("%d kills: tick %d, %d payments told, %d handles, %d things told, %d pairs told", b.lives, b.durable, b.paid, len(b.given), len(b.made), len(b.listed))
		}
	}
	t.Logf("%d kills: tick %d, %d payments told, %d handles, %d things told, %d pairs told", b.lives, b.durable, b.paid, len(b.given), len(b.made), len(b.listed))
}

// life starts a server, and kills it.
func (b *teller) life(path string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childPath+"="+path, fmt.Sprintf("%s=%d", childSeed, b.dice.Uint64()))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(b.t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(b.t, err)
	require.NoError(b.t, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill() // it may be dead
		_ = cmd.Wait()
	}()
	in := bufio.NewScanner(stdout)
	b.alive = nil
	if b.dice.IntN(8) == 0 { // while it opens
		time.Sleep(time.Duration(b.dice.IntN(30)) * time.Millisecond)
	} else {
		require.True(b.t, b.read(in, "ready"), "kill %d: the server died", b.lives)
		for range b.dice.IntN(80) {
			b.request(stdin)
			if b.dice.IntN(3) > 0 { // else together with the next
				time.Sleep(time.Duration(b.dice.IntN(1000)) * time.Microsecond)
			}
		}
	}
	require.NoError(b.t, cmd.Process.Kill())
	b.read(in, "")
}

// request sends a request. The server may be dead.
func (b *teller) request(to io.Writer) {
	client := b.dice.IntN(clientsMax)
	verbs := [...]string{"make", "copy", "crew", "pair"}
	switch kind := b.dice.IntN(10); kind {
	default:
		b.sent[client]++
		_, _ = fmt.Fprintf(to, "pay %d %d\n", client, b.sent[client])
	case 3, 4, 5, 6:
		b.number++
		_, _ = fmt.Fprintf(to, "%s %d\n", verbs[kind-3], b.number)
	case 7:
		_, _ = fmt.Fprintf(to, "sleep %d\n", client)
	case 8:
		_, _ = fmt.Fprintf(to, "stand %d\n", client)
	case 9:
		if n := len(b.alive); n > 0 {
			h := b.alive[b.dice.IntN(n)]
			number := b.given[h]
			if b.dice.IntN(3) > 0 {
				_, _ = fmt.Fprintf(to, "name %d %s\n", number, h)
				return
			}
			for _, n := range []uint64{number, number | secondOf} { // a crew's second dies with its first
				delete(b.made, n)
				delete(b.named, n)
				b.dying[n] = true
			}
			_, _ = fmt.Fprintf(to, "destroy %s\n", h)
		}
	}
}

// read takes in what a server says, until a verb is said, or it is dead.
func (b *teller) read(in *bufio.Scanner, until string) bool {
	seen, called, noted := map[uint64]bool{}, map[uint64]bool{}, map[uint64]bool{}
	for in.Scan() {
		verb, rest, _ := strings.Cut(in.Text(), " ")
		var x, y, z uint64
		var h string
		_, _ = fmt.Sscan(rest, &x, &y, &z)
		_, _ = fmt.Sscan(rest, &x, &h)
		what := fmt.Sprintf("kill %d: %s", b.lives, in.Text())
		switch verb {
		case "account":
			sum := uint64(0)
			for n := uint64(1); n <= y; n++ {
				sum += amount(int(x), n)
			}
			require.GreaterOrEqual(b.t, y, b.paid[x], "%s: a payment that was told is lost", what)
			require.Equal(b.t, sum, z, "%s: a payment was made twice, or not at all", what)
			b.sent[x] = y
		case "thing":
			require.False(b.t, seen[x], "%s: twice", what)
			require.False(b.t, b.gone[h], "%s: it is back", what)
			if want, known := b.given[h]; known {
				require.Equal(b.t, want, x, "%s: the handle was given for another", what)
			} else { // killed between the create and the telling
				require.LessOrEqual(b.t, x&^secondOf, b.number, "%s: nobody has asked for it", what)
				require.Empty(b.t, b.of[x], "%s: it had another handle", what)
				b.given[h], b.of[x] = x, h
			}
			seen[x] = true
			if x&secondOf == 0 {
				b.alive = append(b.alive, h)
			}
		case "called":
			called[x] = true
		case "noted":
			noted[x] = true
		case "open":
			for n, made := range b.made {
				require.True(b.t, seen[n] || !made, "%s: thing %d, %s, that was told made, is lost", what, n, b.of[n])
			}
			for n, named := range b.named {
				require.True(b.t, called[n] || !named, "%s: the name of thing %d, that was told, is lost", what, n)
			}
			for n := range b.listed {
				require.True(b.t, noted[n], "%s: what the idle world did as %d is lost", what, n)
			}
			require.GreaterOrEqual(b.t, x, b.durable, "%s: ticks that were told durable are lost", what)
			require.Greater(b.t, y, b.inc, "%s: the incarnation was used", what)
			b.inc = y
		case "given":
			_, known := b.given[h]
			require.False(b.t, known, "%s: it was given before", what)
			b.given[h], b.of[x] = x, h
			if x&secondOf == 0 {
				b.alive = append(b.alive, h)
			}
		case "both":
			b.listed[x] = true
			b.made[x] = true
		case "made":
			b.made[x] = !b.dying[x]
		case "named":
			b.named[x] = !b.dying[x]
		case "paid":
			b.paid[x] = max(b.paid[x], y)
		case "gone":
			b.gone[rest] = true
		case "durable":
			b.durable = max(b.durable, x)
		case "ready":
		default:
			b.t.Fatalf("the server says: %s", what)
		}
		if verb == until {
			return true
		}
	}
	return false
}
