package snapshot

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/form"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/shape"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// Load restores what Write wrote into a new world. New means: everything is registered, hooks and
// extensions are made, systems are added, and nothing was given, sent or ticked. Everything in the
// snapshot must be registered under the same name, and its values are read by the names of their
// fields. Options.Changes declare exceptions, and PlanLoad lists them beforehand. What the snapshot
// lacks stays as it is. Options of extensions may differ: they count from now on, and what is
// beyond a limit stays. hierarchy.Options.Places says more. If the world has the same options and
// registrations in the same order, with the same types, Load compares its hash with that of the
// saved one.
//
// The world may have another number of shards. Handles stay as they are; which shard an entity goes to
// is decided by Bundle.PlaceBy and region.Grid, by its parent, or evenly: docs/snapshot-format.md says
// how. Then Load calls the functions of PlaceBy, and of accumulators if shards are fewer, and the hash
// is another.
//
// Load calls no hooks for what it loads. The next refresh calls them for what the saved world did
// since its last refresh.
//
// Load does not read beyond the end of the snapshot. It returns errors of this package,
// state.ErrNoCodec, world.ErrClosed, and errors of src and of Options.Extras. After an error the
// world is new again, so that another snapshot can be loaded into it; but what Options.Extras have
// read by then stays. After a panic of a codec or an Extra the world is broken and says so.
func Load(src io.Reader, w *world.World, o Options) error {
	return load(format.SourceOf(src), nil, w, "snapshot.Load", o)
}

// Load loads what was captured into a new world, a fork. It has the effect of Write and the function
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

// PlanLoad returns what Load would do about each difference of the snapshot and the world, and what
// it would refuse. It reads the beginning of the snapshot, or more if an extension has other
// options, and does not touch the world, which need not be new. Errors are as for Load for data
// that is no snapshot.
//
// It compares names and types. That a number means something else now, as when the constants of an
// enum are renumbered, it sees for types that state.RegisterEnum has declared in both programs: Load
// then goes by the names. Other numbers are read as they are: never renumber, or give the field
// another name, too, and convert it by a Migrated.
func PlanLoad(src io.Reader, w *world.World, o Options) (Plan, error) {
	d, err := enter(w, "snapshot.PlanLoad", &o)
	if err != nil {
		return Plan{}, err
	}
	l := &loading{w: w, v: d.Survey(), o: &o, r: format.SourceOf(src)}
	p, err := l.plan()
	if err == nil && len(p.Blocking()) == 0 {
		err = l.refused(&p)
	}
	return p, err
}

// refused adds to a plan what extensions refuse that have other options. To ask them it reads on, as
// far as it must. The error is of the source.
func (l *loading) refused(p *Plan) error {
	ask := map[int]extend.Refusing{}
	for i, n := range l.names.Extensions {
		if n.At < 0 || n.Type == l.own.Extensions[n.At].Type {
			continue
		}
		if own, ok := l.own.Extensions[n.At].Saved.(extend.Refusing); ok {
			ask[i] = own
		}
	}
	for len(ask) > 0 {
		if err := l.r.Next(&l.s); err != nil || l.s.Kind == format.EndSection {
			return err
		}
		own := ask[l.s.Number]
		if l.s.Kind != format.ExtensionSection || own == nil {
			continue
		}
		delete(ask, l.s.Number)
		if err := l.unpack(); err != nil {
			return err
		}
		if err := own.Refuses(l.c.Rest); err != nil {
			p.Differences = append(p.Differences, Difference{Kind: "extension", Name: l.names.Extensions[l.s.Number].Name, Text: err.Error(), Blocks: true})
		}
	}
	return nil
}

// PlanFiles is PlanLoad with a snapshot instead of a world: of that world, or of another of the
// same program. It cannot check what only a world or its Options have: kinds of requests, whether a
// Change.Migrated fits, whether a relation with fewer Places would lose children, and whether Load
// gets an Extra or a Scheduler that the new snapshot lacks, as package durable does. Of the Options
// it uses Changes and OtherOptions.
func PlanFiles(old, now io.Reader, o Options) (p Plan, err error) {
	o.validate("PlanFiles")
	var saved [2]*loading
	for i, src := range []io.Reader{old, now} {
		saved[i] = &loading{r: format.SourceOf(src)}
		if err := saved[i].readHead(); err != nil {
			return p, fmt.Errorf("%w (of %s)", err, []string{"the old one", "the new one"}[i])
		}
	}
	p.Info = Info(saved[0].head.Info)
	_, p.Differences = compare(saved[1].head.Settings, saved[0].head.Settings, o.OtherOptions)
	m := matching{saved: saved[0].names, own: saved[1].names, o: &o, files: true, list: &p.Differences}
	_, err = m.all()
	return p, err
}

// plan reads the sections that do not change the world, and compares them with the world. An error
// has changed nothing.
func (l *loading) plan() (p Plan, err error) {
	if err = l.readHead(); err != nil {
		return p, err
	}
	p.Info = Info(l.head.Info)
	l.same, p.Differences = compare(format.Settings(format.InfoOf(l.w)), l.head.Settings, l.o.OtherOptions)
	if p.Differences, err = l.planShards(p.Differences); err != nil {
		return p, err
	}
	own, err := catalogueOf(l.w, l.v, l.o)
	if err != nil {
		return p, err
	}
	l.own = own
	m := matching{saved: l.names, own: own, o: l.o, list: &p.Differences}
	same, err := m.all()
	l.same = l.same && same
	return p, err
}

// readHead reads the header and the names. It touches no world; an error ends the load or the plan.
func (l *loading) readHead() error {
	head, names, err := format.ReadHead(l.r)
	if err == nil {
		l.head, l.names = head, &catalogue{Catalogue: names}
	}
	return err
}

// load loads from a source into a new world, on the caller's goroutine and others that end with it.
// If from is not nil, that has the rows. call is the name of the call for messages. After an error
// the world is new again, or broken if even that has failed.
func load(r format.Source, from *Captured, w *world.World, call string, o Options) error {
	d, err := enter(w, call, &o)
	if err != nil {
		return err
	}
	l := &loading{w: w, v: d.Survey(), o: &o, r: r, from: from}
	l.limit()
	if err := l.begin(); err != nil {
		return err
	}
	l.shardCount = l.head.Options.Shards
	l.tables = make([][]tablePlan, l.shardCount)
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

// limit bounds what slices, maps and pointers in values take, unless they are a fork's.
func (l *loading) limit() {
	if l.from != nil {
		return
	}
	if l.o.BytesMax > 0 {
		l.held.Reset(l.o.BytesMax, 0)
	} else {
		l.held.Reset(format.BytesMax(0, 0), format.BytesPerByte)
	}
	l.o.Codecs = (*state.Codecs)((*form.Codecs)(l.o.Codecs).Within(&l.held))
}

// begin reads the sections that do not change the world. An error has changed nothing.
func (l *loading) begin() error {
	p, err := l.plan()
	if err == nil {
		err = p.err()
	}
	if err == nil && l.from != nil && l.drops() {
		err = format.OtherWorld("a fork has all components of the world that was captured; to drop one, load what Captured.Write writes")
	}
	return err
}

// fill reads all other sections, and fills the world. After an error load undoes it.
func (l *loading) fill() error {
	return inOrder(l.next, l.world, l.shards, l.unpack, l.parts, l.finish)
}

// next reads the next section. An error ends the load.
func (l *loading) next() error {
	if err := l.r.Next(&l.s); err != nil {
		return err
	}
	return l.unpack()
}

// unpack begins to read the body of the section. An error ends the load.
func (l *loading) unpack() (err error) {
	if most := l.o.BytesMax; most > 0 && int64(l.s.Length) > most && !l.s.Sure {
		return fmt.Errorf("%w: %v has %d bytes, with BytesMax = %d", ErrTooLarge, &l.s, l.s.Length, most)
	}
	l.c = extend.Cursor{Most: l.mayList(&l.s)}
	l.c.Rest, err = l.s.Unpack(&l.buf)
	return err
}

// parts loads the sections that follow the rows, and checks that none is missing. An error ends the
// load.
func (l *loading) parts() error {
	last, counts := format.Rank(format.RowsSection)+1, map[byte]int{}
	for s := &l.s; s.Kind != format.EndSection; {
		at := format.Rank(s.Kind)
		if at < last || s.Number != counts[s.Kind] {
			return format.Altered("%v is not in its place", s)
		}
		last = at
		counts[s.Kind]++
		if err := inOrder(l.part, l.c.End); err != nil {
			return format.Within(s, err)
		}
		if err := l.next(); err != nil {
			return err
		}
	}
	if err := l.r.Finish(&l.s); err != nil {
		return err
	}
	for kind, n := range map[byte]int{
		format.MailSection: l.shardCount + 1, format.ResourceSection: len(l.names.Resources), format.ExtensionSection: len(l.names.Extensions),
		format.SchedulerSection: extend.FlagsOf(l.names.Scheduler), format.ExtraSection: len(l.names.Extras),
	} {
		if counts[kind] != n {
			return format.Altered("it has %d sections of kind %q, want %d", counts[kind], kind, n)
		}
	}
	return l.allFilled()
}

// finish ends the load after all sections were read: extensions and Extras get their state, and the
// hash is compared. An error ends the load, and what Extras have read stays.
func (l *loading) finish() error {
	for _, put := range l.put {
		put()
	}
	if err := l.into.Finish(); err != nil {
		return format.Altered("%w", err)
	}
	if err := inOrder(l.also...); err != nil {
		return err
	}
	if l.reshards() {
		if err := l.into.Rehome(); err != nil {
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

// undoing returns a function that makes the world new again, from what it has now. That function
// returns an error if it cannot.
func (l *loading) undoing() func() error {
	var saved [][]byte
	var system []byte
	for _, x := range l.own.Extensions {
		saved = append(saved, x.Saved.AppendSaved(nil))
	}
	if l.o.Scheduler != nil {
		system = l.o.Scheduler.AppendState(nil)
	}
	return func() error {
		l.held.Reset(math.MaxInt64, 0) // what comes now is the world's own
		errs := []error{l.into.Undo()}
		for i, x := range l.own.Extensions {
			if errs = append(errs, x.Saved.LoadSaved(saved[i])); !bytes.Equal(saved[i], x.Saved.AppendSaved(nil)) {
				errs = append(errs, fmt.Errorf("extension %q is not as it was before", x.Name))
			}
		}
		if l.o.Scheduler != nil {
			errs = append(errs, l.o.Scheduler.LoadState(system))
		}
		return errors.Join(errs...)
	}
}

// loading is a world that is being loaded. An error of a method ends the load, which is then
// undone.
//
// Ownership: the goroutine of the load. While it waits for others, each of these has its own shards
// or chunks, and codecs guards calls of the user's functions.
type loading struct {
	w          *world.World
	v          *engine.Survey // of it
	o          *Options
	r          format.Source
	from       *Captured // has the rows, or nil: the source has them
	into       *engine.Loader
	head       format.Header
	same       bool          // the hashes can be compared
	names      *catalogue    // of the snapshot
	own        *catalogue    // of the world
	shardCount int           // of the saved world
	images     []store.Image // by shard of the saved world, if this one has another number
	tables     [][]tablePlan // by shard of the saved world
	read       int64         // bytes that describe rows
	merged     []*mergedTable
	rows       int64       // bytes of rows, used or not
	held       form.Budget // of what slices, maps and pointers in values hold
	codecs     sync.Mutex  // held while the user's functions are called
	put        []func()
	also       []func() error

	s   format.Section // that is being read
	c   extend.Cursor  // in its body
	buf []byte
}

// tablePlan says how to read the rows of a table.
type tablePlan struct {
	columns []columnPlan  // in the order of the snapshot
	filled  []atomic.Bool // by chunk: its rows are loaded
	to      int           // the world's table
	merged  *mergedTable  // if the rows go to tables that also have others, or to several
	first   []int         // with merged, by chunk: its first row there
}

type columnPlan struct {
	*format.Named
	to int // the column of the world's table, or -1 if dropped
}

// mergedTable is a table of the world, or several, in one shard each, with the rows of several in the
// snapshot.
//
// Ownership: each row of handles belongs to the goroutine that has its chunk.
type mergedTable struct {
	handles []handle.Handle
	chunks  []mergedChunk
}

// mergedChunk is a chunk of the world, with its place, and its first row in the mergedTable.
type mergedChunk struct {
	*store.ChunkImage
	shard int
	format.Place
	first int
}

// chunkOf returns the chunk of a row.
func (m *mergedTable) chunkOf(row int) int {
	at, _ := slices.BinarySearchFunc(m.chunks, row+1, func(c mergedChunk, row int) int { return cmp.Compare(c.first, row) })
	return at - 1 // chunks without rows come last, and begin after the last row
}

// components returns the numbers of components in this world, without those that are dropped.
func (l *loading) components(c *extend.Cursor, saved []int) (own []int) {
	for _, id := range saved {
		if id >= len(l.names.Components) {
			c.Err = fmt.Errorf("component %d, of %d", id, len(l.names.Components))
			return nil
		}
		if at := l.names.Components[id].At; at >= 0 {
			own = append(own, at)
		}
	}
	return own
}

// component returns the number of a component in this world, or -1.
func (l *loading) component(saved int) int {
	if saved < len(l.names.Components) {
		return l.names.Components[saved].At
	}
	return -1
}

// drops reports whether components are dropped.
func (l *loading) drops() bool {
	return slices.ContainsFunc(l.names.Components, func(n format.Named) bool { return n.At < 0 })
}

// pass skips the values of something that is dropped.
func (l *loading) pass(c *extend.Cursor, n *format.Named, values int) {
	if n.Form != nil {
		l.values(c, n.Form, n.Form.ReadAll, mem.Cells{Len: values})
	}
}

// values reads values by a method of their form. One goroutine at a time runs codecs. After an
// error it reads nothing.
func (l *loading) values(c *extend.Cursor, form form.Form, read func([]byte, mem.Cells) ([]byte, error), values mem.Cells) {
	if c.Err != nil {
		return
	}
	if form.ByCodec() {
		l.codecs.Lock()
		defer l.codecs.Unlock()
	}
	c.Rest, c.Err = read(c.Rest, values)
}

// What follows loads what is not in the rows.

// world loads what shapes the world as a whole, into the world. An error ends the load.
func (l *loading) world() error {
	s := &l.s
	if s.Kind != format.WorldSection || s.Number != 0 {
		return format.Altered("%v is not in its place", s)
	}
	x := format.ReadState(&l.c)
	if err := l.c.End(); err != nil {
		return format.Within(s, err)
	}
	own := l.v.State()
	if len(x.Hooks) != len(l.names.Hooks) || x.Tick != l.head.Tick {
		return format.Altered("%v: it has %d hooks, want %d; tick %d, want %d", s, len(x.Hooks), len(l.names.Hooks), x.Tick, l.head.Tick)
	}
	l.spreadState(&x)
	for i, h := range l.names.Hooks {
		if h.At >= 0 {
			own.Hooks[h.At] = x.Hooks[i]
		}
	}
	x.Hooks = own.Hooks
	x.Pinned = append(l.components(&l.c, x.Pinned), slices.DeleteFunc(own.Pinned, func(c int) bool { // those that the snapshot does not know
		return slices.ContainsFunc(l.names.Components, func(n format.Named) bool { return n.At == c })
	})...)
	slices.Sort(x.Pinned)
	if err := inOrder(func() error { return l.c.Err }, func() error { return l.into.Homes(l.head.Homes()) }, func() error { return l.into.World(x) }); err != nil {
		return format.Within(s, err)
	}
	return nil
}

// part loads a section that follows the rows, or keeps it for finish. An error ends the load.
func (l *loading) part() error {
	c, s := &l.c, &l.s
	names := map[byte][]format.Named{format.ResourceSection: l.names.Resources, format.ExtensionSection: l.names.Extensions, format.ExtraSection: l.names.Extras}
	list, listed := names[s.Kind]
	if listed && s.Number >= len(list) {
		return extend.ErrBody
	}
	body := func() []byte { return slices.Clone(c.Take(len(c.Rest))) }
	switch s.Kind {
	case format.MailSection:
		return l.mail(c, s.Number)
	case format.ResourceSection:
		l.resource(c, &list[s.Number])
	case format.ExtensionSection:
		if body, n := body(), list[s.Number]; n.At >= 0 {
			l.later("extension", n.Name, func() error { return l.loadExtension(&n, body) })
		}
	case format.SchedulerSection:
		body := body()
		l.later("state of", "scheduler", func() error { return l.loadSystems(body) })
	case format.ExtraSection:
		if body, n := body(), list[s.Number]; n.At >= 0 {
			l.also = append(l.also, func() error {
				if err := l.o.Extras[n.At].Read(body); err != nil {
					return fmt.Errorf("snapshot: Extra %q: %w", n.Name, err)
				}
				return nil
			})
		}
	}
	return nil
}

// later calls load once all entities exist. It is finish that calls it.
func (l *loading) later(what, name string, load func() error) {
	l.also = append(l.also, func() error {
		if err := load(); err != nil {
			kind := ErrOtherWorld
			switch {
			case errors.Is(err, extend.ErrMemory):
				kind = ErrTooLarge
			case errors.Is(err, extend.ErrImage) || errors.Is(err, extend.ErrBody):
				kind = ErrAltered
			}
			return fmt.Errorf("%w: %s %q: %w", kind, what, name, err)
		}
		return nil
	})
}

// loadExtension gives an extension of the world what was saved of it. Values that it holds may have
// another form. It is finish that calls it. An error ends the load.
func (l *loading) loadExtension(n *format.Named, body []byte) error {
	own := l.own.Extensions[n.At].Saved
	holder, ok := own.(form.Holder)
	if !ok {
		return own.LoadSaved(body)
	}
	at := slices.IndexFunc(l.names.Payloads, func(p format.Named) bool { return p.Name == n.Name && p.Form != nil })
	if at < 0 {
		return fmt.Errorf("it does not say in which form its values are (%w)", extend.ErrImage)
	}
	return holder.LoadHeld(body, l.names.Payloads[at].Form)
}

// resource loads a resource, and what shards have added to it. An error is in the cursor.
func (l *loading) resource(c *extend.Cursor, n *format.Named) {
	if n.At < 0 {
		l.pass(c, n, 1)
		l.pass(c, n, c.Int())
		return
	}
	value, parts, put := l.into.Resource(n.At, l.shardCount)
	l.values(c, n.Form, n.Form.ReadAll, value)
	switch count := c.Int(); {
	case count == parts.Len:
		l.values(c, n.Form, n.Form.ReadAll, parts)
	case count > 0 && count != l.shardCount:
		c.Err = extend.ErrBody
	case count > 0: // it is no accumulator now
		skip := shape.Skip(n.Parts)
		l.values(c, skip, skip.ReadAll, mem.Cells{Len: count})
	}
	l.put = append(l.put, put)
}

// mail loads the messages for a shard, and the requests that it has sent. An error ends the load.
func (l *loading) mail(c *extend.Cursor, from int) error {
	if from > l.shardCount {
		return extend.ErrBody
	}
	to := world.AllShards
	if from < l.shardCount {
		to = from % l.w.Shards()
		for i := range l.names.Messages { // global systems get none
			l.messages(c, &l.names.Messages[i], to)
		}
	}
	for range c.Count(3) {
		kind, flags, h := c.Below(uint64(len(l.names.Kinds))), queue.Flags(c.Below(1<<16)), c.Handle()
		if c.Err != nil {
			return c.Err
		}
		if shard := flags & queue.Shards; int(shard) < l.shardCount {
			flags = flags&^queue.Shards | shard%queue.Flags(l.w.Shards())
		}
		n := &l.names.Kinds[kind]
		if n.At < 0 {
			l.pass(c, n, 1)
			continue
		}
		value, err := l.into.Request(to, l.shardCount, n.At, flags, h)
		if errors.Is(err, world.ErrFull) {
			o := l.w.Options()
			return format.OtherWorld("more requests are under way than this world takes, with OutboxRequests = %d, OutboxBytes = %d; the saved one had %d and %d (a %s)", o.OutboxRequests, o.OutboxBytes, l.head.Options.OutboxRequests, l.head.Options.OutboxBytes, n.Name)
		}
		if err == nil && n.Form != nil {
			l.values(c, n.Form, n.Form.Read, value)
			if err = c.Err; err == nil {
				l.v.Kinds().Renumber(n.At, value, l.component)
			}
		}
		if err != nil {
			return fmt.Errorf("a %s: %w", n.Name, err)
		}
	}
	return nil
}

// messages loads the messages of a kind for a shard. An error is in the cursor.
func (l *loading) messages(c *extend.Cursor, n *format.Named, shard int) {
	to := extend.WordsOf[handle.Handle](c)
	if n.At < 0 {
		l.pass(c, n, len(to))
		return
	}
	if least := n.Form.Least(); least > 0 && len(to) > len(c.Rest)/least {
		c.Err = extend.ErrBody
	} else if c.Takes(len(to), int(n.Of.Size())) {
		bodies, put := l.into.Mail(n.At, shard, to)
		l.values(c, n.Form, n.Form.ReadAll, bodies)
		l.put = append(l.put, put)
	}
}

// loadSystems gives the scheduler the state that was saved of the systems that it has now. It is
// finish that calls it. An error ends the load.
func (l *loading) loadSystems(state []byte) error {
	state, err := extend.RenameSystems(state, l.shardCount, l.w.Shards(), func(name string) (now string, ok bool) {
		at := slices.IndexFunc(l.names.Systems, func(n format.Named) bool { return n.Name == name })
		if at < 0 || l.names.Systems[at].At < 0 {
			return "", at < 0 // no scheduler wrote that: LoadState says so
		}
		return l.own.Systems[l.names.Systems[at].At].Name, true
	})
	if err != nil {
		return err
	}
	return l.o.Scheduler.LoadState(state)
}

// init lets package durable, through extend, read an Extra without a world.
func init() { extend.ReadExtra, extend.CheckSnapshot = readExtra, checkFile }

// Info is the head of a snapshot.
type Info struct {
	// Options are those of the saved world: a world that is made with them can load it.
	Options world.Options
	Layout  world.Layout
	Tick    uint64
	// Hash is the hash of the saved world's state, by package state.
	Hash state.Hash
	// Entities is the number of entities, including marked ones.
	Entities int
	// Increment says that the snapshot has only what has changed since another, with BaseTick
	// and BaseHash. It cannot be loaded without that; Merge makes a whole snapshot of both.
	Increment bool
	BaseTick  uint64
	BaseHash  state.Hash
	// Homes is how many homes handles have: one or more for each shard, and one for ports, PortsHome.
	// There are more than Shards + 1 if the world was loaded from one with more shards.
	Homes     int
	PortsHome int
}

// Inspect reads the head of a snapshot, which may be an increment. It returns ErrNoSnapshot,
// ErrVersion, ErrTruncated or ErrAltered, or the error of src.
func Inspect(src io.Reader) (Info, error) {
	r := format.SourceOf(src)
	if err := r.Begin(); err != nil {
		return Info{}, err
	}
	x, err := format.ReadAnyHeader(r, new(format.Section))
	return Info(x.Info), err
}

// Verify reads a whole snapshot and checks each checksum. Errors are those of
// Inspect, and ErrBase for an increment: pass the result of Merge instead.
func Verify(src io.Reader) (Info, error) { return verify(src, format.ReadHeader) }

// verify is Verify, of a file whose header read reads.
func verify(src io.Reader, read func(format.Source, *format.Section) (format.Header, error)) (Info, error) {
	r := format.SourceOf(src)
	if err := r.Begin(); err != nil {
		return Info{}, err
	}
	var s format.Section
	x, err := read(r, &s)
	for err == nil && s.Kind != format.EndSection {
		if err = r.Next(&s); err == nil {
			err = s.Check()
		}
	}
	if err == nil {
		err = r.Finish(&s)
	}
	return Info(x.Info), err
}

// checkFile is extend.CheckSnapshot: it reads a file to its end, which may be an increment, and
// checks each checksum.
func checkFile(src io.Reader) (tick, hash uint64, err error) {
	info, err := verify(src, format.ReadAnyHeader)
	if n, _ := io.ReadFull(src, make([]byte, 1)); err == nil && n > 0 {
		err = format.Altered("there is more data after its end")
	}
	return info.Tick, uint64(info.Hash), err
}

// readExtra is extend.ReadExtra: it returns the part of a snapshot that an Extra has written, or
// nil. It reads no further than that.
func readExtra(src io.Reader, name string) ([]byte, error) {
	r := format.SourceOf(src)
	_, names, err := format.ReadHead(r)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(names.Extras, func(n format.Named) bool { return n.Name == name })
	for s := (format.Section{}); at >= 0 && s.Kind != format.EndSection; {
		if err := r.Next(&s); err != nil {
			return nil, err
		}
		if s.Kind == format.ExtraSection && s.Number == at {
			return s.Unpack(new([]byte))
		}
	}
	return nil, nil
}
