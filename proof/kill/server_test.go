package kill_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/world"
)

// What tells a process of this test that it is a server: the directory, and a seed.
const (
	childPath = "ATOLL_KILL_PATH"
	childSeed = "ATOLL_KILL_SEED"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childPath); path != "" {
		if err := serve(path); err != nil {
			say("error %v", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var saying sync.Mutex

// say writes a line by one write, which a kill does not cut.
func say(format string, args ...any) {
	saying.Lock()
	defer saying.Unlock()
	_, _ = os.Stdout.WriteString(strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ") + "\n") // the clients may be gone
}

// server answers the clients. Each answer is told when it is durable.
//
// Ownership: the goroutine that reads the requests. The goroutines of answers use store alone.
type server struct {
	*town
	store    *durable.Store
	port     *world.Port
	accounts [clientsMax]handle.Handle
	template handle.Handle
	clerk    handle.Handle
}

// serve reads requests from its standard input and writes to its standard output:
//
//	account <client> <seq> <sum>, thing <n> <handle>, noted <n>   what it finds
//	open <tick> <incarnation>, wrong <what>, ready                at its start
//	durable <tick>                                                now and then
//
//	pay <client> <seq>     → paid <client> <seq>
//	make, crew <n>         → given <n> <handle>, at once; made <n> <handle>
//	copy <n>                 a system does it
//	pair <n>               → given <n> <handle>, at once; both <n> <handle>
//	name <n> <handle>      → named <n>
//	destroy <handle>       → gone <handle>
//	stand <client>         → paid <client> <seq>
//	sleep <client>
func serve(path string) error {
	ctx := context.Background()
	seed, _ := strconv.ParseUint(os.Getenv(childSeed), 10, 64)
	dice := rand.New(rand.NewPCG(seed, 1))
	x := &server{town: newTown(1+dice.IntN(3), dice.IntN(4))}
	var err error
	if x.store, err = durable.Open(ctx, path, x.World, x.s, x.options); err != nil {
		return err
	}
	if lost := x.store.Recovered().Lost; len(lost) > 0 {
		return errors.Join(lost...)
	}
	x.tell()
	for range delay + 5 {
		if err := x.s.Step(ctx); err != nil {
			return err
		}
	}
	for _, what := range x.audit() {
		say("wrong %s", what)
	}
	x.accounts, x.template, x.clerk = x.holders(), x.town.template(), x.town.clerk()
	if x.port, err = x.OpenPort(); err != nil {
		return err
	}
	go func() {
		for n := 0; ; n++ {
			if err := x.s.Step(ctx); err != nil {
				say("error %v", err)
			}
			if n%16 == 0 {
				say("durable %d", x.store.Durable())
			}
			time.Sleep(time.Millisecond)
		}
	}()
	say("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if err := x.request(ctx, strings.Fields(in.Text())); err != nil {
			return fmt.Errorf("%s: %w", in.Text(), err)
		}
	}
	return nil
}

// tell says what the server has found.
func (x *server) tell() {
	accounts, things := world.Read[Account](x.World), world.Read[Thing](x.World)
	for client, h := range x.holders() {
		say("account %d %d %d", client, accounts.Get(h).Seq, accounts.Get(h).Sum)
	}
	for h := range x.Query(world.With[Thing](x.World)).Entities() {
		n := things.Get(h).N
		if n == 0 || n>>62 != 0 {
			continue
		}
		say("thing %d %v", n, h)
		if name, is := x.called.NameOf(h); is {
			say("called %s", strings.TrimPrefix(name, "n"))
		}
	}
	for _, n := range world.Read[Clerk](x.World).Get(x.town.clerk()).List {
		say("noted %d", n)
	}
	say("open %d %d", x.Tick(), x.Incarnation())
}

// request serves a request.
func (x *server) request(ctx context.Context, words []string) (err error) {
	number := func(i int) uint64 {
		n, e := strconv.ParseUint(words[i], 10, 64)
		err = errors.Join(err, e)
		return n
	}
	named := func(i int) handle.Handle {
		h, e := handle.Parse(words[i])
		err = errors.Join(err, e)
		return h
	}
	done := new(world.Completion)
	notify := func() *world.Port { return x.port.Notify(done) }
	var answer string
	switch words[0] {
	case "pay":
		client, seq := number(1), number(2)
		err = errors.Join(err, x.pays.Call(notify(), x.accounts[client], pay{seq, amount(int(client), seq)}))
		answer = fmt.Sprintf("paid %d %d", client, seq)
	case "make":
		n := number(1)
		h, e := x.things.Create(notify(), thing{Thing{N: n, Tags: []uint64{n}}})
		say("given %d %v", n, h)
		err, answer = errors.Join(err, e), fmt.Sprintf("made %d %v", n, h)
	case "copy":
		return errors.Join(err, x.clones.Send(x.port, x.template, clone{number(1)}))
	case "crew":
		n := number(1)
		hs, e := x.crew.Append(nil, x.port, prefab.With(x.all, Thing{N: n, Tags: []uint64{n}}))
		if err = errors.Join(err, e); err != nil {
			return err
		}
		for i, h := range hs {
			say("given %d %v", n|uint64(i)*secondOf, h)
			done = new(world.Completion)
			err = errors.Join(err, x.numbers.Call(x.port.Notify(done), h, n|uint64(i)*secondOf))
		}
		answer = fmt.Sprintf("made %d %v", n, hs[0])
	case "name":
		err = errors.Join(err, x.called.Bind(notify(), named(2), fmt.Sprint("n", number(1))))
		answer = "named " + words[1]
	case "destroy":
		err, answer = errors.Join(err, notify().Destroy(named(1))), "gone "+words[1]
	case "stand":
		a := new(world.Answer[stand])
		err = errors.Join(err, x.stands.Ask(x.port, x.accounts[number(1)], struct{}{}, a))
		go x.answer(ctx, func() (string, error) {
			is, err := a.Get(ctx)
			return fmt.Sprintf("paid %s %d", words[1], is.Seq), err
		})
		return err
	case "sleep":
		h := x.accounts[number(1)]
		x.s.Between(func(w *world.World) { _ = world.AddFlags(w, h, asleep) }) // it is alive
		return err
	case "pair":
		n := number(1)
		go x.pair(ctx, n)
		return err
	}
	if err != nil {
		return err
	}
	go x.answer(ctx, func() (string, error) {
		outcome, err := done.Wait(ctx)
		if err == nil && outcome != world.Applied {
			return "", nil // what it concerns is gone
		}
		return answer, err
	})
	return nil
}

// answer says what a function learns, when that is durable.
func (x *server) answer(ctx context.Context, learn func() (string, error)) {
	what, err := learn()
	if err == nil && what == "" {
		return
	}
	if err = errors.Join(err, x.store.Wait(ctx)); err != nil {
		say("error %v", err)
		return
	}
	say("%s", what)
}

// pair changes the idle world by two functions of Between, mostly in one pause: one creates, the
// other writes behind a pointer.
func (x *server) pair(ctx context.Context, n uint64) {
	var h handle.Handle
	first := x.s.Between(func(w *world.World) {
		if is := (Thing{N: n, Tags: []uint64{n}}); n%2 == 0 {
			h, _ = world.Copy(w, x.template) // None is told below
			_ = x.all.Set(w, h, is)          // as above
		} else {
			h, _ = x.things.Create(w, thing{is}) // as above
		}
		say("given %d %v", n, h)
	})
	second := x.s.Between(func(w *world.World) {
		c := world.Write[Clerk](w).Get(x.clerk)
		c.Notes[fmt.Sprint(n)] = n
		c.List = append(c.List, n)
	})
	x.answer(ctx, func() (string, error) {
		err := errors.Join(<-first, <-second)
		return fmt.Sprintf("both %d %v", n, h), err
	})
}
