package guide_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

type (
	// Session says whether a client plays the player.
	Session struct{ On bool }
	Player  struct {
		Session
		Wallet
	}
)

// lobby is a world of players with names.
type lobby struct {
	w      *world.World
	s      *scheduler.Scheduler
	called *names.Names[string]
	login  *world.Transaction[string, handle.Handle]
	logout *world.Transaction[handle.Handle, bool]
}

func newLobby() *lobby {
	w := world.MustNew(world.Options{VersionsEach: 10_000, TickInterval: time.Millisecond})
	world.Register[Wallet](w, "wallet")
	session := world.Register[Session](w, "session")
	players := world.NewBundle[Player](w)
	called := names.New[string](w, "players", names.Options{LengthMax: 32})
	login := world.RegisterTransaction(w, "login", func(tx *world.Tx, name string) (me handle.Handle, err error) {
		me, known := called.Read(tx).Lookup(name)
		if !known {
			me, err = players.Create(tx, Player{})
			if err = errors.Join(err, called.Bind(tx, me, name)); err != nil {
				return handle.None, err
			}
		}
		s := session.Edit(tx, me)
		if s.On {
			return handle.None, errPlaying
		}
		s.On = true
		return me, nil
	})
	logout := world.RegisterTransaction(w, "logout", func(tx *world.Tx, me handle.Handle) (bool, error) {
		return true, session.Set(tx, me, Session{})
	})
	return &lobby{w, scheduler.New(w, scheduler.Options{}), called, login, logout}
}

var errPlaying = errors.New("somebody plays under this name")

// nobody is the Options.Upgrade of a lobby: at each start but the first, no client is there yet.
func (x *lobby) nobody(w *world.World) error {
	sessions := world.Write[Session](w)
	for ch := range w.Query(sessions).Chunks() {
		clear(sessions.Slice(ch))
	}
	return nil
}

func (x *lobby) open(path string) (*durable.Store, error) {
	return durable.Open(context.Background(), path, x.w, x.s, durable.Options{Upgrade: x.nobody})
}

func Example_login() {
	path, _ := os.MkdirTemp("", "guide")
	defer func() { _ = os.RemoveAll(path) }()
	var ada handle.Handle
	for range 2 { // starts of the program
		x := newLobby()
		store, err := x.open(path)
		if err != nil {
			fmt.Println(err)
			return
		}
		var clients sync.WaitGroup
		for range 2 { // at once
			clients.Go(func() {
				port, _ := x.w.OpenPort()
				defer port.Close()
				if me, err := x.login.Ask(context.Background(), port, "ada"); err == nil {
					fmt.Println("in, as before:", me == ada)
					ada = me
				}
			})
		}
		go func() {
			clients.Wait()
			x.s.Stop()
		}()
		_ = x.s.Run(context.Background())
		_ = x.s.Step(context.Background())
		fmt.Println("players:", x.called.Len(), x.w.Count(), store.Close())
	}
	// Output:
	// in, as before: false
	// players: 1 1 <nil>
	// in, as before: true
	// players: 1 1 <nil>
}

// Two clients ask for one name in the same tick: one gets in, the other is refused until the first has
// left.
func TestLoginTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newLobby()
		defer x.w.Close()
		var hs [2]handle.Handle
		var errs [2]error
		var ports [2]*world.Port
		var clients sync.WaitGroup
		for i := range ports {
			ports[i], _ = x.w.OpenPort()
			clients.Go(func() { hs[i], errs[i] = x.login.Ask(t.Context(), ports[i], "ada") })
		}
		step := func(count int) {
			t.Helper()
			synctest.Wait() // both wait for a tick, or have returned
			if err := x.s.Step(context.Background()); err != nil || x.w.Count() != count {
				t.Fatalf("%v, and %d players", err, x.w.Count())
			}
		}
		step(1) // one is in, and has made the player
		clients.Wait()
		if hs[0] == handle.None || errs[0] != nil || errs[1] != errPlaying {
			t.Fatal(hs, errs)
		}
		clients.Go(func() {
			_, _ = x.logout.Ask(t.Context(), ports[0], hs[0])
			hs[1], errs[1] = x.login.Ask(t.Context(), ports[1], "ada")
		})
		step(1)
		step(1)
		clients.Wait()
		if hs[1] != hs[0] || errs[1] != nil {
			t.Error(hs, errs)
		}
		clients.Go(func() { _, errs[0] = x.login.Ask(t.Context(), ports[0], strings.Repeat("a", 33)) })
		step(1) // nothing was made
		clients.Wait()
		if !errors.Is(errs[0], names.ErrLength) {
			t.Error(errs[0])
		}
	})
}
