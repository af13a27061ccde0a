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
	w       *world.World
	s       *scheduler.Scheduler
	session *world.Component[Session]
	players *world.Bundle[Player]
	called  *names.Names[string]
	enter   *world.Question[bool, bool]
}

func newLobby() *lobby {
	w := world.MustNew(world.Options{VersionsEach: 10_000, TickInterval: time.Millisecond})
	world.Register[Wallet](w, "wallet")
	session := world.Register[Session](w, "session")
	called := names.New[string](w, "players", names.Options{LengthMax: 32})
	enter := world.RegisterQuestion(w, "enter", func(self *world.EntityContext, on bool) bool {
		s := session.Write(self)
		changed := s.On != on
		s.On = on
		return changed
	})
	return &lobby{w, scheduler.New(w, scheduler.Options{}), session, world.NewBundle[Player](w), called, enter}
}

var errPlaying = errors.New("somebody plays under this name")

// login finds the player with a name, or makes one, and enters. It must not be given up halfway, so
// its waits end with the world.
func (x *lobby) login(port *world.Port, name string) (handle.Handle, error) {
	ctx := context.Background()
	for {
		me, known := x.called.Lookup(name)
		if !known {
			var named world.Completion
			if err := port.Within(ctx).Batch(func() error {
				me, _ = x.players.Create(port, Player{})
				return x.called.Bind(port.Notify(&named), me, name)
			}); err != nil {
				return handle.None, err
			}
			if outcome, err := named.Wait(ctx); outcome == world.Refused {
				_ = port.Within(ctx).Destroy(me)
				continue // another client was first, and Lookup finds its player
			} else if outcome != world.Applied {
				return handle.None, errors.Join(err, fmt.Errorf("no name: %v", outcome))
			}
		}
		var entered world.Answer[bool]
		if err := x.enter.Ask(port.Within(ctx), me, true, &entered); err != nil {
			return handle.None, err
		}
		switch changed, err := entered.Get(ctx); {
		case errors.Is(err, world.ErrStale):
			continue // the player died meanwhile
		case err != nil:
			return handle.None, err
		case !changed:
			return handle.None, errPlaying
		}
		return me, nil
	}
}

// logout ends what login has begun. When it has returned, the next login succeeds.
func (x *lobby) logout(port *world.Port, me handle.Handle) {
	var left world.Answer[bool]
	if err := x.enter.Ask(port.Within(context.Background()), me, false, &left); err == nil {
		_, _ = left.Get(context.Background())
	}
}

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
				if me, err := x.login(port, "ada"); err == nil {
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

// Two clients ask for one name in the same tick: one gets in, the other's player goes, and it is
// refused until the first has left.
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
			clients.Go(func() { hs[i], errs[i] = x.login(ports[i], "ada") })
		}
		step := func(count int) {
			t.Helper()
			synctest.Wait() // both wait for a tick, or have returned
			if err := x.s.Step(context.Background()); err != nil || x.w.Count() != count {
				t.Fatalf("%v, and %d players", err, x.w.Count())
			}
		}
		step(2) // both were made, and one has the name
		step(1) // it has entered; the other player is destroyed
		step(1)
		clients.Wait()
		if hs[0] == handle.None || errs[0] != nil || errs[1] != errPlaying {
			t.Fatal(hs, errs)
		}
		clients.Go(func() {
			x.logout(ports[0], hs[0])
			hs[1], errs[1] = x.login(ports[1], "ada")
		})
		step(1)
		step(1)
		clients.Wait()
		if hs[1] != hs[0] || errs[1] != nil {
			t.Error(hs, errs)
		}
		if _, err := x.login(ports[0], strings.Repeat("a", 33)); !errors.Is(err, names.ErrLength) {
			t.Error(err)
		}
		step(1) // nothing was made
	})
}
