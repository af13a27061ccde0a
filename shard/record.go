package shard

import "github.com/atoll-sim/atoll/handle"

// record counts the atoms that were stored and swept, and remembers which, tick
// by tick, for a bounded number of ticks; and who was stored since hooks were last
// told.
//
//	ticks  [8: created, destroyed][9: …][6: …][7: …]
//	             at: the tick in progress ┘ the oldest
//
// Ownership: the shard's owner.
type record struct {
	created   uint64
	destroyed uint64
	on        bool   // somebody wants to know who was stored
	watched   bool   // hooks do
	now       *deeds // the tick in progress; nil if none is remembered
	ticks     []deeds
	at        int
	born      []handle.Handle // to tell hooks of
}

type deeds struct{ created, destroyed []handle.Handle }

// newRecord makes a record of so many ticks, or of none: then it counts alone.
func newRecord(ticks int) record {
	r := record{ticks: make([]deeds, ticks), on: ticks > 0}
	if r.on {
		r.now = &r.ticks[0]
	}
	return r
}

func (r *record) create(h handle.Handle) {
	r.created++
	if r.on {
		r.note(h)
	}
}

// note is apart, so that creating is as short as it is without it.
//
//go:noinline
func (r *record) note(h handle.Handle) {
	if r.now != nil {
		r.now.created = append(r.now.created, h)
	}
	if r.watched {
		r.born = append(r.born, h)
	}
}

// watch says whether hooks want to know who was stored.
func (r *record) watch(on bool) {
	r.watched = on
	r.on = on || r.now != nil
}

func (r *record) createAll(hs []handle.Handle) {
	r.created += uint64(len(hs))
	if r.on {
		r.noteAll(hs)
	}
}

//go:noinline
func (r *record) noteAll(hs []handle.Handle) {
	if r.now != nil {
		r.now.created = append(r.now.created, hs...)
	}
	if r.watched {
		r.born = append(r.born, hs...)
	}
}

func (r *record) destroyAll(hs []handle.Handle) {
	r.destroyed += uint64(len(hs))
	if r.now != nil {
		r.now.destroyed = append(r.now.destroyed, hs...)
	}
}

// turn begins the next tick, in the place of the oldest.
func (r *record) turn() {
	if r.now == nil {
		return
	}
	r.at = (r.at + 1) % len(r.ticks)
	r.now = &r.ticks[r.at]
	r.now.created, r.now.destroyed = r.now.created[:0], r.now.destroyed[:0]
}

// CreatedIn and DestroyedIn return who was stored and swept in the tick so many
// before the one in progress, which must be remembered. The slices are good until
// the next refresh.
func (s *Shard) CreatedIn(ago int) []handle.Handle { return s.record.ago(ago).created }

// DestroyedIn is CreatedIn for who was swept.
func (s *Shard) DestroyedIn(ago int) []handle.Handle { return s.record.ago(ago).destroyed }

func (r *record) ago(n int) *deeds { return &r.ticks[(r.at-n+len(r.ticks))%len(r.ticks)] }

// WrittenSince reports whether rows of the chunk came or were replaced so many
// ticks ago or later, or one of the components was handed out for writing.
func (r Rows) WrittenSince(ago uint64, components *Set) bool {
	c, now := r.chunk, r.chunk.table.shard.space.now
	if uint64(now-c.changed) <= ago {
		return true
	}
	for i, id := range c.table.ids {
		if components.Has(id) && uint64(now-c.written[i]) <= ago {
			return true
		}
	}
	return false
}
