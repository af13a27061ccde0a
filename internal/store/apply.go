package store

import (
	"slices"
	"sort"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
)

// Handler applies the requests of a kind. It may also be Parted, Numbered or a Runner. That of
// creates is a Creator.
type Handler interface {
	// Apply applies a request to the living atom h, which is at l. For a request to a shard itself
	// l is 0; for one of a joint kind s is nil.
	Apply(s *Shard, h handle.Handle, l slots.Loc, p mem.Pointer) queue.Outcome
	// Describe describes the requests, for tools that hash, record and replay them.
	Describe() Description
}

// Creator is the Handler of creates, whose Apply is not called.
type Creator interface {
	// CreateAll stores the atoms of creates of its kind, and decides their
	// outcomes.
	CreateAll(s *Shard, creates []queue.PendingRequest)
	// CreateMany is CreateAll for many creates in one record.
	CreateMany(s *Shard, creates queue.PendingRequest)
}

// NewKind makes a kind of request with payloads of a type in a space. The world must be idle.
func NewKind(s *Space, of *mem.Type, a Handler) queue.Kind {
	k := queue.NewKind(s.Registry, of)
	s.handlers = append(s.handlers, a)
	by, _ := a.(Runner)
	s.runners = append(s.runners, by)
	return k
}

// NewCall is NewKind for requests that run a function of the user, which may end its goroutine.
func NewCall(s *Space, of *mem.Type, a Handler) queue.Kind {
	k := NewKind(s, of, a)
	s.Registry.SetCall(k.Number())
	return k
}

// NewJoint is NewKind for requests that may concern any entities, of any shards. Space.Apply
// applies them one by one, with a nil shard. The refresh does so in the step extend, which a world
// without an Extension skips: so only the requests of an Extension may be joint.
func NewJoint(s *Space, of *mem.Type, a Handler) queue.Kind {
	k := NewKind(s, of, a)
	s.Registry.SetJoint(k.Number())
	return k
}

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
// only to this refresh until Commit.
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

// DecideCreate decides the outcome of a create. The slot of a create that was not applied
// goes back to its home.
func (s *Shard) DecideCreate(r queue.PendingRequest, o queue.Outcome) {
	if o != queue.Applied {
		s.DeferFree(r.Handle)
	}
	s.Decide(r.Request, o)
}

// Commit makes the staged atoms of the creates alive, except those that the same refresh has
// marked.
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

// BeginRequests is for the beginning of a refresh with requests, and tells whether some move atoms.
func (s *Shard) BeginRequests(moves bool) { s.InMigration, s.tally.staged = moves, s.tally.staged[:0] }

// Stage begins or ends the time in which functions run: what the shard creates then is staged.
func (s *Shard) Stage(on bool) {
	s.tally.staging, s.tally.watched = 0, s.tally.hooked
	if on {
		s.applying.staged, s.tally.staging, s.tally.watched = slots.StagedBit, slots.StagedBit, true
	}
}

// Staged returns how many atoms functions have created in this refresh.
func (s *Shard) Staged() int { return len(s.tally.staged) }

// CommitStaged is Commit for what functions have created.
func (s *Shard) CommitStaged() {
	for _, h := range s.tally.staged {
		s.commit(h)
	}
}

func (s *Shard) commit(h handle.Handle) {
	slot := s.space.Slot(h)
	if slot.Load() == uint32(h)^slots.StagedBit && !s.space.Marked(slot.Loc) {
		slot.Store(uint32(h)) // publishes loc and the row
	}
}

// Apply applies a request of a joint kind.
func (s *Space) Apply(r queue.PendingRequest) queue.Outcome {
	return s.handlers[r.Kind()].Apply(nil, r.Handle, s.Locate(r.Handle), r.Payload())
}

// ApplyRequests applies those requests of a partition whose indexes are given. The first request to
// destroy an entity marks it; later requests find it gone. partition is the number of the partition.
// If a function ended the goroutine in the middle of ApplyRequests, the next call continues after
// that function's request. targets belong to the records of many requests among them. senders are
// those of the partition's requests, in order.
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

// applyMany applies those of many requests that are for this shard. The targets were found before
// this step; rows may have moved to other tables since.
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

// applyRun applies many requests to the atoms of one run.
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

// destroyRun marks the atoms of a run.
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

// What counts against ChangeBytesMax besides the rows of a chunk that is made, and the rows that
// move and are no smaller than rowBytesMin. Each is about what takes as long as it takes to move as
// many bytes. Components that are smaller do not count against AnswerBytesMax.
const (
	tableBytes  = 32 << 10 // for a table that comes into the list
	chunkBytes  = 4 << 10  // for a chunk
	columnBytes = 512      // for each of its columns
	rowBytesMin = 4 << 10
	movedTimes  = 4 // for a row that goes to another shard: it needs new memory there, and another row fills its place
)

// Sender is where the requests of one sender end in a list of requests, and whether it is a port.
type Sender struct {
	End  int
	Port bool
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

func (s *Shard) overspent(x *account) bool {
	if int(uint32(s.applying.order)) >= s.spending.senders[x.sender].End { // another sender's requests have begun
		x.spent = 0
	}
	return x.spent > 0
}

// Answers reports whether the port that sent the request that is being applied may have a copy of n
// bytes, and charges it.
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
