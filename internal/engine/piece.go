package engine

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// Insertable is an extend.Extension whose data about entities goes along with them, into a piece
// and from that into another world, which may be another program's. What is not Insertable stays
// behind. tx is the transaction that makes or inserts the piece, or nil on an idle world. Its
// limits are counted; when one is reached it has failed, and what is returned then is of no use.
//
// Ownership: the owner of the idle world calls, or the goroutine of the transaction.
type Insertable interface {
	// AppendFollowers appends the entities that must go along with an entity.
	AppendFollowers(tx *Tx, dst []handle.Handle, h handle.Handle) []handle.Handle
	// Unique reports whether only one entity can have what an entity has here, such as a name.
	Unique() bool
	// AppendExcerpt appends the extension's data about the entities of a piece, in which these have
	// the numbers of their places in it. It appends nothing if there is none. n is how much there is,
	// as extend.Optioned counts.
	AppendExcerpt(tx *Tx, dst []byte, of *extend.Excerpt) (excerpt []byte, n int)
	// PlanInsert returns a function that adds what AppendExcerpt has appended in another world, for
	// the entities that will have these handles; they exist when it is called. It trusts no byte. It
	// returns an error if the excerpt cannot be added. PlanInsert itself changes nothing.
	PlanInsert(tx *Tx, src []byte, now []handle.Handle) (insert func(), err error)
}

// Row is a living entity as something is about to be copied from it. It is good until the world
// changes, or until the transaction that sees it ends.
type Row struct {
	Shard  int
	Set    store.Set // its components
	Flags  slots.Flags
	Marked bool

	handle handle.Handle
	chunk  *store.Chunk // nil: the transaction creates it
	row    int
}

// Row returns an entity of the idle world, and whether it is alive.
func (w *World) Row(h handle.Handle) (r Row, ok bool) {
	l := w.space.Locate(h)
	if l == 0 {
		return r, false
	}
	c, row := w.space.At(l)
	return Row{w.space.Owner(l), *w.space.Set(l), c.FlagsAt(row), w.space.Marked(l), h, c, row}, true
}

// Value returns a component of an entity, which has it, in place. It allocates nothing.
func (w *World) Value(r *Row, component int) mem.Cells {
	return r.chunk.CellsFrom(slices.Index(r.chunk.Table().Components(), component), r.row, 1)
}

// Row returns an entity as the transaction sees it, and whether it is alive.
func (t *Tx) Row(h handle.Handle) (r Row, ok bool) {
	r, ok = t.w.Row(h)
	if e := t.find(h); e != nil {
		r.handle, r.Shard, r.Set, r.Marked, ok = h, int(e.owner), e.set, e.dying, true
		r.Flags = r.Flags&^slots.Flags(e.cleared) | slots.Flags(e.flags)
	}
	return r, ok
}

// Value returns a component of an entity, which has it, in place. It allocates nothing.
func (t *Tx) Value(r *Row, component int) mem.Cells {
	if e := t.find(r.handle); e != nil {
		if at := t.written(e, component); at != nil {
			return t.w.space.TypeOf(component).Run(at, 1)
		}
	}
	return t.w.Value(r, component)
}

// World returns the world of the transaction.
func (t *Tx) World() *World { return t.w }

// Begin begins a call that makes, inserts or puts back a piece. It returns the error of a
// transaction that has failed already, and panics for one that does not run.
func (t *Tx) Begin(call string) error { return t.mayWrite(call) }

// Fault returns the error with which the transaction fails, or nil.
func (t *Tx) Fault() error { return t.fault }

// What a piece counts as steps of the transaction that makes it, inserts it or puts it back.
const (
	pieceSteps       = 2048
	pieceEntitySteps = 256
	pieceByteSteps   = 2
)

// WorkOf counts entities of a piece, and bytes of it, as work.
func (t *Tx) WorkOf(entities, bytes int) error {
	return t.Work(pieceSteps + pieceEntitySteps*entities + pieceByteSteps*bytes)
}

// Weigh counts entities that a piece takes out of the world, with the components of a set, as PutOf
// does when they come back.
func (t *Tx) Weigh(set *store.Set, entities int) error {
	bytes := 0
	for id := range set.All {
		size := int(t.w.space.TypeOf(id).Size)
		bytes += size
		t.calls += entities * (size / copyEach)
	}
	return t.Charge(uintptr(entities * bytes))
}

// CheckChunks returns ErrChunks if there is no room for so many more entities to come to other tables.
func (t *Tx) CheckChunks(n int) error { return t.w.space.CheckChunks(t.changes + n) }

// TooMany makes the transaction fail, because of too many entities.
func (t *Tx) TooMany() error { return t.limit("entities", TxEntitiesMax) }

// AppendNext appends the handles that the next n creates in a shard give, without taking them. It
// returns an error, and dst, if there is no room for so many.
func (t *Tx) AppendNext(dst []handle.Handle, shard, n int) ([]handle.Handle, error) {
	if err := t.CheckChunks(n); err != nil {
		return dst, err
	}
	was := len(dst)
	for k := range n {
		h, err := t.w.shards[shard].Nth(t.creates[shard] + k)
		if err != nil {
			return dst[:was], err
		}
		dst = append(dst, h)
	}
	return dst, nil
}

// CreateOf creates an entity in a shard, with the components of a set, each with the value at a place
// among others, and flags.
func (t *Tx) CreateOf(shard int, set *store.Set, values []mem.Cells, at int, f Flags) (handle.Handle, error) {
	e, err := t.new(shard, false)
	if err != nil {
		return handle.None, err
	}
	return e.handle, t.fill(e, set, values, at, f)
}

// PutOf gives an entity the components of a set and flags, as CreateOf does.
func (t *Tx) PutOf(h handle.Handle, set *store.Set, values []mem.Cells, at int, f Flags) error {
	e, err := t.touch(h)
	if err == nil && !e.set.Contains(set) {
		err = t.restructure(e)
	}
	if err != nil {
		return err
	}
	return t.fill(e, set, values, at, f)
}

// fill gives an entity values and flags. After an error the transaction fails.
func (t *Tx) fill(e *taken, set *store.Set, values []mem.Cells, at int, f Flags) error {
	k := 0
	for id := range set.All {
		of := t.w.space.TypeOf(id)
		to, err := t.value(e, id)
		if err != nil {
			return err
		}
		of.Copy(to, values[k].Part(0).At(at, of.Size).Address, 1)
		k++
	}
	e.set = e.set.Union(*set)
	e.flags, e.cleared = e.flags|f, e.cleared&^f
	return nil
}

// Used returns what the transaction has used of TxBytesMax, or of TxCallsMax if that is a larger
// part, in bytes.
func (t *Tx) Used() int { return max(t.bytes, t.calls*(TxBytesMax/TxCallsMax)) }

// Taken returns how many entities the transaction has written.
func (t *Tx) Taken() int { return len(t.entities) }

// Away reports whether an entity, of which Row has returned a row, is somewhere else, or is sent
// there by this transaction.
func (t *Tx) Away(h handle.Handle, r *Row) bool {
	if !r.Set.Meets(&t.w.husks) {
		return false
	}
	was, _ := t.w.Row(h)
	return t.w.engine.Extensions.Guarded(h) || !was.Set.Meets(&t.w.husks)
}

// Strip takes all components and flags from an entity.
func (t *Tx) Strip(h handle.Handle) error {
	e, err := t.touch(h)
	if err == nil && e.set.Len() > 0 {
		err = t.restructure(e)
	}
	if err == nil {
		e.set, e.flags, e.cleared = store.Set{}, 0, ^Flags(0)
	}
	return err
}

// Pieces returns where package snapshot keeps what it has found out about the types of this world. The
// owner of the world's phase may use it.
func (w *World) Pieces() *any { return &w.pieces }
