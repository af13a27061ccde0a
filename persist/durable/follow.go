package durable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/files"
)

// A copy can be opened at any moment, also if the process or the power ends in the middle of a file.
// A look at the source is made in this order:
//
//	the statement is read
//	the end of each segment is found: the last mark, before which all is on disk
//	snapshots are listed: all that were on disk when these bytes were written
//
// and then copied in this order: snapshots, oldest first; segments, oldest first; the statement,
// which so states what is there; then older files are removed. A snapshot gets its name when it is
// whole. Of a segment whole records are appended, and its last mark when all before that is on
// disk; other marks are left blank, so that a hole before them is a tear and no damage.

// FollowOptions say how Follow copies. The zero value means the defaults.
type FollowOptions struct {
	// Every is how often Follow looks at the source. Default: a second.
	Every time.Duration
	// Once makes Follow return when the copy has all that was on disk at the call, or with the
	// reason why it has not.
	Once bool
	// OnProgress, if not nil, is called after each look at the source and while Follow copies, on its
	// goroutine. Copying waits for it.
	OnProgress func(Followed)
	// Logger, if not nil, gets why something cannot be copied, and when it can be again, and which
	// damaged files are left out. A panic of its handler is written to standard error.
	Logger *slog.Logger
}

// Followed says how far a copy is.
type Followed struct {
	Tick  uint64 // the copy has all ticks before this one
	Ticks uint64 // so many more the source had on disk when Follow looked last
	Bytes int64  // so many bytes of files were to be copied then, and are not yet
	Err   error  // why the last try to copy them ended before that, or nil
}

const followEvery = time.Second

// Follow copies a directory that Open keeps to another one, while the world runs, in any process.
// It changes nothing at the source. It looks again and again, until ctx ends, and then returns nil;
// a Follow that comes later goes on with the copy. What cannot be read or written is in
// Followed.Err and tried again, so a full disk or a source that is away for a while ends nothing.
// Each checksum is checked before anything is copied: if a file of the source is damaged, the copy
// keeps what it has. If a newer snapshot makes up for it, that is no error: the Logger is told.
//
// The copy has the snapshots that the source has, and the log since: Options.Keep of the source
// counts. It is a directory for Open as it is at any moment: the world is then as it was at a tick
// that was durable, Followed.Tick or later. Open takes the copy over: the world is another
// incarnation, whose number is above the source's by a 256th of all there are, 104 with 10,000
// versions each. So it gives no handle that the source has given, unless that was started more often
// than this since the copy was made. A handle that the source has given since then names no entity.
// Never run both.
//
// It returns ErrInUse if another Follow or a Store uses dest, and ErrNotCopy if dest is source, or
// has a world that is no copy of source's, because Open has taken it over, or because source has
// another world or an earlier one now. Then neither is changed. A restore of the source goes unseen
// if no Follow runs until the source has removed all files that the copy has.
func Follow(ctx context.Context, source, dest string, o FollowOptions) error {
	if o.Every < 0 {
		panic(fmt.Sprintf("durable: Follow with Every = %v; want more than 0, or 0 for the default", o.Every))
	}
	if o.Every == 0 {
		o.Every = followEvery
	}
	if source == "" || dest == "" {
		return errNoPath
	}
	f := &follower{source: source, from: files.Of(source), to: files.Of(dest), o: o, snapshots: map[string]copied{}, segments: map[uint64]*copying{}}
	if err := f.to.Make(); err != nil {
		return fmt.Errorf("durable: %w", err)
	}
	if isSame(source, dest) {
		return fmt.Errorf("%w: %s is the source itself; follow to another directory", ErrNotCopy, dest)
	}
	locked, err := lock(ctx, filepath.Join(dest, lockName), 0)
	if errors.Is(err, ErrInUse) {
		return fmt.Errorf("%w: another Follow, or a Store, has locked %s", ErrInUse, dest)
	}
	if err != nil {
		return err
	}
	defer locked.Close()
	if err := f.begin(); err != nil {
		return fmt.Errorf("%w (%s)", err, dest)
	}
	for {
		err := f.pass(ctx)
		for range vanishedMost {
			if errors.Is(err, errVanished) {
				err = f.pass(ctx)
			}
		}
		if ctx.Err() != nil && !o.Once {
			return nil
		}
		f.tell(err)
		if o.Once || errors.Is(err, ErrNotCopy) {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(o.Every):
		}
	}
}

// isSame reports whether two paths are one directory that exists.
func isSame(a, b string) bool {
	x, wrong := os.Stat(a)
	y, err := os.Stat(b)
	return wrong == nil && err == nil && os.SameFile(x, y)
}

// Follow is the function Follow of the Store's directory, which also reports to the metrics of the
// world how far the copy is. Call it on a goroutine of its own. It does not end when the Store does:
// to have the last snapshot in the copy, end it after Close by its context, and call Follow with Once.
func (s *Store) Follow(ctx context.Context, dest string, o FollowOptions) error {
	x, told := new(Followed), o.OnProgress
	s.copies.set(x, Followed{})
	defer s.copies.remove(x)
	o.OnProgress = func(is Followed) {
		s.copies.set(x, is)
		if told != nil {
			told(is)
		}
	}
	return Follow(ctx, s.dir.Path, dest, o)
}

// copies is how far the copies of a Store are.
//
// Ownership: the mutex guards them. Each goroutine of Follow has a key of its own.
type copies struct {
	sync.Mutex
	all map[*Followed]Followed
}

func (c *copies) set(key *Followed, is Followed) {
	c.Lock()
	defer c.Unlock()
	if c.all == nil {
		c.all = map[*Followed]Followed{}
	}
	c.all[key] = is
}

func (c *copies) remove(key *Followed) {
	c.Lock()
	defer c.Unlock()
	delete(c.all, key)
}

// measure reports the copy that is furthest behind. The world calls it between ticks.
func (c *copies) measure(durable uint64, figure func(name, help string, counts bool, value float64)) {
	c.Lock()
	defer c.Unlock()
	if len(c.all) == 0 {
		return
	}
	tick, bytes, failed := durable, int64(0), 0
	for _, is := range c.all {
		tick, bytes = min(tick, is.Tick), max(bytes, is.Bytes)
		if is.Err != nil {
			failed++
		}
	}
	figure("copy_lag_ticks", "Ticks on disk that the copy of Follow lacks; of several, the one furthest behind.", false, float64(durable-tick))
	figure("copy_lag_bytes", "Bytes that were not copied yet when Follow looked last.", false, float64(bytes))
	figure("copies_failed", "Copies that are not complete because of an error.", false, float64(failed))
}

// vanishedMost is how often in a row Follow looks again if files were removed that it has seen.
const vanishedMost = 5

var errVanished = errors.New("durable: the source removes files before they are copied; let it keep more, by Options.Keep")

// follower makes a copy.
//
// Ownership: the goroutine of Follow.
type follower struct {
	source    string
	from, to  files.Files
	o         FollowOptions
	said      statement         // of the copy
	snapshots map[string]copied // of the copy, by name: whole
	segments  map[uint64]*copying
	is        Followed
	told      time.Time // when OnProgress was called
	passed    string    // what the Logger was told of damaged files that nobody needs
}

// begin reads what the copy has. A new one gets its file copy first.
func (f *follower) begin() error {
	names, err := f.to.List()
	if err != nil {
		return fmt.Errorf("durable: %w", err)
	}
	is, err := isCopy(f.to)
	if err != nil {
		return err
	}
	if !is {
		for _, name := range names {
			if _, log := numberOf(name, segmentEnd); log || snapshotNumber(name) > 0 || name == incarnationName {
				return fmt.Errorf("%w: it has a world of its own, or Open has taken it over; follow to an empty directory", ErrNotCopy)
			}
		}
		if _, err = files.Write(f.to, copyName, func(to io.Writer) error {
			_, err := fmt.Fprintf(to, "Made by durable.Follow. Open takes it over, and removes this file.\n")
			return err
		}); err != nil {
			return fmt.Errorf("durable: %w", err)
		}
	}
	if f.said, err = readStatement(f.to); err != nil && !errors.Is(err, errAltered) {
		return fmt.Errorf("durable: %w", err)
	} else if err != nil {
		f.said = statement{} // it is written again
	}
	slices.Sort(names)
	for _, name := range names {
		if snapshotNumber(name) == 0 {
			continue
		}
		x, err := checkSnapshot(f.to, name)
		switch {
		case err == nil:
			f.snapshots[name] = x
			f.is.Tick = max(f.is.Tick, x.tick)
		default: // it is copied again
			f.log(slog.LevelWarn, "durable: a file of the copy is damaged", "file", name, "because", err)
		}
	}
	return nil
}

// isCopy reports whether Follow has made a directory, and Open has not taken it over.
func isCopy(f files.Files) (bool, error) {
	in, err := f.Open(copyName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("durable: %w", err)
	}
	return true, in.Close()
}

// checkSnapshot reads a snapshot and checks its checksums.
func checkSnapshot(f files.Files, name string) (x copied, err error) {
	in, err := f.Open(name)
	if err != nil {
		return x, err
	}
	defer in.Close()
	x.tick, x.hash, err = extend.CheckSnapshot(in)
	return x, err
}

// copied is a snapshot of the copy.
type copied struct {
	tick, hash uint64
	same       bool // the source was seen to have the same
}

// pass copies what the source has now. After an error the copy is as good as before, or better.
func (f *follower) pass(ctx context.Context) error {
	p, err := f.look()
	if err == nil {
		err = f.same(p)
	}
	if err != nil {
		return err
	}
	f.is.Ticks, f.is.Bytes = p.tick-min(p.tick, f.is.Tick), p.bytes
	f.progress(true)
	if !f.said.written { // Open of what comes now needs the number of the incarnation
		if err := f.state(statement{world: p.said.world, incarnation: p.said.incarnation}); err != nil {
			return err
		}
	}
	damaged := f.copySnapshots(ctx, p)
	if err := fatal(damaged); err != nil {
		return err
	}
	if err := f.copySegments(ctx, p); err != nil {
		return errors.Join(damaged, err)
	}
	f.is.Tick = max(f.is.Tick, p.tick)
	if x := p.segment(p.said.segment); x == nil || x.to > 0 { // else its head has no mark yet
		if p.said != f.said {
			if err := f.state(p.said); err != nil {
				return errors.Join(damaged, err)
			}
		}
		if damaged == nil {
			err = f.prune(p)
		}
	}
	if err = errors.Join(damaged, err); err == nil {
		f.is.Ticks, f.is.Bytes = 0, 0
	}
	return err
}

// fatal returns an error that is not about the bytes of the source, or nil.
func fatal(err error) error {
	if errors.Is(err, errDamagedSource) {
		return nil
	}
	return err
}

var errDamagedSource = errors.New("durable: a file of the source is damaged")

// view is a look at the source.
type view struct {
	said      statement
	segments  []*extent
	snapshots []string // in order
	bytes     int64    // to be copied
	tick      uint64   // all before it is on disk
}

// extent is what is to be copied of a segment.
type extent struct {
	*segment
	ended    bool  // another follows
	mark, to int64 // where its last mark ends; where what is copied ends, or 0
}

// segment returns the extent with a number, or nil.
func (p *view) segment(n uint64) *extent {
	for _, x := range p.segments {
		if x.number == n {
			return x
		}
	}
	return nil
}

// look looks at the source. It copies nothing.
func (f *follower) look() (p *view, err error) {
	p = &view{}
	if p.said, err = readStatement(f.from); err != nil {
		return nil, fmt.Errorf("durable: %s: %w", incarnationName, err)
	}
	if !p.said.written || p.said.old {
		return nil, fmt.Errorf("durable: there is no world in %s, or an earlier version has written it; start its program", f.source)
	}
	all, err := segments(f.from, nil)
	if err != nil {
		return nil, vanished(err)
	}
	p.tick = p.said.tick
	ended := false
	for _, s := range slices.Backward(all) {
		x := &extent{segment: s, ended: ended}
		size, err := f.from.Size(s.name)
		if err != nil {
			return nil, vanished(err)
		}
		ended = ended || size > 0
		p.segments = append(p.segments, x)
		if s.wrong != nil {
			continue
		}
		if err := f.extent(p, x, size); err != nil {
			return nil, vanished(err)
		}
	}
	slices.Reverse(p.segments)
	names, err := f.from.List()
	if err != nil {
		return nil, fmt.Errorf("durable: %w", err)
	}
	p.snapshots = slices.DeleteFunc(names, func(name string) bool { return snapshotNumber(name) == 0 })
	slices.SortFunc(p.snapshots, strings.Compare)
	for _, name := range p.snapshots {
		if _, have := f.snapshots[name]; !have {
			size, err := f.from.Size(name)
			if err != nil {
				return nil, vanished(err)
			}
			p.bytes += size
		}
	}
	return p, nil
}

// vanished returns an error of reading the source as errVanished if a file is not there any more.
func vanished(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", errVanished, err)
	}
	return fmt.Errorf("durable: %w", err)
}

// prune removes the files of the copy that the source has removed, as that does: increments before
// their base, snapshots before their log. An error leaves files that the next pass removes.
func (f *follower) prune(p *view) error {
	if n := len(p.snapshots); n == 0 || f.snapshots[p.snapshots[n-1]] == (copied{}) {
		return nil
	}
	names, err := f.to.List()
	if err != nil {
		return fmt.Errorf("durable: %w", err)
	}
	slices.Sort(names)
	for _, name := range slices.Backward(names) {
		if snapshotNumber(name) > 0 && !slices.Contains(p.snapshots, name) {
			if err := f.to.Remove(name); err != nil {
				return fmt.Errorf("durable: %w", err)
			}
			delete(f.snapshots, name)
		}
	}
	for _, name := range names {
		if n, is := numberOf(name, segmentEnd); is && p.segment(n) == nil {
			if err := f.to.Remove(name); err != nil {
				return fmt.Errorf("durable: %w", err)
			}
			delete(f.segments, n)
		}
	}
	return nil
}

// state writes the statement of the copy. When it returns nil that is on disk.
func (f *follower) state(s statement) error {
	s.written = true
	_, err := files.Write(f.to, incarnationName, func(to io.Writer) error {
		_, err := io.WriteString(to, s.String())
		return err
	})
	if err != nil {
		return fmt.Errorf("durable: %s: %w", incarnationName, err)
	}
	f.said = s
	return nil
}

// progressEvery is how often OnProgress is called while much is copied.
const progressEvery = 250 * time.Millisecond

// progress calls OnProgress, if it was not called just now or must be.
func (f *follower) progress(must bool) {
	if f.o.OnProgress != nil && (must || time.Since(f.told) > progressEvery) {
		f.told = time.Now()
		f.o.OnProgress(f.is)
	}
}

// tell tells what a pass has led to.
func (f *follower) tell(err error) {
	was := f.is.Err
	f.is.Err = err
	switch {
	case err != nil && (was == nil || was.Error() != err.Error()):
		f.log(slog.LevelError, "durable: the copy is not complete", "because", err)
	case err == nil && was != nil:
		f.log(slog.LevelInfo, "durable: the copy is complete again", "tick", f.is.Tick)
	}
	f.progress(true)
}

func (f *follower) log(level slog.Level, what string, values ...any) {
	aside.Log(f.o.Logger, level, what, values...)
}
