package durable

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Each segment names its incarnation. A file of its own names the last one, too: without it, handles
// would be given again if the last segments were lost.

// lastIncarnation returns what the file says, or 0 if there is none: then the segments count.
func (d *Store) lastIncarnation() uint32 {
	f, err := d.files.Open(incarnationName)
	if err != nil {
		return 0
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 64))
	if err != nil {
		return 0
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32)
	if err != nil {
		return 0
	}
	return uint32(n)
}

// keepIncarnation writes the file, so that it is on disk.
func (d *Store) keepIncarnation(n uint32) error {
	f, err := d.files.Create(incarnationName)
	if err != nil {
		return err
	}
	if _, err = fmt.Fprintln(f, n); err == nil {
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
