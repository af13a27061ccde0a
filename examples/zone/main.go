// Zone is a server for a zone of a game. Players come by websocket, from the page that it serves,
// see other players nearby, walk, and fight monsters. README.md says which part shows what.
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
	"math"
	"net"
	"net/http"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/atoll-sim/atoll/ext/async"
	"github.com/atoll-sim/atoll/ext/interest"
	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
	"github.com/coder/websocket"
	_ "modernc.org/sqlite"
)

const (
	tick      = 100 * time.Millisecond
	side      = 1000.0          // of the zone, a square
	sight     = 80.0            // how far clients see
	packetMax = 3200            // bytes, or a row more: at ten packets a second 256 kbit
	patience  = 5 * time.Second // with clients that do not read or write

	// database waits, too, while somebody else reads or writes it.
	database = "players.db?_pragma=busy_timeout(5000)"

	dead world.Flags = 1 // until its timer is due
)

type (
	Position = near.Point
	Goal     struct { // as clients send it
		X, Y  float64
		Fight bool // the foes in sight
	}
	Body    struct{ Speed, Sight, Reach, Damage float64 }
	Health  struct{ Points, Max float64 }
	Monster struct{ Kind string }
	Player  struct {
		Name  string
		Score int
	}
	Rise struct{}
	Hit  struct {
		By     handle.Handle
		Points float64
	}
)

//go:embed page prefabs
var files embed.FS

// zone is a world and its clients.
type zone struct {
	world    *world.World
	systems  *scheduler.Scheduler
	kinds    map[string]*prefab.Prefab
	position *world.Component[Position]
	goal     *world.Component[Goal]
	player   *world.Component[Player]
	login    *world.Func[string]
	view     *world.View
	clients  *interest.Clients
	db       *sql.DB
	online   sync.Map     // the names of clients
	sessions sync.RWMutex // each holds it for reading
}

func main() {
	addr := flag.String("addr", "localhost:8080", "the `address` to listen at; beyond localhost put TLS in front")
	dir := flag.String("dir", "zone.state", "the `directory` that keeps the zone; it is made if there is none")
	flag.Parse()
	ctx, end := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer end()
	z, err := newZone(scheduler.Options{})
	if err != nil {
		log.Fatal(err)
	}
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("http://%v", l.Addr())
	if err := z.run(ctx, l, *dir); err != nil {
		log.Fatal(err)
	}
}

// run serves the zone of a directory until ctx ends or something fails. It saves the world before
// the clients go.
func (z *zone) run(ctx context.Context, l net.Listener, dir string) error {
	ctx, fail := context.WithCancelCause(ctx)
	store, err := durable.Open(ctx, filepath.Join(dir, "world"), z.world, z.systems, durable.Options{
		Logger: slog.Default(), New: z.populate,
		LockTimeout: patience, // the process before this one may be ending
		OnError: func(err error) {
			if errors.Is(err, durable.ErrFailed) { // if only a snapshot has failed, the log goes on
				fail(err)
			}
		},
		Upgrade: func(w *world.World) error { // at each start but the first: no client is here
			w.Query(world.With[Player](w)).Destroy()
			return nil
		},
	})
	if err != nil {
		return err
	}
	if z.db, err = sql.Open("sqlite", filepath.Join(dir, database)); err == nil {
		_, err = z.db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS players (name TEXT PRIMARY KEY, score INTEGER)")
	}
	if err != nil {
		return err
	}
	// SQLite has one writer. Because of the Gate, the database gets nothing that a crash could
	// undo.
	pool, err := async.Attach(z.world, async.PoolOptions{Workers: 1, Gate: store.Wait, Logger: slog.Default()})
	if err != nil {
		return err
	}
	page, _ := fs.Sub(files, "page") // it is embedded
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(page))
	mux.HandleFunc("GET /play", z.play)
	server := http.Server{Handler: mux, ReadHeaderTimeout: patience,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	go func() { fail(server.Serve(l)) }()
	go func() { fail(z.clients.Run(ctx, z.view, 0, runtime.GOMAXPROCS(0), nil)) }()
	fail(z.systems.Run(ctx))
	late, done := context.WithTimeout(context.Background(), patience)
	defer done()
	err = errors.Join(server.Close(), pool.Close(late), z.systems.Step(late), store.Close(), z.db.Close())
	z.world.Close()   // clients that wait for a tick go on
	z.sessions.Lock() // once they have all gone; from now on it lets nobody in
	if why := context.Cause(ctx); !errors.Is(why, context.Canceled) {
		err = errors.Join(why, err)
	}
	return err
}

// play serves a client. Each message of it is a Goal.
func (z *zone) play(rw http.ResponseWriter, r *http.Request) {
	if !z.sessions.TryRLock() {
		return // run has closed the connection
	}
	defer z.sessions.RUnlock()
	conn, err := websocket.Accept(rw, r, nil) // not of a page of another origin
	if err != nil {
		return // it has answered
	}
	conn.SetReadLimit(17)
	defer context.AfterFunc(r.Context(), func() { _ = conn.Close(websocket.StatusGoingAway, "the server stops") })()
	_ = conn.Close(websocket.StatusPolicyViolation, z.session(conn, r.FormValue("name")).Error()) // if it is open
}

// session keeps a player in the world while its client is connected. It returns the reason for the
// end.
func (z *zone) session(conn *websocket.Conn, name string) error {
	ctx := context.Background() // play ends the session by closing the connection, run by closing the world
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
	me, err := z.kinds["player"].Create(port, prefab.With(z.player, Player{Name: name}))
	if err != nil {
		return err
	}
	defer func() { _ = port.Within(ctx).Destroy(me) }() // it waits if the queue is full
	_ = z.login.Call(port, me, name)                    // it has room for that
	client := z.clients.Open(interest.ClientOptions{Entity: me, Radius: sight, Margin: 5, Bytes: packetMax, Write: func(packet []byte) {
		late, done := context.WithTimeout(ctx, patience)
		defer done()
		_ = conn.Write(late, websocket.MessageBinary, packet) // if it fails, it closes the connection
	}})
	defer client.Close()
	for {
		var goal Goal
		_, m, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		_, err = binary.Decode(m, binary.LittleEndian, &goal)
		if err != nil || !(goal.X >= 0 && goal.X <= side && goal.Y >= 0 && goal.Y <= side) {
			return errors.New("a message has 17 bytes, and its goal is in the zone")
		}
		// If it sends faster than the world ticks, it waits here. The world does not wait.
		if err := z.goal.Set(port.Within(ctx), me, goal); err != nil {
			return err
		}
	}
}

// newZone makes an empty zone.
func newZone(o scheduler.Options) (*zone, error) {
	w := world.MustNew(world.Options{TickInterval: tick, QueueRequests: 32, VersionsEach: 10_000})
	z := &zone{world: w, systems: scheduler.New(w, o)}
	z.position, z.goal = world.Register[Position](w, "position"), world.Register[Goal](w, "goal")
	health, monster := world.Register[Health](w, "health"), world.Register[Monster](w, "monster")
	z.player = world.Register[Player](w, "player")
	world.Register[Body](w, "body")

	at, space := func(p Position) near.Point { return p }, near.Options{Max: near.Point{X: side, Y: side}, Cell: sight}
	alive := world.WithoutFlags(w, dead)
	all := near.New(w, at, space, alive)
	players := near.New(w, at, space, alive, world.With[Player](w))
	monsters := near.New(w, at, space, alive, world.With[Monster](w))
	z.clients = interest.New(w, all, interest.Options{}, interest.Encode(appendPosition), interest.Encode(appendHealth),
		interest.Encode(appendMonster), interest.Encode(appendPlayer))

	scored := world.RegisterMessage[async.Result[int]](w, "scored")
	best := async.New(w, "best", scored, func(ctx context.Context, p Player) (score int, err error) {
		err = z.db.QueryRowContext(ctx, `INSERT INTO players VALUES (?, ?) ON CONFLICT DO
			UPDATE SET score = max(score, excluded.score) RETURNING score`, p.Name, p.Score).Scan(&score)
		return score, err
	}, async.Options{Rerun: true}) // it may run twice without harm
	z.login = world.RegisterFunc(w, "login", func(self *world.EntityContext, name string) {
		_, _ = best.Go(self, self.Handle(), Player{Name: name})
	})
	killed := world.RegisterFunc(w, "killed", func(self *world.EntityContext, victim handle.Handle) {
		if p := z.player.Write(self); p != nil { // a monster has no score
			p.Score++
			_, _ = best.Go(self, victim, *p) // not about the player: if it leaves, what is asked about it is dropped
		}
	})
	rise := timer.New(w, "rise", world.RegisterMessage[Rise](w, "rise"), timer.Options{})
	hit := world.RegisterFunc(w, "hit", func(self *world.EntityContext, by Hit) {
		h := health.Write(self)
		if h.Points > 0 && h.Points <= by.Points {
			_ = world.AddFlags(self, self.Handle(), dead)
			_, _ = rise.After(self, self.Handle(), int(5*time.Second/tick), Rise{})
			_ = killed.Call(self, by.By, self.Handle())
		}
		h.Points = max(0, h.Points-by.Points)
	})
	z.systems.MustAdd("live", live)
	z.systems.MustAdd("hunt", act(world.With[Monster], players, hit))
	z.systems.MustAdd("defend", act(world.With[Player], monsters, hit))

	var noKinds, noView error
	z.kinds, noKinds = prefab.Load(w, files, "prefabs/*.json")
	z.view, noView = w.NewView(all, z.position, health, monster, z.player)
	return z, errors.Join(noKinds, noView)
}

// populate makes the monsters.
func (z *zone) populate(w *world.World) (err error) {
	for i := range 100 {
		x, y := float64(i%10*100+50), float64(i/10*100+50)
		_, e := z.kinds[[]string{"rat", "wolf", "orc"}[i%3]].Create(w,
			prefab.With(z.position, Position{X: x, Y: y}), prefab.With(z.goal, Goal{x, y, true}))
		err = errors.Join(err, e)
	}
	return err
}

// live revives the dead, and gives players their best score.
func live(b *world.Build) func(*world.Context) {
	rises, scores := world.Receive[Rise](b), world.Receive[async.Result[int]](b)
	health, players := world.Write[Health](b), world.Write[Player](b)
	return func(c *world.Context) {
		for _, m := range rises.All() {
			health.Get(m.To).Points = health.Get(m.To).Max
			_ = world.RemoveFlags(c, m.To, dead)
		}
		for _, m := range scores.All() { // also those of victims
			if p := players.Get(m.To); p != nil {
				p.Score = max(p.Score, m.Body.Value) // 0 if the database failed
			}
		}
	}
}

// act lets characters walk to their goal. Those that fight walk to the nearest foe in sight, and
// hit it within reach.
func act(of func(world.Binder) world.Term, foes *near.Index, hit *world.Func[Hit]) scheduler.System {
	return func(b *world.Build) func(*world.Context) {
		positions, goals, bodies := world.Write[Position](b), world.Read[Goal](b), world.Read[Body](b)
		some, around := b.Query(positions, goals, bodies, of(b), world.WithoutFlags(b, dead)), foes.Read(b)
		var found []near.Hit
		return func(c *world.Context) {
			for ch := range some.Chunks() {
				for i, goal := range goals.Slice(ch) {
					p, body := &positions.Slice(ch)[i], bodies.Slice(ch)[i]
					to := Position{X: goal.X, Y: goal.Y}
					if found = around.AppendNearest(found[:0], *p, 1, body.Sight); goal.Fight && len(found) > 0 {
						to = found[0].At
						if found[0].Distance2 <= body.Reach*body.Reach {
							to = *p
							_ = hit.Call(c, found[0].Handle, Hit{ch.Handle(i), body.Damage})
						}
					}
					far := max(math.Hypot(to.X-p.X, to.Y-p.Y), 1e-9)
					part := min(1, body.Speed*c.Delta()/far)
					p.X, p.Y = p.X+(to.X-p.X)*part, p.Y+(to.Y-p.Y)*part
				}
			}
		}
	}
}

func appendPosition(b []byte, p *Position) []byte {
	return binary.LittleEndian.AppendUint32(b, uint32(p.X*64)|uint32(p.Y*64)<<16)
}
func appendHealth(b []byte, h *Health) []byte   { return append(b, byte(h.Points*255/h.Max)) }
func appendText(b []byte, s string) []byte      { return append(append(b, byte(len(s))), s...) }
func appendMonster(b []byte, m *Monster) []byte { return appendText(b, m.Kind) }
func appendPlayer(b []byte, p *Player) []byte {
	return binary.AppendUvarint(appendText(b, p.Name), uint64(p.Score))
}
