package snapshot

import (
	"sync"
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
)

// memory is the source of a capture. It leaves out shards and rows: see copyShards.
type memory struct {
	c  *Captured
	at int // of the next part
}

func (m *memory) Begin() error { return nil }

// Next makes s the next section that is neither of a shard nor of rows.
func (m *memory) Next(s *format.Section) error {
	for ; m.at < len(m.c.parts); m.at++ {
		if kind := m.c.parts[m.at].Kind; kind != format.ShardSection && kind != format.RowsSection {
			*s = m.c.section(m.at)
			m.at++
			return nil
		}
	}
	*s = format.Section{Kind: format.EndSection, How: format.None, Sure: true}
	return nil
}

func (m *memory) Finish(*format.Section) error { return nil }

// chunkJob is a chunk whose rows are to be copied to another world.
type chunkJob struct {
	to    *store.Chunk
	shard int
	format.Place
}

// copyShards loads the captured shards. A goroutine that has made and cleared a chunk copies its
// components at once, while it is in the cache, unless another goroutine is idle.
func (l *loading) copyShards() error {
	workers := l.o.Workers
	var next, making atomic.Int64
	making.Store(int64(workers))
	spare := make(chan chunkJob) // for idle goroutines
	var wrong wrong
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			func() {
				defer func() {
					if making.Add(-1) == 0 {
						close(spare)
					}
				}()
				for i := next.Add(1) - 1; i < int64(l.w.Shards()) && !wrong.any.Load(); i = next.Add(1) - 1 {
					wrong.watch(i, func() error { return l.copyShard(int(i), spare, &wrong) })
				}
			}()
			for x := range spare {
				wrong.watch(int64(x.shard), func() error { return l.copyChunk(x) })
			}
		})
	}
	all.Wait()
	if err := wrong.first(); err != nil {
		return err
	}
	return l.placeRows()
}

// copyShard makes a shard and copies its chunks.
func (l *loading) copyShard(i int, spare chan<- chunkJob, wrong *wrong) error {
	s := l.from.shard(i)
	return l.shard(&s, &extend.Cursor{Rest: s.Body}, i, func(c *store.Chunk, table, chunk int) {
		x := chunkJob{c, i, format.Place{Table: table, Chunk: chunk}}
		select {
		case spare <- x:
		default:
			wrong.watch(int64(i), func() error { return l.copyChunk(x) })
		}
	})
}

// copyChunk loads the components of a captured chunk.
func (l *loading) copyChunk(x chunkJob) error {
	s := l.from.s
	t, from := &s.images[x.shard].Tables[x.Table], l.from.frozen.Chunk(x.shard, x.Table, x.Chunk)
	for at, id := range t.Components {
		own := &l.tables[x.shard][x.Table].columns[at]
		bytes, kept := s.kept[column{x.Place, x.shard, at}]
		if !kept {
			if s.names.components[id].rows == own.rows {
				x.to.FillColumn(own.to, from, at)
				continue
			}
			bytes = s.appendCells(nil, s.names.components[id].form, t.Chunks[x.Chunk].Columns[at])
		}
		c := extend.Cursor{Rest: bytes}
		err := l.values(&c, own.form, x.to.Cells(own.to))
		if err == nil {
			err = c.End()
		}
		if err != nil {
			return format.Altered("component %q: %w", own.Name, err)
		}
	}
	return nil
}

// placeRows loads the handles of all rows, once all shards have their slots.
func (l *loading) placeRows() error {
	var all []chunkJob
	for i := range l.from.s.images {
		for k := range l.from.s.images[i].Tables {
			for n := range l.from.s.images[i].Tables[k].Chunks {
				if l.from.s.images[i].Tables[k].Chunks[n].Rows > 0 {
					all = append(all, chunkJob{l.into.Chunk(i, k, n), i, format.Place{Table: k, Chunk: n}})
				}
			}
		}
	}
	l.into.Trust()
	return spread(l.o.Workers, len(all), func(i int) error {
		x := &all[i]
		l.tables[x.shard][x.Table].filled[x.Chunk].Store(true)
		return l.into.Fill(x.to, l.from.s.images[x.shard].Tables[x.Table].Chunks[x.Chunk].Handles)
	})
}
