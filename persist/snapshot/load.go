package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
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
	return load(format.SourceOf(src), nil, w, "snapshot.Load", o)
}

// Load loads what was captured into a new world, a fork. It has the effect of Save and the function
// Load, but writes nothing. Components are copied on o.Workers goroutines as frames copy them, by
// world.Component.CloneBy if they have one. Components without it, of which a plain copy would
// share something, are encoded and decoded. The fork shares nothing with the captured world, nor
// with other forks, and continues as that world would have. As the function Load, it calls no hooks
// for what it loads. Load may be called as often as needed,
// and by several goroutines at once for a world each, if the functions of o allow that.
//
// The requirements for the new world and for o, and the errors, are those of the function Load,
// except that no component can be dropped. It returns world.ErrClosed after Release.
func (c *Captured) Load(w *world.World, o Options) error {
	if c.parts == nil {
		return world.ErrClosed
	}
	return load(&memory{c: c}, c, w, "Captured.Load", o)
}

// load loads from a source. If from is not nil, that has the rows. call is the name of the call for
// messages.
func load(r format.Source, from *Captured, w *world.World, call string, o Options) error {
	short := strings.TrimPrefix(call, "snapshot.")
	if w == nil {
		panic("snapshot: " + short + " into a nil World; pass one of world.New")
	}
	o = o.validate(short).of(w, short)
	if err := w.Err(); err != nil {
		return err
	}
	d := engine.Of(w)
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

// begin reads the sections that do not change the world.
func (l *loading) begin() error {
	p, err := l.plan()
	if err == nil {
		err = p.err()
	}
	if err == nil && l.from != nil && l.drops() {
		err = format.OtherWorld("a fork has all components of the world that was captured; to drop one, load what Captured.Save writes")
	}
	return err
}

// fill reads all other sections.
func (l *loading) fill() error {
	var s format.Section
	var c extend.Cursor // of its body
	var buf []byte
	unpacked := func() (err error) {
		if most := l.o.BytesMax; most > 0 && int64(s.Length) > most && !s.Sure {
			return fmt.Errorf("%w: %v has %d bytes, with BytesMax = %d", ErrTooLarge, &s, s.Length, most)
		}
		c = extend.Cursor{Most: l.mayList(&s)}
		c.Rest, err = s.Unpack(&buf)
		return err
	}
	next := func() error {
		if err := l.r.Next(&s); err != nil {
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
			err = l.r.Next(&s)
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
	last := format.Rank(format.RowsSection) + 1
	counts := map[byte]int{}
	for err == nil && s.Kind != format.EndSection {
		at := format.Rank(s.Kind)
		if at < last || s.Number != counts[s.Kind] {
			return format.Altered("%v is not in its place", &s)
		}
		last = at
		counts[s.Kind]++
		if err = l.part(&c, &s); err == nil {
			err = c.End()
		}
		if err != nil {
			return l.within(&s, err)
		}
		err = next()
	}
	if err == nil {
		err = l.r.Finish(&s)
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
		format.MailSection: l.w.Shards() + 1, format.ResourceSection: len(l.names.resources), format.ExtensionSection: len(l.names.extensions),
		format.SchedulerSection: extend.FlagsOf(l.names.scheduler), format.AlsoSection: len(l.names.also),
	}
	for kind, n := range want {
		if counts[kind] != n {
			return format.Altered("it has %d sections of kind %q, want %d", counts[kind], kind, n)
		}
	}
	return l.allFilled()
}

// finish ends the load after all sections were read.
func (l *loading) finish() error {
	for _, put := range l.put {
		put()
	}
	if err := l.into.Finish(); err != nil {
		return format.Altered("%w", err)
	}
	for _, f := range l.also {
		if err := f(); err != nil {
			return err
		}
	}
	if !l.same || l.head.Hash == 0 {
		return nil
	}
	hash, err := state.StateHash(l.w, l.o.Codecs)
	if err == nil && hash != l.head.Hash {
		err = fmt.Errorf("%w: its hash is %v, was %v", ErrDiffers, hash, l.head.Hash)
	}
	return err
}

// undoing returns a function that makes the world new again.
func (l *loading) undoing() func() error {
	var saved [][]byte
	var system []byte
	for _, x := range l.own.extensions {
		saved = append(saved, x.saved.AppendSaved(nil))
	}
	if l.o.Scheduler != nil {
		system = l.o.Scheduler.AppendState(nil)
	}
	return func() error {
		errs := []error{l.into.Undo()}
		for i, x := range l.own.extensions {
			if errs = append(errs, x.saved.LoadSaved(saved[i])); !bytes.Equal(saved[i], x.saved.AppendSaved(nil)) {
				errs = append(errs, fmt.Errorf("extension %q is not as it was before", x.Name))
			}
		}
		if l.o.Scheduler != nil {
			errs = append(errs, l.o.Scheduler.LoadState(system))
		}
		return errors.Join(errs...)
	}
}
