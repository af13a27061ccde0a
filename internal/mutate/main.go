// Command mutate shows what the tests notice. It makes deliberate bugs, one at a
// time, runs the tests that are meant to find it, and prints which one did:
//
//	go run ./internal/mutate                      the deliberate bugs, in bugs_*.go
//	go run ./internal/mutate -run fence           those whose name matches
//	go run ./internal/mutate -general handle,shard     every small change there is
//	go run ./internal/mutate -keep dir -budget 3m      for three minutes; the next run goes on
//
// Nothing on disk is changed: the go command is told to read other files in place
// of the true ones (go test -overlay); see schema.
//
// It exits with 1 if a bug survives, no longer applies or does not compile, or
// if the tests fail without one. A run that comes to no end counts as noticed, and
// is listed as such. The general run is told from the deliberate bugs by numbers: it must find
// at least the given part, and each survivor must be in survivors.txt, with the
// reason why it may.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
	}
	if err != nil || !ok {
		stop()
		os.Exit(1)
	}
}

// run reads the command line and does what it says. It reports whether all is
// as it should be.
func run(ctx context.Context) (ok bool, err error) {
	pattern := flag.String("run", "", "only bugs whose name matches the `regexp`")
	jobs := flag.Int("jobs", 2, "`number` of bugs to try at a time")
	list := flag.Bool("list", false, "list the bugs, and do not try them")
	general := flag.String("general", "", "make every small change in these `directories`, separated by commas, instead of the deliberate bugs")
	part := flag.Float64("min", 0.85, "the part of small changes that must be noticed")
	budget := flag.Duration("budget", 0, "`time` after which no more changes are tried, small ones in an order by chance; 0: all are tried")
	keep := flag.String("keep", "", "`directory` that keeps what was found, so that a run with -budget is done in pieces: the next goes on")
	again := flag.Bool("again", false, "try those again that survived in an earlier piece and are not in survivors.txt")
	verbose := flag.Bool("v", false, "say by what each small change is noticed")
	seed := flag.Uint64("seed", 1, "`number` that the order comes from")
	flag.Parse()
	match, err := regexp.Compile(*pattern)
	if err != nil {
		return false, err
	}
	root, err := moduleRoot()
	if err != nil {
		return false, err
	}
	if *keep != "" {
		if err := os.MkdirAll(*keep, 0o700); err != nil {
			return false, err
		}
	}
	var deadline time.Time
	if *budget > 0 {
		deadline = time.Now().Add(*budget)
	}
	if *general != "" {
		s := &sweep{
			root: root, keep: *keep, out: os.Stdout, jobs: *jobs, dirs: strings.Split(*general, ","),
			match: match, min: *part, seed: *seed, again: *again, verbose: *verbose, deadline: deadline,
		}
		if *list {
			return true, s.list()
		}
		return s.run(ctx)
	}
	all := chosen(match)
	if *list {
		for _, b := range all {
			fmt.Printf("%-52s %s\n", b.name, b.file)
		}
		return true, nil
	}
	h := &hunt{root: root, keep: *keep, out: os.Stdout, jobs: *jobs, bugs: all, deadline: deadline}
	return h.run(ctx)
}

// moduleRoot returns the directory of the module that the working directory is in.
func moduleRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", err
	}
	file := strings.TrimSpace(string(out))
	if filepath.Base(file) != "go.mod" {
		return "", fmt.Errorf("run it within the module")
	}
	return filepath.Dir(file), nil
}
