package store

import (
	"slices"
	"sort"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
)

// applying is the state of a shard while it applies the requests of a refresh.
type applying struct {
	begun  int    // how many requests ApplyRequests has begun, while it runs
	order  uint64 // of the one that is being applied
	staged uint32 // slots.StagedBit if the refresh stages what it stores, or 0
	target int    // the index of the next target
	held   []held // destroys whose outcome is put off
}

// Target is a run of atoms in adjacent rows of a chunk that adjacent ones of many requests are for.
// The targets of each record of many requests follow one without atoms, whose N is their number.
type Target struct {
	Loc slots.Loc // of the first atom
	At  uint32    // the number of its request
	N   uint32
}

// ApplyCreates stores the atoms of pending handles. They are alive at once or, if staged, alive
// only to this refresh until Commit. The worker that runs the shard calls it in the step create.
func (s *Shard) ApplyCreates(creates []queue.PendingRequest, staged bool) {
	s.applying.staged = 0
	if staged {
		s.applying.staged = slots.StagedBit
	}
	for len(creates) > 0 {
		first, n := creates[0], 1 // a run of creates of one kind
		if by := s.space.handlers[first.Kind()].(Creator); first.IsMany() {
			by.CreateMany(s, first)
		} else {
			for n < len(creates) && creates[n].Kind() == first.Kind() && !creates[n].IsMany() {
				n++
			}
			by.CreateAll(s, creates[:n])
		}
		creates = creates[n:]
	}
}

// DecideCreate decides the outcome of a create. The slot of a create that was not applied goes back
// to its home. The owner of the shard calls it in the step create.
func (s *Shard) DecideCreate(r queue.PendingRequest, o queue.Outcome) {
	if o != queue.Applied {
		s.DeferFree(r.Handle)
	}
	s.Decide(r.Request, o)
}

// Commit makes the staged atoms of the creates alive, except those that the same refresh has
// marked. It is the step commit, for one shard.
func (s *Shard) Commit(creates []queue.PendingRequest) {
	for _, r := range creates {
		if !r.IsMany() {
			s.commit(r.Handle)
			continue
		}
		for _, h := range r.Handles() {
			s.commit(h)
		}
	}
}

// BeginRequests prepares the shard for a refresh with requests. moves tells whether some of them
// move atoms. The coordinator calls it for each shard.
func (s *Shard) BeginRequests(moves bool) { s.InMigration, s.tally.staged = moves, s.tally.staged[:0] }

// Stage begins or ends the time in which functions run: what the shard creates then is staged. The
// coordinator calls it, before and after the step apply.
func (s *Shard) Stage(on bool) {
	s.tally.staging, s.tally.watched = 0, s.tally.hooked
	if on {
		s.applying.staged, s.tally.staging, s.tally.watched = slots.StagedBit, slots.StagedBit, true
	}
}

// Staged returns how many atoms functions have created in this refresh.
func (s *Shard) Staged() int { return len(s.tally.staged) }

// CommitStaged is Commit for what functions have created. It belongs to the step commit.
func (s *Shard) CommitStaged() {
	for _, h := range s.tally.staged {
		s.commit(h)
	}
}

// commit makes a staged atom alive to all goroutines, unless it is marked or was not stored.
func (s *Shard) commit(h handle.Handle) {
	slot := s.space.Slot(h)
	if slot.Load() == uint32(h)^slots.StagedBit && !s.space.Marked(slot.Loc) {
		slot.Store(uint32(h)) // publishes loc and the row
	}
}

// Apply applies a request of a joint kind. The coordinator calls it in the step extend.
func (s *Space) Apply(r queue.PendingRequest) queue.Outcome {
	return s.handlers[r.Kind()].Apply(nil, r.Handle, s.Locate(r.Handle), r.Payload())
}

// ApplyRequests applies the requests of a partition with the given indexes, in order, and decides
// their outcomes. The worker that runs the shard calls it in the step apply, partition by
// partition. The first request to destroy an entity marks it; later requests find it gone.
//
// targets belong to the records of many requests among them. senders are the senders of the
// partition's requests, in order. If a function of the user ends the goroutine, the next call
// decides that the request failed, and continues after it.
func (s *Shard) ApplyRequests(requests []queue.PendingRequest, indexes []uint32, targets []Target, senders []Sender, partition int) {
	s.spending.senders = senders
	if s.applying.begun > 0 {
		s.Decide(requests[indexes[s.applying.begun-1]].Request, queue.Failed)
	}
	for s.applying.begun < len(indexes) {
		i := indexes[s.applying.begun]
		r := requests[i]
		s.applying.order = uint64(partition)<<32 | uint64(i)
		if by := s.space.runners[r.Kind()]; by != nil {
			if a, ok := s.adjacent(requests, indexes[s.applying.begun:]); ok {
				if n := by.ApplyRun(s, a); n > 0 {
					s.applying.begun += n
					continue
				}
			}
		}
		s.applying.begun++
		if r.IsMany() {
			first := s.applying.target + 1
			s.applying.target = first + int(targets[first-1].N)
			s.applyMany(r, targets[first:s.applying.target])
			continue
		}
		s.applying.order = uint64(partition)<<32 | uint64(i)
		if r.Kind() == queue.MoveKind {
			s.ask(r)
			continue
		}
		o := s.apply(r)
		if r.Kind() == queue.DestroyKind && s.HoldDestroys {
			s.applying.held = append(s.applying.held, held{request: r, there: r.Loc() != 0, first: o == queue.Applied})
			continue
		}
		s.Decide(r.Request, o)
	}
	s.applying.begun, s.applying.target, s.spending = 0, 0, spending{}
}

// applyMany applies the part of a record of many requests that is for this shard, and decides the
// outcomes. The targets were found before this step; rows may have moved to other tables since.
func (s *Shard) applyMany(r queue.PendingRequest, targets []Target) {
	handles := r.Handles()
	for _, t := range targets {
		of := handles[t.At : t.At+t.N]
		if c, row := s.space.chunk(t.Loc), t.Loc.Row(); row+len(of) <= c.n && slices.Equal(c.handles[row:row+len(of)], of) {
			s.applyRun(r, t)
			continue
		}
		for i, h := range of {
			one := Target{s.space.LocateStaged(h), t.At + uint32(i), 1}
			if one.Loc != 0 {
				s.applyRun(r, one)
			} else {
				s.DecideOne(r, int(one.At), queue.Gone)
			}
		}
	}
}

// applyRun applies many requests to the atoms of one run. It decides their outcomes.
func (s *Shard) applyRun(r queue.PendingRequest, t Target) {
	if r.Kind() == queue.DestroyKind {
		s.destroyRun(r, t)
		return
	}
	by, handles := s.space.handlers[r.Kind()], r.Handles()
	for i := range t.N {
		o, l, at := queue.Gone, t.Loc+slots.Loc(i), int(t.At+i)
		if !s.space.Marked(l) {
			o = by.Apply(s, handles[at], l, s.space.Registry.PayloadOf(r, at))
		}
		s.DecideOne(r, at, o)
	}
}

// destroyRun marks the atoms of a run, for a record of many requests to destroy. It decides the
// outcomes, or holds them until DecideHeld.
func (s *Shard) destroyRun(r queue.PendingRequest, t Target) {
	c := s.space.chunk(t.Loc)
	for i := uint32(0); i < t.N; {
		row := t.Loc.Row() + int(i)
		n := min(t.N-i, uint32(64-row%64))
		before := c.markWord(row, ^uint64(0)>>(64-n)<<(row%64)) >> (row % 64)
		if before<<(64-n) == 0 && !s.HoldDestroys {
			s.Outcomes.Add(queue.Applied, int(n))
			i += n
			continue
		}
		for ; n > 0; n, i, before = n-1, i+1, before>>1 {
			o := queue.Applied
			if before&1 != 0 {
				o = queue.Gone
			}
			if s.HoldDestroys {
				s.applying.held = append(s.applying.held, held{r, t.At + i, true, o == queue.Applied})
			} else {
				s.DecideOne(r, int(t.At+i), o)
			}
		}
	}
}

// Order returns the position of the request that is being applied among all requests of its
// refresh.
func (s *Shard) Order() uint64 { return s.applying.order }

// apply applies one request to an atom, or to the shard itself, and returns its outcome, which the
// caller decides.
func (s *Shard) apply(r queue.PendingRequest) queue.Outcome {
	l := r.Loc()
	if l == 0 {
		if r.For() >= 0 {
			return s.space.handlers[r.Kind()].Apply(s, r.Handle, 0, r.Payload())
		}
		return queue.Gone
	}
	switch c := s.space.chunk(l); {
	case c.isMarked(l.Row()):
		return queue.Gone
	case r.Kind() == queue.DestroyKind:
		c.mark(l.Row())
		return queue.Applied
	}
	return s.space.handlers[r.Kind()].Apply(s, r.Handle, l, r.Payload())
}

// ChangeBytesMax is how many bytes of memory the requests of one port to add and remove components
// and to move entities may take and move in a shard in one refresh. AnswerBytesMax is how many bytes
// of components its requests to ask may copy. What takes more is refused from the next request on.
// They do not count together: asks are in no log of inputs, and a replay refuses the same changes.
const (
	ChangeBytesMax = 16 << 20
	AnswerBytesMax = 16 << 20
)

// Sender is where the requests of one sender end in a list of requests, and whether it is a port; if
// not, Shard is where its systems run.
type Sender struct {
	End   int
	Port  bool
	Shard int
}

// spending is what the requests of one port have cost so far.
type spending struct {
	senders []Sender // of the requests that are being applied
	changes account
	answers account
}

// account is what the requests of one sender have cost.
type account struct {
	sender int // its index
	spent  uint64
}

// Spent reports whether the port that sent the request that is being applied has used up
// ChangeBytesMax. It is small enough to be inlined.
func (s *Shard) Spent() bool {
	return s.spending.changes.spent >= ChangeBytesMax && s.overspent(&s.spending.changes)
}

// overspent reports whether an account is charged to the sender whose request is being applied. If
// that sender is another, it empties the account.
func (s *Shard) overspent(x *account) bool {
	if int(uint32(s.applying.order)) >= s.spending.senders[x.sender].End { // another sender's requests have begun
		x.spent = 0
	}
	return x.spent > 0
}

// Answers reports whether the port that sent the request that is being applied may have a copy of n
// bytes, and charges it. A request that is refused this way has copied nothing.
func (s *Shard) Answers(n uintptr) bool {
	if n < rowBytesMin {
		return true
	}
	x := &s.spending.answers
	if x.spent >= AnswerBytesMax && s.overspent(x) {
		return false
	}
	s.spend(x, uint64(n))
	return true
}

// Cost returns how many bytes changes of components have taken and moved in this shard so far.
func (s *Shard) Cost() uint64 { return s.cost }

// Charge adds what Cost has grown by since it was was to what the sender of the request that is
// being applied has spent. It is small enough to be inlined.
func (s *Shard) Charge(was uint64) {
	if s.cost != was {
		s.spend(&s.spending.changes, s.cost-was)
	}
}

// spend charges n bytes to the sender of the request that is being applied. Only ports are charged.
func (s *Shard) spend(x *account, n uint64) {
	senders, i := s.spending.senders, int(uint32(s.applying.order))
	at := sort.Search(len(senders), func(k int) bool { return senders[k].End > i })
	if at != x.sender {
		x.sender, x.spent = at, 0
	}
	if at < len(senders) && senders[at].Port {
		x.spent += n
	}
}

// adjacentLeast is the least number of requests that are applied at once.
const adjacentLeast = 4

// Adjacent are requests of one kind for living atoms in adjacent rows, up or down. None of the rows
// is marked.
//
// Ownership: the shard's owner, in the step apply.
type Adjacent struct {
	requests []queue.PendingRequest
	indexes  []uint32 // of the requests, in order
	chunk    *Chunk
	row      int // of the first
	step     int // from each row to the next: 1 or -1
}

// adjacent returns the adjacent requests at the head of those with the given indexes, or false if
// they are too few to be worth applying at once.
func (s *Shard) adjacent(requests []queue.PendingRequest, indexes []uint32) (a Adjacent, ok bool) {
	if len(indexes) < adjacentLeast {
		return a, false
	}
	l := requests[indexes[0]].Loc()
	step := requests[indexes[1]].Loc() - l
	if l == 0 || step != 1 && step != ^slots.Loc(0) || requests[indexes[adjacentLeast-1]].Loc() != l+step*(adjacentLeast-1) {
		return a, false
	}
	c, row, kind := s.space.chunk(l), l.Row(), requests[indexes[0]].Kind()
	most, n := min(row+1, len(indexes)), 0
	if step == 1 {
		most = min(c.n-row, len(indexes))
	}
	for at := l; n < most; n, at = n+1, at+step {
		if r := &requests[indexes[n]]; r.Loc() != at || r.Kind() != kind || c.isMarked(at.Row()) {
			break
		}
	}
	return Adjacent{requests, indexes[:n], c, row, int(int32(step))}, n >= adjacentLeast
}

// Len returns the number of requests.
func (a Adjacent) Len() int { return len(a.indexes) }

// Head returns the first n requests.
func (a Adjacent) Head(n int) Adjacent {
	a.indexes = a.indexes[:n]
	return a
}

// Payload returns the payload of request i.
func (a Adjacent) Payload(i int) mem.Pointer { return a.requests[a.indexes[i]].Payload() }

// Table returns the table of the atoms.
func (a Adjacent) Table() *Table { return a.chunk.table }

// Applied decides that all requests are applied, and returns how many they are.
func (a Adjacent) Applied() int {
	for _, i := range a.indexes {
		a.requests[i].Decide(queue.Applied)
	}
	a.chunk.table.shard.Outcomes.Add(queue.Applied, len(a.indexes))
	return len(a.indexes)
}

// With gives the atoms one component more, from the payloads. It returns 0, and has changed
// nothing, if they must be applied one by one.
func (a Adjacent) With(component int) (applied int) {
	t := a.chunk.table
	if t.set.Has(component) {
		return a.Store(component)
	}
	if a = a.move(t.toggleEdge(component)); a.Len() > 0 {
		a.put(component)
	}
	return a.Applied()
}

// Without takes one component away from the atoms. It returns 0, and has changed nothing, if they
// must be applied one by one.
func (a Adjacent) Without(component int) (applied int) {
	if t := a.chunk.table; t.set.Has(component) {
		return a.move(t.toggleEdge(component)).Applied()
	}
	return 0
}

// Store replaces a component of the atoms by the payloads. It returns 0 if they lack the component.
func (a Adjacent) Store(component int) (applied int) {
	t := a.chunk.table
	if !t.set.Has(component) {
		return 0
	}
	a.put(component)
	a.chunk.written[t.set.rank(component)] = t.shard.space.now
	if t.shard.space.Columns[component].watched {
		for i := range a.indexes {
			t.shard.NoteStored(a.chunk.handles[a.row+i*a.step], component)
		}
	}
	return a.Applied()
}

// put stores the payloads as a component that the atoms have.
func (a Adjacent) put(component int) {
	at := a.chunk.table.set.rank(component)
	of := a.chunk.table.columns[at].of
	if of.Plain {
		a.putPlain(Field{column: at, size: of.Size})
		return
	}
	for i := range a.indexes {
		of.Assign(of.At(a.chunk.bases[at], a.row+i*a.step), a.Payload(i).Address)
	}
}

// PutFields stores the payloads, which are bundles of these fields, in the atoms, and stamps their
// components as written. plain says that no field has pointers. Owner of the shard only.
func (a Adjacent) PutFields(fields []Field, plain bool) {
	Atom{Chunk: a.chunk}.Overwrite(fields)
	if plain {
		for _, f := range fields {
			a.putPlain(f)
		}
		return
	}
	for i := range a.indexes {
		Store(Atom{Chunk: a.chunk, Row: a.row + i*a.step}, fields, a.Payload(i).Address)
	}
}

// NoteAllStored is Space.NoteAllStored for the atoms.
func (a Adjacent) NoteAllStored(components Set) {
	space := a.chunk.table.shard.space
	if space.watch.Stored.Meets(&components) {
		for i := range a.indexes {
			space.NoteAllStored(a.loc(i), components)
		}
	}
}

// loc returns where the atom of request i is.
func (a Adjacent) loc(i int) slots.Loc { return a.chunk.base + slots.Loc(a.row+i*a.step) }

// To moves the first atoms to the table of another component set, as Shard.Change does, and returns
// these. It moves none if one of them might have to be refused, or to wait for memory.
func (a Adjacent) To(set Set) Adjacent {
	if t := a.chunk.table; t.set != set {
		return a.move(t.edgeTo(set))
	}
	return a
}

// move moves the first atoms along an edge, as many as fit in the present chunk of the other table,
// and returns these. It moves none, and changes nothing, if that needs a chunk or costs the sender.
func (a Adjacent) move(e *edge) Adjacent {
	c, t, to := a.chunk, a.chunk.table, e.to
	if e.cost > 0 || to.cur.n == len(to.cur.handles) && to.cur.order+1 >= len(to.chunks) || to.ensureRow() != nil {
		return Adjacent{chunk: c}
	}
	at := to.cur.n
	n := min(len(a.indexes), len(to.cur.handles)-at)
	if n < 2 {
		return Adjacent{chunk: c}
	}
	a = a.Head(n)
	if t.settleRows(n); c.noted {
		t.shard.settle()
	}
	to.cur.extend(n)
	if a.step > 0 {
		to.cur.moveRows(at, c, a.row, n, e)
	} else {
		to.cur.moveRowsBack(at, c, a.row, n, e)
	}
	if e.watched {
		t.shard.noteChanges(to.cur, at, n, t)
	}
	t.removeAdjacent(c, a.row, n, a.step)
	a.chunk, a.row, a.step = to.cur, at, 1
	return a
}

// removeAdjacent frees n rows whose atoms have left: row and the next ones, up or down by step. The
// other rows are then in the order that swapRemove leaves if it frees these one after the other, so
// that the last row is behind the hole or, in the end, one that filled a hole before. There are at
// least two rows: so, going up, some row was replaced.
//
//	up    a b [- - - -] c d e f g  ──▶  a b g f e d c       down  a b [- - -] c d e f  ──▶  a b d e f c
//	      a b [- - - -] c d        ──▶  a b d c                   a b [- - -] c d      ──▶  a b d c
func (t *Table) removeAdjacent(c *Chunk, row, n, step int) {
	rows := t.Rows()
	last := rows - 1
	behind := last - (c.first + row)
	switch {
	case step > 0:
		t.fill(c, row, 1, last, min(n, behind+1-n))
	case behind >= n:
		t.fill(c, row, -1, last, n)
	case behind > 0: // they move down until they are in the lowest rows: all as often, but the first of them once more
		more := n % behind
		t.fill(c, row-n+behind, -1, last-more, behind-more)
		t.fill(c, row-n+more, -1, last, more)
	}
	if step > 0 || behind > 0 { // otherwise each was the last row when it was freed
		c.changed = t.shard.space.now
	}
	for n > 0 {
		x := t.last()
		x.used = max(x.used, x.n)
		k := min(n, x.n)
		x.n -= k
		if x.n == 0 {
			x.emptied()
		}
		if t.wipes() {
			x.wipe(x.n, x.n+k)
		}
		n -= k
	}
}

// fill moves n rows of the table, number from and those before it, to the row at of a chunk and to
// those after it or, if step is -1, before it.
func (t *Table) fill(c *Chunk, at, step, from, n int) {
	for order := t.cur.order; n > 0; order-- {
		x := t.chunks[order]
		row := from - x.first
		if row < 0 {
			continue
		}
		k := min(n, row+1)
		if step > 0 {
			c.moveRowsBack(at, x, row, k, &t.same)
		} else {
			c.moveRows(at-k+1, x, row-k+1, k, &t.same)
		}
		for i := 0; i < k && x.marked > 0; i++ {
			if x.isMarked(row - i) {
				c.mark(at + i*step)
				x.unmark(row - i)
			}
		}
		at, from, n = at+k*step, from-k, n-k
	}
}

// moveRowsBack is moveRows for row and those before it, in this order. The chunks differ, or the
// rows do not overlap.
func (c *Chunk) moveRowsBack(at int, from *Chunk, row, n int, e *edge) {
	for i := range e.plain {
		p := &e.plain[i]
		copyRowsBack(c.bases[p.to], at, from.bases[p.from], row, n, p.size)
	}
	for _, p := range e.typed {
		for i := range n {
			e.to.columns[p.to].copy(c.base+slots.Loc(at+i), from.base+slots.Loc(row-i))
		}
	}
	space := c.table.shard.space
	for i := range n {
		c.place(at+i, from.handles[row-i], &space.Lookup)
	}
	if c.flags != nil || from.flags != nil {
		for i := range n {
			c.carryFlags(at+i, from, row-i)
		}
	}
}

// destroyer marks the atoms of adjacent requests to destroy.
//
// Ownership: the shard's owner, in the step apply.
type destroyer struct{}

// ApplyRun marks the atoms and decides that the requests are applied. It does nothing and returns 0
// while outcomes of destroys are held: then each request is applied by itself.
func (destroyer) ApplyRun(s *Shard, a Adjacent) (applied int) {
	if s.HoldDestroys {
		return 0
	}
	low := min(a.row, a.row+(a.Len()-1)*a.step)
	for row, end := low, low+a.Len(); row < end; {
		n := min(end-row, 64-row%64)
		a.chunk.markWord(row, ^uint64(0)>>(64-n)<<(row%64))
		row += n
	}
	return a.Applied()
}
