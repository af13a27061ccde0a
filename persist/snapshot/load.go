package snapshot

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/driver"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// Load restores what Save wrote into a new world. New means: everything is registered, hooks and
// extensions are made, systems are added, and nothing was given, sent or ticked. Everything in the
// snapshot must be registered under the same name, and its values are read by the names of their
// fields. Options.Changes declare exceptions, and PlanLoad lists them beforehand. What the snapshot
// lacks stays as it is. Relations and names must have the options that they were saved with, except
// the limits Refusals, PlacesMax and LengthMax: lists and names beyond them stay. If the world has
// the same options and registrations in the same order, with the same types, Load compares its hash
// with that of the saved one.
//
// Load calls no hooks for what it loads. The next refresh calls them for what the saved world did
// since its last refresh.
//
// Load does not read beyond the end of the snapshot. It returns errors of this package,
// state.ErrNoCodec, world.ErrClosed, and errors of src and of Options.Also. After an error the
// world is new again, so that another snapshot can be loaded into it; but what Options.Also has
// loaded by then stays loaded. After a panic of a codec or an Also the world is broken and says so.
func Load(src io.Reader, w *world.World, o Options) error {
	return load(sourceOf(src), nil, w, "snapshot.Load", o)
}

// load loads from a source. If from is not nil, that has the rows. call is the name of the call for
// messages.
func load(r source, from *Captured, w *world.World, call string, o Options) error {
	short := strings.TrimPrefix(call, "snapshot.")
	if w == nil {
		panic("snapshot: " + short + " into a nil World; pass one of world.New")
	}
	o = o.validate(short).of(w, short)
	if err := w.Err(); err != nil {
		return err
	}
	d := driver.Of(w)
	d.MustIdle(call)
	l := &loading{w: w, v: d.Survey(), o: &o, r: r, from: from, tables: make([][]tablePlan, w.Shards())}
	if err := l.begin(); err != nil {
		return err
	}
	into, err := d.Load(call)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotNew, err)
	}
	l.into = into
	undo := l.undoing()
	done := false
	defer func() {
		if !done {
			into.Fail(errors.New("a function that reads a part of a snapshot has panicked"))
		}
	}()
	if err = l.fill(); err != nil {
		if e := undo(); e != nil {
			into.Fail(err)
			err = fmt.Errorf("%w; the world is broken now (%w), make another to load into", err, e)
		}
	}
	done = true
	return err
}

// loading is a world that is being loaded.
type loading struct {
	w        *world.World
	v        drive.Survey // of it
	o        *Options
	r        source
	from     *Captured // has the rows, or nil: the source has them
	into     drive.Loader
	info     Info
	settings []setting
	same     bool          // the hashes can be compared
	names    *catalogue    // of the snapshot
	own      *catalogue    // of the world
	tables   [][]tablePlan // by shard
	read     int64         // bytes that describe rows
	merged   []*mergedTable
	rows     int64      // bytes of rows, used or not
	codecs   sync.Mutex // held while the user's functions are called
	put      []func()
	also     []func() error
}

// begin reads the sections that do not change the world.
func (l *loading) begin() error {
	p, err := l.plan()
	if err == nil {
		err = p.err()
	}
	if err == nil && l.from != nil && l.drops() {
		err = otherWorld("a fork has all components of the world that was captured; to drop one, load what Captured.Save writes")
	}
	return err
}

// fill reads all other sections.
func (l *loading) fill() error {
	var s section
	var c drive.Cursor // of its body
	var buf []byte
	unpacked := func() (err error) {
		if most := l.o.BytesMax; most > 0 && int64(s.length) > most && !s.sure {
			return fmt.Errorf("%w: %v has %d bytes, with BytesMax = %d", ErrTooLarge, &s, s.length, most)
		}
		c = drive.Cursor{Most: l.mayList(&s)}
		c.Rest, err = s.unpack(&buf)
		return err
	}
	next := func() error {
		if err := l.r.next(&s); err != nil {
			return err
		}
		return unpacked()
	}
	err := next()
	if err == nil {
		err = l.world(&s, &c)
	}
	if err == nil && l.from != nil {
		if err = l.copyShards(); err == nil {
			err = l.r.next(&s)
		}
	} else {
		for i := 0; err == nil && i < l.w.Shards(); i++ {
			if err = next(); err == nil {
				err = l.shard(&s, &c, i, nil)
			}
		}
		if err == nil {
			err = l.allRows(&s)
		}
		if err == nil {
			err = l.fillMerged()
		}
	}
	if err == nil {
		err = unpacked()
	}
	last := rank(rowsSection) + 1
	counts := map[byte]int{}
	for err == nil && s.kind != endSection {
		at := rank(s.kind)
		if at < last || s.number != counts[s.kind] {
			return altered("%v is not in its place", &s)
		}
		last = at
		counts[s.kind]++
		if err = l.part(&c, &s); err == nil {
			err = c.End()
		}
		if err != nil {
			return l.within(&s, err)
		}
		err = next()
	}
	if err == nil {
		err = l.r.finish(&s)
	}
	if err == nil {
		err = l.complete(counts)
	}
	if err == nil {
		err = l.finish()
	}
	return err
}

// complete checks that no part is missing.
func (l *loading) complete(counts map[byte]int) error {
	want := map[byte]int{
		mailSection: l.w.Shards() + 1, resourceSection: len(l.names.resources), extensionSection: len(l.names.extensions),
		schedulerSection: drive.FlagsOf(l.names.scheduler), alsoSection: len(l.names.also),
	}
	for kind, n := range want {
		if counts[kind] != n {
			return altered("it has %d sections of kind %q, want %d", counts[kind], kind, n)
		}
	}
	return l.allFilled()
}

// world loads what shapes the world as a whole.
func (l *loading) world(s *section, c *drive.Cursor) error {
	if s.kind != worldSection || s.number != 0 {
		return altered("%v is not in its place", s)
	}
	x := readState(c)
	if err := c.End(); err != nil {
		return l.within(s, err)
	}
	own := l.v.State()
	if len(x.Hooks) != len(l.names.hooks) || x.Tick != l.info.Tick {
		return altered("%v: it has %d hooks, want %d; tick %d, want %d", s, len(x.Hooks), len(l.names.hooks), x.Tick, l.info.Tick)
	}
	for i, h := range l.names.hooks {
		if h.at >= 0 {
			own.Hooks[h.at] = x.Hooks[i]
		}
	}
	x.Hooks = own.Hooks
	var err error
	if x.Pinned, err = l.components(x.Pinned); err == nil {
		x.Pinned = append(x.Pinned, slices.DeleteFunc(own.Pinned, func(c int) bool { // those that the snapshot does not know
			return slices.ContainsFunc(l.names.components, func(n named) bool { return n.at == c })
		})...)
		slices.Sort(x.Pinned)
		err = l.into.World(x)
	}
	if err != nil {
		return l.within(s, err)
	}
	return nil
}

// part loads a section that follows the rows.
func (l *loading) part(c *drive.Cursor, s *section) error {
	switch s.kind {
	case mailSection:
		return l.mail(c, s.number)
	case resourceSection:
		if s.number >= len(l.names.resources) {
			return drive.ErrBody
		}
		return l.resource(c, &l.names.resources[s.number])
	case extensionSection:
		if s.number >= len(l.names.extensions) {
			return drive.ErrBody
		}
		body, n := slices.Clone(c.Take(len(c.Rest))), l.names.extensions[s.number]
		if n.at >= 0 {
			l.later("extension", n.name, func() error {
				x, err := drive.StateOf(l.v.Extensions()[n.at], l.o.Codecs, true)
				if err != nil {
					return err
				}
				return x.(drive.Saved).LoadSaved(body)
			})
		}
	case schedulerSection:
		body := slices.Clone(c.Take(len(c.Rest)))
		l.later("state of", "scheduler", func() error { return l.loadSystems(body) })
	case alsoSection:
		if s.number >= len(l.names.also) {
			return drive.ErrBody
		}
		body, n := slices.Clone(c.Take(len(c.Rest))), l.names.also[s.number]
		if n.at < 0 {
			break
		}
		l.also = append(l.also, func() error {
			if err := l.o.Also[n.at].Load(body); err != nil {
				return fmt.Errorf("snapshot: also %q: %w", n.name, err)
			}
			return nil
		})
	}
	return nil
}

// later calls load once all entities exist.
func (l *loading) later(what, name string, load func() error) {
	l.also = append(l.also, func() error {
		if err := load(); err != nil {
			kind := ErrOtherWorld
			if errors.Is(err, drive.ErrImage) {
				kind = ErrAltered
			}
			return fmt.Errorf("%w: %s %q: %w", kind, what, name, err)
		}
		return nil
	})
}

func (l *loading) resource(c *drive.Cursor, n *named) error {
	if n.at < 0 {
		err := l.pass(c, n, 1)
		if err == nil {
			err = l.pass(c, n, c.Int())
		}
		return err
	}
	value, parts, put := l.into.Resource(n.at)
	err := l.values(c, n.form, value)
	switch count := c.Int(); {
	case err != nil:
	case count == parts.Len:
		err = l.values(c, n.form, parts)
	case count > 0 && count != l.w.Shards():
		err = drive.ErrBody
	case count > 0: // it is no accumulator now
		err = l.values(c, skipping(n.parts), mem.Cells{Len: count})
	}
	l.put = append(l.put, put)
	return err
}

func (l *loading) mail(c *drive.Cursor, from int) error {
	if from > l.w.Shards() {
		return drive.ErrBody
	}
	if from < l.w.Shards() {
		for i := range l.names.messages {
			n := &l.names.messages[i]
			to := drive.WordsOf[handle.Handle](c)
			if n.at < 0 {
				if err := l.pass(c, n, len(to)); err != nil {
					return err
				}
				continue
			}
			if least := n.form.Least(); least > 0 && len(to) > len(c.Rest)/least {
				return drive.ErrBody
			}
			if !c.Takes(len(to), int(n.rows.Size())) {
				return c.Err
			}
			bodies, put := l.into.Mail(n.at, from, to)
			if err := l.values(c, n.form, bodies); err != nil {
				return err
			}
			l.put = append(l.put, put)
		}
	}
	for range c.Count(3) {
		kind, flags, h := c.Int(), queue.Flags(c.Below(1<<16)), c.Handle()
		if c.Err != nil || kind >= len(l.names.kinds) {
			return drive.ErrBody
		}
		n := &l.names.kinds[kind]
		if n.at < 0 {
			if err := l.pass(c, n, 1); err != nil {
				return err
			}
			continue
		}
		value, err := l.into.Request(sender(from, l.w.Shards()), n.at, flags, h)
		if errors.Is(err, world.ErrFull) {
			o := l.w.Options()
			return otherWorld("more requests are under way than this world takes, with OutboxRequests = %d, OutboxBytes = %d; the saved one had %d and %d (a %s)", o.OutboxRequests, o.OutboxBytes, l.info.Options.OutboxRequests, l.info.Options.OutboxBytes, n.name)
		}
		if err != nil {
			return fmt.Errorf("a %s: %w", n.name, err)
		}
		if n.form == nil {
			continue
		}
		if c.Rest, err = l.value(c.Rest, n.form, value); err != nil {
			return fmt.Errorf("a %s: %w", n.name, err)
		}
		l.v.Kinds().Renumber(n.at, value, l.component)
	}
	return nil
}

// finish ends the load after all sections were read.
func (l *loading) finish() error {
	for _, put := range l.put {
		put()
	}
	if err := l.into.Finish(); err != nil {
		return altered("%w", err)
	}
	for _, f := range l.also {
		if err := f(); err != nil {
			return err
		}
	}
	if !l.same || l.info.Hash == 0 {
		return nil
	}
	hash, err := state.StateHash(l.w, l.o.Codecs)
	if err == nil && hash != l.info.Hash {
		err = fmt.Errorf("%w: its hash is %v, was %v", ErrDiffers, hash, l.info.Hash)
	}
	return err
}
