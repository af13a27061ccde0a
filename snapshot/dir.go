package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/world"
)

// Dir keeps the last snapshots of a world as files of one directory. A file that is there is whole:
// it gets its name when all of it is on disk. A file that is there is never written again.
//
// Ownership: one goroutine of one process at a time saves.
type Dir struct {
	// Path is that of the directory, which the first Save makes.
	Path string
	// Keep is how many files are left when another was saved: older ones are removed. Damaged ones
	// do not count. Default: 3.
	Keep int

	files files.Files     // nil: those of the operating system
	whole map[string]bool // of files that a save has looked at, or written
}

// Found is a snapshot in a Dir.
type Found struct {
	Path string
	Info Info
	// Passed says of newer files why they are not the one.
	Passed []error
}

// ErrNone is returned for a directory without a snapshot that is whole.
var ErrNone = errors.New("snapshot: none in the directory")

const (
	keepDefault = 3
	nameDigits  = 12
	nameEnd     = ".snapshot"
	partEnd     = ".part" // of a file that is being written
)

// Save saves a world to a new file and returns its path: the file is on disk then, under its name.
// It goes to a temporary file first, which is synced and renamed, and then the directory is synced.
// On an error all older files are there as before.
func (d *Dir) Save(w *world.World, o Options) (path string, err error) {
	return d.save(func(to io.Writer) error { return Save(to, w, o) })
}

// Write is Save of what was captured. It may be called while the world ticks.
func (d *Dir) Write(c *Captured) (path string, err error) { return d.save(c.Save) }

func (d *Dir) save(save func(to io.Writer) error) (path string, err error) {
	f, keep := d.of(), d.keep()
	if err := f.Make(); err != nil {
		return "", fmt.Errorf("snapshot: %w", err)
	}
	old, err := d.list(f)
	if err != nil {
		return "", err
	}
	name := nameOf(1)
	if n := len(old); n > 0 {
		last, _ := numberOf(old[n-1])
		if last == math.MaxUint64 {
			return "", fmt.Errorf("snapshot: %s has the last number that there is; give it another name", d.path(old[n-1]))
		}
		name = nameOf(last + 1)
	}
	part := name + partEnd
	if err = d.write(f, part, save); err == nil {
		err = f.Rename(part, name)
	}
	if err != nil {
		_ = f.Remove(part) // it may not be there
		return "", fmt.Errorf("snapshot: saving to %s: %w", d.path(name), err)
	}
	if err := f.Sync(); err != nil {
		return "", fmt.Errorf("snapshot: %s was written, and may not be on disk: %w", d.path(name), err)
	}
	if err := d.removeOld(f, old, name, keep); err != nil {
		return d.path(name), fmt.Errorf("snapshot: %s was written, and an older file cannot be removed: %w", d.path(name), err)
	}
	return d.path(name), nil
}

// removeOld removes what is older than those to be kept, of which a new one was just written. So that
// damaged ones do not count it reads those that it has not seen before.
func (d *Dir) removeOld(f files.Files, old []string, written string, keep int) error {
	whole, left := map[string]bool{written: true}, 1
	for _, name := range slices.Backward(old) {
		if left == keep {
			if err := f.Remove(name); err != nil {
				return err
			}
			continue
		}
		is, known := d.whole[name]
		if !known {
			_, err := d.verify(f, name)
			is = err == nil
		}
		if whole[name] = is; is {
			left++
		}
	}
	d.whole = whole
	return nil
}

// write writes a file that is to be renamed.
func (d *Dir) write(f files.Files, part string, save func(to io.Writer) error) error {
	out, err := f.Create(part)
	if err != nil {
		return err
	}
	err = save(out)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// Newest finds the newest snapshot that is whole: it reads all of it. It returns ErrNone if there is
// none, with why each file was passed over in Found.Passed.
func (d *Dir) Newest() (Found, error) {
	var x Found
	f := d.of()
	all, err := d.list(f)
	if err != nil {
		return x, err
	}
	for _, name := range slices.Backward(all) {
		info, err := d.verify(f, name)
		if err == nil {
			x.Path, x.Info = d.path(name), info
			return x, nil
		}
		x.Passed = append(x.Passed, fmt.Errorf("%s: %w", d.path(name), err))
	}
	return x, fmt.Errorf("%w %s", errors.Join(append([]error{ErrNone}, x.Passed...)...), d.Path)
}

func (d *Dir) verify(f files.Files, name string) (Info, error) {
	in, err := f.Open(name)
	if err != nil {
		return Info{}, err
	}
	defer in.Close()
	info, err := Verify(in)
	if err != nil {
		return info, err
	}
	if n, _ := io.ReadFull(in, make([]byte, 1)); n > 0 {
		return info, altered("there is something behind its end")
	}
	return info, nil
}

// Load loads the newest snapshot that is whole into a new world. It returns the errors of Newest and
// of the function Load.
func (d *Dir) Load(w *world.World, o Options) (Found, error) {
	x, err := d.Newest()
	if err != nil {
		return x, err
	}
	in, err := d.of().Open(filepath.Base(x.Path))
	if err != nil {
		return x, fmt.Errorf("snapshot: %w", err)
	}
	defer in.Close()
	if err := Load(in, w, o); err != nil {
		return x, fmt.Errorf("%s: %w", x.Path, err)
	}
	return x, nil
}

// list returns the names of the snapshots, the oldest first.
func (d *Dir) list(f files.Files) ([]string, error) {
	names, err := f.List()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { _, ok := numberOf(name); return !ok })
	slices.SortFunc(names, func(a, b string) int {
		x, _ := numberOf(a)
		y, _ := numberOf(b)
		return cmp.Compare(x, y)
	})
	return names, nil
}

// nameOf returns the name of a file, by its number.
func nameOf(n uint64) string { return fmt.Sprintf("%0*d%s", nameDigits, n, nameEnd) }

func numberOf(name string) (n uint64, ok bool) {
	digits, is := strings.CutSuffix(name, nameEnd)
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, is && err == nil && name == nameOf(n)
}

func (d *Dir) path(name string) string { return filepath.Join(d.Path, name) }

func (d *Dir) keep() int {
	if d.Keep < 0 {
		panic(fmt.Sprintf("snapshot: a Dir keeps %d files; want 1 or more, or 0 for %d", d.Keep, keepDefault))
	}
	if d.Keep == 0 {
		return keepDefault
	}
	return d.Keep
}

func (d *Dir) of() files.Files {
	if d.files != nil {
		return d.files
	}
	return files.Of(d.Path)
}
