package engine

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// State returns what concerns the idle world as a whole, as data for a Loader. It includes what
// decides nothing, such as which handles ports have in hand.
func (s *Survey) State() extend.State {
	x := extend.State{
		Tick: s.engine.Tick.Load(), Incarnation: s.space.Incarnation(), Shard: s.cursor, Run: s.run, Misrouted: s.engine.Mail.Misrouted,
		TxRuns: s.TxRuns(), Pinned: s.Pinned(), Ports: s.engine.PortSlots.Image(), Hooks: make([][]bool, len(s.hooks.all)),
	}
	x.Moves, x.Gathered = s.space.MovesOf()
	for i, h := range s.hooks.all {
		for k := range h.parts {
			x.Hooks[i] = append(x.Hooks[i], h.Enabled(k))
		}
	}
	return x
}

// Image returns a copy of the state of a shard, as data for a Loader.
func (s *Survey) Image(shard int) store.Image { return s.shards[shard].Image() }

// Loader gives a new world the state that a Survey of another world shows, in this order: Homes,
// World, Slots, each Shard, the rows of each chunk, the rest in any order, Finish. Shards, components,
// messages, resources, hooks and kinds have the numbers that they have in the new world.
//
// Homes is the first method to change the world. If an error follows, call Undo, or Fail, without
// which the world cannot be used. Loader checks everything that it is given.
//
// Ownership: the world's goroutine; several may make shards, and then fill chunks.
type Loader struct {
	w         *World
	slots     *slots.Load
	before    extend.State // the state of the new world
	images    []store.Image
	resources []func() // give the resources the values that they had
}

// MayLoad returns the error of Load, and begins nothing. It is for the idle world.
func (w *World) MayLoad(call string) error {
	if err := w.idle(call); err != nil {
		return err
	}
	if n := w.engine.Tick.Load(); n > 0 {
		return fmt.Errorf("it is at tick %d", n)
	}
	if !w.engine.Mail.Empty() {
		return errors.New("messages were sent")
	}
	if w.engine.Ports.Sent() {
		return errors.New("a port has sent something")
	}
	return slots.MayLoad(w.engine.PortSlots)
}

// Load begins to load the state of another world into the idle world. It returns an error, and
// begins nothing, if this world has given a handle, made a tick, or was sent something. call is the
// name for messages.
func (w *World) Load(call string) (*Loader, error) {
	if err := w.MayLoad(call); err != nil {
		return nil, err
	}
	l, err := slots.NewLoad(w.engine.PortSlots)
	if err != nil {
		return nil, err
	}
	w.Touched()
	x := &Loader{w: w, slots: l, before: (*Survey)(w).State(), images: w.images()}
	for _, r := range w.resources {
		x.resources = append(x.resources, r.Keep())
	}
	return x, nil
}

// images returns the state of each shard of the idle world, for Undo.
func (w *World) images() (all []store.Image) {
	for _, s := range w.shards {
		all = append(all, s.Image())
	}
	return all
}

// Homes gives the world the homes of another, and more if it has more shards: then fill in the state
// that Arranged has changed. After an error it has changed nothing.
func (l *Loader) Homes(of slots.Layout) error {
	err := l.slots.Homes(of)
	if err == nil {
		l.w.arranged()
	}
	return err
}

// arranged tells everybody who keeps something by home that the new world has other homes.
func (w *World) arranged() {
	for i, c := range w.contexts {
		c.home, c.ports = uint32(w.space.FirstOf(i)), uint32(w.space.FirstOf(len(w.shards)))
	}
	for _, x := range w.parts {
		if x, ok := x.(extend.ByHome); ok {
			x.Arrange()
		}
	}
}

// World gives the world the state that concerns it as a whole. After an error a part of it is set,
// which Undo takes back.
func (l *Loader) World(x extend.State) error {
	w := l.w
	if x.Shard < 0 || x.Shard >= len(w.shards) || x.Run < 0 || x.Run > max(runMost, w.runLeast) || len(x.Hooks) != len(w.hooks.all) {
		return fmt.Errorf("%w: the next entities are for shard %d, %d of them; there are %d hooks", slots.ErrImage, x.Shard, x.Run, len(x.Hooks))
	}
	for i, h := range w.hooks.all {
		if len(x.Hooks[i]) != len(h.parts) {
			return fmt.Errorf("%w: hook %q is on %d shards", slots.ErrImage, h.name, len(x.Hooks[i]))
		}
		h.off = false
		for k := range h.parts {
			h.parts[k].off = !x.Hooks[i][k]
		}
	}
	if err := l.slots.Incarnation(x.Incarnation); err != nil {
		return err
	}
	w.engine.Pinned = store.Set{}
	for _, c := range x.Pinned {
		if c < 0 || c >= len(w.components) {
			return fmt.Errorf("%w: component %d is pinned, of %d", slots.ErrImage, c, len(w.components))
		}
		w.engine.Pinned.Add(c)
	}
	w.engine.Tick.Set(x.Tick)
	w.space.SetTick(x.Tick)
	w.space.LoadMoves(x.Moves, x.Gathered)
	w.cursor, w.run, w.engine.Mail.Misrouted = x.Shard, x.Run, x.Misrouted
	if w.tx != nil {
		w.tx.tick, w.tx.applied, w.tx.runs = x.Tick, 0, x.TxRuns
	}
	return l.slots.Ports(x.Ports)
}

// Shard makes the tables and chunks of a shard, without handles and components. It calls made, if
// that is not nil, with each chunk that has rows, and its place: components may be stored from then
// on. Do nothing else with a chunk until all shards are made. After an error a part of the shard is
// made, which Undo takes back.
func (l *Loader) Shard(i int, x store.Image, made func(c *store.Chunk, table, chunk int)) error {
	return l.w.shards[i].Load(&x, made)
}

// Slots gives the homes of a shard their slots. shards is how many shards the other world has; if the
// number differs, the shards draw from their first homes. After an error a part is there, which Undo
// takes back.
func (l *Loader) Slots(i, shards int, x *store.Image) error {
	homes := l.w.space.Layout()
	err := l.slots.Home(homes.First(i), x.HomeImage)
	for k, more := range x.More {
		if err == nil {
			err = l.slots.Home(homes.Nth(i, shards, k+1), more)
		}
	}
	if err == nil && shards == len(l.w.shards) {
		err = l.slots.Draw(i, x.Drawing)
	}
	return err
}

// ChunkRows returns the rows of each chunk of a table that is made at once for so many entities with
// these components.
func (l *Loader) ChunkRows(components []int, rows int) ([]int, error) {
	return l.w.space.ChunkRows(components, rows)
}

// Spread returns over how many shards so many entities are spread: a small world leaves some empty.
func (l *Loader) Spread(entities int) int {
	return max(1, min(len(l.w.shards), (entities+l.w.runLeast-1)/l.w.runLeast))
}

// Chunk returns a chunk by its place in the Image. The caller stores components where Chunk.Cells
// says.
func (l *Loader) Chunk(shard, table, chunk int) *store.Chunk {
	return l.w.shards[shard].Tables()[table].Chunks()[chunk]
}

// Fill puts the entities of a chunk in its rows. After an error some are there, which Undo takes
// back.
func (l *Loader) Fill(c *store.Chunk, hs []handle.Handle) error { return c.Fill(hs, l.slots) }

// Trust says that the handles for Fill come from a Frozen, where no two rows have the same
// handle.
func (l *Loader) Trust() { l.slots.Trust() }

// Mail returns where to store the messages of one kind for a shard, to these receivers. put
// delivers them.
func (l *Loader) Mail(message, shard int, to []handle.Handle) (bodies mem.Cells, put func()) {
	return l.w.messages[message].Load(shard, to)
}

// Resource returns where to store the value of a resource and its parts, of a world with so many
// shards. put sets them. If this world has fewer, it merges parts, by code of the user.
func (l *Loader) Resource(i, shards int) (value, parts mem.Cells, put func()) {
	return l.w.resources[i].Load(shards)
}

// Request sends a request as a Survey shows it of a world with so many shards, and returns where to
// store its payload. If this world has fewer, a shard sends what several have, whatever its limits.
// After an error it has sent nothing.
func (l *Loader) Request(from, shards, kind int, flags queue.Flags, h handle.Handle) (mem.Cells, error) {
	w := l.w
	if kind < 0 || kind >= w.space.Kinds().Len() || flags&queue.Create != 0 || from != AllShards && (from < 0 || from >= len(w.shards)) {
		return mem.Cells{}, fmt.Errorf("%w: a request of kind %d, flags %#x, from shard %d", slots.ErrImage, kind, uint16(flags), from)
	}
	s := &w.contexts[len(w.shards)].out
	if from != AllShards {
		s = &w.contexts[from].out
	}
	q := s.open()
	size := w.space.Kinds().Size(kind)
	if shards <= len(w.shards) && !q.Room(1, size) {
		return mem.Cells{}, s.refuse(q, 1, size)
	}
	return w.space.Kinds().Resend(q, kind, flags, h, w.engine.Epoch.Load())
}

// Finish checks that each living entity has a row, and completes the world. After an error the
// world is not complete.
func (l *Loader) Finish() error {
	w := l.w
	var errs []error
	for _, s := range w.shards {
		errs = append(errs, s.Loaded())
	}
	return errors.Join(append(errs, l.slots.Finish())...)
}

// Undo makes the world new again, as it was before World, but for its extensions. It returns an
// error if it cannot: then only Fail is left.
func (l *Loader) Undo() error {
	w := l.w
	for _, s := range w.shards {
		s.Unload()
	}
	l.slots.Undo()
	for _, m := range w.messages {
		m.Drop()
	}
	w.engine.Mail.Clear()
	for _, c := range w.contexts {
		c.out.out = nil
	}
	for _, restore := range l.resources {
		restore()
	}
	w.arranged()
	errs := []error{l.World(l.before)}
	for i, x := range l.images {
		errs = append(errs, l.Slots(i, len(w.shards), &x), l.Shard(i, x, nil))
	}
	if err := errors.Join(append(errs, l.Finish())...); err != nil {
		return err
	}
	if !reflect.DeepEqual(l.before, (*Survey)(w).State()) || !reflect.DeepEqual(l.images, w.images()) {
		return errors.New("the new world is not as it was before")
	}
	return nil
}

// Fail breaks the world, with err as the cause.
func (l *Loader) Fail(err error) {
	l.w.fail(&Breakdown{Tick: l.w.engine.Tick.Load(), During: "a load that failed", Value: err})
}
