package world

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
)

// CreateN makes n entities; init, if not nil, fills in each from the zero T. init is called by the
// calling goroutine, in the order of i. A *World places few entities as Create does, and spreads
// many evenly over its shards, unless there is a PlaceBy. A *Port sends them in one step, all or
// none, in runs of 16 or more for a shard; init must not use the port. With any other actor, the
// entities before an error are made, and the error says how many. The errors are those of Create,
// and for a *Port ErrTooLarge if a queue never has room for n. It panics if n is negative.
//
// For many entities CreateN costs half as much as n calls of Create, and without init a sixth.
// CreateRows costs a third.
func (b *Bundle[T]) CreateN(by Actor, n int, init func(i int, v *T)) error {
	_, err := b.appendN(nil, false, by, n, init)
	return err
}

// AppendN is CreateN that also appends the handles to dst.
func (b *Bundle[T]) AppendN(dst []handle.Handle, by Actor, n int, init func(i int, v *T)) ([]handle.Handle, error) {
	return b.appendN(dst, true, by, n, init)
}

func (b *Bundle[T]) appendN(dst []handle.Handle, want bool, by Actor, n int, init func(i int, v *T)) ([]handle.Handle, error) {
	f, made := fill{of: b.core.of, want: want}, 0
	if init != nil {
		f.made, f.init = &made, func(at mem.Address, n int) {
			values := mem.Slice[T](at, n)
			for i := range values {
				values[i] = *new(T)
				init(made, &values[i])
				made++
			}
		}
	}
	return b.core.appendN(dst, by, n, &f)
}

func (b *bundle) appendN(dst []handle.Handle, by Actor, n int, f *fill) ([]handle.Handle, error) {
	if n < 0 {
		turnDownBy(by)
		panic(fmt.Sprintf("world: bundle %s: cannot create %d entities; want 0 or more", b.name, n))
	}
	switch by := by.(type) {
	case *Port:
		b.check(by, createNCall(f.want))
		return by.createN(b, dst, n, f)
	}
	parts, err := b.mayCreateN(by, createNCall(f.want))
	switch {
	case err != nil:
		return dst, err
	case b.place != nil && len(parts) > 1:
		return b.appendPlaced(dst, by, n, f)
	}
	return b.spread(dst, by, parts, n, f)
}

// appendPlaced is appendN if PlaceBy chooses the shard of each entity: for an actor that has all
// shards, the idle world or a global system.
func (b *bundle) appendPlaced(dst []handle.Handle, by Actor, n int, f *fill) ([]handle.Handle, error) {
	v := b.of.New(1)
	for i := range n {
		f.values(v, 1)
		h := handle.None
		p, how, err := b.where(by, func() int { return b.place(v) })
		if err == nil {
			b.of.Copy(p.scratch.Address, v, 1)
			h, err = b.createFrom(p, how)
		}
		if err != nil {
			return dst, after(err, i, n)
		}
		if f.want {
			dst = append(dst, h)
		}
	}
	return dst, nil
}

// mayCreateN returns the parts of the shards in which the actor creates: one, or all. It refuses
// a call at the wrong time.
func (b *bundle) mayCreateN(by Actor, call string) ([]bundlePart, error) {
	b.check(by, call)
	switch by := by.(type) {
	case *World:
		if by.phase.Load() != phaseIdle {
			return nil, by.unready(call + " by the World")
		}
		return b.parts, nil
	case *Context:
		by.mustCreate(call, b.w, &b.set, "bundle", b.name)
		if s := by.shard; s != nil {
			return b.parts[s.ID() : s.ID()+1], nil
		}
		return b.parts, nil
	case *EntityContext:
		by.mustRun(call)
		i := by.c.shard.ID()
		return b.parts[i : i+1], nil
	}
	panic(embedded(by, call))
}

// createNCall returns the name of the call: AppendN if handles are wanted, else CreateN.
func createNCall(want bool) string {
	if want {
		return "Bundle.AppendN"
	}
	return "Bundle.CreateN"
}
