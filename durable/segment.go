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

	"github.com/atoll-sim/atoll/inputlog"
	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/snapshot"
)

// The files of a directory are
//
//	000000000007.snapshot   of snapshot.Dir; its mark names the segment with which the log goes on
//	000000000008.increment  the same, with what has changed since
//	000000000031.log        a segment: a log of package inputlog, whose note is a note
//	incarnation             the number of the last one, and of its first segment, in case that is lost
//	lock
//
// A segment begins where the one before ends; a snapshot may begin there too. The first segment of
// a process says so: the world became another incarnation before it. The number of that is on disk
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
	clean  bool   // the Store was closed: no caller got a handle since
	early  bool   // the file of the segment was not made yet
}

const cleanFlag, earlyFlag = 1, 2

const markName = "durable"

func (m *mark) also() snapshot.Also {
	return snapshot.Also{
		Name: markName,
		Save: func(dst []byte) []byte {
			flags := byte(0)
			if m.clean {
				flags |= cleanFlag
			}
			if m.early {
				flags |= earlyFlag
			}
			return append(binary.AppendUvarint(dst, m.number), flags)
		},
		Load: func(src []byte) error {
			n, size := binary.Uvarint(src)
			if size <= 0 || len(src) != size+1 || src[size] > cleanFlag|earlyFlag {
				return errors.New("it is none of package durable")
			}
			*m = mark{n, src[size]&cleanFlag != 0, src[size]&earlyFlag != 0}
			return nil
		},
	}
}

// note is what a segment says about itself.
type note struct {
	Incarnation uint32
	First       bool // of its process
	Saved       bool // it begins with a snapshot that Store.Save was called for
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
	return append(binary.AppendUvarint(dst, uint64(n.Incarnation)), flags)
}

func readNote(src []byte) (note, error) {
	n, size := binary.Uvarint(src)
	if size <= 0 || len(src) != size+1 || src[size] > firstFlag|savedFlag || n == 0 || n > 1<<32-1 {
		return note{}, errors.New("it is a log of another program")
	}
	return note{uint32(n), src[size]&firstFlag != 0, src[size]&savedFlag != 0}, nil
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
			log, err := x.open(f)
			if err != nil {
				x.wrong = err
			} else {
				x.tick = log.Tick()
				_ = log.Close() // only read
			}
			all = append(all, x)
		}
	}
	return all, nil
}

// chain returns the segments from the snapshot on that follow one another, and syncs them: a
// process that died may have left some that were not. last is what is known of the last process.
func (d *Store) chain(all []*segment, last begun) ([]*segment, error) {
	if len(all) == 0 && !d.mark.early {
		d.cut = fmt.Errorf("%s is missing, with which the log goes on", segmentName(d.mark.number))
	}
	all, err := d.withoutGap(all)
	if err != nil {
		return nil, err
	}
	used := d.withHeader(all)
	if err := d.mustEndWith(used, last); err != nil {
		return nil, err
	}
	for _, s := range used {
		if err := d.files.SyncFile(s.name); err != nil {
			return nil, fmt.Errorf("durable: %w", err)
		}
	}
	d.recovered.segments = len(used)
	return used, nil
}

// withoutGap returns the segments up to the first that is missing, which is a loss.
func (d *Store) withoutGap(all []*segment) ([]*segment, error) {
	for i, s := range all {
		if want := d.mark.number + uint64(i); s.number != want {
			return all[:i], d.lose(fmt.Errorf("%s is missing", segmentName(want)))
		}
	}
	return all, nil
}

// withHeader leaves out the segments whose process died before even the header was on disk: those
// at the end, and those before the first of a process.
func (d *Store) withHeader(all []*segment) (used []*segment) {
	for _, s := range slices.Backward(all) {
		if !errors.Is(s.wrong, inputlog.ErrTruncated) || len(used) > 0 && !used[len(used)-1].First {
			used = append(used, s)
		} else if len(used) == 0 {
			d.cut = fmt.Errorf("%s: %w", s.name, s.wrong)
		}
	}
	slices.Reverse(used)
	return used
}

// mustEndWith notes a loss if the last process had a segment that is not used: the header of its
// first was on disk.
func (d *Store) mustEndWith(used []*segment, last begun) error {
	if !last.logs || last.segment < d.mark.number || len(d.recovered.Lost) > 0 {
		return nil
	}
	if slices.ContainsFunc(used, func(s *segment) bool { return s.number == last.segment }) {
		return nil
	}
	return d.lose(fmt.Errorf("%s, whose beginning was on disk, is missing or cut off there", segmentName(last.segment)))
}

// opened is a segment to be played.
type opened struct {
	*inputlog.Log
	io.Closer
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
