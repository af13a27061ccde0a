package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/atoll-sim/atoll/persist/durable"
)

const followAbout = `Follow copies the directory of a durable world to another one, while the world runs, and
goes on until it is interrupted. The copy can be opened by durable.Open at any time; then
stop to follow. With -once it ends when the copy has what was on disk when it began: that
is a backup. It goes on with a copy that it has made before.`

// followTold is how often follow tells how far it is.
const followTold = time.Second

func runFollow(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f := newFlags("follow", followAbout)
	f.Usage = func() {
		_, _ = fmt.Fprintf(f.Output(), "%s\n\nUsage: atoll follow [flags] <directory of the world> <directory of the copy>\n\n", followAbout)
		f.PrintDefaults()
	}
	o := durable.FollowOptions{Every: time.Second, Logger: slog.New(slog.NewTextHandler(stderr, nil))}
	f.Var(span(&o.Every), "every", "the `time` between two looks at the world; 0 for a second")
	f.BoolVar(&o.Once, "once", false, "copy what there is now, and end")
	if code, done := parseFiles(f, args, 2, 2, stdout, stderr); done {
		return code
	}
	var is durable.Followed
	var last string
	var told time.Time
	o.OnProgress = func(now durable.Followed) {
		is = now
		line := fmt.Sprintf("tick %d, behind by %d ticks and %d bytes", is.Tick, is.Ticks, is.Bytes)
		if is.Err != nil {
			line += fmt.Sprintf(": %v", is.Err)
		}
		if line != last && (is.Err != nil || time.Since(told) > followTold) {
			last, told = line, time.Now()
			_, _ = fmt.Fprintln(stdout, line)
		}
	}
	if err := durable.Follow(ctx, f.Arg(0), f.Arg(1), o); err != nil {
		_, _ = fmt.Fprintf(stderr, "%s: %v\n", f.Name(), err)
		return exitFailed
	}
	_, _ = fmt.Fprintf(stdout, "the copy has all ticks before %d\n", is.Tick)
	return exitOK
}
