package store

import "sort"

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
