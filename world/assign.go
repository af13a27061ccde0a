package world

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// assigner applies a request to Set a bundle at the refresh.
type assigner struct{ b *bundle }

// Set stores all of the bundle's components in an entity that has them, in one step; the entity's
// other components stay. Unlike Add it never moves the entity. So a *Context does it at once in its
// own shard; it must have asked its Build to Write the components. Other actors do it as in
// Component.Set.
//
// It returns ErrMissing, and stores nothing, if the entity is known to lack one of them;
// ErrStale if it is known not to be alive; ErrFull if the request was not accepted.
func (b *Bundle[T]) Set(by Actor, h handle.Handle, v T) error {
	x, p, l, err := b.core.assign(by, h)
	if err != nil {
		return err
	}
	if p != nil && b.core.plain {
		return b.core.assignPlain(p, l, mem.PointerTo(&v).Address)
	}
	*mem.As[T](x.to) = v
	if p == nil {
		x.done()
		return nil
	}
	return b.core.assignFrom(p, l)
}

// assign accepts a request, or returns the arguments of assignFrom, with the place for the bundle.
func (b *bundle) assign(by Actor, h handle.Handle) (x sending, p *bundlePart, l slots.Loc, err error) {
	b.check(by, "Bundle.Set")
	switch by := by.(type) {
	case *World:
		if err := by.ready("Bundle.Set by the World"); err != nil {
			return x, nil, 0, err
		}
		if l = by.lookup.Locate(h); l == 0 {
			return x, nil, 0, ErrStale
		}
		if !by.space.Set(l).Contains(&b.set) {
			return x, nil, 0, ErrMissing
		}
		by.touched = true
		p = b.part(by.shardOf(l))
	case *Context:
		by.mustRun("Bundle.Set")
		l = by.w.space.Locate(h)
		if l != 0 && by.owns(l) {
			for id := range b.set.All {
				by.mustWrite(id, "Bundle.Set")
			}
			p = b.part(by.w.shardOf(l))
		}
	case *EntityContext:
		if l = by.mustRun("Bundle.Set"); h == by.h {
			p = b.part(by.c.shard)
		}
	}
	if p != nil {
		return sending{to: p.scratch}, p, l, nil
	}
	x, err = request(by, "Bundle.Set", &b.setting, h)
	return x, nil, 0, err
}

// assignFrom sets an entity to what its caller has stored in the part, at once.
func (b *bundle) assignFrom(p *bundlePart, l slots.Loc) error {
	err := b.assignAt(p.shard, l, p.scratch)
	p.forget()
	return err
}

func (b *bundle) assignAt(s *store.Shard, l slots.Loc, v mem.Pointer) error {
	a, err := b.atomAt(s, l)
	if err == nil {
		b.write(s, a, v)
		b.w.space.NoteAllStored(l, b.set)
	}
	return err
}

// assignPlain is assignFrom for a bundle without pointers, which may be on the stack.
func (b *bundle) assignPlain(p *bundlePart, l slots.Loc, v mem.Address) error {
	a, err := b.atomAt(p.shard, l)
	if err == nil {
		store.StorePlain(a, b.fieldsAt(p.shard, a), v)
		b.w.space.NoteAllStored(l, b.set)
	}
	return err
}

// atomAt returns the atom at l, if it has the bundle's components.
func (b *bundle) atomAt(s *store.Shard, l slots.Loc) (store.Atom, error) {
	set := b.w.space.Set(l)
	if !set.Contains(&b.set) {
		return store.Atom{}, ErrMissing
	}
	return s.Change(l, *set) // to the components it has already, so the row does not move
}

func (a assigner) Apply(s *store.Shard, _ handle.Handle, l slots.Loc, v mem.Pointer) queue.Outcome {
	return outcomeOf(a.b.assignAt(s, l, v))
}

// ApplyRun implements store.Runner.
func (a assigner) ApplyRun(s *store.Shard, of store.Adjacent) (applied int) {
	if set := of.Table().Set(); !set.Contains(&a.b.set) {
		return 0
	}
	a.b.putRun(s, of)
	of.NoteAllStored(a.b.set)
	return of.Applied()
}

// fieldsOf returns the fields of the bundle in a table.
func (b *bundle) fieldsOf(s *store.Shard, t *store.Table) []store.Field {
	p := b.part(s)
	if t == p.table {
		return p.fields.All
	}
	return t.FieldsOf(b.creating.Number(), p.fields.All)
}

// putRun stores the payloads of requests in the rows of their atoms, as write does.
func (b *bundle) putRun(s *store.Shard, of store.Adjacent) {
	of.PutFields(b.fieldsOf(s, of.Table()), b.plain)
}
