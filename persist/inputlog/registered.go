package inputlog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// list is the names of what is registered, of one kind, in order.
type list struct {
	what  string // such as "component"
	names []string
}

// lists returns everything registered that decides what the state is.
func lists(w *world.World) (all []list) {
	for _, r := range engine.Of(w).Survey().Registered() {
		l := list{what: r.What}
		for _, n := range r.Names {
			l.names = append(l.names, n.Name)
		}
		all = append(all, l)
	}
	return all
}

// mustRegister refuses a world in which something else is registered, and names that.
func (h *header) mustRegister(w *world.World) error {
	var there, here, order []string
	for _, own := range lists(w) {
		saved := list{what: own.what}
		for _, l := range h.lists {
			if l.what == own.what {
				saved = l
			}
		}
		more, less := saved.without(own), own.without(saved)
		there, here = append(there, more...), append(here, less...)
		if len(more)+len(less) == 0 && !slices.Equal(saved.names, own.names) {
			order = append(order, fmt.Sprintf("%ss are registered in the order %q there, %q here", own.what, saved.names, own.names))
		}
	}
	var all []string
	if len(there) > 0 {
		all = append(all, strings.Join(there, ", ")+" registered there alone")
	}
	if len(here) > 0 {
		all = append(all, strings.Join(here, ", ")+" registered here alone")
	}
	if all = append(all, order...); len(all) > 0 {
		return fmt.Errorf("%w: %s", ErrOtherWorld, strings.Join(all, "; "))
	}
	return nil
}

// without returns what another list lacks. A name may be in a list more than once.
func (l list) without(other list) (rest []string) {
	left := slices.Clone(other.names)
	for _, name := range l.names {
		if at := slices.Index(left, name); at >= 0 {
			left = slices.Delete(left, at, at+1)
			continue
		}
		rest = append(rest, fmt.Sprintf("%s %q", l.what, name))
	}
	return rest
}
