package durable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// The files of a directory are
//
//	000000000007.snapshot   of snapshot.Dir; its mark names the segment with which the log goes on
//	000000000008.increment  the same, with what has changed since
//	000000000031.log        a segment: a log of package inputlog, whose note is a note
//	incarnation             a statement: what must be there
//	copy                    only where Follow makes a copy: Open removes it
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
	copyName        = "copy"
)

// segmentName returns the name of a segment's file.
func segmentName(n uint64) string { return nameOf(n, segmentEnd) }

// nameOf returns the name of a numbered file.
func nameOf(n uint64, end string) string { return fmt.Sprintf("%0*d%s", segmentDigits, n, end) }

// numberOf returns the number of a segment or a snapshot. The directory may have other files.
func numberOf(name, end string) (n uint64, ok bool) {
	digits, is := strings.CutSuffix(name, end)
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, is && err == nil && name == nameOf(n, end)
}

// snapshotNumber returns the number of a snapshot by its file's name: 1 or more, or 0 for another
// file.
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
//
// Ownership: as for Store.mark; that of a Plan is its caller's.
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

// line is the segments since a snapshot that follow one another, as Open plays them: each names the one
// before it.
//
// Ownership: the goroutine of Plan or Open.
type line struct {
	used   []*segment
	before uint64   // the id of the last, or of what is before the first
	newer  *segment // what comes next is of another version of this library; or nil
	lost   error    // why nothing behind the last is used, though there is something; or nil
	torn   error    // what is wrong with the end; or nil
}

// line returns the line of segments since the snapshot with the mark. It changes nothing.
func (m *mark) line(since []*segment) line {
	l := line{before: m.before}
	want := m.number // the next number
	for _, s := range since {
		if l.torn == nil && s.number != want {
			l.torn = fmt.Errorf("%s is missing", segmentName(want))
		}
		switch follows := s.Before == l.before || m.old && len(l.used) == 0; {
		case errors.Is(s.wrong, inputlog.ErrVersion):
			l.newer = s
			return l
		case errors.Is(s.wrong, errForeign):
			l.lost = fmt.Errorf("%s: %w", s.name, s.wrong)
			return l
		case s.wrong != nil:
			if l.torn == nil {
				l.torn = fmt.Errorf("%s: %w", s.name, s.wrong)
			}
			continue
		case !follows && l.torn != nil:
			l.lost = l.torn
			return l
		case !follows:
			l.lost = fmt.Errorf("%s: %w: it does not follow what is before it", s.name, errForeign)
			return l
		}
		l.used, l.before, l.torn, want = append(l.used, s), s.ID, nil, s.number+1
	}
	return l
}

const cleanFlag, earlyFlag, linkedFlag = 1, 2, 4

const markName = "durable"

// extra returns the part of a snapshot that has the mark. A save calls its Append, a load its Read.
// An error of Read leaves the mark as it was.
func (m *mark) extra() snapshot.Extra {
	return snapshot.Extra{
		Name:     markName,
		Optional: true, // a backup is loaded without a Store
		Append: func(dst []byte) []byte {
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
		Read: func(src []byte) error {
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

// A snapshot has state beside the world, which no hash of the state covers: Options.Snapshot.Extras,
// and which systems are enabled. Ticks of the log may lead to it, if systems make it, or may not. So
// the statement has a checksum of what the last snapshot has of it.

// sums has the checksum of each part beside the world as it was saved last.
type sums map[string]uint64

// add notes what a part beside the world was saved as. Each save of a snapshot calls it, on the
// goroutine that saves.
func (m *mark) add(name string, saved []byte) {
	if m.sums == nil {
		m.sums = sums{}
	}
	m.sums[name] = crc64.Checksum(saved, sumTable)
}

// beside returns a checksum of all parts.
func (m *mark) beside() uint64 {
	sum := uint64(0)
	for name, x := range m.sums {
		sum += crc64.Update(x, sumTable, []byte(name)) // in any order
	}
	return sum
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

// append appends the note. It is the Note of the segment's Recorder.
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

// readNote reads what append has written. An error says that another program wrote the log.
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

// segment is a file of the log.
//
// Ownership: the goroutine that has listed it: of Open, Plan, or whoever saves.
type segment struct {
	name   string
	number uint64
	note
	tick    uint64           // the first tick
	program inputlog.Program // that wrote it
	unlike  []string         // in which ways this program differs from that; nil also if it never had ticks
	wrong   error            // why it cannot be read
}

// isOther reports whether another program logged ticks in the segment, or another version of this
// library wrote it.
func (s *segment) isOther() bool { return s.wrong != nil || len(s.unlike) > 0 }

// segments lists the log, oldest first. Open, Plan and prune call it. A segment that is damaged is
// in the list, with its error. If a file cannot be read it returns that error, and no list. content
// is Options.Content, or nil if it does not matter which program wrote a segment.
func segments(f files.Files, content []byte) (all []*segment, err error) {
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
				log.SetContent(content)
				x.tick, x.program = log.Tick(), log.Program()
				if ways := log.Unlike(); len(ways) > 0 && (!log.Empty() || told(f, x, x.ID) > x.tick) {
					x.unlike = ways
				}
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

// open opens a segment to be played, and reads its note. The caller closes it. After an error
// nothing is open.
func (s *segment) open(f files.Files) (o opened, err error) {
	in, err := f.Open(s.name)
	if err != nil {
		return o, err
	}
	o.Closer = in
	if o.Log, err = inputlog.Open(in); err == nil {
		s.note, err = readNote(o.Note())
	}
	if err == nil && s.Number != s.number {
		err = fmt.Errorf("%w: its head belongs to %s: files were exchanged, copied or renamed", errForeign, segmentName(s.Number))
	}
	if err != nil {
		_ = in.Close() // an earlier error counts
	}
	return o, err
}

// misfits returns why a segment cannot be played to a world that is made like this one, or nil. One
// that never had ticks is in nobody's way.
func (s *segment) misfits(f files.Files, w *world.World, o Options) error {
	if s.wrong != nil {
		return s.wrong
	}
	in, err := s.open(f)
	if err != nil {
		return err
	}
	defer in.Close()
	if err = in.Fits(w, o.Snapshot.Codecs); err != nil && s.empty(f) && told(f, s, s.ID) <= s.tick {
		return nil
	}
	return err
}

// empty reports whether no tick of a segment can be read.
func (s *segment) empty(f files.Files) bool {
	in, err := s.open(f)
	if err != nil {
		return true
	}
	defer in.Close()
	return in.Empty()
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

// The file incarnation states what must be in the directory, so that a lost file is missed. It is
// on disk before the first snapshot is, is replaced as a whole, and says
//
//	the number of the last incarnation, before a handle of that is given
//	the last segment whose head is on disk, before a tick of it is told durable
//	the last snapshot, before its Save returns
//
// A process whose segments are lost cannot give handles again, either.

// statement is what the file says.
type statement struct {
	world       uint64 // of this directory and its copies, and no other
	incarnation uint32
	first       uint64 // the segment with which the last process began
	logs        bool   // ticks follow in that: without Options.NoLog
	segment, id uint64 // the last segment whose head is on disk
	snapshot    uint64 // the number of the last snapshot, or 0: there was none yet
	tick        uint64 // of that
	hash        state.Hash
	beside      uint64 // the checksum of what that has beside the world
	written     bool   // there is such a file
	old         bool   // an earlier version wrote it, which knew the first three
}

const (
	statementName    = "atoll-durable-"
	statementVersion = statementName + "4"
	statementForm    = "%016x %d %d %t %d %016x %d %d %016x %016x"
)

var sumTable = crc64.MakeTable(crc64.ECMA)

// String returns the text of the file, with a checksum.
func (s *statement) String() string {
	text := fmt.Sprintf(statementVersion+" "+statementForm, s.world, s.incarnation, s.first, s.logs, s.segment, s.id, s.snapshot, s.tick, uint64(s.hash), s.beside)
	return fmt.Sprintf("%s %016x\n", text, crc64.Checksum([]byte(text), sumTable))
}

// readStatement reads the file incarnation, for Open. That there is none is no error. An errAltered
// says that the text makes no sense; another error, that the file could not be read.
func readStatement(f files.Files) (s statement, err error) {
	in, err := f.Open(incarnationName)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, 1024))
	if err != nil {
		return s, err
	}
	s.written = true
	text := string(data)
	if rest, is := strings.CutPrefix(text, statementVersion+" "); is {
		_, err = fmt.Sscanf(rest, statementForm, &s.world, &s.incarnation, &s.first, &s.logs, &s.segment, &s.id, &s.snapshot, &s.tick, (*uint64)(&s.hash), &s.beside)
		if err == nil && s.String() == text {
			return s, nil
		}
		return statement{written: true}, fmt.Errorf("%w: %s was altered", errAltered, incarnationName)
	}
	if body, sum := cutLast(text); strings.HasPrefix(text, statementName) && sum == fmt.Sprintf("%016x\n", crc64.Checksum([]byte(body), sumTable)) {
		return statement{written: true}, errors.New("another release of this library wrote it; start the program that did")
	}
	logs := 0
	s.old = true
	if n, err := fmt.Sscanf(text, "%d %d %d\n", &s.incarnation, &s.first, &logs); err != nil || fmt.Sprintln(s.incarnation, s.first, logs) != text {
		return statement{written: true}, fmt.Errorf("%w: %s is %d numbers, and not what package durable writes", errAltered, incarnationName, n)
	}
	s.logs = logs == 1
	s.segment = s.first
	return s, nil
}

// cutLast returns what is before the last space of a text, and what is behind it.
func cutLast(text string) (before, last string) {
	at := strings.LastIndexByte(text, ' ')
	return text[:max(at, 0)], text[at+1:]
}

// init lets commands read, through extend, the last incarnation that the world of a directory was.
func init() {
	extend.Incarnation = func(path string) (uint32, error) {
		said, err := readStatement(files.Of(path))
		return said.incarnation, err
	}
}

// errAltered is for a file of this package that makes no sense.
var errAltered = errors.New("durable: a file was altered")
