package reference

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
)

// share is the number of a share, in the check build.
type share uint32

// ledger remembers where each share in an entity was released, in the check build:
// a second release of a copied Owner can then name the first. Otherwise it is
// empty and does nothing.
//
// Ownership: mu guards all.
type ledger struct{ mu *shares }

type shares struct {
	sync.Mutex
	last   share
	closed map[share]string
}

// open numbers a new share.
func (l *ledger) open() share {
	if !check.Enabled {
		return 0
	}
	if l.mu == nil { // set by Own, before there are other shares
		l.mu = &shares{closed: map[share]string{}}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.last++
	return l.mu.last
}

// close notes the caller of Release, or panics if the share was released before.
func (l *ledger) close(s share, h handle.Handle) {
	if !check.Enabled {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, ok := l.mu.closed[s]; ok {
		panic(fmt.Sprintf("reference: a share in entity %v is released twice, first at %s; an Owner was copied, clone it instead", h, at))
	}
	_, file, line, _ := runtime.Caller(2)
	l.mu.closed[s] = fmt.Sprintf("%s:%d", file, line)
}

// where says where a share was released.
func (l *ledger) where(s share) string {
	if !check.Enabled {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return " at " + l.mu.closed[s]
}
