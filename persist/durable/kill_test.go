package durable_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/seed"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/world"
)

var kills = flag.Int("kills", 3, "processes that TestKill kills")

// childPath tells a process of this test that it is a server, and of which directory.
const childPath = "ATOLL_DURABLE_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childPath); path != "" {
		if err := serve(path); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if path := os.Getenv(followPath); path != "" {
		followTillKilled(path)
	}
	os.Exit(m.Run())
}

// serve is a bank that reads requests from its standard input and writes to its standard output:
//
//	account <client> <seq> <sum>   ship <n> <handle>   open <tick> <incarnation>     at its start
//	pay <client> <seq>      →  paid <client> <seq>                  when it is on disk
//	create <n>              →  given <n> <handle>, made <n>         at once, when it is on disk
//	grant <n>               →  the same, made by the idle world, or by a transaction
//	destroy <handle>        →  gone <handle>                        when it is on disk
func serve(path string) error {
	ctx := context.Background()
	x := newBank(2)
	x.options.Interval = 15 * time.Millisecond
	st, err := x.open(path)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	accounts := x.accounts()
	for client, h := range accounts {
		say("account %d %d %d", client, x.account.Get(h).Seq, x.account.Get(h).Sum)
	}
	for h := range x.Query(world.With[Ship](x.World)).Entities() {
		say("ship %d %v", x.ship.Get(h).N, h)
	}
	say("open %d %d", x.Tick(), x.Incarnation())
	go func() {
		for {
			if err := x.s.Step(ctx); err != nil {
				say("error %v", err)
			}
			time.Sleep(time.Millisecond)
		}
	}()
	port, err := x.OpenPort()
	if err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var verb, what string
		var client, n uint64
		_, _ = fmt.Sscan(in.Text(), &verb, &what, &n) // each verb has some of them
		_, _ = fmt.Sscan(what, &client)
		done := new(world.Completion)
		if verb == "grant" && durable.Sealed { // the idle world cannot
			made := new(world.Answer[handle.Handle])
			if err := x.grant.Send(port, client, made); err != nil {
				return err
			}
			go func() {
				h, err := made.Get(ctx)
				if err != nil {
					say("error %v", err)
				}
				say("given %d %v", client, h)
				say("made %d", client)
			}()
			continue
		}
		if verb == "grant" {
			between := x.s.Between(func(w *world.World) {
				h, err := x.ships.Create(w, fleet{Ship{client}})
				say("given %d %v", client, h)
				if err != nil {
					say("error %v", err)
				}
			})
			go func() {
				if err := errors.Join(<-between, st.Wait(ctx)); err != nil {
					say("error %v", err)
				}
				say("made %d", client)
			}()
			continue
		}
		switch verb {
		case "pay":
			what = fmt.Sprintf("paid %d %d", client, n)
			err = x.pays.Call(port.Notify(done), accounts[client], pay{n, amount(int(client), n)})
		case "create":
			var h handle.Handle
			h, err = x.ships.Create(port.Notify(done), fleet{Ship{client}})
			say("given %d %v", client, h)
			what = fmt.Sprintf("made %d", client)
		case "destroy":
			h, e := handle.Parse(what)
			if e != nil {
				return e
			}
			what, err = "gone "+what, port.Notify(done).Destroy(h)
		}
		if err != nil {
			return err
		}
		go func() {
			if outcome, err := done.Wait(ctx); err != nil || outcome == world.Applied {
				if !durable.Sealed { // where it is on disk by now
					if err = st.Wait(ctx); err != nil {
						say("error %v", err)
					}
				}
				say("%s", what)
			}
		}()
	}
	return in.Err()
}

// teller is what the clients of a server that is killed know.
type teller struct {
	t         *testing.T
	given     map[string]uint64 // by handle: what for
	named     map[uint64]bool   // ships that have a handle
	made      map[uint64]bool   // ships that were told to be on disk
	destroyed map[string]bool   // handles of ships that were to be destroyed
	gone      map[string]bool   // that were told to be
	paid      [clientsMax]uint64
	sent      [clientsMax]uint64
	number    uint64
	alive     []string // ships
}

// read takes in what a server says, until until is said, or it is dead.
func (b *teller) read(in *bufio.Scanner, until string) (rest string, ok bool) {
	seen := map[uint64]bool{}
	for in.Scan() {
		verb, rest, _ := strings.Cut(in.Text(), " ")
		var x, y, z uint64
		var h string
		_, _ = fmt.Sscan(rest, &x, &y, &z)
		_, _ = fmt.Sscan(rest, &x, &h)
		switch verb {
		case "account":
			sum := uint64(0)
			for n := uint64(1); n <= y; n++ {
				sum += amount(int(x), n)
			}
			require.GreaterOrEqual(b.t, y, b.paid[x], "a payment that was told is lost")
			require.Equal(b.t, sum, z, "a payment was made twice, or not at all")
			b.sent[x] = y
		case "ship":
			if x>>63 != 0 {
				break // of the system
			}
			want, known := b.given[h]
			if !known && !b.named[x] { // it was killed between the create and the telling
				require.LessOrEqual(b.t, x, b.number, "%s is a ship that nobody has asked for", h)
				b.given[h], b.named[x], want = x, true, x
			}
			require.Equal(b.t, x, want, "what %s is, and what it was given for", h)
			require.False(b.t, b.gone[h], "ship %d is back", x)
			seen[x] = true
			b.alive = append(b.alive, h)
		case "open":
			for n := range b.made {
				require.True(b.t, seen[n], "ship %d, that was told to be made, is lost", n)
			}
		case "given":
			_, known := b.given[h]
			require.False(b.t, known, "%s is given again", h)
			b.given[h], b.named[x] = x, true
			b.alive = append(b.alive, h)
		case "made":
			b.made[x] = true
		case "paid":
			b.paid[x] = max(b.paid[x], y)
		case "gone":
			b.gone[rest] = true
		default:
			b.t.Fatalf("the server says: %s", in.Text())
		}
		if verb == until {
			return rest, true
		}
	}
	return "", false
}

// TestKill kills a server in the middle of what it does, again and again: nothing that it told its
// clients to be on disk is lost, or done twice, and no handle names two ships.
func TestKill(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process is killed otherwise there")
	}
	path := t.TempDir()
	seed := seed.Of(t)
	dice := rand.New(rand.NewPCG(seed, 0))
	b := &teller{t: t, given: map[string]uint64{}, named: map[uint64]bool{}, made: map[uint64]bool{}, destroyed: map[string]bool{}, gone: map[string]bool{}}
	for range *kills {
		b.life(t, path, dice)
	}
	t.Logf("%d payments on disk, %d handles given, %d ships made", b.paid, len(b.given), len(b.made))
}

func (b *teller) life(t *testing.T, path string, dice *rand.Rand) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childPath+"="+path)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill() // it may be dead
		_ = cmd.Wait()
	}()
	in := bufio.NewScanner(stdout)
	b.alive = nil
	early := dice.IntN(8) == 0 // while it opens
	if !early {
		_, ok := b.read(in, "open")
		require.True(t, ok, "the server died")
		for range dice.IntN(60) {
			b.request(stdin, dice)
			time.Sleep(time.Duration(dice.IntN(1000)) * time.Microsecond)
		}
	} else {
		time.Sleep(time.Duration(dice.IntN(15)) * time.Millisecond)
	}
	require.NoError(t, cmd.Process.Kill())
	b.read(in, "")
}

func (b *teller) request(to io.Writer, dice *rand.Rand) {
	switch client := dice.IntN(clientsMax); dice.IntN(4) {
	case 0:
		b.sent[client]++
		_, _ = fmt.Fprintf(to, "pay %d %d\n", client, b.sent[client]) // it may be dead
	case 1:
		b.number++
		_, _ = fmt.Fprintf(to, "create %d\n", b.number)
	case 2:
		b.number++
		_, _ = fmt.Fprintf(to, "grant %d\n", b.number)
	case 3:
		if n := len(b.alive); n > 0 {
			h := b.alive[dice.IntN(n)]
			delete(b.made, b.given[h])
			b.destroyed[h] = true
			_, _ = fmt.Fprintf(to, "destroy %s\n", h)
		}
	}
}
