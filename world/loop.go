package world

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/atoll-sim/atoll/internal/check"
)

// loop is a loop over a query that runs on the idle world.
type loop struct {
	over  *Query
	asked []uintptr // the callers that asked for it; check build only
}

// enterLoop notes that a loop begins.
func (w *World) enterLoop(q *Query) {
	w.open++
	w.loops = append(w.loops, loop{q, q.asked})
}

// leaveLoop notes that a loop has ended: the last one over the query. Loops of iter.Pull may end in
// any order.
func (w *World) leaveLoop(q *Query) {
	w.closeLoop()
	last := len(w.loops) - 1
	i := last
	for i > 0 && w.loops[i].over != q {
		i--
	}
	copy(w.loops[i:], w.loops[i+1:])
	w.loops[last] = loop{}
	w.loops = w.loops[:last]
}

func (w *World) closeLoop() { w.open-- }

// mustNotLoop panics within a query loop.
func (w *World) mustNotLoop(call string) {
	switch {
	case w.open == 0:
	case w.calling != "":
		panic(fmt.Sprintf("world: %s inside function %q would move the row it works on; call it after the function, or use its EntityContext", call, w.calling))
	case w.within != "":
		panic(fmt.Sprintf("world: %s inside %s; call it after that", call, w.within))
	case len(w.loops) == 0:
		panic(fmt.Sprintf("world: %s inside a query loop would move the rows it walks; call it after the loop", call))
	default:
		l := &w.loops[len(w.loops)-1]
		panic(fmt.Sprintf("world: %s inside a query loop would move the rows it walks; call it after the loop, which is over %s%s; if it is in no loop, an iterator of iter.Pull is still open: call its stop",
			call, l.over.describe(), l.begun()))
	}
}

// describe says what a query selects by its components.
func (q *Query) describe() string {
	names := q.w.componentNames(q.with)
	if names == "" {
		return "all entities"
	}
	return "entities with " + names
}

// begun says where the program asked for the loop, if that is known.
func (l *loop) begun() string {
	if !check.Enabled {
		return " (a build with -race says where it began)"
	}
	for frames := runtime.CallersFrames(l.asked); ; {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, thisPackage) {
			return fmt.Sprintf(" and began at %s:%d", f.File, f.Line)
		}
		if !more {
			return ""
		}
	}
}

// thisPackage begins the name of each function of the package.
const thisPackage = "github.com/atoll-sim/atoll/world."

// note notes where the program asks for a loop. Check build only.
func (q *Query) note() {
	var callers [8]uintptr
	q.asked = append([]uintptr(nil), callers[:runtime.Callers(3, callers[:])]...)
}
