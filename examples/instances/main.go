// Instances is a lobby and the dungeons that parties of players enter from it: worlds of one process,
// each with ticks of its own. Dungeons are made from a prefab when a party leaves, and closed when
// nobody is left in them.
//
//	go run ./examples/instances -players 1200 -for 10s
//
// Players travel with their names, timers and loot. It prints a line a second: how many worlds there
// are, where players are, and all gold, added up while worlds go on and players travel.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
	"github.com/atoll-sim/atoll/world/stats"
)

func main() {
	players := flag.Int("players", 1200, "how many players there are; four make a party")
	long := flag.Duration("for", 10*time.Second, "how long parties leave; then it waits until all are back")
	tick := flag.Duration("tick", 100*time.Millisecond, "the time of a tick of each world")
	flag.Parse()
	ctx, end := signal.NotifyContext(context.Background(), os.Interrupt)
	defer end()
	g, err := newGame(*players, *tick)
	if err != nil {
		log.Fatal(err)
	}
	if err := g.play(ctx, *long, time.Second, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// game is all worlds.
type game struct {
	tick    time.Duration
	lobby   *place
	scratch *place // in which travellers are counted
	made    transit.World
	books   Books // as they must be

	mu       sync.Mutex // held while worlds come, go and are counted
	dungeons map[transit.World]*place

	timing sync.Mutex
	times  stats.Histogram // of ticks
}

// Books are what there is in all worlds.
type Books struct{ Gold, Players, Away int }

func newGame(players int, tick time.Duration) (g *game, err error) {
	g = &game{tick: tick, made: lobbyNumber, dungeons: map[transit.World]*place{}}
	if g.scratch, err = newPlace(1<<31, tick, nil); err != nil {
		return nil, err
	}
	if g.lobby, err = newPlace(lobbyNumber, tick, g.ticked); err != nil {
		return nil, err
	}
	l := g.lobby
	bank, err := l.cave.Create(l.world)
	if err == nil {
		err = l.named.Bind(l.world, bank, "bank")
	}
	l.world.Query(world.With[Monster](l.world)).Destroy()
	world.Write[Purse](l.world).Get(bank).Gold = bankGold
	for i := 0; i < players && err == nil; i++ {
		var h handle.Handle
		if h, err = l.hero.Create(l.world); err != nil {
			break
		}
		if err = l.named.Bind(l.world, h, fmt.Sprintf("player %d", i)); err == nil {
			_, err = l.hunger.Every(l.world, h, 5+i%10, Hungry{})
		}
	}
	g.books = Books{Gold: bankGold + startGold*players, Players: players}
	return g, err
}

func (g *game) ticked(r scheduler.Report) {
	g.timing.Lock()
	defer g.timing.Unlock()
	g.times.Add(r.Duration)
}

// play lets parties leave for some time, waits until all are back, and prints a line now and then.
func (g *game) play(ctx context.Context, long, every time.Duration, out io.Writer) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	lobby, home := make(chan error, 1), make(chan error, 1)
	go func() {
		err := g.lobby.systems.Run(context.WithoutCancel(ctx)) // while anybody needs it
		if err != nil {
			g.lobby.world.Close() // so that nobody waits for it
		}
		lobby <- err
	}()
	go func() {
		adventures, ctx := errgroup.WithContext(ctx)
		adventures.Go(func() error { return g.send(ctx, time.Now().Add(long), adventures) })
		home <- adventures.Wait()
	}()
	clock := time.NewTicker(every)
	defer clock.Stop()
	var err error
	for back := false; !back && err == nil; {
		select {
		case <-clock.C:
		case err = <-home:
			back = true
		}
		if err == nil && ctx.Err() == nil {
			err = g.print(ctx, out)
		}
		if err != nil && !back {
			end()
			<-home
		}
	}
	g.lobby.systems.Stop()
	return errors.Join(err, <-lobby)
}

// send sends those who are ready to new dungeons, party by party, until it is late.
func (g *game) send(ctx context.Context, late time.Time, adventures *errgroup.Group) error {
	for ; ctx.Err() == nil && time.Now().Before(late); time.Sleep(g.tick) {
		var ready []handle.Handle
		if err := <-g.lobby.systems.Between(func(w *world.World) {
			players := world.Read[Player](w)
			for h := range w.Query(players).Entities() {
				if players.Get(h).Ready {
					ready = append(ready, h)
				}
			}
		}); err != nil {
			return err
		}
		var leaving sync.WaitGroup
		for party := range slices.Chunk(ready, partySize) {
			if len(party) == partySize {
				g.made++
				number := g.made
				leaving.Add(1)
				adventures.Go(func() error { return g.adventure(ctx, number, party, leaving.Done) })
			}
		}
		leaving.Wait()
	}
	return nil
}

// adventure is the life of a dungeon. It calls left when the party has left the lobby.
func (g *game) adventure(ctx context.Context, number transit.World, party []handle.Handle, left func()) error {
	left = sync.OnceFunc(left)
	defer left()
	var d *place
	d, err := newPlace(number, g.tick, func(r scheduler.Report) {
		g.ticked(r)
		if d.roads.Done() && g.mu.TryLock() { // else it is being counted
			delete(g.dungeons, number)
			g.mu.Unlock()
			d.systems.Stop()
		}
	})
	if err != nil {
		return err
	}
	defer d.world.Close()
	chest, err := d.cave.Create(d.world)
	if err != nil {
		return err
	}
	port, err := g.lobby.world.OpenPort()
	if err != nil {
		return err
	}
	defer port.Close()
	g.mu.Lock()
	g.dungeons[number] = d
	g.mu.Unlock()

	carry, over := context.WithCancel(ctx)
	defer over()
	live, _ := errgroup.WithContext(ctx)
	live.Go(func() error { return transit.Carry(carry, g.lobby.roads, d.roads) })
	live.Go(func() error {
		defer over()
		return d.systems.Run(ctx)
	})
	_, err = g.lobby.depart.Ask(ctx, port, Party{[partySize]handle.Handle(party), d.roads.Ref(chest)})
	left()
	if err != nil {
		return err
	}
	if err := live.Wait(); err != nil || ctx.Err() != nil {
		return err
	}
	_, err = g.lobby.roads.Resolve(ctx, port, number, transit.Forget)
	return err
}

// print counts everything, and prints it.
func (g *game) print(ctx context.Context, out io.Writer) error {
	b, worlds, err := g.count(ctx)
	if err != nil {
		return err
	}
	g.timing.Lock()
	p50 := g.times.Quantile(0.5)
	g.timing.Unlock()
	fmt.Fprintf(out, "%d worlds, %d players of whom %d are under way, %d gold, ticks p50 %v\n", worlds, b.Players, b.Away, b.Gold, p50)
	if b.Away = 0; b != g.books {
		return fmt.Errorf("there is %+v, and there must be %+v", b, g.books)
	}
	return nil
}

// count counts what there is in all worlds, while these go on.
func (g *game) count(ctx context.Context) (b Books, worlds int, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	all, roads := []*place{g.lobby}, []*transit.Roads{g.lobby.roads}
	for _, d := range g.dungeons {
		all, roads = append(all, d), append(roads, d.roads)
	}
	err = transit.Cut(ctx, func() error {
		for _, p := range all {
			if err := <-p.systems.Between(func(*world.World) { g.countIn(&b, p) }); err != nil {
				return err
			}
		}
		return nil
	}, roads...)
	return b, len(all), err
}

// countIn adds what is in a world, was delivered there, and is on the way from there.
func (g *game) countIn(b *Books, p *place) {
	p.add(b)
	for m := range p.coins.Waiting() {
		b.Gold += m.Body.Gold
	}
	for m := range p.mail.Returned.Waiting() {
		b.Gold += m.Body.Body.Gold
	}
	for _, peer := range p.roads.Peers() {
		coins, travellers := p.mail.Waiting(peer), p.gate.Waiting(peer) // of worlds that are given up
		if peer == lobbyNumber {
			coins, travellers = p.mail.Unaccepted(g.lobby.roads), p.gate.Unaccepted(g.lobby.roads)
		} else if d := g.dungeons[peer]; d != nil {
			coins, travellers = p.mail.Unaccepted(d.roads), p.gate.Unaccepted(d.roads)
		}
		for _, m := range coins {
			b.Gold += m.Body.Gold
		}
		for _, t := range travellers {
			if _, err := snapshot.Insert(g.scratch.world, t.Piece, snapshot.InsertOptions{WithoutNames: true}); err != nil {
				panic(err)
			}
			b.Away++
		}
	}
	g.scratch.add(b)
	g.scratch.world.Clear()
}

// add adds what entities of a world have.
func (p *place) add(b *Books) {
	purses, players := world.Read[Purse](p.world), world.Read[Player](p.world)
	for ch := range p.world.Query(purses).Chunks() {
		for _, x := range purses.Slice(ch) {
			b.Gold += x.Gold
		}
	}
	b.Players += p.world.Query(players).Count()
}
