package snapshot

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
)

// This file loads a world into another number of shards. Homes stay as they are, with all their slots;
// the rows of all shards are put in one sequence for each set of components, which is cut anew.

// reshards reports whether this world has another number of shards than the saved one.
func (l *loading) reshards() bool { return l.shardCount != l.w.Shards() }

// planShards checks the number of shards and homes of the saved world, and adds what blocks a load. An
// error says that no world has them.
func (l *loading) planShards(list []Difference) ([]Difference, error) {
	n, homes := l.head.Options.Shards, l.head.Homes()
	if n < 1 || n > handle.HomeMax || homes.Homes <= n || homes.Homes > handle.HomeMax+1 {
		return list, format.Altered("it has %d shards and %d homes", n, homes.Homes)
	}
	switch err := engine.Of(l.w).Space().MayHave(homes); {
	case errors.Is(err, slots.ErrHomes):
		list = append(list, Difference{Kind: "homes", Was: strconv.Itoa(homes.Homes), Text: err.Error(), Blocks: true})
	case err != nil:
		return list, format.Altered("%w", err)
	}
	return list, nil
}

// spreadState makes the state of the world one of this number of shards, if that differs.
func (l *loading) spreadState(x *extend.State) {
	if !l.reshards() {
		return
	}
	own := l.w.Shards()
	x.Shard, x.Run = x.Shard%own, 0
	x.Moves++ // whatever is noted of an entity may be in another shard
	x.Misrouted = true
	for i, on := range x.Hooks {
		if len(on) != l.shardCount {
			continue // the load refuses it
		}
		is := make([]bool, own)
		for k := range is {
			is[k] = true
		}
		extend.Spread(len(on), own, func(from, to int) { is[to] = is[to] && on[from] })
		x.Hooks[i] = is
	}
}

// reshard makes the shards of this world from the images of the saved ones, if their number differs. An
// error ends the load.
func (l *loading) reshard() error {
	if !l.reshards() {
		return nil
	}
	groups, total, err := l.groups()
	if err != nil {
		return err
	}
	own := make([]store.Image, l.w.Shards())
	parts, single := l.into.Spread(total), 0
	bytes := int64(0)
	for _, g := range groups {
		rows := len(g.merged.handles)
		for part := range parts {
			shard, n := part, rows*(part+1)/parts-rows*part/parts
			if rows < parts { // each to the next shard
				if n = 0; part < rows {
					n = 1
				}
				shard = (single + part) % parts
			}
			if n == 0 {
				continue
			}
			caps, err := l.into.ChunkRows(g.parts[0].from.Components, n)
			if err != nil {
				return err
			}
			var rooms []room
			for _, most := range caps {
				rooms = append(rooms, room{min(n, most), most, false})
				n -= most
				bytes += format.BytesOfChunk + g.row*int64(most)
			}
			if bytes += format.BytesOfTable; bytes > l.bytesMax(0) {
				return fmt.Errorf("%w: rows take %d bytes, with BytesMax = %d", ErrTooLarge, bytes, l.bytesMax(0))
			}
			to := &own[shard]
			to.Tables = append(to.Tables, g.merged.table(g.parts, shard, len(to.Tables), rooms, uint32(l.head.Tick)))
		}
		if rows < parts {
			single += rows
		}
		if err := g.merged.bits(g.parts); err != nil {
			return format.Altered("%w", err)
		}
		l.merged = append(l.merged, g.merged)
	}
	l.spreadNotes(own)
	l.images = nil
	return spread(l.o.Workers, len(own), func(i int) error {
		if err := l.into.Shard(i, own[i], nil); err != nil {
			return format.Altered("shard %d: %w", i, err)
		}
		return nil
	})
}

// tableGroup is all tables of the snapshot that have the same components in this world.
type tableGroup struct {
	merged *mergedTable
	parts  []tablePart
	row    int64 // bytes of a row
}

// groups puts all tables in groups, in the order of the shards, and returns how many rows all have. An
// error ends the load.
func (l *loading) groups() (all []*tableGroup, rows int, err error) {
	known := map[string]*tableGroup{}
	for i := range l.images {
		for k := range l.images[i].Tables {
			t := &l.images[i].Tables[k]
			key := fmt.Sprint(t.Components)
			g := known[key]
			if g == nil {
				g = &tableGroup{merged: new(mergedTable), row: 8}
				for _, id := range t.Components {
					g.row += int64(l.own.Components[id].Of.Size())
				}
				known[key] = g
				all = append(all, g)
			}
			g.parts = append(g.parts, tablePart{&l.tables[i][k], t})
		}
	}
	for _, g := range all {
		n, err := g.merged.gather(g.parts)
		if err != nil {
			return nil, 0, format.Altered("%w", err)
		}
		rows += n
	}
	return all, rows, nil
}

// spreadNotes gives the new shards the notes for hooks, wherever the entities are: the next refresh
// gathers them. It lists the marked rows, in the order of tables.
func (l *loading) spreadNotes(own []store.Image) {
	for i := range l.images {
		from, to := &l.images[i], &own[i%len(own)]
		to.Created = append(to.Created, from.Created...)
		to.Changes = append(to.Changes, from.Changes...)
		to.Stored = append(to.Stored, from.Stored...)
	}
	for i := range own {
		for k := range own[i].Tables {
			m := store.MarkedTable{Table: k}
			for at := range own[i].Tables[k].Chunks {
				if len(own[i].Tables[k].Chunks[at].Marks) > 0 {
					m.Chunks = append(m.Chunks, at)
				}
			}
			if len(m.Chunks) > 0 {
				own[i].Marked = append(own[i].Marked, m)
			}
		}
	}
}

// copyAnew is copyShards into another number of shards. An error ends the load.
func (l *loading) copyAnew() error {
	for i := range l.shardCount {
		s := l.from.shard(i)
		if err := l.shard(&s, &extend.Cursor{Rest: s.Body}, i, nil); err != nil {
			return err
		}
	}
	if err := l.reshard(); err != nil {
		return err
	}
	var all []chunkJob
	for i := range l.from.s.images {
		for p := range format.ChunksOf(&l.from.s.images[i]) {
			all = append(all, chunkJob{nil, i, p})
		}
	}
	if err := spread(l.o.Workers, len(all), func(i int) error {
		x := &all[i]
		p := &l.tables[x.shard][x.Table]
		p.filled[x.Chunk].Store(true)
		copy(p.merged.handles[p.first[x.Chunk]:], l.from.s.images[x.shard].Tables[x.Table].Chunks[x.Chunk].Handles)
		return l.copyChunk(*x)
	}); err != nil {
		return err
	}
	l.into.Trust()
	return l.fillMerged()
}
