package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/atoll-sim/atoll/world"
)

type testClient struct {
	net.Conn
	*bufio.Scanner
	t  *testing.T
	id string
}

func dial(t *testing.T, address string) *testClient {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	c := &testClient{conn, bufio.NewScanner(conn), t, ""}
	c.id = strings.Fields(c.await("you "))[1]
	return c
}

func (c *testClient) send(line string) {
	c.t.Helper()
	if _, err := fmt.Fprintln(c.Conn, line); err != nil {
		c.t.Fatal(err)
	}
}

// await reads lines until one begins with prefix.
func (c *testClient) await(prefix string) string {
	c.t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
	for c.Scan() {
		if strings.HasPrefix(c.Text(), prefix) {
			return c.Text()
		}
	}
	c.t.Fatalf("%s waits for %q: %v", c.id, prefix, c.Err())
	return ""
}

func TestZone(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	state := t.TempDir()
	go func() { served <- Serve(ctx, l, state) }()

	ann, bob := dial(t, l.Addr().String()), dial(t, l.Addr().String())
	ann.await("see " + bob.id + " 0.0 0.0 avatar")
	bob.await("see " + ann.id + " 0.0 0.0 avatar")

	ann.send("move 0 20") // a unit each tick
	bob.await("see " + ann.id + " 0.0 1.0")
	ann.send("say hello there")
	words := bob.await("see ")
	for !strings.HasSuffix(words, ann.id+" says hello there") {
		words = bob.await("see ")
	}

	ann.send("move nan inf")
	ann.await("error: move")
	ann.send("jump")
	ann.await("error: move, say or quit")

	bob.send("move 0 -20") // apart by 40 a second: out of sight before the words expire
	bob.await("gone " + ann.id)
	cat := dial(t, l.Addr().String())
	cat.send("quit")
	for cat.Scan() {
	}
	if cat.Err() != nil {
		t.Errorf("quit: %v", cat.Err())
	}

	ann.send("say see you")
	for !strings.HasSuffix(ann.await("see "), " says see you") {
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	for ann.Scan() { // the server is gone, so the connection is
	}

	// Another server goes on: what was said hangs in the air where it was said.
	z, err := NewZone()
	if err != nil {
		t.Fatal(err)
	}
	defer z.world.Close()
	store, err := z.keep(state)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	z.world.Refresh()
	said, avatars := 0, z.world.Query(world.With[Session](z.world)).Count()
	for h := range z.world.Query(world.With[Left](z.world)).Entities() {
		if strings.HasSuffix(world.Read[Label](z.world).Get(h).Text, " says see you") {
			said++
		}
	}
	if said != 1 || avatars != 0 {
		t.Errorf("%d times said, %d avatars without a client", said, avatars)
	}
}
