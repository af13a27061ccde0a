package store

import "sort"

// ChangeBytesMax is how many bytes of memory the requests of one port to add and remove components
// may take and move in a shard in one refresh. What takes more is refused from the next request on.
const ChangeBytesMax = 16 << 20

// What counts against ChangeBytesMax besides the rows of a chunk that is made, and the rows that
// move and are no smaller than rowBytesMin. Each is about what takes as long as it takes to move as
// many bytes.
const (
	tableBytes  = 32 << 10 // for a table that comes into the list
	chunkBytes  = 4 << 10  // for a chunk
	columnBytes = 512      // for each of its columns
	rowBytesMin = 4 << 10
)

// Sender is where the requests of one sender end in a list of requests, and whether it is a port.
type Sender struct {
	End  int
	Port bool
}

// spending is what the requests of one port have cost so far.
type spending struct {
	senders []Sender // of the requests that are being applied
	sender  int      // the index of the one that spent
	spent   uint64
}

// Spent reports whether the port that sent the request that is being applied has used up
// ChangeBytesMax. It is small enough to be inlined.
func (s *Shard) Spent() bool { return s.spending.spent >= ChangeBytesMax && s.overspent() }

func (s *Shard) overspent() bool {
	x := &s.spending
	if int(uint32(s.applying.order)) >= x.senders[x.sender].End { // another sender's requests have begun
		x.spent = 0
	}
	return x.spent > 0
}

// Cost returns how many bytes changes of components have taken and moved in this shard so far.
func (s *Shard) Cost() uint64 { return s.cost }

// Charge adds what Cost has grown by since it was was to what the sender of the request that is
// being applied has spent. It is small enough to be inlined.
func (s *Shard) Charge(was uint64) {
	if s.cost != was {
		s.spend(s.cost - was)
	}
}

func (s *Shard) spend(n uint64) {
	x, i := &s.spending, int(uint32(s.applying.order))
	at := sort.Search(len(x.senders), func(k int) bool { return x.senders[k].End > i })
	if at != x.sender {
		x.sender, x.spent = at, 0
	}
	if at < len(x.senders) && x.senders[at].Port {
		x.spent += n
	}
}
