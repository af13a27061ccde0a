package engine

import (
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/store"
)

// AppendN makes n entities, filled in as f says, and appends their handles if those are wanted: at
// once or, for a port, by one request. An error leaves dst as it was and nothing made, unless f has
// used up the room: then it says how many were made, and dst has them.
func (b *Bundle) AppendN(dst []handle.Handle, by Self, n int, f *Fill) ([]handle.Handle, error) {
	f.of = b.of
	if n < 0 {
		turnDownBy(by)
		panic(fmt.Sprintf("world: bundle %s: cannot create %d entities; want 0 or more", b.name, n))
	}
	switch by := by.(type) {
	case *Port:
		b.check(by, createNCall(f.Want))
		return by.createN(b, dst, n, f)
	}
	parts, err := b.mayCreateN(by, createNCall(f.Want))
	switch {
	case err != nil:
		return dst, err
	case b.place != nil && len(parts) > 1:
		return b.appendPlaced(dst, by, n, f)
	}
	return b.spread(dst, by, parts, n, f)
}

// appendPlaced is AppendN if PlaceBy chooses the shard of each entity: for an actor that has all
// shards, the idle world or a global system. It fills in and places all before it makes the first.
// After an error no entity was made.
func (b *Bundle) appendPlaced(dst []handle.Handle, by Self, n int, f *Fill) ([]handle.Handle, error) {
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
		p, how, err := b.Where(by, func() int { return int(shard) })
		if err == nil {
			b.of.Copy(p.Scratch.Address, b.of.At(values, i), 1)
			var h handle.Handle
			if h, err = b.CreateFrom(p, how); f.Want {
				dst = append(dst, h)
			}
		}
		if err != nil {
			panic(fmt.Sprintf("world: bundle %s has less room than there was: %v", b.name, err))
		}
	}
	return dst, nil
}

// mayCreateN returns the parts of the shards in which the actor creates: one, or all. It returns
// the error of a closed world, and panics at another wrong time.
func (b *Bundle) mayCreateN(by Self, call string) ([]BundlePart, error) {
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
	panic(notFor(by, call))
}

// createNCall returns the name of the call: AppendN if handles are wanted, else CreateN.
func createNCall(want bool) string {
	if want {
		return "Bundle.AppendN"
	}
	return "Bundle.CreateN"
}

// CreateRows makes n entities at once, and calls init with each run of their rows. It is not for a
// *Port. An error leaves nothing made, unless init has used up the room: then it says how many were
// made.
func (b *Bundle) CreateRows(by Self, n int, init func(rows Chunk)) error {
	const call = "Bundle.CreateRows"
	if n < 0 {
		panic(fmt.Sprintf("world: bundle %s: cannot create %d entities; want 0 or more", b.name, n))
	}
	if init == nil {
		panic(fmt.Sprintf("world: bundle %s: %s with a nil init; use Bundle.CreateN, which needs none", b.name, call))
	}
	if p, ok := by.(*Port); ok {
		turnDownBy(p)
		panic(fmt.Sprintf("world: bundle %s: %s by a *Port, which has no rows; use Bundle.CreateN", b.name, call))
	}
	parts, err := b.mayCreateN(by, call)
	if err != nil {
		return err
	}
	_, err = b.spread(nil, by, parts, n, &Fill{Rows: init})
	return err
}

// Fill says how new rows are filled in: by one of Init and Rows, or not at all.
type Fill struct {
	Init func(at mem.Address, n int) // fills in n bundles
	Made *int                        // how many bundles Init has filled in so far
	Rows func(Chunk)
	Want bool // the handles are wanted

	of *mem.Type // of the bundle
}

// fillIn fills in rows as f says, and appends their handles to dst if they are wanted. f may panic:
// see fill and initRows.
func (p *BundlePart) fillIn(dst []handle.Handle, rows store.Rows, f *Fill) []handle.Handle {
	switch {
	case f.Init != nil:
		p.initRows(rows, f)
	case f.Rows != nil:
		f.Rows(Chunk(rows))
	}
	if f.Want {
		dst = append(dst, rows.Handles()...)
	}
	return dst
}

// values fills in n bundles at an address, which may hold something already, by Init or with zeros.
// Init runs on this goroutine, and may panic.
func (f *Fill) values(at mem.Address, n int) {
	if f.Init != nil {
		f.Init(at, n)
	} else {
		f.of.Clear(at, n)
	}
}

// spread makes n entities in the shards of parts, which the actor has. Many are spread evenly; few
// are placed like single entities. After an error of mayMake nothing was made; after a later one,
// dst has the entities that were.
func (b *Bundle) spread(dst []handle.Handle, by Self, parts []BundlePart, n int, f *Fill) ([]handle.Handle, error) {
	few := len(parts) > 1 && n < len(parts)*b.w.runLeast
	if err := b.mayMake(parts, n, few); err != nil {
		return dst, err
	}
	idle := false
	switch by := by.(type) {
	case *World:
		idle = true
		if n > 0 {
			by.Touched()
		}
		by.open++ // fill must not move rows
		by.filling++
		defer by.closeFill()
	case *EntityContext:
		s := parts[0].shard
		s.Loop = max(s.Loop, b.w.loop) // an idle world may be in a loop
	}
	made, full := 0, 0 // how many shards in a row had no index left
	for i := 0; made < n; i = (i + 1) % len(parts) {
		end := n
		switch {
		case full > 0: // the next shard that has room takes the turn
			if few {
				b.w.cursor = i
			}
		case few:
			if b.w.run == 0 {
				b.w.nextShard()
			}
			i, end = b.w.cursor, min(n, made+b.w.run)
			b.w.run -= end - made // before the calls below, which may create, too
		default:
			end = share(n, i+1, len(parts))
		}
		p := &parts[i]
		if idle {
			p.shard.Loop = b.w.loop
		}
		var k int
		var err error
		dst, k, err = p.make(dst, end-made, f)
		made += k
		switch full++; {
		case err == nil:
			full = 0
		case !errors.Is(err, ErrIndexes) || full == len(parts):
			return dst, after(err, made, n)
		}
	}
	return dst, nil
}

// share is how many of n entities are in the first i of that many shards, if they are spread
// evenly.
func share(n, i, shards int) int { return int(int64(n) * int64(i) / int64(shards)) }

// mayMake returns an error unless there is room for n entities wherever spread will make them. In
// most worlds one comparison of indexes and one of chunks are enough.
func (b *Bundle) mayMake(parts []BundlePart, n int, few bool) error {
	left := 0
	for i := 0; i < len(parts) && left < n; i++ {
		left += parts[i].shard.Left()
	}
	switch {
	case left < n && len(parts) == 1:
		return parts[0].shard.CheckLeft(n)
	case left < n:
		return fmt.Errorf("%w: all shards have %d left, of IndexMax = %d for each; %d are wanted", ErrIndexes, left, b.w.options.IndexMax, n)
	case len(parts) == 1 || b.w.space.HasChunks(n): // making them begins with room for all in the only shard
		return nil
	}
	return b.mayTake(parts, n, few)
}

// mayTake is mayMake for a world that is almost out of chunks. Where it depends on what there is in
// each shard how many go there, it counts chunks for the worst case. It changes nothing.
func (b *Bundle) mayTake(parts []BundlePart, n int, few bool) error {
	due := func(i int) int { return share(n, i+1, len(parts)) - share(n, i, len(parts)) }
	even := !few
	for i := range parts {
		even = even && parts[i].shard.Left() >= due(i)
	}
	chunks := 0
	for i := range parts {
		p, most := &parts[i], due(i)
		if !even {
			most = min(n, p.shard.Left())
		}
		chunks += p.table.Needs(most)
	}
	return b.w.space.CheckChunks(chunks)
}

// make makes n entities in the shard, and returns how many it could make: fewer only if init has
// used up the room. These stay.
func (p *BundlePart) make(dst []handle.Handle, n int, f *Fill) (to []handle.Handle, made int, err error) {
	if err := p.shard.Prepare(p.table, n); err != nil && errors.Is(err, ErrChunks) {
		return dst, 0, err
	}
	zero := f.Init == nil && f.Rows == nil // alive at once
	for made < n {
		rows, err := p.shard.CreateRows(p.table, n-made, zero)
		if err != nil {
			return dst, made, err
		}
		made += rows.Len()
		if zero {
			dst = p.fillIn(dst, rows, f)
		} else {
			dst = p.fill(dst, rows, f)
		}
	}
	return dst, made, nil
}

// valuesBytes is the size of the values that CreateN fills in before it stores them: they stay in
// the first-level cache. If each were stored alone, the processor would read it right after the
// stores that made it, in pieces of another size, which it cannot forward.
const valuesBytes = 2 << 10

// initRows calls init for the rows, some at a time, and stores what it filled in, even if it
// panics.
func (p *BundlePart) initRows(rows store.Rows, f *Fill) {
	values, room := p.values, min(max(1, valuesBytes/max(1, int(p.of.Size))), 256)
	if p.values = nil; values == nil { // nil: init creates from the same bundle
		values = p.of.New(room)
	}
	at, before := 0, *f.Made
	defer func() {
		p.writeRows(rows, at, values, *f.Made-before-at) // if init panicked, only those that it filled in
		if !p.of.Plain {
			p.of.Clear(values, room) // so that they keep nothing alive
		}
		p.values = values
	}()
	for at < rows.Len() {
		n := min(room, rows.Len()-at)
		f.Init(values, n)
		p.writeRows(rows, at, values, n)
		at += n
	}
}

// writeRows stores n values in as many of the rows, from number at on. They are not alive yet.
func (p *BundlePart) writeRows(rows store.Rows, at int, values mem.Address, n int) {
	if p.of.Plain {
		store.StorePlainRows(rows, at, p.fields.All, values, p.of.Size, n)
		return
	}
	for k := range n {
		store.Store(rows.Atom(at+k), p.fields.All, p.of.At(values, k))
	}
}

// fill fills in the rows and makes them alive, even if filling them in panics, because they are in
// the table already.
func (p *BundlePart) fill(dst []handle.Handle, rows store.Rows, f *Fill) []handle.Handle {
	defer p.shard.PublishRows(rows)
	return p.fillIn(dst, rows, f)
}
