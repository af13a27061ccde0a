//go:build unix

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/world"
	"github.com/coder/websocket"
)

const (
	stopDir  = "ZONE_STOP_DIR"  // the directory of the process that a test starts, in its environment
	stopFull = "ZONE_STOP_FULL" // whether its disk is nearly full
)

// TestMain is the zone in a process that a test starts.
func TestMain(m *testing.M) {
	dir := os.Getenv(stopDir)
	if dir == "" {
		os.Exit(m.Run())
	}
	if os.Getenv(stopFull) != "" {
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 20_000, Max: 20_000}); err != nil {
			log.Fatal(err)
		}
	}
	os.Args = []string{"zone", "-addr", "127.0.0.1:0", "-dir", dir}
	main()
}

// process is a zone in a process of its own.
type process struct {
	*exec.Cmd
	*server
	says chan string // what it has logged, at its end
}

func start(t *testing.T, ctx context.Context, dir string, env ...string) *process {
	t.Helper()
	c := exec.CommandContext(ctx, os.Args[0])
	c.Env = append(os.Environ(), append(env, stopDir+"="+dir)...)
	out, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines, address := bufio.NewScanner(out), ""
	for address == "" && lines.Scan() {
		_, address, _ = strings.Cut(lines.Text(), "http://")
	}
	says := make(chan string, 1)
	go func() {
		rest, _ := io.ReadAll(out)
		says <- string(rest)
	}()
	return &process{c, &server{address: "ws://" + address + "/play?name="}, says}
}

// host is where a server listens.
func (s *server) host() string {
	host, _, _ := strings.Cut(strings.TrimPrefix(s.address, "ws://"), "/")
	return host
}

// A zone that gets a SIGTERM tells its clients that it goes away, saves, and ends without an error.
// It does not wait for who has sent half a request.
func TestSignal(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	dir := t.TempDir()
	p := start(t, ctx, dir)
	half, err := net.Dial("tcp", p.host())
	if err == nil {
		_, err = half.Write([]byte("GET / HTTP/1.1\r\nHo"))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer half.Close()
	all := joinAll(t, ctx, p.server, 1)
	await(t, "itself", all, func(p *player) bool { return p.self() != nil })
	if err := all[0].walk(ctx, 450, 500, 0); err != nil {
		t.Fatal(err)
	}
	await(t, "where it went", all, func(p *player) bool { return p.self().x < 490*64 })
	begin := time.Now()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	log := <-p.says
	if err := p.Wait(); err != nil {
		t.Errorf("the process ends with %v: %s", err, log)
	}
	if took := time.Since(begin); took > patience {
		t.Errorf("it took %v", took)
	}
	all[0].mu.Lock()
	defer all[0].mu.Unlock()
	if code := websocket.CloseStatus(all[0].err); code != websocket.StatusGoingAway {
		t.Errorf("the client got %v: %v", code, all[0].err)
	}
	z := zoneOf(t)
	store, err := durable.Open(ctx, filepath.Join(dir, "world"), z.world, z.systems, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r := store.Recovered(); r.New || r.Ticks != 0 || r.Torn != nil {
		t.Errorf("it was saved as %+v", r)
	}
	if n := z.world.Query(world.With[Monster](z.world)).Count(); n != 100 || z.world.Tick() == 0 {
		t.Errorf("there are %d monsters at tick %d", n, z.world.Tick())
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}

// Clients may come until the zone has ended, and later find nobody.
func TestLate(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	s := serve(t, t.TempDir())
	var all sync.WaitGroup
	joined := make(chan struct{})
	first := sync.OnceFunc(func() { close(joined) })
	for i := range 8 {
		all.Go(func() {
			defer first()
			for k := 0; ; k++ {
				p, err := s.join(ctx, fmt.Sprintf("p%d-%d", i, k))
				if err != nil {
					if ctx.Err() != nil {
						t.Error("the zone does not end")
					}
					return
				}
				defer p.conn.CloseNow()
				first()
			}
		})
	}
	<-joined // on a busy machine it takes a while until the zone runs
	time.Sleep(200 * time.Millisecond)
	s.stop()
	if s.sessions.TryRLock() {
		t.Error("the zone has ended, and lets clients in")
	}
	all.Wait()
}

// Who sends half a request is dropped while the zone goes on.
func TestHalf(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir())
	conn, err := net.Dial("tcp", s.host())
	if err == nil {
		_, err = conn.Write([]byte("GET /play?name=half HTTP/1.1\r\nHo"))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(2 * patience))
	if answer, err := io.ReadAll(conn); err != nil {
		t.Errorf("after %v the connection is open: %q, %v", 2*patience, answer, err)
	}
}

// A zone whose disk is full stops, and says why.
func TestFull(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	p := start(t, ctx, t.TempDir(), stopFull+"=1")
	all := joinAll(t, ctx, p.server, 1)
	await(t, "itself", all, func(p *player) bool { return p.self() != nil })
	for all[0].walk(ctx, 450, 500, 0) == nil { // which the log has, until it is full
		time.Sleep(time.Millisecond)
	}
	log := <-p.says
	if err := p.Wait(); err == nil || ctx.Err() != nil || !strings.Contains(log, syscall.EFBIG.Error()) {
		t.Errorf("the process ends with %v: %s", err, log)
	}
}

// A zone whose snapshot cannot be saved goes on: its log has everything.
func TestNoSnapshot(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	dir := t.TempDir()
	s := serve(t, dir)
	all := joinAll(t, ctx, s, 1)
	await(t, "itself", all, func(p *player) bool { return p.self() != nil })
	inTheWay := filepath.Join(dir, "world", "000000000002.snapshot.part")
	if err := os.MkdirAll(filepath.Join(inTheWay, "not empty"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := <-s.systems.Between(func(w *world.World) { // which saves a snapshot
		w.Query(world.With[Monster](w)).Destroy()
	}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * tick)
	if err := all[0].walk(ctx, 450, 500, 0); err != nil {
		t.Fatal(err)
	}
	await(t, "where it went", all, func(p *player) bool { return p.self().x < 490*64 })
	if err := os.RemoveAll(inTheWay); err != nil {
		t.Fatal(err)
	}
	for ctx.Err() == nil { // it tries again
		if _, err := os.Stat(strings.TrimSuffix(inTheWay, ".part")); err == nil {
			return
		}
		time.Sleep(tick)
	}
	t.Error("no snapshot was saved")
}
