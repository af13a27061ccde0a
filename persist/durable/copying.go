package durable

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"slices"

	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/internal/marks"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
)

// copying is a segment of the copy.
type copying struct {
	id   uint64
	torn bool // the source has ended it, and what follows is not whole
	records
}

// same returns ErrNotCopy if the source has another world than the copy, or an earlier one.
func (f *follower) same(p *view) error {
	own, said := &f.said, &p.said
	other := ""
	switch {
	case !own.written || own.old:
	case own.world != said.world:
		other = "the source has another world now"
	case said.segment < own.segment, said.snapshot < own.snapshot, said.incarnation < own.incarnation, said.segment == own.segment && said.id != own.id && own.id != 0:
		other = "the source has an earlier world now, as after a restore"
	}
	for _, x := range p.segments {
		if c := f.segments[x.number]; c != nil && x.wrong == nil && c.id != x.ID {
			other = x.name + " is another one at the source now, as after a restore"
		}
	}
	for _, name := range p.snapshots {
		x, have := f.snapshots[name]
		if !have || x.same {
			continue
		}
		info, err := inspect(f.from, name)
		switch {
		case err != nil: // it may be damaged there
			continue
		case info.Tick != x.tick || uint64(info.Hash) != x.hash:
			other = name + " is another one at the source now, as after a restore"
		}
		x.same = true
		f.snapshots[name] = x
	}
	if other != "" {
		return fmt.Errorf("%w: %s; nothing was changed; follow it to an empty directory", ErrNotCopy, other)
	}
	return nil
}

// extent finds out what is to be copied of a segment that can be read, with its size now.
func (f *follower) extent(p *view, x *extent, size int64) error {
	c, err := f.segment(x)
	if err != nil {
		return err
	}
	at := int64(0)
	if c != nil {
		at = c.at
	}
	x.mark, x.to = at, at
	if size <= at || c != nil && c.torn {
		return nil
	}
	in, err := openAt(f.from, x.name, at)
	if err != nil {
		return err
	}
	defer in.Close()
	tick, end, err := marks.Last(in, x.ID)
	if err != nil {
		return err
	}
	x.mark += end
	if x.to = x.mark; x.ended {
		x.to = size
	}
	p.tick = max(p.tick, tick)
	p.bytes += x.to - at
	return nil
}

// segment returns what the copy has of a segment, or nil. The first time it reads all of that, and
// cuts off what is not whole.
func (f *follower) segment(x *extent) (*copying, error) {
	if c := f.segments[x.number]; c != nil {
		return c, nil
	}
	in, err := f.to.Open(x.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	own := &segment{name: x.name, number: x.number}
	switch o, err := own.open(f.to); {
	case err == nil:
		_ = o.Close() // only read
	case isDamage(err): // it is copied again
		return nil, nil
	default:
		return nil, err
	}
	c := &copying{id: own.ID}
	buf := bufio.NewReader(in)
	for err == nil {
		_, _, err = c.next(buf)
	}
	size, wrong := f.to.Size(x.name)
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, errSum) {
		wrong = err
	}
	if wrong == nil && size > c.at {
		_, wrong = files.Write(f.to, x.name, func(to io.Writer) error {
			whole, err := f.to.Open(x.name)
			if err == nil {
				_, err = io.CopyN(to, whole, c.at)
				err = errors.Join(err, whole.Close())
			}
			return err
		})
	}
	if wrong != nil {
		return nil, wrong
	}
	f.segments[x.number] = c
	if in, err := f.to.Open(x.name); err == nil {
		tick, _, _ := marks.Last(in, c.id) // as far as it can be read
		f.is.Tick = max(f.is.Tick, tick)
		_ = in.Close() // only read
	}
	return c, nil
}

// openAt opens a file to be read from a place on. The caller closes it.
func openAt(f files.Files, name string, at int64) (io.ReadCloser, error) {
	in, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	if s, is := in.(io.Seeker); is {
		_, err = s.Seek(at, io.SeekStart)
	} else {
		_, err = io.CopyN(io.Discard, in, at)
	}
	if err != nil {
		_ = in.Close() // an earlier error counts
		return nil, err
	}
	return in, nil
}

// copySnapshots copies the snapshots that the copy lacks. The error is errDamagedSource for those
// that it cannot have, and that no newer one makes up for; then it has all others. Another error ends
// the pass.
func (f *follower) copySnapshots(ctx context.Context, p *view) (damaged error) {
	for i, name := range p.snapshots {
		if _, have := f.snapshots[name]; have {
			damaged = f.madeUp(name, damaged)
			continue
		}
		if _, isIncrement := numberOf(name, incrementEnd); isIncrement && (i == 0 || f.snapshots[p.snapshots[i-1]] == (copied{})) {
			if i == 0 {
				return errVanished
			}
			continue // of no use without the one before
		}
		switch err := f.copySnapshot(ctx, name); {
		case err == nil:
			damaged = f.madeUp(name, damaged)
		case errors.Is(err, errDamagedSource):
			damaged = errors.Join(damaged, err)
		case errors.Is(err, errVanished) && i < len(p.snapshots)-1: // a newer one will do
		default:
			return err
		}
	}
	return damaged
}

// madeUp returns nil if a snapshot that the copy has makes up for damaged ones before it, as one does
// that needs no other; else the error. It tells the Logger once.
func (f *follower) madeUp(name string, damaged error) error {
	if _, whole := numberOf(name, snapshotEnd); !whole || damaged == nil {
		return damaged
	}
	if text := damaged.Error(); f.passed != text {
		f.passed = text
		f.log(slog.LevelWarn, "durable: a damaged file of the source is left out, and a newer snapshot makes up for it", "because", damaged, "newer", name)
	}
	return nil
}

// copySnapshot copies a snapshot, whose name the copy has when all of it is on disk, and right.
func (f *follower) copySnapshot(ctx context.Context, name string) error {
	in, err := f.from.Open(name)
	if err != nil {
		return vanished(err)
	}
	defer in.Close()
	var x copied
	wrong := error(nil) // with writing
	_, err = files.Write(f.to, name, func(to io.Writer) (err error) {
		tee := &tee{f: f, ctx: ctx, in: in, to: to}
		x.tick, x.hash, err = extend.CheckSnapshot(tee)
		wrong = tee.wrong
		return errors.Join(wrong, err)
	})
	switch {
	case err == nil:
		x.same = true
		f.snapshots[name] = x
		f.is.Tick = max(f.is.Tick, x.tick)
		return nil
	case wrong != nil:
		return fmt.Errorf("durable: %s: %w", name, wrong)
	case slices.ContainsFunc(contentErrors, func(is error) bool { return errors.Is(err, is) }):
		return fmt.Errorf("%w: %s: %w", errDamagedSource, name, err)
	}
	return fmt.Errorf("durable: %s: %w", name, err)
}

// contentErrors are about the bytes of a snapshot.
var contentErrors = []error{snapshot.ErrNoSnapshot, snapshot.ErrVersion, snapshot.ErrTruncated, snapshot.ErrAltered}

// tee writes what is read, and counts it.
//
// Ownership: the goroutine that copies.
type tee struct {
	f     *follower
	ctx   context.Context
	in    io.Reader
	to    io.Writer
	wrong error
}

// Read reads from in and writes to to. An error that is not about what was read is in wrong.
func (t *tee) Read(p []byte) (int, error) {
	if t.wrong != nil {
		return 0, t.wrong
	}
	n, err := t.in.Read(p)
	t.f.is.Bytes -= int64(n)
	t.f.progress(false)
	if err != nil && !errors.Is(err, io.EOF) {
		t.wrong = err
	} else if _, wrong := t.to.Write(p[:n]); wrong != nil {
		t.wrong, err = wrong, wrong
	} else if t.ctx.Err() != nil {
		t.wrong, err = t.ctx.Err(), t.ctx.Err()
	}
	return n, err
}

// copySegments copies what is new of the segments, in order. If one of them cannot be copied, what
// follows it is of no use, unless a snapshot is there behind it.
func (f *follower) copySegments(ctx context.Context, p *view) error {
	newest := uint64(0) // the tick of the newest snapshot
	for _, x := range f.snapshots {
		newest = max(newest, x.tick)
	}
	needed, found := 0, false // the first segment since that
	for i, x := range p.segments {
		if x.wrong == nil && x.tick <= newest && !found {
			needed, found = i, x.tick == newest
		}
	}
	if first := slices.IndexFunc(p.segments, func(x *extent) bool { return x.wrong == nil }); first >= 0 && p.segments[first].tick > newest {
		return fmt.Errorf("%w: the snapshots before %s", errDamagedSource, p.segments[first].name)
	}
	for i, x := range p.segments {
		err := f.copySegment(ctx, x)
		if err == nil {
			continue
		}
		if ctx.Err() != nil || i >= needed || !errors.Is(err, errDamagedSource) && !errors.Is(err, errVanished) {
			return err
		}
	}
	return nil
}

// copySegment copies what is new of a segment. After an error what the copy has of it is read again.
func (f *follower) copySegment(ctx context.Context, x *extent) (err error) {
	c := f.segments[x.number]
	switch {
	case errors.Is(x.wrong, inputlog.ErrTruncated):
		return nil // its process has died before the head was on disk, or it has none yet
	case x.wrong != nil:
		return fmt.Errorf("%w: %s: %w", errDamagedSource, x.name, x.wrong)
	case x.to == 0, c != nil && c.at >= x.to:
		return nil
	}
	var out files.File
	if c == nil {
		c = &copying{id: x.ID}
		if out, err = f.to.Create(x.name); err == nil {
			err = f.to.Sync()
		}
	} else {
		out, err = f.to.Append(x.name)
	}
	if err != nil {
		if out != nil {
			_ = out.Close() // an earlier error counts
		}
		return fmt.Errorf("durable: %w", err)
	}
	delete(f.segments, x.number)
	err = f.copyRecords(ctx, out, c, x)
	if wrong := out.Close(); err == nil && wrong != nil {
		err = fmt.Errorf("durable: %w", wrong)
	}
	if err == nil {
		f.segments[x.number] = c
	}
	return err
}

// copyRecords appends records to a segment of the copy. When it returns nil they are on disk.
func (f *follower) copyRecords(ctx context.Context, out files.File, c *copying, x *extent) error {
	in, err := openAt(f.from, x.name, c.at)
	if err != nil {
		return vanished(err)
	}
	defer in.Close()
	from := bufio.NewReaderSize(in, copyAtOnce)
	var buf []byte
	flush := func(sync bool) error {
		_, err := out.Write(buf)
		if f.is.Bytes -= int64(len(buf)); err == nil && sync {
			err = out.Sync()
		}
		buf = buf[:0]
		f.progress(false)
		if err == nil {
			return ctx.Err()
		}
		return fmt.Errorf("durable: %s: %w", x.name, err)
	}
	for c.at < x.to {
		record, mark, err := c.next(from)
		switch {
		case err != nil && x.ended && c.at >= x.mark && (errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, errSum)):
			c.torn = true // nobody was told of what follows
			return flush(true)
		case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, errSum):
			return errors.Join(flush(true), fmt.Errorf("%w: %s, at byte %d: %w", errDamagedSource, x.name, c.at, err))
		case err != nil:
			return fmt.Errorf("durable: %s: %w", x.name, err)
		case mark && c.at == x.mark:
			if err := flush(true); err != nil {
				return err
			}
			buf = append(buf, record...)
		case mark:
			buf = appendBlank(buf)
		default:
			buf = append(buf, record...)
		}
		if len(buf) > copyAtOnce {
			if err := flush(false); err != nil {
				return err
			}
		}
	}
	return flush(true)
}

const copyAtOnce = 1 << 20
