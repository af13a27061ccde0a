package misuse_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/aside"
)

// The table of callbacks: what becomes of a panic, or of a call of runtime.Goexit, in each function
// of the user that the packages call. Each cell is done in a world of its own, which must work
// afterwards, and so must the call that had called the function.

// callbackRow is a function of the user.
type callbackRow struct {
	// of are the names that have the function called, a line each: a field, a parameter, an
	// interface, or the loop over a sequence. besides begins what no name has.
	of string
	// on is the goroutine that runs it.
	on string
	// do has the function called, whose first call fails. It returns who hears of the failure, if
	// the call of the library returns at all; calling it again, when it does not fail any more,
	// must succeed.
	do func(x *callbackScene) (told string)
	// twice calls do again in the same world.
	twice bool
}

// besides begins the row of a function that no name has, or that another row has, too.
const besides = "besides: "

// The goroutines that run callbacks.
const (
	onCaller = "the caller's"
	onWorker = "a worker's of the tick" // which may be the caller
	onOther  = "one of the library"
)

// What becomes of a failure.
const (
	callPanics = "the call panics"
	callEnds   = "the caller's goroutine ends"
	mayEnd     = "the error of Step; if it is the caller's goroutine, that ends"
	inStep     = "the error of Step"
	inCall     = "the error of the call"
	inOnError  = "OnError"
	inLogger   = "the Logger"
	inStderr   = "standard error"
	inNothing  = "nobody"
)

// errCallback is what the functions panic with.
var errCallback = errors.New("misuse: on purpose")

// callbackScene is a world, and the failure of a function.
type callbackScene struct {
	*misuseScene
	how    func()
	exits  bool // how ends the goroutine
	armed  atomic.Bool
	on     string // the goroutine of the failure
	caller string // the goroutine that makes the call
	also   string // who hears of it besides
	log    lockedBuffer
	checks []func() // that everything works, called when the call is over
}

// fail is called by the user's functions.
func (x *callbackScene) fail() {
	if x.armed.CompareAndSwap(true, false) {
		x.on = goroutine()
		x.how()
	}
}

// told requires that an error says what failed.
func (x *callbackScene) told(err error, by string) string {
	require.Error(x.t, err)
	require.True(x.t, saysWhy(err.Error()), err.Error())
	return by
}

// saysWhy reports whether a text has the reason of a failure.
func saysWhy(s string) bool {
	return strings.Contains(s, errCallback.Error()) || strings.Contains(s, "runtime.Goexit")
}

// after adds a check of what must work when the call is over.
func (x *callbackScene) after(check func()) { x.checks = append(x.checks, check) }

// goroutine returns the number of the calling goroutine.
func goroutine() string {
	var b [64]byte
	s, _, _ := strings.Cut(strings.TrimPrefix(string(b[:runtime.Stack(b[:], false)]), "goroutine "), " ")
	return s
}

// lockedBuffer is what several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// answer makes the cell of a row: it has the function fail, and then looks whether all works.
func (row callbackRow) answer(t *testing.T, how func(), exits bool) (answer string) {
	x := &callbackScene{misuseScene: newMisuseScene(t), how: how, exits: exits}
	var out lockedBuffer
	aside.Out = &out
	defer func() { aside.Out = io.Writer(os.Stderr) }()
	x.armed.Store(true)
	call := func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			returned := false
			defer func() {
				switch v := recover(); {
				case returned:
				case v != nil:
					require.True(t, saysWhy(fmt.Sprint(v)), "%v", v)
					answer = callPanics
				default:
					answer = callEnds
				}
			}()
			x.caller = goroutine()
			answer = row.do(x)
			returned = true
		}()
		<-done
	}
	what := strings.ReplaceAll(row.of, "\n", ", ")
	within(t, what, call)
	require.False(t, x.armed.Load(), "the function was not called")
	if row.on == onCaller || row.on == onOther {
		require.Equal(t, row.on == onCaller, x.on == x.caller, "it runs on goroutine %s, and the caller is %s", x.on, x.caller)
	}
	if row.on == onWorker && x.exits && (answer == inStep || answer == callEnds) {
		answer = mayEnd // it depends on which worker it was
	}
	switch answer {
	case inStderr:
		require.Eventually(t, func() bool { return saysWhy(out.String()) }, hangs, 1e6)
	case inLogger:
		require.Eventually(t, func() bool { return saysWhy(x.log.String()) }, hangs, 1e6)
	default:
		require.Empty(t, out.String())
	}
	if row.twice {
		first := answer
		within(t, what+" again", call)
		require.NotContains(t, []string{callPanics, callEnds}, answer, "the call cannot be made again")
		answer = first
	}
	for _, check := range x.checks {
		within(t, "what follows "+what, check)
	}
	within(t, "the world after "+what, x.mustWork)
	return strings.Trim(x.also+"; "+answer, "; ")
}

// TestCallbacks has each function panic, and end its goroutine, and compares what becomes of that
// with the table in docs/misuse.md.
func TestCallbacks(t *testing.T) {
	var groups []callbackGroup
	all := true // rows were run
	for _, row := range callbackRows() {
		cells := []string{row.on}
		for _, how := range []struct {
			name string
			end  func()
		}{{"panics", func() { panic(errCallback) }}, {"exits", runtime.Goexit}} {
			got := "" // of a row that failed
			t.Run(strings.ReplaceAll(row.of, "\n", ",")+" "+how.name, func(t *testing.T) { got = row.answer(t, how.end, how.name == "exits") })
			cells, all = append(cells, got), all && got != ""
		}
		for name := range strings.SplitSeq(row.of, "\n") {
			pkg, name, _ := cutFirst(strings.TrimPrefix(name, besides), ".,")
			i := slices.IndexFunc(groups, func(g callbackGroup) bool { return g.pkg == pkg && slices.Equal(g.cells, cells) })
			if i < 0 {
				i = len(groups)
				groups = append(groups, callbackGroup{pkg: pkg, cells: cells})
			}
			groups[i].names = append(groups[i].names, strings.TrimSpace(name))
		}
	}
	slices.SortStableFunc(groups, func(a, b callbackGroup) int {
		at := func(pkg string) int {
			return slices.IndexFunc(callbackPackages, func(dir string) bool { return path.Base(dir) == pkg })
		}
		return at(a.pkg) - at(b.pkg)
	})
	var b strings.Builder
	b.WriteString("\n| package | function | goroutine | after a panic | after runtime.Goexit |\n|---|---|---|---|---|\n")
	for _, g := range groups {
		b.WriteString("| " + g.pkg + " | " + strings.Join(g.names, "; ") + " | " + strings.Join(g.cells, " | ") + " |\n")
	}
	b.WriteString("\n")
	if all {
		compareGenerated(t, "callbacks", b.String())
	}
}

// callbackGroup are functions of a package with the same cells.
type callbackGroup struct {
	pkg          string
	names, cells []string
}

// cutFirst cuts a text at the first of some characters.
func cutFirst(s, chars string) (before, after string, ok bool) {
	i := strings.IndexAny(s, chars)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// callbackRows are all functions of the user.
func callbackRows() []callbackRow {
	return slices.Concat(worldCallbacks(), schedulerCallbacks(), extensionCallbacks(), watchingCallbacks(), linkCallbacks(), savingCallbacks(), storeCallbacks())
}

// must returns a value of a call that does not fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// callbacksLeftOut are the names that the table does not have, by the reason.
var callbacksLeftOut = map[string]string{
	"has a parameter that only its package can make": "scheduler.Option",
	"is called on the goroutine of a test, which fails by a panic": `worldtest.Game.Script
		worldtest.Same make`,
}
