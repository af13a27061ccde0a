// Command mutants shows that the tests notice deliberate bugs. Each file in
// patches is one bug: a header and a unified diff.
//
//	Bug: chunks are merged before flags are published
//	Test: ./world -run TestFlagsOfMovers -race
//
//	--- a/internal/refresh/refresh.go
//	+++ b/internal/refresh/refresh.go
//	@@ …
//
// The command applies a patch to copies of the files, runs the tests with the
// copies in place of the sources (go test -overlay), and expects them to fail.
// Nothing in the checkout changes.
//
//	go run ./proof/mutants                  all bugs
//	go run ./proof/mutants -run flags       those whose file name matches
//	go run ./proof/mutants -list            their names and what they do
//
// It exits with 1 if the tests pass with a bug, if a patch does not apply, or if
// the patched code does not compile.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	pattern := flag.String("run", "", "try only the bugs whose name matches this `regexp`")
	list := flag.Bool("list", false, "list the bugs and exit")
	limit := flag.Duration("timeout", 3*time.Minute, "`time` after which a run of tests counts as failed")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; the flags are -run, -list and -timeout", flag.Arg(0))
	}
	match, err := regexp.Compile(*pattern)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	all, err := readPatches(root)
	if err != nil {
		return err
	}
	tried, unnoticed := 0, 0
	for _, p := range all {
		if !match.MatchString(p.name) {
			continue
		}
		tried++
		if *list {
			fmt.Printf("%-40s %s\n", p.name, p.bug)
			continue
		}
		start := time.Now()
		err := p.try(ctx, root, *limit)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		verdict := "noticed"
		if err != nil {
			unnoticed++
			verdict = err.Error()
		}
		fmt.Printf("%-40s %5.1f s  %s\n", p.name, time.Since(start).Seconds(), verdict)
	}
	switch {
	case tried == 0:
		return fmt.Errorf("no bug matches %q; -list shows all %d", *pattern, len(all))
	case unnoticed > 0:
		return fmt.Errorf("%d of %d bugs are not noticed", unnoticed, tried)
	case !*list:
		fmt.Printf("all %d bugs are noticed\n", tried)
	}
	return nil
}
