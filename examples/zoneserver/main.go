// Zoneserver is a server for a zone of a game. Clients connect by TCP, see what is near
// them, move, and say things that stay in the air for a while.
//
//	go run ./examples/zoneserver -listen localhost:7777 -state /tmp/zone
//	nc localhost 7777
//
// What a client sends, a line each:
//
//	move <x> <y>      walk with this velocity, at most 20 each way, until told otherwise
//	say <text>        whoever is within 50 can read it for three seconds
//	quit
//
// What it gets: "you <id>" first, then "see <id> <x> <y> <what>" when something near it
// appears or changes, and "gone <id>" when that is gone or out of sight.
//
// With -state, what was said survives a restart; see state.go.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"github.com/atoll-sim/atoll/reference"
	"github.com/atoll-sim/atoll/world"
)

func main() {
	address := flag.String("listen", "localhost:7777", "the address to listen at")
	state := flag.String("state", "", "the directory that the zone is saved in, and goes on from; empty for none")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	l, err := net.Listen("tcp", *address)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("listening at %v", l.Addr())
	if err := Serve(ctx, l, *state); err != nil {
		log.Fatal(err)
	}
}

// Serve runs a zone until ctx ends or a system fails. It goes on from what was saved in a
// directory, and saves there, unless that is empty. No goroutine is left behind.
func Serve(ctx context.Context, l net.Listener, state string) error {
	z, err := NewZone()
	if err != nil {
		return err
	}
	end := func() error { return nil }
	if state != "" {
		store, err := z.keep(state)
		if err != nil {
			return err
		}
		end = store.Close
	}
	ctx, cancel := context.WithCancel(ctx)
	var refused error
	var clients sync.WaitGroup
	clients.Go(func() {
		defer cancel()
		for {
			conn, err := l.Accept()
			if err != nil {
				if ctx.Err() == nil {
					refused = err
				}
				return
			}
			clients.Go(func() {
				if err := z.client(ctx, conn); err != nil && ctx.Err() == nil {
					log.Printf("client %v: %v", conn.RemoteAddr(), err)
				}
			})
		}
	})
	err = errors.Join(z.systems.Run(ctx), end())
	cancel()
	l.Close()
	z.world.Close() // before the wait: it ends the sessions, as no tick will
	clients.Wait()
	return errors.Join(err, refused)
}

// client serves one connection, which acts through a port of its own. The zone writes to
// the session until the avatar is destroyed, for whatever reason, and then closes it.
func (z *Zone) client(ctx context.Context, conn net.Conn) error {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	port, err := z.world.OpenPort()
	if err != nil {
		return err
	}
	defer port.Close()
	session := Session{lines: make(chan string, linesMax)}
	var born world.Completion
	me, err := z.avatars.Create(port.Notify(&born), Avatar{Label: Label{"avatar"}, Session: session})
	if err != nil {
		return err
	}
	if outcome, err := born.Wait(ctx); outcome != world.Applied {
		return errors.Join(err, fmt.Errorf("no avatar: %v", outcome))
	}
	avatar := reference.Own(port, me, nil)
	var writer sync.WaitGroup
	writer.Go(func() {
		defer conn.Close() // the avatar is gone: end the reader, too
		write(conn, fmt.Sprintf("you %v\n", me))
		for lines := range session.lines {
			write(conn, lines)
		}
	})
	defer writer.Wait()
	defer avatar.Release() // which is never refused, however full the port is

	in := bufio.NewScanner(conn)
	in.Buffer(nil, lineMax)
	for in.Scan() {
		verb, rest, _ := strings.Cut(in.Text(), " ")
		var v Velocity
		switch verb {
		case "move":
			if n, _ := fmt.Sscan(rest, &v.X, &v.Y); n < 2 || !(math.Abs(v.X) <= speedMax && math.Abs(v.Y) <= speedMax) {
				write(conn, "error: move takes two numbers, at most 20\n")
				continue
			}
			// If the port is full this waits for the next tick, and the client for us.
			err = z.velocity.Set(port.Within(ctx), me, v)
		case "say":
			err = z.say.Call(port.Within(ctx), me, rest)
		case "quit":
			return nil
		default:
			write(conn, "error: move, say or quit\n")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// write writes to a client, and ends the connection of one that does not read.
func write(conn net.Conn, text string) {
	_ = conn.SetWriteDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, text); err != nil {
		conn.Close() // the reader ends, and gives the avatar up
	}
}
