package guide_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/atoll-sim/atoll/inspect"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

func operate(ctx context.Context, s *scheduler.Scheduler, secret string, log *slog.Logger) error {
	x, err := inspect.New(s, inspect.Options{Name: "zone 3", Token: secret, Logger: log})
	if err != nil {
		return err
	}
	defer x.Close()
	return x.ListenAndServe(ctx, "127.0.0.1:8080")
}

func Example_inspect() {
	s := scheduler.New(world.MustNew(world.Options{}), scheduler.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	fmt.Println(operate(ctx, s, "too short", nil))
	// Output: inspect: Token has 9 characters, want 16 or more, or none for no controls
}
