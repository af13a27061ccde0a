package world

import (
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/store"
)

// CreateRows makes n entities where CreateN would, and calls init with each run of their rows, to
// be filled in with the accessors' Slice; Chunk.Handles returns the handles. The rows hold zeroes
// before init, and are alive after it. On an idle world, calls that would move rows panic within
// init. It is the fastest way to create many entities. It does not use PlaceBy, and is not for a
// *Port, which has no rows: use CreateN.
//
// On an error nothing is made; see CreateN.
func (b *Bundle[T]) CreateRows(by Actor, n int, init func(rows Chunk)) error {
	return b.core.createRows(by, n, init)
}

func (b *bundle) createRows(by Actor, n int, init func(rows Chunk)) error {
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
	_, err = b.spread(nil, by, parts, n, &fill{rows: init})
	return err
}

// fill says how new rows are filled in: by one of init and rows, or not at all.
type fill struct {
	of   *mem.Type                   // of the bundle
	init func(at mem.Address, n int) // fills in n bundles
	made *int                        // how many bundles init has filled in so far
	rows func(Chunk)
	want bool // the handles are wanted
}

// fillIn fills in rows, and appends their handles to dst if they are wanted.
func (p *bundlePart) fillIn(dst []handle.Handle, rows store.Rows, f *fill) []handle.Handle {
	switch {
	case f.init != nil:
		p.initRows(rows, f)
	case f.rows != nil:
		f.rows(Chunk(rows))
	}
	if f.want {
		dst = append(dst, rows.Handles()...)
	}
	return dst
}

// values fills in n bundles that may hold something already.
func (f *fill) values(at mem.Address, n int) {
	if f.init != nil {
		f.init(at, n)
	} else {
		f.of.Clear(at, n)
	}
}

// spread makes n entities in the shards of parts. Many are spread evenly; few are placed like
// single entities.
func (b *bundle) spread(dst []handle.Handle, by Actor, parts []bundlePart, n int, f *fill) ([]handle.Handle, error) {
	few := len(parts) > 1 && n < len(parts)*b.w.runLeast
	if err := b.mayMake(parts, n, few); err != nil {
		return dst, err
	}
	idle := false
	switch by := by.(type) {
	case *World:
		idle = true
		by.touched = by.touched || n > 0
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

// share is how many of n entities are in the first i of that many shards, if they are spread evenly.
func share(n, i, shards int) int { return int(int64(n) * int64(i) / int64(shards)) }

// mayMake returns an error unless there is room for n entities wherever spread will make them. In
// most worlds one comparison of indexes and one of chunks are enough.
func (b *bundle) mayMake(parts []bundlePart, n int, few bool) error {
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
// each shard how many go there, it counts chunks for the worst case.
func (b *bundle) mayTake(parts []bundlePart, n int, few bool) error {
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
// used up the room.
func (p *bundlePart) make(dst []handle.Handle, n int, f *fill) (to []handle.Handle, made int, err error) {
	if err := p.shard.Prepare(p.table, n); err != nil && errors.Is(err, ErrChunks) {
		return dst, 0, err
	}
	zero := f.init == nil && f.rows == nil // alive at once
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

// initRows calls init for the rows, and stores what it filled in, even if it panics.
func (p *bundlePart) initRows(rows store.Rows, f *fill) {
	values, room := p.values, min(max(1, valuesBytes/max(1, int(p.of.Size))), 256)
	if p.values = nil; values == nil { // nil: init creates from the same bundle
		values = p.of.New(room)
	}
	at, before := 0, *f.made
	defer func() {
		p.writeRows(rows, at, values, *f.made-before-at) // if init panicked, only those that it filled in
		if !p.of.Plain {
			p.of.Clear(values, room) // so that they keep nothing alive
		}
		p.values = values
	}()
	for at < rows.Len() {
		n := min(room, rows.Len()-at)
		f.init(values, n)
		p.writeRows(rows, at, values, n)
		at += n
	}
}

// writeRows stores n values in as many of the rows, from number at on.
func (p *bundlePart) writeRows(rows store.Rows, at int, values mem.Address, n int) {
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
func (p *bundlePart) fill(dst []handle.Handle, rows store.Rows, f *fill) []handle.Handle {
	defer p.shard.PublishRows(rows)
	return p.fillIn(dst, rows, f)
}
