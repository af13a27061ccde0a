package names

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
)

// named is an entity of another world, by its handle in this one, and its name.
type named[K Name] struct {
	handle handle.Handle
	name   K
}

// AppendFollowers appends nothing.
func (k adapter[K]) AppendFollowers(dst []handle.Handle, _ handle.Handle) []handle.Handle { return dst }

// Unique reports that a name is that of one entity.
func (k adapter[K]) Unique() bool { return true }

// Excerpt returns the names of the entities in to, by the handles that it maps to.
func (k adapter[K]) Excerpt(to map[handle.Handle]handle.Handle) any {
	var all []named[K]
	for _, b := range k.byHandle.ordered(k.Len()) {
		if h := to[b.handle]; h != handle.None {
			all = append(all, named[K]{h, b.name})
		}
	}
	if all == nil {
		return nil
	}
	return all
}

// PlanInsert returns what adds the names of an excerpt.
func (k adapter[K]) PlanInsert(from any) (insert func(), err error) {
	all, ok := from.([]named[K])
	if !ok {
		return nil, fmt.Errorf("names: %q has names of another type in one of both worlds", k.label)
	}
	for i := range all {
		name := all[i].name
		holder, found := k.Lookup(name)
		switch {
		case found && !k.driver.IsDying(holder):
			return nil, fmt.Errorf("%w: %v is the name of %v in %q", ErrTaken, name, holder, k.label)
		case length(&name) > k.options.LengthMax:
			return nil, fmt.Errorf("%w, which is %d of %q: %v", ErrLength, k.options.LengthMax, k.label, name)
		}
	}
	return func() {
		for _, x := range all {
			_, _ = k.bind(x.handle, x.name)
		}
	}, nil
}
