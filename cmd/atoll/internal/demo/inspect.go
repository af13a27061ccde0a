package demo

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"

	"github.com/atoll-sim/atoll/inspect"
	"github.com/atoll-sim/atoll/scheduler"
)

// inspector serves the inspector of the world.
type inspector struct {
	*inspect.Inspector
	at net.Listener
}

// newInspector listens, and prints the address, and the token if it is a new one.
func newInspector(ctx context.Context, s *scheduler.Scheduler, c Config, live io.Writer) (*inspector, error) {
	token := c.Token
	if token == "" {
		token = rand.Text()
	}
	x, err := inspect.New(s, inspect.Options{Name: "atoll demo", Token: token})
	if err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	at, err := lc.Listen(ctx, "tcp", c.Inspect)
	if err != nil {
		_ = x.Close()
		return nil, err
	}
	_, _ = fmt.Fprintf(live, "look at the world at http://%s/", at.Addr())
	if c.Token == "" {
		_, _ = fmt.Fprintf(live, " (to change it: token %s)", token)
	}
	_, _ = fmt.Fprintln(live)
	return &inspector{x, at}, nil
}

func (x *inspector) serve(ctx context.Context) error { return x.Serve(ctx, x.at) }
