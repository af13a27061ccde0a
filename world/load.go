package world

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

func (s *survey) State() drive.State {
	x := drive.State{
		Tick: s.engine.Tick.Load(), Incarnation: s.space.Incarnation(), Shard: s.cursor, Run: s.run, Misrouted: s.engine.Mail.Misrouted,
		Pinned: s.Pinned(), Ports: s.engine.PortSlots.Image(), Hooks: make([][]bool, len(s.hooks.all)),
	}
	x.Moves, x.Gathered = s.space.MovesOf()
	for i, h := range s.hooks.all {
		for k := range h.parts {
			x.Hooks[i] = append(x.Hooks[i], h.enabledOn(k))
		}
	}
	return x
}

func (s *survey) Image(shard int) store.Image { return s.shards[shard].Image() }

// loader is the drive.Loader of a world.
//
// Ownership: the world's goroutine; several may make shards, and then fill chunks.
type loader struct {
	w         *World
	slots     *slots.Load
	before    drive.State // the state of the new world
	images    []store.Image
	resources []func() // give the resources the values that they had
}

func (d *driven) MayLoad(call string) error {
	w := d.w()
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

func (d *driven) Load(call string) (drive.Loader, error) {
	w := d.w()
	if err := d.MayLoad(call); err != nil {
		return nil, err
	}
	l, err := slots.NewLoad(w.engine.PortSlots)
	if err != nil {
		return nil, err
	}
	w.touched = true
	x := &loader{w: w, slots: l, before: (*survey)(w).State(), images: w.images()}
	for _, r := range w.resources {
		x.resources = append(x.resources, r.(loadedResource).keep())
	}
	return x, nil
}

func (w *World) images() (all []store.Image) {
	for _, s := range w.shards {
		all = append(all, s.Image())
	}
	return all
}

func (l *loader) World(x drive.State) error {
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
	return l.slots.Ports(x.Ports)
}

func (l *loader) Shard(i int, x store.Image, made func(c *store.Chunk, table, chunk int)) error {
	err := l.slots.Home(i, x.Slots, x.Free)
	if err == nil {
		err = l.w.shards[i].Load(&x, made)
	}
	return err
}

func (l *loader) Chunk(shard, table, chunk int) *store.Chunk {
	return l.w.shards[shard].Tables()[table].Chunks()[chunk]
}

func (l *loader) Fill(c *store.Chunk, hs []handle.Handle) error { return c.Fill(hs, l.slots) }

func (l *loader) Trust() { l.slots.Trust() }

func (l *loader) Mail(message, shard int, to []handle.Handle) (bodies mem.Cells, put func()) {
	return l.w.messages[message].(loadedMessage).load(shard, to)
}

type loadedMessage interface {
	load(box int, to []handle.Handle) (bodies mem.Cells, put func())
}

func (m *Message[M]) load(box int, to []handle.Handle) (bodies mem.Cells, put func()) {
	all := make([]M, len(to))
	return mem.CellsOf(all), func() {
		for i, h := range to {
			m.add(box, h, all[i])
		}
	}
}

func (l *loader) Resource(i int) (value, parts mem.Cells, put func()) {
	return l.w.resources[i].(loadedResource).load()
}

type loadedResource interface {
	load() (value, parts mem.Cells, put func())
	keep() (restore func())
}

func (r *Resource[T]) keep() (restore func()) {
	value, parts := r.value, make([]T, len(r.parts))
	for i, p := range r.parts {
		parts[i] = p.value
	}
	return func() {
		r.value = value
		for i, p := range r.parts {
			p.value = parts[i]
		}
	}
}

func (r *Resource[T]) load() (value, parts mem.Cells, put func()) {
	v, all := make([]T, 1), make([]T, len(r.parts))
	return mem.CellsOf(v), mem.CellsOf(all), func() {
		r.value = v[0]
		for i, p := range r.parts {
			p.value = all[i]
		}
	}
}

func (l *loader) Request(from, kind int, flags queue.Flags, h handle.Handle) (mem.Cells, error) {
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
	if !q.Room(1, size) {
		return mem.Cells{}, s.refuse(q, 1, size)
	}
	return w.space.Kinds().Resend(q, kind, flags, h, w.engine.Epoch.Load())
}

func (l *loader) Finish() error {
	w := l.w
	var errs []error
	for _, s := range w.shards {
		errs = append(errs, s.Loaded())
	}
	return errors.Join(append(errs, l.slots.Finish())...)
}

func (l *loader) Undo() error {
	w := l.w
	for _, s := range w.shards {
		s.Unload()
	}
	l.slots.Undo()
	for _, m := range w.messages {
		m.drop()
	}
	w.engine.Mail.Clear()
	for _, c := range w.contexts {
		c.out.out = nil
	}
	for _, restore := range l.resources {
		restore()
	}
	errs := []error{l.World(l.before)}
	for i, x := range l.images {
		errs = append(errs, l.Shard(i, x, nil))
	}
	if err := errors.Join(append(errs, l.Finish())...); err != nil {
		return err
	}
	if !reflect.DeepEqual(l.before, (*survey)(w).State()) || !reflect.DeepEqual(l.images, w.images()) {
		return errors.New("the new world is not as it was before")
	}
	return nil
}

func (l *loader) Fail(err error) {
	l.w.fail(&BrokenError{Tick: l.w.engine.Tick.Load(), During: "a load that failed", Value: err})
}
