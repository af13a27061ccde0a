package durable

import (
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/persist/state"
)

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

// stated is what a Store has stated.
//
// Ownership: the mutex guards it. The goroutine of the log states segments, the one that saves
// states snapshots.
type stated struct {
	sync.Mutex
	statement
}

const (
	statementVersion = "atoll-durable-3"
	statementForm    = "%d %d %t %d %016x %d %d %016x %016x"
)

var sumTable = crc64.MakeTable(crc64.ECMA)

func (x *statement) String() string {
	text := fmt.Sprintf(statementVersion+" "+statementForm, x.incarnation, x.first, x.logs, x.segment, x.id, x.snapshot, x.tick, uint64(x.hash), x.beside)
	return fmt.Sprintf("%s %016x\n", text, crc64.Checksum([]byte(text), sumTable))
}

// readStatement reads the file. That there is none is no error.
func readStatement(f files.Files) (x statement, err error) {
	in, err := f.Open(incarnationName)
	if errors.Is(err, fs.ErrNotExist) {
		return x, nil
	}
	if err != nil {
		return x, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, 1024))
	if err != nil {
		return x, err
	}
	x.written = true
	text := string(data)
	if rest, is := strings.CutPrefix(text, statementVersion+" "); is {
		_, err = fmt.Sscanf(rest, statementForm, &x.incarnation, &x.first, &x.logs, &x.segment, &x.id, &x.snapshot, &x.tick, (*uint64)(&x.hash), &x.beside)
		if err == nil && x.String() == text {
			return x, nil
		}
		return statement{written: true}, fmt.Errorf("%w: %s was altered", errAltered, incarnationName)
	}
	logs := 0
	x.old = true
	if n, err := fmt.Sscanf(text, "%d %d %d\n", &x.incarnation, &x.first, &logs); err != nil || fmt.Sprintln(x.incarnation, x.first, logs) != text {
		return statement{written: true}, fmt.Errorf("%w: %s is %d numbers, and not what package durable writes", errAltered, incarnationName, n)
	}
	x.logs = logs == 1
	x.segment = x.first
	return x, nil
}

// errAltered is for a file of this package that makes no sense.
var errAltered = errors.New("durable: a file was altered")

// state changes what the file says. When it returns nil that is on disk.
func (d *Store) state(change func(x *statement)) error {
	d.stated.Lock()
	defer d.stated.Unlock()
	x := d.stated.statement
	change(&x)
	_, err := files.Write(d.files, incarnationName, func(to io.Writer) error {
		_, err := io.WriteString(to, x.String())
		return err
	})
	if err != nil {
		return fmt.Errorf("durable: %s: %w", incarnationName, err)
	}
	d.stated.statement = x
	return nil
}

// begun states that the head of a segment is on disk.
func (d *Store) begun(x target) error {
	return d.state(func(s *statement) {
		s.segment, s.id = x.number, x.id
		if x.first {
			s.incarnation, s.first, s.logs = d.recovered.Incarnation, x.number, !d.o.NoLog
		}
	})
}

// has states that a snapshot is on disk.
func (d *Store) has(path string) error {
	name := filepath.Base(path)
	info, err := d.inspect(name)
	if err != nil {
		return fmt.Errorf("durable: %s: %w", name, err)
	}
	return d.state(func(s *statement) {
		s.snapshot, s.tick, s.hash, s.beside = snapshotNumber(name), info.Tick, info.Hash, d.mark.beside()
	})
}
