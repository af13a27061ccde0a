package interest

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/nearby"
)

// worker does a part of an Update.
//
// Ownership: a goroutine. Others read nothing of it but rows that are done.
type worker struct {
	*Set
	number int
	run    func() // bound once, so that go allocates nothing

	hits    []nearby.Hit
	missed  []handle.Handle // hits that no view has seen in this Update yet
	fresh   []newHit
	handles []handle.Handle
	slots   []uint32 // of a view's pairs, by the number of their row in the last Update
	table   table    // of the view's pairs without a row in the last Update
	hashed  bool     // the table may have some
	// The rows whose numbers the worker has taken, and which it must encode.
	chunk       *chunk
	chunkNumber uint32
	chunkUsed   uint32
	claims      []uint32
	batch       batch
	ahead       uint64   // what was read ahead into the cache; the value has no meaning
	bytes       [2]arena // by the Update modulo 2

	joined []byte // joined columns of a row whose bytes are not contiguous

	due    []due
	order  []int32
	packet Packet
	sent   *sent // where to note what the packet contains, or nil
	bound  bool  // the view's packets have a bound
	_      [64]byte
}

// grow makes n workers ready.
func (s *Set) grow(n int) {
	for len(s.workers) < n {
		w := &worker{Set: s, number: len(s.workers)}
		w.run = func() {
			defer s.group.Done()
			w.work()
		}
		s.workers = append(s.workers, w)
	}
	s.use = n
	last := int(s.last().used.Load()) * chunkRows
	for _, w := range s.workers {
		w.joined, w.claims, w.chunk = w.joined[:0], w.claims[:0], nil
		w.bytes[s.now%2].empty()
		w.slots = sized(w.slots, last)
	}
}

// parallel has the workers make the Update.
func (s *Set) parallel() {
	s.next.Store(0)
	for _, w := range s.workers[1:s.use] {
		s.group.Add(1)
		go w.run()
	}
	defer s.group.Wait() // even if the next line ends the goroutine
	s.workers[0].work()
	s.group.Wait()
	if f := s.failure.Load(); f != nil {
		panic(f)
	}
}

// work does a worker's part of the Update, and keeps a panic for the caller.
func (w *worker) work() {
	done := false
	defer func() {
		if !done {
			w.failure.CompareAndSwap(nil, &failure{recover(), debug.Stack()})
		}
	}()
	w.update()
	done = true
}

// failure is a worker's panic.
type failure struct {
	value any
	stack []byte
}

func (f *failure) Error() string {
	if f.value == nil {
		return "interest: a function that Set.Update calls has called runtime.Goexit, as a test that fails does; it must return"
	}
	return fmt.Sprintf("interest: a function that Set.Update calls panicked: %v; some views have got no packet\n\n%s", f.value, f.stack)
}

func (f *failure) Unwrap() error {
	err, _ := f.value.(error)
	return err
}

// viewsEach is how many views a worker takes at a time.
const viewsEach = 16

// update makes the Update for views until none are left. It looks at some, encodes what they see,
// and makes their packets. There is no barrier in between: a worker waits only for rows that
// another one encodes.
func (w *worker) update() {
	w.table.rest()
	for w.failure.Load() == nil {
		to := int(w.next.Add(viewsEach))
		from := to - viewsEach
		if from >= len(w.views) {
			return
		}
		views := w.views[from:min(to, len(w.views))]
		for _, v := range views {
			w.look(v)
		}
		w.encode()
		for _, v := range views {
			w.tell(v)
		}
	}
}

// wait waits until other workers have encoded all that a view sees. If one of them has failed it
// panics, before pairs count as sent.
func (w *worker) wait(v *View) {
	for i := range v.pairs.all {
		p := &v.pairs.all[i]
		for p.seen == w.now && !w.rows().at(p.row).done.Load() {
			if w.failure.Load() != nil {
				panic("interest: another worker has failed")
			}
			runtime.Gosched()
		}
	}
}
