package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/world"
	"github.com/coder/websocket"
)

// Who goes and comes again at once is there, and once. Who has gone is not.
func TestAgain(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	s := serve(t, t.TempDir())
	var all sync.WaitGroup
	for i := range 20 {
		name := fmt.Sprintf("p%02d", i)
		all.Go(func() {
			for range 10 {
				for there := false; !there; { // until the name is free
					p, err := s.join(ctx, name)
					if err != nil {
						t.Error(err)
						return
					}
					for refused := false; !there && !refused; time.Sleep(time.Millisecond) {
						p.mu.Lock()
						there, refused = p.self() != nil, p.err != nil
						p.mu.Unlock()
						if ctx.Err() != nil {
							t.Errorf("%s does not see itself", name)
							return
						}
					}
					p.conn.CloseNow()
				}
			}
		})
	}
	left := make(chan struct{})
	go func() {
		all.Wait()
		close(left)
	}()
	for here := s.names(t); ; here = s.names(t) {
		slices.Sort(here)
		if once := slices.Compact(slices.Clone(here)); len(once) < len(here) {
			t.Fatalf("somebody is here twice: %v", here)
		}
		select {
		case <-left:
			if len(here) == 0 {
				return
			}
		default:
		}
		if ctx.Err() != nil {
			t.Fatalf("these are still here: %v", here)
		}
	}
}

// kill has a client kill the rat beside the start, and then fight no more.
func (s *server) kill(t *testing.T, ctx context.Context, p *player) {
	t.Helper()
	if err := p.walk(ctx, 550, 450, 1); err != nil {
		t.Fatal(err)
	}
	await(t, "a kill", []*player{p}, func(p *player) bool { return p.self() != nil && p.self().score > 0 })
	if err := p.walk(ctx, 550, 450, 0); err != nil {
		t.Fatal(err)
	}
}

// After a crash players come back with their score, and nobody is there who has no client.
func TestCrash(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	dir, copied, found := t.TempDir(), t.TempDir(), t.TempDir()
	s := serve(t, dir)
	all := joinAll(t, ctx, s, 2)
	await(t, "both", all, func(p *player) bool { return len(p.seen) >= 2 && p.self() != nil })
	s.kill(t, ctx, all[0])
	db, err := sql.Open("sqlite", filepath.Join(dir, database))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	// The row is in the database, so the kill is on disk.
	for score := 0; score == 0; time.Sleep(time.Millisecond) {
		err := db.QueryRowContext(ctx, "SELECT score FROM players WHERE name = 'p00'").Scan(&score)
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
	for _, to := range []string{copied, found} {
		if err := os.CopyFS(to, os.DirFS(dir)); err != nil { // as the files are at this moment
			t.Fatal(err)
		}
	}

	z := zoneOf(t)
	store, err := durable.Open(ctx, filepath.Join(found, "world"), z.world, z.systems, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := z.world.Query(world.With[Player](z.world)).Count(); n != 2 {
		t.Errorf("the crash has left %d players, expected 2", n)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}

	s = serve(t, copied)
	again := joinAll(t, ctx, s, 1)
	await(t, "its score", again, func(p *player) bool { return p.self() != nil && p.self().score == 1 })
	if is := *again[0].self(); is.x != 500*64 || is.y != 500*64 {
		t.Errorf("p00 comes back as %+v, expected at the start", is)
	}
	if names := s.names(t); len(names) != 1 {
		t.Errorf("these are here: %v, expected p00", names)
	}
}

// A kill counts even if the player leaves and the process ends before the database is told.
func TestKillLast(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	dir, z := t.TempDir(), zoneOf(t)
	var me handle.Handle
	store, err := durable.Open(ctx, filepath.Join(dir, "world"), z.world, z.systems, durable.Options{
		New: func(w *world.World) (err error) {
			me, err = z.kinds["player"].Create(w, prefab.With(z.player, Player{Name: "p00"}),
				prefab.With(z.position, Position{X: 550, Y: 450}), prefab.With(z.goal, Goal{550, 450, true}))
			return errors.Join(err, z.populate(w))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	step := func() {
		if err := z.systems.Step(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for world.Read[Player](z.world).Get(me).Score == 0 { // there is no Pool, so nobody tells the database
		step()
	}
	z.world.Destroy(me)
	for range 100 { // what is asked about the dead is forgotten within 64
		step()
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	again := joinAll(t, ctx, serve(t, dir), 1)
	await(t, "its score", again, func(p *player) bool { return p.self() != nil && p.self().score == 1 })
}

// A client that does not read is dropped, and nobody else notices.
func TestSlow(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	s := serve(t, t.TempDir())
	all := joinAll(t, ctx, s, 30)
	slow, _, err := websocket.Dial(ctx, s.address+"slow", &websocket.DialOptions{HTTPClient: &http.Client{
		Transport: &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			if err == nil {
				err = conn.(*net.TCPConn).SetReadBuffer(1)
			}
			return conn, err
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer slow.CloseNow()
	sees := func(p *player) bool {
		for _, e := range p.seen {
			if e.name == "slow" {
				return true
			}
		}
		return false
	}
	await(t, "the slow one", all[:1], sees)
	begin := time.Now()
	for i := 0; ; i++ { // all but one walk to and fro, so there is much to tell
		for j, p := range all[1:] {
			if err := p.walk(ctx, 500+float64((i+j)%2*20), 500+float64(j), 0); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(100 * time.Millisecond)
		all[0].mu.Lock()
		gone, packets := !sees(all[0]), all[0].packets
		all[0].mu.Unlock()
		took := time.Since(begin)
		if gone && took > patience {
			if least := int(took.Seconds() * 5); packets < least {
				t.Errorf("who reads got %d packets, expected %d at least", packets, least)
			}
			break
		}
		if gone || took > 20*time.Second {
			t.Fatalf("after %v the slow one is gone: %v", took, gone)
		}
	}
}

// Fifty clients see each other come, walk and go; in the end each knows what the server does. Then
// the server is started again, with the world and the database, and with the database alone:
// players have their score, and begin at the start.
func TestZone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	s := serve(t, dir)
	all := joinAll(t, ctx, s, 50)
	await(t, "all 50 players", all, func(p *player) bool { return len(p.seen) >= 50 && p.self() != nil })

	hunter, others := all[0], all[1:]
	for i, p := range others { // to a circle, on which each sees some others
		angle := 2 * math.Pi * float64(i) / float64(len(others))
		if err := p.walk(ctx, 500+150*math.Cos(angle), 500+150*math.Sin(angle), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := hunter.walk(ctx, 550, 450, 1); err != nil { // a rat is there
		t.Fatal(err)
	}
	await(t, "who walks and leaves", all, func(p *player) bool { return p.moves > 0 && p.leaves >= 30 })
	await(t, "a kill", all[:1], func(p *player) bool { return p.self() != nil && p.self().score > 0 })
	if hunter.wounds == 0 {
		t.Error("the hunter has not seen the health of the rat change")
	}

	// The world comes to rest: nobody is there to fight, and all players stand where they are.
	if err := <-s.systems.Between(func(w *world.World) {
		w.Query(world.With[Body](w), world.Without[Player](w)).Destroy()
		goals, positions := world.Write[Goal](w), world.Read[Position](w)
		for h := range w.Query(world.With[Player](w)).Entities() {
			*goals.Get(h) = Goal{positions.Get(h).X, positions.Get(h).Y, false}
		}
	}); err != nil {
		t.Fatal(err)
	}
	var differs string
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if differs = s.compare(t, all); differs == "" {
			break
		}
		if time.Now().After(end) {
			t.Fatal(differs)
		}
	}
	for _, p := range all {
		p.mu.Lock()
		if p.err != nil {
			t.Errorf("%s: %v", p.name, p.err)
		}
		p.mu.Unlock()
	}
	was := *hunter.self()
	s.stop()

	for _, monsters := range []int{0, 100} { // those of the old world are no more
		s = serve(t, dir)
		again := joinAll(t, ctx, s, 1)
		await(t, "its score", again, func(p *player) bool { return p.self() != nil && p.self().score == was.score })
		if is := *again[0].self(); is.x != 500*64 || is.y != 500*64 {
			t.Errorf("the hunter comes back as %+v, expected at the start", is)
		}
		if err := <-s.systems.Between(func(w *world.World) {
			if n := w.Query(world.With[Monster](w)).Count(); n != monsters {
				t.Errorf("there are %d monsters, expected %d", n, monsters)
			}
		}); err != nil {
			t.Fatal(err)
		}
		s.stop()
		if err := os.RemoveAll(filepath.Join(dir, "world")); err != nil {
			t.Fatal(err)
		}
	}
}

// A client is told of a component that is no more.
func TestRemoved(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	s := serve(t, t.TempDir())
	all := joinAll(t, ctx, s, 1)
	await(t, "itself", all, func(p *player) bool { return p.self() != nil })
	if err := <-s.systems.Between(func(w *world.World) {
		if err := w.Query(world.With[Player](w)).Remove(s.player); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	await(t, "that it has no name", all, func(p *player) bool {
		for _, e := range p.seen {
			if e.name == p.name && e.columns == 1|2 {
				return true
			}
		}
		return false
	})
}

// However much there is to tell, a client gets at most 256 kbit in a second of ticks.
func TestBudget(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	s := serve(t, t.TempDir())
	all := joinAll(t, ctx, s, 1)
	await(t, "itself", all, func(p *player) bool { return p.self() != nil })
	if err := <-s.systems.Between(func(w *world.World) { // a crowd that walks
		for i := range 1000 {
			at := Position{X: 480 + float64(i%40), Y: 480 + float64(i/40)}
			if _, err := s.kinds["rat"].Create(w, prefab.With(s.position, at), prefab.With(s.goal, Goal{X: side, Y: side})); err != nil {
				t.Error(err)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	await(t, "the crowd", all, func(p *player) bool { return p.moves > 1000 })
	all[0].mu.Lock()
	defer all[0].mu.Unlock()
	const row = 40 // and leaves, of which there are few
	if all[0].most < packetMax/2 || all[0].most > packetMax+row {
		t.Errorf("the largest packet has %d bytes, expected half of %d to a row more", all[0].most, packetMax)
	}
	if ticks := int(s.world.Tick()); all[0].packets > ticks {
		t.Errorf("it got %d packets in %d ticks", all[0].packets, ticks)
	}
}

// What a client must not do ends its connection, and nothing else.
func TestRefused(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	s := serve(t, t.TempDir())
	good := joinAll(t, ctx, s, 1)

	if _, _, err := websocket.Dial(ctx, s.address+"eve", &websocket.DialOptions{
		HTTPHeader: map[string][]string{"Origin": {"https://elsewhere.example"}},
	}); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("a page of another origin: %v", err)
	}
	for _, c := range []struct{ name, sends, says string }{
		{"", "", "a name has 1 to 32 bytes"},
		{strings.Repeat("x", 33), "", "a name has 1 to 32 bytes"},
		{"p00", "", "somebody plays under this name"},
		{"bob", "12345678", "a message has 17 bytes"},
		{"bob", "\x00\x00\x00\x00\x00\x00\xf8\x7f" + strings.Repeat("\x00", 9), "in the zone"}, // NaN
		{"bob", "\x00\x00\x00\x00\x00\x00\xf0\xbf" + strings.Repeat("\x00", 9), "in the zone"}, // -1
		{"bob", strings.Repeat("x", 18), "StatusMessageTooBig"},
	} {
		p, err := s.join(ctx, c.name)
		if err != nil {
			t.Fatal(err)
		}
		if c.sends != "" {
			_ = p.conn.Write(ctx, websocket.MessageBinary, []byte(c.sends)) // it may be refused before its end
		}
		for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
			p.mu.Lock()
			err := p.err
			p.mu.Unlock()
			if err != nil || time.Now().After(end) {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%q sends %.20q: %v, expected %q", c.name, c.sends, err, c.says)
				}
				break
			}
		}
	}
	await(t, "itself", good, func(p *player) bool { return p.self() != nil && p.err == nil })
}
