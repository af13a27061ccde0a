package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

const (
	// trialTimeout is how long the tests of one trial may run. They take seconds.
	trialTimeout = time.Minute
	// memoryMax is what they may take, in KB: a loop that never ends allocates. The
	// race detector reserves more than there is.
	memoryMax = 3 << 20
	// unchanged are tests that look at the source, where nothing is changed.
	unchanged = "^(TestInlines|TestRefused|TestSource.*)$"
)

// verdict is what tests said.
type verdict struct {
	failed string // a test that failed, or "" if none did
	late   bool   // because time was up
	took   time.Duration

	unreached bool // no test gets to the change
}

func (v verdict) noticed() bool { return v.failed != "" }

func (v verdict) String() string {
	switch {
	case !v.noticed():
		return "SURVIVED"
	case v.late:
		return v.failed + " (time was up)"
	}
	return v.failed
}

// failure and start are what a test binary prints for a test that failed, and for
// one that it begins.
var (
	failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	running = regexp.MustCompile(`(?m)^\s*(Test\S+) \(.*s\)$`) // of a test binary that ran out of time
	empty   = []byte("testing: warning: no tests to run")
)

// errNoTests is returned if no test has such a name.
var errNoTests = errors.New("no test has such a name")

// try runs tests with one change made, or none if number is 0.
func (s *schema) try(ctx context.Context, t tests, number int) (verdict, error) {
	return s.tryFor(ctx, binary{pkg: t.pkg, race: t.race}, t, number, trialTimeout)
}

// tryFor is try for tests of a binary that may run so long.
func (s *schema) tryFor(ctx context.Context, b binary, t tests, number int, timeout time.Duration) (verdict, error) {
	whole := ctx
	ctx, cancel := context.WithTimeout(ctx, 2*timeout)
	defer cancel()
	limit := strconv.Itoa(memoryMax)
	if t.race {
		limit = "unlimited"
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", `ulimit -v "$0" && exec "$@"`, limit, s.binaries[b],
		"-test.failfast", "-test.timeout", timeout.String(), "-test.run", t.run, "-test.skip", unchanged, "-test.short="+strconv.FormatBool(!t.long))
	cmd.Dir = filepath.Join(s.root, t.pkg)
	cmd.Env = append(os.Environ(), variable+"="+strconv.Itoa(number))
	cmd.WaitDelay = time.Second
	start := time.Now()
	out, err := cmd.CombinedOutput()
	v := verdict{took: time.Since(start)}
	var exit *exec.ExitError
	switch {
	case whole.Err() != nil: // it was interrupted, which says nothing
		return v, whole.Err()
	case bytes.Contains(out, empty):
		return v, fmt.Errorf("%w: %q in %s", errNoTests, t.run, t.pkg)
	case err == nil:
		return v, nil
	case ctx.Err() == nil && !errors.As(err, &exit):
		return v, err
	}
	v.failed, v.late = "a test of "+t.pkg, bytes.Contains(out, []byte("panic: test timed out")) || ctx.Err() != nil
	if m := failure.FindSubmatch(out); m != nil {
		v.failed = string(m[1])
	} else if m := running.FindSubmatch(out); m != nil {
		v.failed = string(m[1])
	}
	return v, nil
}

// mustPass runs tests without a change: what fails anyway notices nothing.
func (s *schema) mustPass(ctx context.Context, t tests) error {
	v, err := s.try(ctx, t, 0)
	if err == nil && v.noticed() {
		err = fmt.Errorf("tests %q of %s fail without a change: %v", t.run, t.pkg, v)
	}
	return err
}

// mustPassAll is mustPass of all tests of a package. If the schema's files are kept it
// is done once.
func (s *schema) mustPassAll(ctx context.Context, b binary) error {
	sum, err := sumOf(s.binaries[b])
	if err != nil {
		return err
	}
	passed := s.binaries[b] + "-passed"
	if old, err := os.ReadFile(passed); err == nil && string(old) == sum {
		return nil
	}
	v, err := s.tryFor(ctx, b, tests{pkg: b.pkg, run: "."}, 0, 10*trialTimeout)
	if err != nil {
		return err
	}
	if v.noticed() {
		return fmt.Errorf("the tests of %s fail without a change: %v", b.pkg, v)
	}
	return os.WriteFile(passed, []byte(sum), 0o600)
}

// sumOf tells the contents of a file from others.
func sumOf(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sha256.Sum256(data)), nil
}
