// Zone is a server for a zone of a game. Players come by websocket, from the page that it serves, see who is
// near, walk, and fight monsters. README.md says which part shows what.
//
//	go run ./examples/zone
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

//go:embed page prefabs
var files embed.FS

func main() {
	addr := flag.String("addr", "localhost:8080", "the `address` to listen at; beyond localhost put TLS in front")
	dir := flag.String("dir", "zone.state", "the `directory` that keeps the zone; it is made if there is none")
	tick := flag.Duration("tick", 100*time.Millisecond, "how long a tick is, always the same for a directory")
	flag.Parse()
	if *tick <= 0 {
		log.Fatalf("-tick is %v; want more than 0", *tick)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	z, err := openZone(ctx, *dir, *tick)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("http://%v", l.Addr())
	if err := z.serve(ctx, l); err != nil {
		log.Fatal(err)
	}
}

// serve serves a zone until ctx ends or something fails. The clients leave while the world still ticks, and the
// database answers before the world is saved.
func (z *zone) serve(ctx context.Context, l net.Listener) error {
	page, err := fs.Sub(files, "page")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(page))
	mux.HandleFunc("GET /play", z.play)
	ctx, cancel := context.WithCancelCause(ctx)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: patience, BaseContext: func(net.Listener) context.Context { return ctx }}
	var parts sync.WaitGroup
	parts.Go(func() { cancel(server.Serve(l)) })
	parts.Go(func() { cancel(z.tell(ctx)) })
	parts.Go(func() { cancel(z.systems.Run(context.Background())) })
	select {
	case err := <-z.failed:
		cancel(err)
	case <-ctx.Done():
	}
	if err = context.Cause(ctx); errors.Is(err, context.Canceled) {
		err = nil
	}
	late, done := context.WithTimeout(context.Background(), patience)
	if server.Shutdown(late) != nil { // somebody has not sent all of a request
		err = errors.Join(err, server.Close())
	}
	done()
	z.clients.Wait()
	z.systems.Stop()
	parts.Wait()
	late, done = context.WithTimeout(context.Background(), patience)
	defer done()
	err = errors.Join(err, z.pool.Close(late), z.systems.Step(late), z.store.Close(), z.db.Close())
	z.world.Close()
	return err
}
