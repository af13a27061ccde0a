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
	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/nearby"
	"github.com/atoll-sim/atoll/internal/paged"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/world"
)

// Options shape Clients. Each function is called at the beginning of an Update, with its frame. The
// function that it returns is called by that Update for each client or each entity in it, on
// several goroutines at once, so it must be fast. Its result must depend on the frame and its
// arguments alone.
type Options struct {
	// Hide reports whether a client does not see an entity, though it is near or of Include.
	Hide func(f *world.Frame) func(c *Client, h handle.Handle) bool
	// Include appends entities that a client sees wherever they are: the members of a party, the
	// items that a player carries. Dead entities are left out.
	Include func(f *world.Frame) func(dst []handle.Handle, c *Client) []handle.Handle
	// Weight returns how important an entity is, from 1 to 255: one of weight 20 is updated as
	// often as one of weight 10 at half the distance. Without Weight all have 1.
	Weight func(f *world.Frame) func(h handle.Handle) int
}

// What rows and leaves count against ClientOptions.Bytes, in addition to their columns.
const (
	RowBytes   = 4
	LeaveBytes = 4
	enterBytes = RowBytes + 8
)

// Clients are those who see a world. New makes them.
//
// Ownership: any goroutine may call Open; one at a time calls Update or Run.
type Clients struct {
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
		opened []*Client
	}

	clients []*Client // in the order of their cells, about
	sorted  uint32    // the Update in which they were sorted
	now     uint32    // the number of the Update; the first is 2
	marks   marks
	places  []uint64 // by place in the index: what is known of its entity, or 0
	both    [2]rows  // by the Update modulo 2
	workers []*worker
	use     int // how many of the workers the Update has
	next    atomic.Int64
	group   sync.WaitGroup
	failure atomic.Pointer[aside.Error]

	tick    uint64 // of the last frame
	frame   *world.Frame
	near    nearby.Index
	found   *slots.Lookup
	sink    func(*Client, *Packet)
	hide    func(*Client, handle.Handle) bool
	include func([]handle.Handle, *Client) []handle.Handle
	value   func(handle.Handle) int
}

// New makes Clients of a world. They see the entities that the index finds, and of
// each the columns, in that order. The world must be idle. New panics if the index is of another
// world, if a component is not registered or comes twice, and if there are more than ColumnsMax.
//
// They take 8 bytes for each entity in the world and for each in the index, and 24 for each pair of
// a client and an entity that it sees. Each entity that is seen takes 128, 4 for each worker, and
// for each of its columns 16 and twice its bytes, or up to eight times if all its columns together
// exceed 32 kB.
func New(w *world.World, x *near.Index, o Options, columns ...Column) *Clients {
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
	c := &Clients{index: x, engine: d, options: o, rest: w.Options().TickInterval, columns: slices.Clone(columns), now: 1}
	c.marks = marks{paged.NewShared[atomic.Uint64](d.Space().Homes())}
	for i, k := range columns {
		if k.of == nil {
			panic(fmt.Sprintf("interest: New with an empty Column %d; make it with Encode", i))
		}
		id := slices.IndexFunc(d.Survey().Components(), func(n extend.Named) bool { return n.Type == k.of.component() })
		switch {
		case id < 0:
			panic(fmt.Sprintf("interest: New with a Column of %v, which is not registered; call world.Register first", k.of.component()))
		case slices.Contains(c.ids, id):
			panic(fmt.Sprintf("interest: New with two Columns of %v; pass one, which has the whole component", k.of.component()))
		}
		c.ids = append(c.ids, id)
	}
	return c
}

// Open opens a client, which gets its first packet in the next Update. It panics if a number of o
// is out of range. Safe from any goroutine.
func (c *Clients) Open(o ClientOptions) *Client {
	o.check("Clients.Open")
	x := &Client{user: o.User, options: o}
	x.mu.unacked.most = o.Unacked
	if o.Write != nil {
		x.writer = newWriter(x, o.Write)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.opened = append(c.mu.opened, x)
	return x
}

// Update brings all clients up to date with a frame. It calls sink once for each client that has
// news, except clients with a ClientOptions.Write; if all have one, sink may be nil. The workers,
// each a goroutine, share the work and call sink at the same time. sink may call Open and the
// methods of clients, and must not release the frame.
//
// The frame must be of the world, and its view must have the index, its component and all columns.
// Frames may skip ticks and may repeat the last one, but must not go back. Update panics otherwise,
// for fewer than one worker, for a nil sink if a client has no Write, during another Update, and if
// sink or another function panics: then some clients have no packet, and the next Update continues.
//
// An Update takes some 170 ns for each pair of a client and an entity that it sees. It allocates
// nothing once there have been as many pairs before.
func (c *Clients) Update(f *world.Frame, workers int, sink func(*Client, *Packet)) {
	switch {
	case workers < 1:
		panic(fmt.Sprintf("interest: Clients.Update with %d workers; want 1 or more", workers))
	case !c.running.CompareAndSwap(false, true):
		panic("interest: Clients.Update during another one; call one at a time, and none in its functions")
	}
	defer c.end()
	c.sink = sink
	c.begin(f)
	c.grow(workers)
	c.places = sized(c.places, c.near.Places())
	clear(c.places)
	c.rows().fit(c.marks.fit(c.found, c.engine.Space().Homes()) + workers*chunkRows)
	c.parallel()
}

// Run calls Update with frames that the view captures, every so often, until the context ends, and
// then returns nil. Every 0 is as often as the world ticks: with a frame of each tick, but for
// ticks that end during an Update. Run releases the frames. It is for a goroutine of its own,
// beside the one of Scheduler.Run.
//
// While too many frames are held, as by other parts of the program, there is none for Run, and
// clients get nothing. Run tries again a tick later, or after every. If that goes on for Patience,
// it returns the error of View.Capture, which wraps world.ErrFrames: frames are not released, or
// the limits are too low for one.
//
// Run returns why the world was closed or is broken, too. It panics if every is negative, during
// another Run, and as View.Capture and Update do.
func (c *Clients) Run(ctx context.Context, view *world.View, every time.Duration, workers int, sink func(*Client, *Packet)) error {
	switch {
	case every < 0:
		panic(fmt.Sprintf("interest: Clients.Run every %v; want 0 or more", every))
	case !c.loops.CompareAndSwap(false, true):
		panic("interest: Clients.Run during another one; call one at a time")
	}
	defer c.loops.Store(false)
	due := time.NewTimer(every)
	defer due.Stop()
	var without time.Time // since when too many frames are held
	for {
		err := c.capture(ctx, view, workers, sink)
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
			due.Reset(max(every, c.rest)) // Capture fails at once, whatever time the next tick needs
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
func (c *Clients) capture(ctx context.Context, view *world.View, workers int, sink func(*Client, *Packet)) error {
	frame, err := view.Capture(ctx)
	if err != nil {
		return err
	}
	defer frame.Release()
	c.Update(frame, workers, sink)
	return nil
}

// Patience is for how long Clients.Run goes on without a frame while too many are held.
const Patience = 10 * time.Second

// begin prepares a frame for the workers.
func (c *Clients) begin(f *world.Frame) {
	rows, ok := c.engine.Frozen((*engine.Frame)(f), "Clients.Update")
	if !ok {
		panic("interest: Clients.Update with a Frame of another world; pass one of the world that the Clients were made for")
	}
	if c.tick > f.Tick() {
		panic(fmt.Sprintf("interest: Clients.Update with a Frame of tick %d after one of tick %d; pass frames in the order of their ticks", f.Tick(), c.tick))
	}
	c.tick = f.Tick()
	for _, id := range c.ids {
		c.opened = append(c.opened, rows.View(id, "interest.Clients.Update"))
	}
	c.near, c.frame, c.found = nearby.Of(c.index.Read(f)), f, rows.Lookup()
	if c.options.Hide != nil {
		c.hide = c.options.Hide(f)
	}
	if c.options.Include != nil {
		c.include = c.options.Include(f)
	}
	if c.options.Weight != nil {
		c.value = c.options.Weight(f)
	}
	if c.now++; c.now == lastUpdate {
		c.renumber()
	}
	c.enter()
}

// sortEach is after how many Updates clients are sorted by cell again.
const sortEach = 16

// enter brings the list of clients up to date.
func (c *Clients) enter() {
	old := len(c.clients)
	c.mu.Lock()
	c.clients = append(c.clients, c.mu.opened...)
	clear(c.mu.opened)
	c.mu.opened = c.mu.opened[:0]
	c.mu.Unlock()
	come := c.clients[old:]
	for _, x := range come {
		x.place(c.index, c.frame) // may panic
		x.order = c.orderOf(x.from)
	}
	c.clients = slices.DeleteFunc(c.clients, (*Client).ended)
	if c.sink == nil && slices.ContainsFunc(c.clients, func(x *Client) bool { return x.writer == nil }) {
		panic("interest: Clients.Update with a nil sink, and a Client without ClientOptions.Write; pass a function that sends packets")
	}
	if len(come) > 0 || c.now-c.sorted >= sortEach {
		slices.SortStableFunc(c.clients, func(a, b *Client) int { return cmp.Compare(a.order, b.order) })
		c.sorted = c.now
	}
}

// end forgets the frame.
func (c *Clients) end() {
	clear(c.opened)
	c.opened = c.opened[:0]
	c.near, c.frame, c.found, c.sink, c.hide, c.include, c.value = nil, nil, nil, nil, nil, nil, nil
	c.failure.Store(nil)
	c.running.Store(false)
}

// lastUpdate is the highest number of an Update. After it they are numbered anew.
const lastUpdate = math.MaxUint32

// renumber numbers Updates anew: everything counts as changed.
func (c *Clients) renumber() {
	c.now, c.sorted = 3, 0 // no pair counts as seen in the last Update: rows are forgotten
	c.marks.Clear()
	for _, x := range c.clients {
		was := x.looked
		x.looked = 1
		for i := range x.pairs.all {
			p := &x.pairs.all[i]
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
func (c *Clients) orderOf(p near.Point) uint64 {
	o := c.index.Options()
	each := 1 / o.Cell
	return spread((p.X-o.Min.X)*each) | spread((p.Y-o.Min.Y)*each)<<1 | spread((p.Z-o.Min.Z)*each)<<2
}

// grow makes n workers ready.
func (c *Clients) grow(n int) {
	for len(c.workers) < n {
		w := &worker{Clients: c, number: len(c.workers)}
		w.run = func() {
			defer c.group.Done()
			w.work()
		}
		c.workers = append(c.workers, w)
	}
	c.use = n
	last := int(c.last().used.Load()) * chunkRows
	for _, w := range c.workers {
		w.joined, w.claims, w.chunk = w.joined[:0], w.claims[:0], nil
		w.bytes[c.now%2].empty()
		w.slots = sized(w.slots, last)
	}
}

// parallel has the workers make the Update.
func (c *Clients) parallel() {
	c.next.Store(0)
	for _, w := range c.workers[1:c.use] {
		c.group.Add(1)
		go w.run()
	}
	defer c.group.Wait() // even if the next line ends the goroutine
	c.workers[0].work()
	c.group.Wait()
	if f := c.failure.Load(); f != nil {
		panic(fmt.Errorf("interest: %w; some clients have got no packet\n\n%s", f, f.Stack))
	}
}

// rows returns the rows of this Update, and last returns those of the one before.
func (c *Clients) rows() *rows { return &c.both[c.now%2] }
func (c *Clients) last() *rows { return &c.both[(c.now+1)%2] }
