// Zone is a server for a zone of a game. Players come by websocket, from the page that it serves, see other players
// nearby, walk, and fight monsters. README.md says which part shows what.
//
//	go run ./examples/zone
package main

import (
	"context"
	"database/sql"
	"embed"
	"encoding/binary"
	"errors"
	"flag"
	"io/fs"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/atoll-sim/atoll/async"
	"github.com/atoll-sim/atoll/durable"
	"github.com/atoll-sim/atoll/interest"
	"github.com/atoll-sim/atoll/names"
	"github.com/atoll-sim/atoll/prefab"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
	"github.com/coder/websocket"
	_ "modernc.org/sqlite"
)

const (
	patience  = 5 * time.Second // with clients that do not read or write
	namesMax  = 100_000         // players, here or not
	packetMax = 3200            // bytes, or a row more: at ten packets a second 256 kbit
)

//go:embed page prefabs
var files embed.FS

// zone is a world and its clients.
type zone struct {
	world    *world.World
	systems  *scheduler.Scheduler
	store    *durable.Store
	db       *sql.DB
	pool     *async.Pool
	names    *names.Names[string]
	kinds    map[string]*prefab.Prefab
	view     *world.View
	views    *interest.Set
	online   sync.Map // the names of clients
	position *world.Component[Position]
	goal     *world.Component[Goal]
	health   *world.Component[Health]
	player   *world.Component[Player]
	score    *world.Func[int]
	clients  sync.WaitGroup
}

func main() {
	addr := flag.String("addr", "localhost:8080", "the `address` to listen at; beyond localhost put TLS in front")
	dir := flag.String("dir", "zone.state", "the `directory` that keeps the zone; it is made if there is none")
	flag.Parse()
	ctx, end := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer end()
	ctx, fail := context.WithCancelCause(ctx)
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	z, err := open(ctx, fail, *dir)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("http://%v", l.Addr())
	if err := z.serve(ctx, fail, l); err != nil {
		log.Fatal(err)
	}
}

// serve serves a zone until ctx ends, by a signal or by fail. It saves the world before the clients go.
func (z *zone) serve(ctx context.Context, fail context.CancelCauseFunc, l net.Listener) error {
	page, _ := fs.Sub(files, "page") // it is embedded
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(page))
	mux.HandleFunc("GET /play", z.play)
	server := http.Server{Handler: mux, ReadHeaderTimeout: patience,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	go func() { fail(server.Serve(l)) }()
	go func() { fail(z.views.Run(ctx, z.view, 0, runtime.GOMAXPROCS(0), nil)) }()
	fail(z.systems.Run(ctx))
	late, done := context.WithTimeout(context.Background(), patience)
	defer done()
	err := errors.Join(server.Close(), z.pool.Close(late), z.systems.Step(late), z.store.Close(), z.db.Close())
	z.world.Close() // goroutines that wait for a tick go on
	z.clients.Wait()
	if why := context.Cause(ctx); !errors.Is(why, context.Canceled) {
		err = errors.Join(why, err)
	}
	return err
}

// open continues the zone of a directory, or makes one there. It calls fail when the directory cannot be written.
func open(ctx context.Context, fail context.CancelCauseFunc, dir string) (z *zone, err error) {
	if z, err = newZone(); err != nil {
		return nil, err
	}
	if z.store, err = durable.Open(ctx, filepath.Join(dir, "world"), z.world, z.systems, durable.Options{
		Logger: slog.Default(), OnError: fail, New: z.populate,
		Upgrade: func(w *world.World) error { // at each start but the first: no player is here
			for h := range w.Query(world.With[Player](w)).Entities() {
				_ = world.Flag(w, h, absent)
			}
			return nil
		},
	}); err != nil {
		return nil, err
	}
	if z.db, err = sql.Open("sqlite", filepath.Join(dir, "players.db")); err == nil {
		_, err = z.db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS players (name TEXT PRIMARY KEY, score INTEGER)")
	}
	if err != nil {
		return nil, err
	}
	// SQLite has one writer. Because of the Gate, the database gets nothing that a crash could undo.
	z.pool, err = async.Attach(z.world, async.PoolOptions{Workers: 1, Gate: z.store.Wait, Logger: slog.Default()})
	return z, err
}

// best stores the score of a player in the database, and returns the best one there.
func (z *zone) best(ctx context.Context, p Player) (score int, err error) {
	err = z.db.QueryRowContext(ctx, `INSERT INTO players VALUES (?, ?) ON CONFLICT DO
		UPDATE SET score = max(score, excluded.score) RETURNING score`, p.Name, p.Score).Scan(&score)
	return score, err
}

// play serves a client. Each message of it is a Goal.
func (z *zone) play(rw http.ResponseWriter, r *http.Request) {
	z.clients.Add(1)
	defer z.clients.Done()
	conn, err := websocket.Accept(rw, r, nil) // not of a page of another origin
	if err != nil {
		return // it has answered
	}
	conn.SetReadLimit(17)
	defer context.AfterFunc(r.Context(), func() { _ = conn.Close(websocket.StatusGoingAway, "the server stops") })()
	_ = conn.Close(websocket.StatusPolicyViolation, z.session(conn, r.FormValue("name")).Error()) // if it is open
}

// session keeps a player in the world. It returns the reason for the end.
func (z *zone) session(conn *websocket.Conn, name string) error {
	ctx := context.Background() // play ends the session by closing the connection, serve by closing the world
	if len(name) < 1 || len(name) > 32 {
		return errors.New("a name has 1 to 32 bytes")
	}
	if _, twice := z.online.LoadOrStore(name, true); twice {
		return errors.New("somebody plays under this name")
	}
	defer z.online.Delete(name)
	port, err := z.world.OpenPort()
	if err != nil {
		return err
	}
	defer port.Close()
	me, known := z.names.Lookup(name)
	if !known && z.names.Len() >= namesMax {
		return errors.New("there are as many players as can be; come back under an old name")
	}
	if err := port.Batch(func() error {
		if !known {
			me, _ = z.kinds["player"].Create(port, prefab.With(z.player, Player{Name: name}))
			_ = z.names.Bind(port, me, name)
		}
		_ = z.score.Call(port, me, 0)
		return world.Unflag(port, me, absent) // it returns the first error of these requests
	}); err != nil {
		return err
	}
	defer func() { // before the name is free, because requests of the next port may be applied first
		var left world.Completion
		_ = world.Flag(port.Within(ctx).Notify(&left), me, absent)
		_, _ = left.Wait(ctx)
	}()
	view := z.views.Open(interest.Viewer{Entity: me, Radius: sight, Margin: 5, Bytes: packetMax, Write: func(packet []byte) {
		late, done := context.WithTimeout(ctx, patience)
		defer done()
		_ = conn.Write(late, websocket.MessageBinary, packet) // if it fails, it closes the connection
	}})
	defer view.Close()
	for {
		var goal Goal
		_, m, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		if _, err := binary.Decode(m, binary.LittleEndian, &goal); err != nil || !(goal.X >= 0 && goal.X <= side && goal.Y >= 0 && goal.Y <= side) {
			return errors.New("a message has 17 bytes, and its goal is in the zone")
		}
		// If it sends faster than the world ticks, it waits here. The world does not wait.
		if err := z.goal.Set(port.Within(ctx), me, goal); err != nil {
			return err
		}
	}
}
