package main

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/atoll-sim/atoll/async"
	"github.com/atoll-sim/atoll/durable"
	"github.com/atoll-sim/atoll/hierarchy"
	"github.com/atoll-sim/atoll/interest"
	"github.com/atoll-sim/atoll/names"
	"github.com/atoll-sim/atoll/near"
	"github.com/atoll-sim/atoll/prefab"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/timer"
	"github.com/atoll-sim/atoll/world"
	_ "modernc.org/sqlite"
)

// zone is a world, and what clients do in it and are told of it.
type zone struct {
	world   *world.World
	systems *scheduler.Scheduler
	db      *sql.DB
	store   *durable.Store
	pool    *async.Pool
	players *names.Names[string]
	player  *prefab.Prefab
	name    *world.Component[Name]
	goal    *world.Component[Goal]
	load    *world.Func[string]
	view    *world.View
	views   *interest.Set
	online  sync.Map // the names of clients
	clients sync.WaitGroup
	failed  chan error // of the store
}

// openZone goes on with the zone of a directory, or makes one there.
func openZone(ctx context.Context, dir string, tick time.Duration) (*zone, error) {
	w, err := world.New(world.Options{TickInterval: tick, IndexMax: 1 << 20, QueueRequests: 32, VersionsEach: 10_000})
	if err != nil {
		return nil, err
	}
	z := &zone{world: w, systems: scheduler.New(w, scheduler.Options{}), players: names.New[string](w, "players", names.Options{}), failed: make(chan error, 1)}
	position, health := world.Register[Position](w, "position"), world.Register[Health](w, "health")
	z.name, z.goal = world.Register[Name](w, "name"), world.Register[Goal](w, "goal")
	player := world.Register[Player](w, "player")
	world.Register[Body](w, "body")
	world.Register[Weapon](w, "weapon")
	kinds, noKinds := prefab.Load(w, files, "prefabs/*.json", hierarchy.New(w, "holds", hierarchy.Options{}))
	z.player = kinds["player"]

	// Who is near whom, and what clients see.
	at := func(p Position) near.Point { return near.Point{X: p.X, Y: p.Y} }
	space, here := near.Options{Max: near.Point{X: side, Y: side}, Cell: sight}, world.WithoutFlags(w, away)
	all := near.New(w, at, space, here)
	players, monsters := near.New(w, at, space, here, world.With[Player](w)), near.New(w, at, space, here, world.Without[Player](w))
	z.views = interest.New(w, all, interest.Options{}, interest.Encode(appendPosition), interest.Encode(appendName),
		interest.Encode(appendHealth), interest.Encode(appendPlayer))
	z.view, err = w.NewView(all, position, z.name, health, player)
	if err = errors.Join(err, noKinds); err != nil {
		return nil, err
	}

	// The database. A player's score is loaded at login and saved when it grows; to do either twice does no harm.
	scored := world.RegisterMessage[async.Result[int]](w, "scored")
	load := async.New(w, "load", scored, func(ctx context.Context, name string) (score int, err error) {
		err = z.db.QueryRowContext(ctx, "SELECT coalesce(max(score), 0) FROM players WHERE name = ?", name).Scan(&score)
		return score, logged(err)
	}, async.Options{Again: true})
	save := async.New(w, "save", scored, func(ctx context.Context, r Row) (int, error) {
		_, err := z.db.ExecContext(ctx, `INSERT INTO players VALUES (?, ?)
			ON CONFLICT DO UPDATE SET score = max(score, excluded.score)`, r.Name, r.Score)
		return r.Score, logged(err)
	}, async.Options{Again: true})
	z.load = world.RegisterFunc(w, "load", func(self *world.EntityContext, name string) {
		if _, err := load.Go(self, self.Handle(), name); err != nil {
			_ = world.Unflag(self, self.Handle(), loading) // play without
		}
	})

	hit, kill := world.RegisterMessage[Hit](w, "hit"), world.RegisterMessage[Kill](w, "kill")
	rise := timer.New(w, "rise", world.RegisterMessage[Rise](w, "rise"), timer.Options{})
	z.systems.MustAdd("live", live(kill, rise, save))
	z.systems.MustAdd("hunt", fight(world.Without[Player], players, hit))
	z.systems.MustAdd("defend", fight(world.With[Player], monsters, hit))
	z.systems.MustAdd("walk", walk)
	if z.store, err = durable.Open(ctx, filepath.Join(dir, "world"), w, z.systems, durable.Options{
		Logger: slog.Default(),
		OnError: func(err error) { // a full disk, say: better no zone than one that forgets
			select {
			case z.failed <- err:
			default:
			}
		},
		New: func(w *world.World) (err error) { // a monster each 100
			for i := range 100 {
				x, y := float64(i%10*100+50), float64(i/10*100+50)
				_, e := kinds[[]string{"rat", "wolf", "orc"}[i%3]].Create(w, prefab.With(position, Position{x, y}),
					prefab.With(z.goal, Goal{x, y, true}))
				err = errors.Join(err, e)
			}
			return err
		},
		Upgrade: func(w *world.World) (err error) { // at each other start: nobody is here
			for h := range w.Query(world.With[Player](w)).Entities() {
				err = errors.Join(err, world.Flag(w, h, absent))
			}
			return err
		},
	}); err != nil {
		return nil, err
	}
	if z.db, err = sql.Open("sqlite", filepath.Join(dir, "players.db")); err != nil {
		return nil, err
	}
	z.db.SetMaxOpenConns(1)
	_, err = z.db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS players (name TEXT PRIMARY KEY, score INTEGER)")
	// With the Gate the database learns nothing that a crash could undo.
	pool, noPool := async.Attach(w, async.PoolOptions{Workers: 4, Gate: z.store.Wait})
	z.pool = pool
	return z, errors.Join(err, noPool)
}

// logged logs an error of the database, which the world does without.
func logged(err error) error {
	if err != nil {
		slog.Error("the database failed", "err", err)
	}
	return err
}
