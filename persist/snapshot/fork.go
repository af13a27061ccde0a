package snapshot

import (
	"sync"
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/world"
)

// Load loads what was captured into a new world, a fork. It has the effect of Save and the function
// Load, but writes nothing. Components are copied on o.Workers goroutines as frames copy them, by
// world.Component.CloneBy if they have one. Components without it, of which a plain copy would
// share something, are encoded and decoded. The fork shares nothing with the captured world, nor
// with other forks, and continues as that world would have. As the function Load, it calls no hooks
// for what it loads. Load may be called as often as needed,
// and by several goroutines at once for a world each, if the functions of o allow that.
//
// The requirements for the new world and for o, and the errors, are those of the function Load,
// except that no component can be dropped. It returns world.ErrClosed after Release.
func (c *Captured) Load(w *world.World, o Options) error {
	if c.parts == nil {
		return world.ErrClosed
	}
	return load(&memory{parts: c.parts}, c, w, "Captured.Load", o)
}

// memory is the source of a capture. It leaves out shards and rows: see copyShards.
type memory struct {
	parts []part
}

func (m *memory) begin() error { return nil }

func (m *memory) next(s *section) error {
	for len(m.parts) > 0 && (m.parts[0].kind == shardSection || m.parts[0].kind == rowsSection) {
		m.parts = m.parts[1:]
	}
	*s = section{kind: endSection, how: None, sure: true}
	if len(m.parts) > 0 {
		*s = m.parts[0].section()
		m.parts = m.parts[1:]
	}
	return nil
}

func (m *memory) finish(*section) error { return nil }

// section returns a part that was captured as a section.
func (p *part) section() section {
	return section{kind: p.kind, how: None, number: p.number, length: len(p.bytes), body: p.bytes, sure: true}
}

// chunkJob is a chunk whose rows are to be copied to another world.
type chunkJob struct {
	to    *store.Chunk
	shard int
	place
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
	s := l.from.shard(i).section()
	return l.shard(&s, &drive.Cursor{Rest: s.body}, i, func(c *store.Chunk, table, chunk int) {
		x := chunkJob{c, i, place{table, chunk}}
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
	t, from := &s.images[x.shard].Tables[x.table], l.from.frozen.Chunk(x.shard, x.table, x.chunk)
	for at, id := range t.Components {
		own := &l.tables[x.shard][x.table].columns[at]
		bytes, kept := s.kept[column{x.place, x.shard, at}]
		if !kept {
			if s.names.components[id].rows == own.rows {
				x.to.FillColumn(own.to, from, at)
				continue
			}
			bytes = s.appendCells(nil, s.names.components[id].form, t.Chunks[x.chunk].Columns[at])
		}
		c := drive.Cursor{Rest: bytes}
		err := l.values(&c, own.form, x.to.Cells(own.to))
		if err == nil {
			err = c.End()
		}
		if err != nil {
			return altered("component %q: %w", own.name, err)
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
					all = append(all, chunkJob{l.into.Chunk(i, k, n), i, place{k, n}})
				}
			}
		}
	}
	l.into.Trust()
	return spread(l.o.Workers, len(all), func(i int) error {
		x := &all[i]
		l.tables[x.shard][x.table].filled[x.chunk].Store(true)
		return l.into.Fill(x.to, l.from.s.images[x.shard].Tables[x.table].Chunks[x.chunk].Handles)
	})
}

// spread calls f(0) … f(n-1) on some goroutines. It returns the error with the lowest number.
func spread(workers, n int, f func(i int) error) error {
	var next atomic.Int64
	var wrong wrong
	var all sync.WaitGroup
	for range min(workers, n) {
		all.Go(func() {
			for !wrong.any.Load() {
				i := next.Add(1) - 1
				if i >= int64(n) {
					return
				}
				wrong.watch(i, func() error { return f(int(i)) })
			}
		})
	}
	all.Wait()
	return wrong.first()
}

// wrong is the first failure, by number, of work on several goroutines.
type wrong struct {
	any      atomic.Bool
	mu       sync.Mutex
	at       int64
	err      error
	panicked any
}

// watch calls a function that may fail or panic.
func (w *wrong) watch(at int64, f func() error) {
	returned := false
	defer func() {
		if v := recover(); v != nil {
			w.note(at, nil, v)
		} else if !returned {
			w.note(at, errGoexit, nil)
		}
	}()
	err := f()
	if returned = true; err != nil {
		w.note(at, err, nil)
	}
}

func (w *wrong) note(at int64, err error, v any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.any.Swap(true) || at < w.at {
		w.at, w.err, w.panicked = at, err, v
	}
}

// first returns the error, or repeats the panic, when all goroutines are done.
func (w *wrong) first() error {
	if w.panicked != nil {
		panic(w.panicked)
	}
	return w.err
}
