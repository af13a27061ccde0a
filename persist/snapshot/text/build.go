package text

import (
	"fmt"
	"math"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/world"
)

// This file makes the sections of a snapshot from the lines of a text, and checks that a world can
// have them.

// parts lists the sections, once all lines were read.
func (x *importing) parts() (parts []format.Part, err error) {
	if n := x.info.Options.Shards; x.images == nil || len(x.images) != n {
		return nil, format.Altered("it has lines of %d shards, want %d", len(x.images), n)
	}
	add := func(kind byte, number int, body func(dst []byte) []byte) {
		parts = append(parts, format.Part{Kind: kind, Number: number, Plain: kind == format.HeaderSection, Body: body})
	}
	add(format.HeaderSection, 0, func(dst []byte) []byte { return format.AppendHeader(dst, &x.info) })
	add(format.NamesSection, 0, x.names.Append)
	x.state.Tick = x.info.Tick
	add(format.WorldSection, 0, func(dst []byte) []byte { return format.AppendState(dst, &x.state) })
	for i := range x.images {
		if err := x.place(i); err != nil {
			return nil, err
		}
		add(format.ShardSection, i, func(dst []byte) []byte { return format.AppendShard(dst, &x.images[i]) })
	}
	for h, e := range x.entities {
		if !e.placed {
			return nil, format.Altered("entity %v (line %d): it has no row: entities cannot be added to a text; load the snapshot, and create them there", h, e.line)
		}
	}
	if err := x.check(); err != nil {
		return nil, err
	}
	for i := range x.images {
		if err := x.addRows(i, add); err != nil {
			return nil, err
		}
	}
	for i := range x.mail {
		add(format.MailSection, i, func(dst []byte) []byte { return x.appendMail(dst, i) })
	}
	for i, n := range x.names.Extensions {
		if names := x.named[n.Name]; names != nil {
			*x.bodies[bytesKey{format.ExtensionSection, i}] = names.body()
		}
	}
	for _, list := range []struct {
		kind  byte
		what  string
		names []format.Named
	}{{format.ResourceSection, "resource", x.names.Resources}, {format.ExtensionSection, "extension", x.names.Extensions}, {format.AlsoSection, "also", x.names.Also}} {
		if list.kind == format.AlsoSection && x.names.Scheduler {
			add(format.SchedulerSection, 0, x.body(bytesKey{format.SchedulerSection, 0}))
		}
		for i, n := range list.names {
			if x.bodies[bytesKey{list.kind, i}] == nil {
				return nil, format.Altered("%s %q has no line", list.what, n.Name)
			}
			add(list.kind, i, x.body(bytesKey{list.kind, i}))
		}
	}
	return parts, nil
}

// body returns a function that appends a section which the text has as bytes.
func (x *importing) body(key bytesKey) func(dst []byte) []byte {
	return func(dst []byte) []byte { return append(dst, *x.bodies[key]...) }
}

// place puts the entities of a shard into its rows, with flags and marks.
func (x *importing) place(shard int) error {
	for i := range x.images[shard].Tables {
		t := &x.images[shard].Tables[i]
		for k := range t.Chunks {
			c := &t.Chunks[k]
			if len(c.Handles) != c.Rows {
				return format.Altered("chunk %d of table %d of shard %d has %d entities, want %d rows", k, i, shard, len(c.Handles), c.Rows)
			}
			for row, h := range c.Handles {
				e := x.entities[h]
				switch {
				case e == nil:
					return format.Altered("entity %v has a row in table %d of shard %d, and no line: entities cannot be removed from a text; load the snapshot, and destroy them there", h, i, shard)
				case e.placed:
					return format.Altered("entity %v (line %d) has two rows", h, e.line)
				case !slices.Equal(e.ids, t.Components):
					return format.Altered("entity %v (line %d) has the components %q, and its row is among those with %q: components cannot be added or removed in a text; load the snapshot, and do it there", h, e.line, x.componentNames(e.ids), x.componentNames(t.Components))
				}
				e.placed = true
				for f := range c.Flags {
					if e.flags>>f&1 != 0 {
						setBit(&c.Flags[f], row)
					}
				}
				if e.marked {
					setBit(&c.Marks, row)
				}
			}
		}
	}
	return nil
}

func (x *importing) componentNames(ids []int) (all []string) {
	for _, id := range ids {
		all = append(all, x.lists[0].all[id].Name)
	}
	return all
}

// setBit adds a row to a set.
func setBit(set *[]uint64, row int) {
	for row/64 >= len(*set) {
		*set = append(*set, 0)
	}
	(*set)[row/64] |= 1 << (row % 64)
}

// addRows adds the sections of a shard's rows: as many as there were, each with as many chunks.
func (x *importing) addRows(shard int, add func(kind byte, number int, body func(dst []byte) []byte)) error {
	var chunks []format.Place
	for i := range x.images[shard].Tables {
		for k := range x.images[shard].Tables[i].Chunks {
			if x.images[shard].Tables[i].Chunks[k].Rows > 0 {
				chunks = append(chunks, format.Place{Table: i, Chunk: k})
			}
		}
	}
	for _, n := range x.sections[shard] {
		if n < 0 || n > len(chunks) {
			return format.Altered("shard %d: sections: they have more chunks than there are", shard)
		}
		some := chunks[:n]
		chunks = chunks[n:]
		add(format.RowsSection, shard, func(dst []byte) []byte { return x.appendRows(dst, shard, some) })
	}
	if len(chunks) > 0 {
		return format.Altered("shard %d: sections: %d chunks are in none", shard, len(chunks))
	}
	return nil
}

// appendRows appends the rows of some chunks.
func (x *importing) appendRows(dst []byte, shard int, chunks []format.Place) []byte {
	var cells [][]byte // of a chunk, row by row
	for _, p := range chunks {
		t := &x.images[shard].Tables[p.Table]
		c := &t.Chunks[p.Chunk]
		dst = extend.AppendNumber(extend.AppendNumber(dst, p.Table), p.Chunk)
		dst = extend.AppendWords(dst, c.Handles)
		cells = cells[:0]
		for _, h := range c.Handles {
			cells = x.appendCells(cells, t, h)
		}
		for k := range t.Components {
			for row := range c.Handles {
				dst = append(dst, cells[row*len(t.Components)+k]...)
			}
		}
	}
	return dst
}

// appendCells appends the values of an entity, one by one.
func (x *importing) appendCells(cells [][]byte, t *store.TableImage, h handle.Handle) [][]byte {
	rest := x.entities[h].values
	for _, id := range t.Components {
		behind, err := x.lists[0].all[id].skip.Read(rest, mem.Cells{})
		if err != nil {
			panic(fmt.Sprintf("text: what was made of the line of %v is no value: %v", h, err))
		}
		cells = append(cells, rest[:len(rest)-len(behind)])
		rest = behind
	}
	return cells
}

// appendMail appends the messages for a shard, and the requests that it has sent.
func (x *importing) appendMail(dst []byte, from int) []byte {
	m := &x.mail[from]
	for i := range x.names.Messages {
		if from == len(x.images) {
			break // global systems get no messages
		}
		if i >= len(m.to) {
			dst = extend.AppendNumber(dst, 0)
			continue
		}
		dst = append(extend.AppendWords(dst, m.to[i]), m.values[i]...)
	}
	return append(extend.AppendNumber(dst, m.count), m.requests...)
}

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
	l, err := engine.Of(w).Load("text.Import")
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
func (x *importing) fill(l *engine.Loader, shard int) error {
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
		store.NewColumn(engine.Of(w).Space(), of)
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
