package text

import (
	"fmt"
	"math"

	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/driver"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/world"
)

// This file checks that a world can have the contents of a text.

// check loads everything except values into a world of its own, as Load would.
func (x *importing) check() error {
	switch {
	case x.lines.tick == 0:
		return format.Altered("the line of the tick is missing")
	case x.lines.state == 0:
		return format.Altered("the line of the state of the world is missing")
	case x.info.Entities != len(x.entities):
		return format.Altered("line %d: entities: it is %d, and %d have a line", x.lines.tick, x.info.Entities, len(x.entities))
	}
	w, err := x.empty()
	if err != nil {
		return format.Altered("line %d: options: %w", x.lines.options, err)
	}
	if n := len(x.names.Hooks); len(x.state.Hooks) != n {
		return format.Altered("line %d: hooks: there are %d, and %d are registered", x.lines.state, len(x.state.Hooks), n)
	}
	for i, on := range x.state.Hooks {
		if len(on) != w.Shards() {
			return format.Altered("line %d: hooks: hook %d is on %d shards, want %d", x.lines.state, i, len(on), w.Shards())
		}
	}
	l, err := driver.Of(w).Load("text.Import")
	if err != nil {
		return err
	}
	s := x.state
	s.Hooks, s.Pinned = nil, nil // this world has none
	if err := l.World(s); err != nil {
		return format.Altered("the lines of the world, from line %d on: %w", x.lines.state, err)
	}
	for i := range x.images {
		if err := l.Shard(i, x.images[i], nil); err != nil {
			return x.inShard(i, err)
		}
	}
	for i := range x.images { // an entity may be in another shard than its slot
		if err := x.fill(l, i); err != nil {
			return x.inShard(i, err)
		}
	}
	if err := l.Finish(); err != nil {
		return format.Altered("%w", err)
	}
	return nil
}

func (x *importing) inShard(i int, err error) error {
	return format.Altered("the lines of shard %d, from line %d on: %w", i, x.lines.shards[i], err)
}

// fill gives the rows of a shard their entities.
func (x *importing) fill(l drive.Loader, shard int) error {
	for i := range x.images[shard].Tables {
		for k, c := range x.images[shard].Tables[i].Chunks {
			if c.Rows == 0 {
				continue
			}
			if err := l.Fill(l.Chunk(shard, i, k), c.Handles); err != nil {
				return err
			}
		}
	}
	return nil
}

// empty makes a world with the options of the text and as many components, without values.
func (x *importing) empty() (*world.World, error) {
	o := x.info.Options
	o.HugePages = false
	w, err := world.New(o)
	switch {
	case err != nil:
		return nil, err
	case w.Options() != o:
		return nil, fmt.Errorf("one is 0, where a world has another number: %+v", w.Options())
	case len(x.names.Components) > store.ComponentsMax:
		return nil, fmt.Errorf("%d components are registered, of %d at most", len(x.names.Components), store.ComponentsMax)
	}
	of := mem.TypeOf[struct{}]()
	for range x.names.Components {
		store.NewColumn(driver.Of(w).Space(), of)
	}
	return w, nil
}

// check refuses more rows than a chunk can have, because they take memory.
func (l *chunkLine) check() error {
	if l.Room < 1 || l.Room > slots.RowsMax || l.Room&(l.Room-1) != 0 {
		return inField("room", fmt.Errorf("%d is no power of two up to %d", l.Room, slots.RowsMax))
	}
	return nil
}

// check refuses limits that names cannot have.
func (l *namesLine) check() error {
	for name, n := range map[string]uint64{"lengthMax": l.LengthMax, "refusals": l.Refusals} {
		if n < 1 || n > math.MaxInt {
			return inField(name, fmt.Errorf("%d is no limit of names", n))
		}
	}
	return nil
}

// check refuses flags that requests cannot have.
func (l *requestLine) check(kind string, shards int) error {
	f := queue.Flags(l.Flags)
	to := f & queue.Shards
	move, _ := store.Kinds{}.Describe(queue.MoveKind)
	if f&^(queue.Shards|queue.Direct) != 0 || int(to) >= shards || to != 0 && f&queue.Direct == 0 && kind != move.Name {
		return inField("flags", fmt.Errorf("a %s has no flags %d", kind, l.Flags))
	}
	return nil
}
