package hierarchy

import (
	"errors"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// Refusal is a request of a system or a port that the last refresh refused.
type Refusal struct {
	// Change is the method of Relation that asked, or "Destroy" for a parent that was
	// spared because of its children.
	Change string
	// Entity is what was to change: the child, or the parent whose list it is.
	Entity handle.Handle
	// Other is the parent, sibling or partner, if there was one.
	Other handle.Handle
	// Err is why.
	Err error
	// Path is that of a CycleError, from the entity down. It is good until the
	// next refresh.
	Path []handle.Handle
}

// refusals are what the last refresh refused, up to a limit.
type refusals struct {
	refused []Refusal
	paths   []handle.Handle
	stale   bool // they are of an earlier refresh
}

// Refused returns the requests that the last refresh refused, in order, as many as
// Options.Refusals allows.
func (r *Reader) Refused() []Refusal {
	if r.relation == nil {
		return nil
	}
	return r.relation.refused
}

// forget drops what earlier refreshes refused.
func (f *refusals) forget() {
	if f.stale {
		clear(f.refused)
		f.refused, f.paths, f.stale = f.refused[:0], f.paths[:0], false
	}
}

// apply is what a request does at the refresh. Its entity is alive and not dying.
func (r *Relation) apply(h handle.Handle, c *change) world.Outcome {
	r.forget()
	if c.to != handle.None && !r.w.Alive(c.to) {
		return world.Gone
	}
	err := r.change(h, c)
	switch {
	case err == nil:
		return world.Applied
	case err == ErrAbsent:
		return world.Missing
	}
	r.refuse(h, c, err)
	return world.Refused
}

// refuse remembers a refused request.
func (r *Relation) refuse(h handle.Handle, c *change, err error) {
	if len(r.refused) == r.options.Refusals {
		return
	}
	f := Refusal{Change: c.op.String(), Entity: h, Other: c.to, Err: err}
	if errors.Is(err, ErrCycle) {
		from := len(r.paths)
		r.paths = append(r.paths, r.tree.path...)
		f.Path = r.paths[from:len(r.paths):len(r.paths)]
	}
	r.refused = append(r.refused, f)
}
