package hierarchy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/atoll-sim/atoll/handle"
)

// Errors of refused changes, for errors.Is. A refused change changes
// nothing.
var (
	// ErrCycle is returned when an entity would come to be its own ancestor. It is
	// wrapped in a CycleError, which names the path.
	ErrCycle = errors.New("hierarchy: would be its own ancestor")
	// ErrParent is returned when a child is added that already has a parent. Use Move
	// to give it another.
	ErrParent = errors.New("hierarchy: has a parent already; Move takes it to another")
	// ErrChildren is returned when an entity is removed that has children.
	ErrChildren = errors.New("hierarchy: has children")
	// ErrAbsent is returned for an entity that is not in the relation, or has no
	// parent where it needs one.
	ErrAbsent = errors.New("hierarchy: is not in the relation, or has no parent there")
	// ErrPlace is returned for a place that does not exist.
	ErrPlace = errors.New("hierarchy: no such place")
	// ErrTaken is returned for a place where another child is.
	ErrTaken = errors.New("hierarchy: place is taken")
	// ErrNoPlace is returned when a fixed list has no free place.
	ErrNoPlace = errors.New("hierarchy: no place is free")
	// ErrFixed is returned when places of a fixed list would have to shift.
	ErrFixed = errors.New("hierarchy: list has fixed places")
	// ErrElsewhere is returned by PutFrom for an entity that is not where it is to be taken from.
	ErrElsewhere = errors.New("hierarchy: is not where it should be taken from")
	// ErrRoom is returned by a relation with ManualGrowth that has no room left.
	ErrRoom = errors.New("hierarchy: out of reserved memory")
	// ErrLimit is returned when a relation has ParentsMax parents, or its buckets take
	// WordsMax words.
	ErrLimit = errors.New("hierarchy: a limit of the tree is reached")
	// errVersion says that the tree still has an earlier entity of the same slot, which a relation
	// never has.
	errVersion = errors.New("hierarchy: the tree still has an earlier entity of this slot")
	// ErrSteps is returned when the requests of a port have taken Options.StepsMax steps in this
	// refresh.
	ErrSteps = errors.New("hierarchy: the requests of this port took too many steps in this refresh; send this one again after the refresh, or raise Options.StepsMax")
	// ErrImage is returned for bytes that are not a complete image of a relation.
	ErrImage = errors.New("hierarchy: image refused")
	// ErrPort is returned for a change that must read children, which a port cannot
	// do.
	ErrPort = errors.New("hierarchy: a port does not see children")
)

// CycleError is an ErrCycle that names the path: from the entity that was to
// become a child down to its intended parent, each the parent of the next. Of a path of more than
// 16 entities it has the first 8 and the last 8.
type CycleError struct {
	Path    []handle.Handle
	Omitted int // how many there are between the two halves of Path
}

// pathEnds is how many entities are kept of each end of a path.
const pathEnds = 8

// Error names the path.
func (c *CycleError) Error() string {
	var b strings.Builder
	b.WriteString(ErrCycle.Error())
	b.WriteString(": ")
	for i, h := range c.Path {
		if c.Omitted > 0 && i == pathEnds {
			fmt.Fprintf(&b, "%d others → ", c.Omitted)
		}
		b.WriteString(h.String())
		b.WriteString(" → ")
	}
	b.WriteString(c.Path[0].String())
	return b.String()
}

// Unwrap returns ErrCycle.
func (c *CycleError) Unwrap() error { return ErrCycle }
