package world

import (
	"fmt"
	"iter"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/shard"
)

// ChunksSince is Chunks for the rows that may have changed since a tick: those of
// chunks in which a row came or was replaced in that tick or later, or in which
// one of the components the query accesses was handed out for writing, by a
// Writer or a request. It costs by the number of chunks; a chunk in which one row
// changed is yielded whole.
func (q *Query) ChunksSince(tick uint64) iter.Seq[Chunk] {
	var made uint64
	if check.Enabled {
		made = q.began()
	}
	return func(yield func(Chunk) bool) {
		if check.Enabled {
			q.w.mustBeIn(made)
		}
		now := q.w.Tick()
		if tick > now {
			return
		}
		for ch := range q.Chunks() {
			if ch.WrittenSince(now-tick, &q.accessed) && !yield(ch) {
				return
			}
		}
	}
}

// CreatedSince yields the handles of the entities that were created in a tick or
// later, by tick, then shard, then in the order of creation. Some may be dead by
// now. It returns ErrTooOld if the tick is no longer remembered, or nothing is;
// see Options.Record. What happens between ticks counts to the tick that
// follows, what a refresh does to the tick that it ends.
func (w *World) CreatedSince(tick uint64) (iter.Seq[handle.Handle], error) {
	return w.since("CreatedSince", tick, (*shard.Shard).CreatedIn)
}

// DestroyedSince is CreatedSince for the entities that a refresh destroyed.
func (w *World) DestroyedSince(tick uint64) (iter.Seq[handle.Handle], error) {
	return w.since("DestroyedSince", tick, (*shard.Shard).DestroyedIn)
}

func (w *World) since(call string, tick uint64, in func(*shard.Shard, int) []handle.Handle) (iter.Seq[handle.Handle], error) {
	if err := w.ready(call); err != nil {
		return nil, err
	}
	now := w.Tick()
	if !w.options.Record {
		return nil, fmt.Errorf("%w: World.%s of a world that does not record; set Options.Record", ErrTooOld, call)
	}
	if tick+uint64(w.options.RecordTicks) <= now {
		return nil, fmt.Errorf("%w: tick %d, of the %d to %d that are", ErrTooOld, tick, now+1-uint64(w.options.RecordTicks), now)
	}
	return func(yield func(handle.Handle) bool) {
		w.mustIdle(call)
		if check.Enabled {
			w.mustBeIn(now)
		}
		for ago := int(now) - int(min(tick, now)); ago >= 0 && tick <= now; ago-- {
			for _, s := range w.shards {
				for _, h := range in(s, ago) {
					if !yield(h) {
						return
					}
				}
			}
		}
	}, nil
}
