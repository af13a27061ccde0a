package world

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
)

// CreateN makes n entities; init, if not nil, fills in each from the zero T. init is called by the
// calling goroutine, in the order of i. A *World places few entities as Create does, and spreads
// many evenly over its shards, unless there is a PlaceBy. A *Port sends them in one step, in runs of
// 16 or more for a shard; init must not use the port. On an error nothing is made or sent: there
// must be room for all n. It returns the errors of Create, and for a *Port ErrTooLarge if a queue
// never has room for n. It panics if n is negative. If init creates entities itself, it may use up
// that room: then those before the error are made, and the error says how many. If init panics, the
// entities that a *World or a system made before it stay.
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
	values, to, due := b.of.New(n), make([]int32, n), make([]int, len(b.parts))
	for i := range n {
		v := b.of.At(values, i)
		f.values(v, 1)
		shard, err := b.placed(func() int { return b.place(v) })
		if err != nil {
			return dst, fmt.Errorf("%w (entity %d of %d; none is made)", err, i+1, n)
		}
		to[i] = int32(shard)
		due[shard]++
	}
	chunks := 0
	for i, n := range due {
		p := &b.parts[i]
		if err := p.shard.CheckLeft(n); err != nil {
			return dst, err
		}
		chunks += p.table.Needs(n)
	}
	if err := b.w.space.CheckChunks(chunks); err != nil {
		return dst, err
	}
	for i, n := range due {
		if err := b.parts[i].shard.Prepare(b.parts[i].table, n); err != nil {
			return dst, err
		}
	}
	for i, shard := range to {
		p, how, err := b.where(by, func() int { return int(shard) })
		if err == nil {
			b.of.Copy(p.scratch.Address, b.of.At(values, i), 1)
			var h handle.Handle
			if h, err = b.createFrom(p, how); f.want {
				dst = append(dst, h)
			}
		}
		if err != nil {
			panic(fmt.Sprintf("world: bundle %s has less room than there was: %v", b.name, err))
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
