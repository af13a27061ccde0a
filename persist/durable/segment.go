package durable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
)

// The files of a directory are
//
//	000000000007.snapshot   of snapshot.Dir; its mark names the segment with which the log goes on
//	000000000008.increment  the same, with what has changed since
//	000000000031.log        a segment: a log of package inputlog, whose note is a note
//	incarnation             a statement: what must be there
//	lock
//
// A segment begins where the one before ends; a snapshot may begin there too. Each names the id of
// the segment before it, so that files that were exchanged are no log. The first segment of a
// process says so: the world became another incarnation before it. The number of that is on disk
// with the segment before it is used.

const (
	segmentDigits = 12
	segmentEnd    = ".log"
	snapshotEnd   = ".snapshot"
	incrementEnd  = ".increment"
	lockName      = "lock"

	incarnationName = "incarnation"
)

func segmentName(n uint64) string { return nameOf(n, segmentEnd) }

func nameOf(n uint64, end string) string { return fmt.Sprintf("%0*d%s", segmentDigits, n, end) }

// numberOf returns the number of a segment or a snapshot. The directory may have other files.
func numberOf(name, end string) (n uint64, ok bool) {
	digits, is := strings.CutSuffix(name, end)
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, is && err == nil && name == nameOf(n, end)
}

// snapshotNumber returns the number of a snapshot, which is 1 or more, or 0 for another file.
func snapshotNumber(name string) uint64 {
	if n, ok := numberOf(name, snapshotEnd); ok {
		return n
	}
	n, ok := numberOf(name, incrementEnd)
	if !ok {
		return 0
	}
	return n
}

// mark is what a snapshot says about the log.
type mark struct {
	number uint64 // of the segment that begins there
	before uint64 // the id of the segment that ends there
	clean  bool   // the Store was closed: no caller got a handle since
	early  bool   // the file of the segment was not made yet
	old    bool   // an earlier version saved it: before is not known
	sums   sums   // not written: the statement has them
}

// since returns the segments since the snapshot with the mark, of all.
func (m *mark) since(all []*segment) []*segment {
	for len(all) > 0 && all[0].number < m.number {
		all = all[1:]
	}
	return all
}

const cleanFlag, earlyFlag, linkedFlag = 1, 2, 4

const markName = "durable"

func (m *mark) also() snapshot.Also {
	return snapshot.Also{
		Name:     markName,
		Optional: true, // a backup is loaded without a Store
		Save: func(dst []byte) []byte {
			flags := byte(linkedFlag)
			if m.clean {
				flags |= cleanFlag
			}
			if m.early {
				flags |= earlyFlag
			}
			dst = append(binary.AppendUvarint(dst, m.number), flags)
			return binary.LittleEndian.AppendUint64(dst, m.before)
		},
		Load: func(src []byte) error {
			n, size := binary.Uvarint(src)
			if size <= 0 || len(src) <= size || src[size] > cleanFlag|earlyFlag|linkedFlag {
				return errors.New("it is none of package durable")
			}
			flags, rest := src[size], src[size+1:]
			x := mark{number: n, clean: flags&cleanFlag != 0, early: flags&earlyFlag != 0, old: flags&linkedFlag == 0}
			switch {
			case x.old && len(rest) == 0:
			case !x.old && len(rest) == 8:
				x.before = binary.LittleEndian.Uint64(rest)
			default:
				return errors.New("it is none of package durable")
			}
			*m = x
			return nil
		},
	}
}

// note is what a segment says about itself.
type note struct {
	Incarnation uint32
	First       bool // of its process
	Saved       bool // it begins with a snapshot that Store.Save was called for
	Number      uint64
	ID          uint64 // of this segment and no other; nobody can guess it
	Before      uint64 // the ID of the segment that it follows, or 0
}

const firstFlag, savedFlag = 1, 2

func (n note) append(dst []byte) []byte {
	flags := byte(0)
	if n.First {
		flags |= firstFlag
	}
	if n.Saved {
		flags |= savedFlag
	}
	dst = append(binary.AppendUvarint(dst, uint64(n.Incarnation)), flags)
	dst = binary.AppendUvarint(dst, n.Number)
	dst = binary.LittleEndian.AppendUint64(dst, n.ID)
	return binary.LittleEndian.AppendUint64(dst, n.Before)
}

func readNote(src []byte) (n note, err error) {
	incarnation, size := binary.Uvarint(src)
	rest := src[max(size, 0):]
	other := fmt.Errorf("%w: it is a log of another program", errForeign)
	if size <= 0 || len(rest) == 0 || rest[0] > firstFlag|savedFlag || incarnation == 0 || incarnation > 1<<32-1 {
		return n, other
	}
	flags := rest[0]
	number, size := binary.Uvarint(rest[1:])
	if size <= 0 || len(rest) != 1+size+16 {
		return n, other
	}
	ids := rest[1+size:]
	return note{
		Incarnation: uint32(incarnation), First: flags&firstFlag != 0, Saved: flags&savedFlag != 0, Number: number,
		ID: binary.LittleEndian.Uint64(ids), Before: binary.LittleEndian.Uint64(ids[8:]),
	}, nil
}

// target returns the segment of a note, to be written.
func (n note) target(file files.File) target {
	return target{file: file, number: n.Number, id: n.ID, first: n.First}
}

// segment is a file of the log.
type segment struct {
	name   string
	number uint64
	note
	tick  uint64 // the first tick
	wrong error  // why it cannot be read
}

// segments lists the log, oldest first.
func segments(f files.Files) (all []*segment, err error) {
	names, err := f.List()
	if err != nil {
		return nil, fmt.Errorf("durable: %w", err)
	}
	slices.Sort(names)
	for _, name := range names {
		if n, ok := numberOf(name, segmentEnd); ok {
			x := &segment{name: name, number: n}
			switch log, err := x.open(f); {
			case err == nil:
				x.tick = log.Tick()
				_ = log.Close() // only read
			case isDamage(err):
				x.wrong = err
			default: // it may be intact
				return nil, fmt.Errorf("durable: %s: %w", name, err)
			}
			all = append(all, x)
		}
	}
	return all, nil
}

// opened is a segment to be played.
type opened struct {
	*inputlog.Log
	io.Closer
}

// errForeign is for a segment that is whole, and belongs elsewhere.
var errForeign = errors.New("durable: a file is in the place of another")

// isDamage reports whether an error tells something about the bytes of a segment, rather than about
// reading them.
func isDamage(err error) bool {
	for _, is := range []error{errForeign, inputlog.ErrNoLog, inputlog.ErrVersion, inputlog.ErrTruncated, inputlog.ErrAltered} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

func (x *segment) open(f files.Files) (o opened, err error) {
	in, err := f.Open(x.name)
	if err != nil {
		return o, err
	}
	o.Closer = in
	if o.Log, err = inputlog.Open(in); err == nil {
		x.note, err = readNote(o.Note())
	}
	if err == nil && x.Number != x.number {
		err = fmt.Errorf("%w: its head belongs to %s: files were exchanged, copied or renamed", errForeign, segmentName(x.Number))
	}
	if err != nil {
		_ = in.Close() // an earlier error counts
	}
	return o, err
}

// create makes the file of a segment, which is still there after a crash.
func (d *Store) create(n uint64) (files.File, error) {
	file, err := d.files.Create(segmentName(n))
	if err == nil {
		if err = d.files.Sync(); err == nil {
			return file, nil
		}
		_ = file.Close() // nothing was written
	}
	return nil, fmt.Errorf("durable: %w", err)
}

// prune removes the segments that no snapshot needs: those before the segment that the oldest
// snapshot, which is whole, names. If another process saved that, only its tick is known: then the
// segment with which the rest begins must begin before the tick.
func (d *Store) prune() error {
	names, err := d.files.List()
	if err != nil {
		return fmt.Errorf("durable: %w", err)
	}
	slices.Sort(names)
	at := slices.IndexFunc(names, func(name string) bool { _, ok := numberOf(name, snapshotEnd); return ok })
	if at < 0 {
		return nil
	}
	all, err := segments(d.files)
	if err != nil {
		return err
	}
	oldest := filepath.Join(d.dir.Path, names[at])
	maps.DeleteFunc(d.marks, func(path string, _ uint64) bool { return path < oldest })
	least, known := d.marks[oldest]
	if !known {
		info, err := d.inspect(names[at])
		if err != nil {
			return nil // unknown which segments it needs
		}
		for _, x := range all {
			if x.wrong == nil && x.tick < info.Tick {
				least = x.number
			}
		}
	}
	for _, x := range all {
		if x.number >= least {
			return nil
		}
		if err := d.files.Remove(x.name); err != nil {
			return fmt.Errorf("durable: a snapshot was saved, and an older file cannot be removed: %w", err)
		}
		d.info("log removed", "file", x.name)
	}
	return nil
}

func (d *Store) inspect(name string) (snapshot.Info, error) {
	in, err := d.files.Open(name)
	if err != nil {
		return snapshot.Info{}, err
	}
	defer in.Close()
	return snapshot.Inspect(in)
}
