package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/atoll-sim/atoll/ext/reference"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/extend/remap"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/world"
)

// insertGroup is the rows for one table.
type insertGroup struct {
	shard   *store.Shard
	set     store.Set
	runs    []insertRun
	rows    int
	handles []handle.Handle // the new ones
	values  []mem.Cells     // of the components, by column
}

// insertRun is some rows of a chunk of the piece.
type insertRun struct {
	chunk    *store.Chunk
	from, to int
}

// plan finds the entities, their tables in the world, and their new handles.
func (x *insertion) plan() error {
	runs, err := x.runs()
	if err != nil {
		return err
	}
	type key struct {
		shard int
		set   store.Set
	}
	groups, homes := map[key]*insertGroup{}, x.to.Space().Homes()-1
	for _, r := range runs {
		k := key{shard: (r.chunk.Table().Shard().ID() + x.o.Shard) % homes}
		for _, id := range r.chunk.Table().Components() {
			own, err := x.component(id)
			if err != nil {
				return err
			}
			k.set.Add(own)
		}
		g := groups[k]
		if g == nil {
			g = &insertGroup{shard: x.own.Shard(k.shard), set: k.set}
			groups[k] = g
			x.groups = append(x.groups, g)
		}
		g.runs = append(g.runs, r)
		g.rows += r.to - r.from
	}
	return nil
}

// runs returns the rows of the entities to insert, in the order of the piece's shards.
func (x *insertion) runs() (runs []insertRun, err error) {
	if x.o.Roots == nil {
		for i := range x.from.Space().Homes() - 1 {
			for _, t := range x.other.Shard(i).Tables() {
				for _, c := range t.Chunks() {
					if n := len(c.Handles()); n > 0 {
						runs = append(runs, insertRun{c, 0, n})
					}
				}
			}
		}
		return runs, nil
	}
	all, seen := slices.Clone(x.o.Roots), map[handle.Handle]bool{}
	for i := 0; i < len(all); i++ {
		h := all[i]
		l := x.from.Space().Locate(h)
		if l == 0 {
			return nil, fmt.Errorf("%w: %v of InsertOptions.Roots", world.ErrStale, h)
		}
		if seen[h] {
			continue
		}
		seen[h] = true
		c, row := x.from.Space().At(l)
		runs = append(runs, insertRun{c, row, row + 1})
		for _, e := range x.other.Extensions() {
			if e, ok := e.(extend.Insertable); ok {
				all = e.AppendFollowers(all, h)
			}
		}
	}
	slices.SortFunc(runs, func(a, b insertRun) int {
		s, t := a.chunk.Table(), b.chunk.Table()
		return cmp.Or(cmp.Compare(s.Shard().ID(), t.Shard().ID()), cmp.Compare(s.Serial(), t.Serial()),
			cmp.Compare(a.chunk.Order(), b.chunk.Order()), cmp.Compare(a.from, b.from))
	})
	return runs, nil
}

// component returns the world's number of a component of the piece.
func (x *insertion) component(id int) (int, error) {
	if x.components[id] == -1 {
		n := x.other.Components()[id]
		at := slices.IndexFunc(x.own.Components(), func(own extend.Named) bool { return own.Name == n.Name })
		switch {
		case at < 0:
			return 0, format.OtherWorld("component %q (%v) of the piece is not in the world; register it, or remove it from the piece", n.Name, n.Type)
		case x.own.Components()[at].Type != n.Type:
			return 0, format.OtherWorld("component %q is a %v in the piece, and a %v in the world", n.Name, n.Type, x.own.Components()[at].Type)
		}
		if remap.Holds(n.Type, ownerType) {
			return 0, fmt.Errorf("snapshot: Insert: component %q: %w", n.Name, remap.ErrOwner)
		}
		x.components[id] = at
	}
	return x.components[id], nil
}

// number checks that there is room, and finds the new handles.
func (x *insertion) number() error {
	byShard, chunks := make([]int, x.to.Space().Homes()-1), 0
	for _, g := range x.groups {
		byShard[g.shard.ID()] += g.rows
		chunks += g.shard.ChunksFor(g.set, g.rows)
	}
	if left := x.to.Space().ChunksLeft(); chunks > left {
		return fmt.Errorf("%w: the piece needs %d, and %d are left; with a higher ChunkRowsMax each holds more", world.ErrChunks, chunks, left)
	}
	next, all := make([][]handle.Handle, len(byShard)), 0
	for i, n := range byShard {
		var err error
		if next[i], err = x.own.Shard(i).AppendNext(nil, n); err != nil {
			return fmt.Errorf("%w; the piece needs %d there", err, n)
		}
		all += n
	}
	x.made = &Inserted{old: make([]handle.Handle, 0, all), to: make(map[handle.Handle]handle.Handle, all)}
	for _, g := range x.groups {
		of := &next[g.shard.ID()]
		g.handles, *of = (*of)[:g.rows], (*of)[g.rows:]
		at := 0
		for _, r := range g.runs {
			for _, old := range r.chunk.Handles()[r.from:r.to] {
				x.made.old = append(x.made.old, old)
				x.made.to[old] = g.handles[at]
				at++
			}
		}
	}
	return nil
}

// copy copies the components.
func (x *insertion) copy() (err error) {
	name := ""
	defer func() {
		var failed *extend.CodecError
		v := recover()
		if e, ok := v.(error); ok && errors.As(e, &failed) {
			err = e
		} else if v != nil {
			panic(v)
		}
		if err != nil {
			err = fmt.Errorf("snapshot: Insert: component %q: %w", name, err)
		}
	}()
	for _, g := range x.groups {
		for id := range g.set.All {
			name = x.own.Components()[id].Name
			values := x.to.Space().Values(id, g.rows)
			if err := x.copyColumn(g, slices.Index(x.components, id), values); err != nil {
				return err
			}
			x.to.Space().TypeOf(id).ClearSingles(values.Part(0).Address, g.rows)
			g.values = append(g.values, values)
		}
	}
	return nil
}

// copyColumn copies a component of the piece.
func (x *insertion) copyColumn(g *insertGroup, component int, to mem.Cells) (err error) {
	var form extend.Form
	if !x.other.Copied(component) {
		if form, err = extend.FormOf(x.o.Codecs, to.Type, true); err != nil {
			return err
		}
	}
	at := 0
	var bytes []byte
	for _, r := range g.runs {
		column, n := slices.Index(r.chunk.Table().Components(), component), r.to-r.from
		if form == nil {
			r.chunk.CopyValues(column, to, at, r.from, n)
		} else {
			bytes = form.AppendAll(bytes[:0], r.chunk.Cells(column).Slice(r.from, n))
			if _, err := form.ReadAll(bytes, to.Slice(at, n)); err != nil {
				return err
			}
		}
		at += n
	}
	return nil
}

// ownerType is a type that Insert refuses.
var ownerType = reflect.TypeFor[reference.Owner]()

// rewrite replaces the handles in the copies.
func (x *insertion) rewrite() (err error) {
	m := remap.New(x.to.Liveness(), ownerType, func(old handle.Handle) (handle.Handle, bool) {
		now, ok := x.made.to[old]
		return now, ok
	})
	var what reflect.Type
	defer func() {
		x.made.Cut = m.Cut
		switch v := recover(); v {
		case nil:
		case remap.ErrDeep, remap.ErrOwner:
			err = fmt.Errorf("snapshot: Insert: a component of type %v: %w", what, v.(error))
		default:
			panic(v)
		}
	}()
	for _, g := range x.groups {
		for _, values := range g.values {
			what = values.Type
			f, size := m.Of(what), what.Size()
			if f == nil {
				continue
			}
			for i := range g.rows {
				f(values.Part(0).At(i, size).Address)
			}
		}
	}
	return nil
}

// insert makes the entities.
func (g *insertGroup) insert() {
	t, at := g.shard.Table(g.set), 0
	_ = g.shard.Prepare(t, g.rows) // there is room
	var made []store.Rows
	for at < g.rows {
		rows, err := g.shard.CreateRows(t, g.rows-at, false)
		if err != nil || !slices.Equal(rows.Handles(), g.handles[at:at+rows.Len()]) {
			panic(fmt.Sprintf("snapshot: Insert: the world has given other handles than it was going to (%v)", err))
		}
		for i, values := range g.values {
			rows.PutValues(i, values, at)
		}
		g.shard.PublishRows(rows)
		made = append(made, rows)
		at += rows.Len()
	}
	g.insertFlags(made)
}

// insertFlags gives the entities their flags in the piece.
func (g *insertGroup) insertFlags(made []store.Rows) {
	at := 0 // in the first of made
	for _, r := range g.runs {
		for row := r.from; row < r.to; row++ {
			if at == made[0].Len() {
				made, at = made[1:], 0
			}
			if f := r.chunk.FlagsAt(row); f != 0 {
				made[0].SetFlags(at, f)
			}
			at++
		}
	}
}
