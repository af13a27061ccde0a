package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/store"
)

// TestStamps lets rows come and be replaced in every way, each in a tick of its own: the
// chunk says in which that happened last.
func TestStamps(t *testing.T) {
	s := newOffice(t, 2)
	sh, there := s.shards[0], s.shards[1]
	one, both := set(number), set(number, text)
	fields, _ := sh.Table(one).Fields([]store.Field{{Component: number}})
	drawn, err := s.outside.Take(nil, 8, 0)
	require.NoError(t, err)
	all := s.mustCreate(sh, 5)
	s.mustCreate(there, 1) // all tables have a chunk
	a, err := sh.Change(s.space.Locate(all[4]), both)
	require.NoError(t, err)
	*s.texts.At(a.Loc()) = nil
	for _, test := range []struct {
		name  string
		chunk *store.Chunk
		do    func()
	}{
		{"create", sh.Table(one).Chunks()[0], func() { s.mustCreate(sh, 1) }},
		{"create rows", sh.Table(one).Chunks()[0], func() {
			_, err := sh.CreateRows(sh.Table(one), 2, true)
			require.NoError(t, err)
		}},
		{"create plain", sh.Table(one).Chunks()[0], func() {
			n := int64(1)
			_, err := sh.CreatePlain(sh.Table(one), &fields, mem.PointerTo(&n).Address)
			require.NoError(t, err)
		}},
		{"adopt", sh.Table(one).Chunks()[0], func() {
			a, err := sh.Adopt(sh.Table(one), drawn[0])
			require.NoError(t, err)
			s.fill(a, one, 1)
		}},
		{"adopt plain", sh.Table(one).Chunks()[0], func() { s.adoptPlain(sh, fields.All, drawn[1], 7) }},
		{"change", sh.Table(both).Chunks()[0], func() {
			a, err := sh.Change(s.space.Locate(all[3]), both)
			require.NoError(t, err)
			*s.texts.At(a.Loc()) = nil
		}},
		{"fill the hole of who changes", sh.Table(one).Chunks()[0], func() {
			a, err := sh.Change(s.space.Locate(all[0]), both)
			require.NoError(t, err)
			*s.texts.At(a.Loc()) = nil
		}},
		{"fill the hole of who dies", sh.Table(one).Chunks()[0], func() {
			s.destroy(all[1])
			s.refresh()
		}},
		{"close up in order", sh.Table(one).Chunks()[0], func() {
			sh.KeepOrder = true
			s.destroy(rows(sh.Table(one))[1])
			s.refresh()
		}},
		{"move here", there.Table(one).Chunks()[0], func() { require.NoError(t, there.Migrate(s.space.Locate(all[2]))) }},
		{"take over", sh.Table(one).Chunks()[0], func() {
			s.mustCreate(sh, 40)
			s.space.SetTick(s.tick + 100)
			require.NoError(t, sh.Table(one).Retag(set(), func(store.Rows) {}))
			s.tick += 100
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s.tick += 10
			s.space.SetTick(s.tick)
			before, _ := test.chunk.Stamps()
			require.Less(t, uint64(before), s.tick)
			test.do()
			changed, written := test.chunk.Stamps()
			require.Equal(t, s.tick, uint64(changed))
			require.Len(t, written, len(test.chunk.Table().Components()))
		})
	}
}

// TestStampsOfChunks makes a chunk, and has another table take it over, whose columns are
// others: each column counts as written in that tick.
func TestStampsOfChunks(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh := s.shards[0]
	s.space.SetTick(7)
	s.mustCreate(sh, 40)
	chunk := sh.Table(set(number)).Chunks()[0]
	_, written := chunk.Stamps()
	require.Equal(t, []uint32{7}, written)
	s.space.SetTick(9)
	require.NoError(t, sh.Table(set(number)).Retag(set(number, text), func(store.Rows) {}))
	require.Equal(t, set(number, text), chunk.Table().Set())
	_, written = chunk.Stamps()
	require.Equal(t, []uint32{9, 9}, written)
}

// adopting applies creates whose payload is a number.
type adopting struct {
	doing
	fields []store.Field
}

func (adopting) CreateMany(*store.Shard, queue.PendingRequest) { panic("deeds are sent one by one") }

func (x adopting) CreateAll(s *store.Shard, creates []queue.PendingRequest) {
	store.AdoptPlain(s, s.Table(set(number)), x.fields, creates)
}

// adoptPlain stores the atom of a pending handle as a refresh does.
func (o *office) adoptPlain(sh *store.Shard, fields []store.Field, h handle.Handle, n int64) {
	o.t.Helper()
	kind := store.NewKind(o.space, mem.TypeOf[int64](), adopting{fields: fields})
	told := new(finished)
	r, at := kind.Push(o.queue, h, 0, queue.Create, told)
	*mem.As[int64](at) = n
	r.Place(sh.ID())
	o.queue.Publish()
	o.queue.Drain(o.queue.Sent(), 0, &o.drained)
	sh.ApplyCreates(o.drained.Creates[sh.ID()], false)
	o.drained.Forget()
	o.queue.Release()
	o.queue.Notify()
	require.Equal(o.t, finished{queue.Applied}, *told)
	require.Equal(o.t, n, *o.numbers.At(o.space.Locate(h)))
}
