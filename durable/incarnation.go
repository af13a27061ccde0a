package durable

import (
	"fmt"
	"io"
)

// Each segment names its incarnation. A file of its own has the number of the last one, too:
// without it, handles would be given again if the last segments were lost. Behind it stand the
// number of the first segment of the process, whose head is on disk before the file is, and whether
// it has ticks.

// begun is what the file says.
type begun struct {
	incarnation uint32
	segment     uint64
	logs        bool // ticks follow in the segment: without Options.NoLog
}

// lastBegun returns what the file says, or zeroes if there is none: then the segments count.
func (d *Store) lastBegun() (x begun) {
	f, err := d.files.Open(incarnationName)
	if err != nil {
		return begun{}
	}
	defer f.Close()
	logs := 0
	_, _ = fmt.Fscanln(io.LimitReader(f, 64), &x.incarnation, &x.segment, &logs) // as far as it goes
	x.logs = logs == 1
	return x
}

// keepBegun writes the file, so that it is on disk.
func (d *Store) keepBegun(x begun) error {
	f, err := d.files.Create(incarnationName)
	if err != nil {
		return err
	}
	logs := 0
	if x.logs {
		logs = 1
	}
	if _, err = fmt.Fprintln(f, x.incarnation, x.segment, logs); err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = d.files.Sync()
	}
	return err
}
