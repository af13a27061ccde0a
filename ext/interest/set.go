package interest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/nearby"
	"github.com/atoll-sim/atoll/internal/paged"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/world"
)

// Options shape a Set. Each function is called at the beginning of an Update, with its frame. The
// function that it returns is called by that Update for each view or each entity in it, on several
// goroutines at once, so it must be fast. Its result must depend on the frame and its arguments
// alone.
type Options struct {
	// Hide reports whether a view does not show an entity, though it is near or of Also.
	Hide func(f *world.Frame) func(v *View, h handle.Handle) bool
	// Also appends entities that a view shows wherever they are: the members of a party, the items
	// that a player carries. Dead entities are left out.
	Also func(f *world.Frame) func(dst []handle.Handle, v *View) []handle.Handle
	// Weight returns how important an entity is, from 1 to 255: one of weight 20 is updated as
	// often as one of weight 10 at half the distance. Without Weight all have 1.
	Weight func(f *world.Frame) func(h handle.Handle) int
}

// What rows and leaves count against Viewer.Bytes, in addition to their columns.
const (
	RowBytes   = 4
	LeaveBytes = 4
	enterBytes = RowBytes + 8
)

// Set has the views of a world's clients. New makes one.
//
// Ownership: any goroutine may call Open; one at a time calls Update or Run.
type Set struct {
	index   *near.Index
	engine  *engine.World
	options Options
	rest    time.Duration // of the world, between ticks
	columns []Column
	ids     []int        // of the columns' components
	opened  []store.View // of the frame's columns

	running atomic.Bool // an Update
	loops   atomic.Bool // Run
	mu      struct {
		sync.Mutex
		opened []*View
	}

	views   []*View // in the order of their cells, about
	sorted  uint32  // the Update in which they were sorted
	now     uint32  // the number of the Update; the first is 2
	marks   marks
	places  []uint64 // by place in the index: what is known of its entity, or 0
	both    [2]rows  // by the Update modulo 2
	workers []*worker
	use     int // how many of the workers the Update has
	next    atomic.Int64
	group   sync.WaitGroup
	failure atomic.Pointer[failure]

	tick  uint64 // of the last frame
	frame *world.Frame
	near  nearby.Index
	found *slots.Lookup
	sink  func(*View, *Packet)
	hide  func(*View, handle.Handle) bool
	also  func([]handle.Handle, *View) []handle.Handle
	value func(handle.Handle) int
}

// New makes a Set for the clients of a world. They see the entities that the index finds, and of
// each the columns, in that order. The world must be idle. New panics if the index is of another
// world, if a component is not registered or comes twice, and if there are more than ColumnsMax.
//
// A Set takes 8 bytes for each entity in the world and for each in the index, and 24 for each pair
// of a view and an entity that it shows. Each entity that is seen takes 128, 4 for each worker, and
// for each of its columns 16 and twice its bytes, or up to eight times if all its columns together
// exceed 32 kB.
func New(w *world.World, x *near.Index, o Options, columns ...Column) *Set {
	d := engine.Of(w)
	d.MustIdle("interest.New")
	switch {
	case x == nil:
		panic("interest: New with a nil Index; make one with near.New")
	case d.Extension(x) == nil:
		panic("interest: New with an Index of another world; use that world's own")
	case len(columns) > ColumnsMax:
		panic(fmt.Sprintf("interest: New with %d columns; want %d at most", len(columns), ColumnsMax))
	}
	s := &Set{index: x, engine: d, options: o, rest: w.Options().TickInterval, columns: slices.Clone(columns), now: 1}
	s.marks = marks{paged.NewShared[atomic.Uint64](w.Shards() + 1)}
	for i, c := range columns {
		if c.of == nil {
			panic(fmt.Sprintf("interest: New with an empty Column %d; make it with Encode", i))
		}
		id := slices.IndexFunc(d.Survey().Components(), func(n extend.Named) bool { return n.Type == c.of.component() })
		switch {
		case id < 0:
			panic(fmt.Sprintf("interest: New with a Column of %v, which is not registered; call world.Register first", c.of.component()))
		case slices.Contains(s.ids, id):
			panic(fmt.Sprintf("interest: New with two Columns of %v; pass one, which has the whole component", c.of.component()))
		}
		s.ids = append(s.ids, id)
	}
	return s
}

// Open opens a view, which gets its first packet in the next Update. It panics if a number of v is
// out of range. Safe from any goroutine.
func (s *Set) Open(v Viewer) *View {
	v.check("Set.Open")
	view := &View{client: v.Client, viewer: v}
	view.mu.unacked.init(v.Unacked)
	if v.Write != nil {
		view.writer = newWriter(view, v.Write)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.opened = append(s.mu.opened, view)
	return view
}

// Update brings all views up to date with a frame. It calls sink once for each view that has news,
// except views with a Viewer.Write; if all have one, sink may be nil. The workers, each a
// goroutine, share the work and call sink at the same time. sink may call Open and the methods of
// views, and must not release the frame.
//
// The frame must be of the world, and its view must have the index, its component and all columns.
// Frames may skip ticks and may repeat the last one, but must not go back. Update panics otherwise,
// for fewer than one worker, for a nil sink if a view has no Write, during another Update, and if
// sink or another function panics: then some views have no packet, and the next Update continues.
//
// An Update takes some 170 ns for each pair of a view and an entity that it shows. It allocates
// nothing once there have been as many pairs before.
func (s *Set) Update(f *world.Frame, workers int, sink func(*View, *Packet)) {
	switch {
	case workers < 1:
		panic(fmt.Sprintf("interest: Set.Update with %d workers; want 1 or more", workers))
	case !s.running.CompareAndSwap(false, true):
		panic("interest: Set.Update during another one; call one at a time, and none in its functions")
	}
	defer s.end()
	s.sink = sink
	s.begin(f)
	s.grow(workers)
	s.places = sized(s.places, s.near.Places())
	clear(s.places)
	s.rows().fit(s.marks.fit(s.found) + workers*chunkRows)
	s.parallel()
}

// Run calls Update with frames that the view captures, every so often, until the context ends, and
// then returns nil. Every 0 is as often as the world ticks: with a frame of each tick, but for
// ticks that end during an Update. Run releases the frames. It is for a goroutine of its own,
// beside the one of Scheduler.Run.
//
// While too many frames are held, as by other parts of the program, there is none for Run, and
// views get nothing. Run tries again a tick later, or after every. If that goes on for Patience, it
// returns the error of View.Capture, which wraps world.ErrFrames: frames are not released, or the
// limits are too low for one.
//
// Run returns why the world was closed or is broken, too. It panics if every is negative, during
// another Run, and as View.Capture and Update do.
func (s *Set) Run(ctx context.Context, view *world.View, every time.Duration, workers int, sink func(*View, *Packet)) error {
	switch {
	case every < 0:
		panic(fmt.Sprintf("interest: Set.Run every %v; want 0 or more", every))
	case !s.loops.CompareAndSwap(false, true):
		panic("interest: Set.Run during another one; call one at a time")
	}
	defer s.loops.Store(false)
	due := time.NewTimer(every)
	defer due.Stop()
	var without time.Time // since when too many frames are held
	for {
		err := s.capture(ctx, view, workers, sink)
		switch {
		case err == nil:
			without = time.Time{}
		case ctx.Err() != nil:
			return nil
		case !errors.Is(err, world.ErrFrames) || !without.IsZero() && time.Since(without) >= Patience:
			return err
		default:
			if without.IsZero() {
				without = time.Now()
			}
			due.Reset(max(every, s.rest)) // Capture fails at once, whatever time the next tick needs
		}
		select {
		case <-ctx.Done():
			return nil
		case <-due.C:
			due.Reset(every)
		}
	}
}

// capture makes an Update of the next frame.
func (s *Set) capture(ctx context.Context, view *world.View, workers int, sink func(*View, *Packet)) error {
	frame, err := view.Capture(ctx)
	if err != nil {
		return err
	}
	defer frame.Release()
	s.Update(frame, workers, sink)
	return nil
}

// Patience is for how long Set.Run goes on without a frame while too many are held.
const Patience = 10 * time.Second

// begin prepares a frame for the workers.
func (s *Set) begin(f *world.Frame) {
	rows, ok := s.engine.Frozen((*engine.Frame)(f), "Set.Update")
	if !ok {
		panic("interest: Set.Update with a Frame of another world; pass one of the world that the Set was made for")
	}
	if s.tick > f.Tick() {
		panic(fmt.Sprintf("interest: Set.Update with a Frame of tick %d after one of tick %d; pass frames in the order of their ticks", f.Tick(), s.tick))
	}
	s.tick = f.Tick()
	for _, id := range s.ids {
		s.opened = append(s.opened, rows.View(id, "interest.Set.Update"))
	}
	s.near, s.frame, s.found = nearby.Of(s.index.Read(f)), f, rows.Lookup()
	if s.options.Hide != nil {
		s.hide = s.options.Hide(f)
	}
	if s.options.Also != nil {
		s.also = s.options.Also(f)
	}
	if s.options.Weight != nil {
		s.value = s.options.Weight(f)
	}
	if s.now++; s.now == lastUpdate {
		s.renumber()
	}
	s.enter()
}

// sortEach is after how many Updates views are sorted by cell again.
const sortEach = 16

// enter brings the list of views up to date.
func (s *Set) enter() {
	old := len(s.views)
	s.mu.Lock()
	s.views = append(s.views, s.mu.opened...)
	clear(s.mu.opened)
	s.mu.opened = s.mu.opened[:0]
	s.mu.Unlock()
	come := s.views[old:]
	for _, v := range come {
		v.place(s) // may panic
		v.order = s.orderOf(v.from)
	}
	s.views = slices.DeleteFunc(s.views, (*View).ended)
	if s.sink == nil && slices.ContainsFunc(s.views, func(v *View) bool { return v.writer == nil }) {
		panic("interest: Set.Update with a nil sink, and a View without Viewer.Write; pass a function that sends packets")
	}
	if len(come) > 0 || s.now-s.sorted >= sortEach {
		slices.SortStableFunc(s.views, func(a, b *View) int { return cmp.Compare(a.order, b.order) })
		s.sorted = s.now
	}
}

// end forgets the frame.
func (s *Set) end() {
	clear(s.opened)
	s.opened = s.opened[:0]
	s.near, s.frame, s.found, s.sink, s.hide, s.also, s.value = nil, nil, nil, nil, nil, nil, nil
	s.failure.Store(nil)
	s.running.Store(false)
}

// lastUpdate is the highest number of an Update. After it they are numbered anew.
const lastUpdate = math.MaxUint32

// renumber numbers Updates anew: everything counts as changed.
func (s *Set) renumber() {
	s.now, s.sorted = 3, 0 // no pair counts as seen in the last Update: rows are forgotten
	s.marks.Clear()
	for _, v := range s.views {
		was := v.looked
		v.looked = 1
		for i := range v.pairs.all {
			p := &v.pairs.all[i]
			p.since = 0
			if p.seen == was {
				p.seen = 1
			} else {
				p.seen = 0
			}
		}
	}
}

// orderOf returns the place of a point on a Morton curve, so that points next to each other in the
// order are near each other. The bits of x, y and z take turns in it.
func (s *Set) orderOf(p near.Point) uint64 {
	o := s.index.Options()
	each := 1 / o.Cell
	return spread((p.X-o.Min.X)*each) | spread((p.Y-o.Min.Y)*each)<<1 | spread((p.Z-o.Min.Z)*each)<<2
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

// rows returns the rows of this Update, and last returns those of the one before.
func (s *Set) rows() *rows { return &s.both[s.now%2] }
func (s *Set) last() *rows { return &s.both[(s.now+1)%2] }
