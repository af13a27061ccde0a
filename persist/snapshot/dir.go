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

	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/internal/files"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/world"
)

// Dir keeps the last snapshots of a world as files of one directory. A file gets its name only when
// all of it is on disk, so each file is complete. A file with a name is never written again.
//
// Ownership: one goroutine of one process at a time saves.
type Dir struct {
	// Path is the path of the directory, which the first Save makes.
	Path string
	// Keep is how many whole files remain when another is saved, each with the increments on it;
	// older ones are removed. Damaged ones do not count. Default: 3.
	Keep int
	// Increments is how many increments follow each whole file: files that have only what has
	// changed since the one before. The first file of a process is whole. Loading an increment
	// needs all files from the whole one on; Newest skips it if one of these is damaged. Default:
	// 0.
	Increments int

	files files.Files     // nil: those of the operating system
	whole map[string]bool // by name: read and intact, or written
	chain format.Chain    // of what was saved since the last whole file, with Increments
	since int             // increments since the whole file
	last  string          // the newest file that the chain has written
}

// Found is a snapshot in a Dir.
type Found struct {
	Path string
	// Info is that of the whole snapshot, even for an increment.
	Info Info
	// Passed says why newer files were skipped.
	Passed []error
}

// ErrNone is returned for a directory without an intact snapshot.
var ErrNone = errors.New("snapshot: none in the directory")

const (
	keepDefault = 3
	nameDigits  = 12
	nameEnd     = ".snapshot"
	moreEnd     = ".increment"
)

// Save saves a world to a new file and returns its path. The file is on disk then, under its name.
// It is written to a temporary file, which is synced and renamed, and then the directory is synced.
// On an error all older files are unchanged.
func (d *Dir) Save(w *world.World, o Options) (path string, err error) {
	return d.save(func(to io.Writer, x *format.Chain) error { return save(to, w, o, x) })
}

// SaveCaptured is Save of what was captured. It may be called while the world ticks.
func (d *Dir) SaveCaptured(c *Captured) (path string, err error) { return d.save(c.write) }

// save makes a new file, whole or an increment, and removes the files that are too old. After an
// error the older files that are left are unchanged, and the new one may be there.
func (d *Dir) save(save func(to io.Writer, x *format.Chain) error) (path string, err error) {
	f, keep := d.of(), d.keep()
	if err := f.Make(); err != nil {
		return "", fmt.Errorf("snapshot: %w", err)
	}
	old, err := d.list(f)
	if err != nil {
		return "", err
	}
	number, newest, end := uint64(1), "", nameEnd
	if n := len(old); n > 0 {
		newest = old[n-1]
		last, _ := numberOf(newest)
		if last == math.MaxUint64 {
			return "", fmt.Errorf("snapshot: %s has the last number that there is; give it another name", d.path(newest))
		}
		number = last + 1
	}
	if err := removeParts(f, number); err != nil {
		return "", fmt.Errorf("snapshot: %w", err)
	}
	var chain *format.Chain
	if d.Increments > 0 {
		chain = &d.chain
		if d.since++; chain.Began() && d.last == newest && d.since <= d.Increments {
			end = moreEnd
		} else {
			d.chain, d.since = format.Chain{}, 0
		}
	}
	name := nameOf(number, end)
	d.last = "" // after an error the next is whole
	switch named, err := files.Write(f, name, func(to io.Writer) error { return save(to, chain) }); {
	case err != nil && !named:
		return "", fmt.Errorf("snapshot: saving to %s: %w", d.path(name), err)
	case err != nil:
		return "", fmt.Errorf("snapshot: %s was written, and may not be on disk: %w", d.path(name), err)
	}
	d.last = name
	if end == moreEnd {
		return d.path(name), nil
	}
	if err := d.removeOld(f, old, name, keep); err != nil {
		return d.path(name), fmt.Errorf("snapshot: %s was written, and an older file cannot be removed: %w", d.path(name), err)
	}
	return d.path(name), nil
}

// removeParts removes the unfinished files of processes that died, below a number. An error leaves
// the others.
func removeParts(f files.Files, number uint64) error {
	names, err := f.List()
	for _, name := range names {
		whole, isPart := strings.CutSuffix(name, files.PartEnd)
		if n, ok := numberOf(whole); isPart && ok && n < number && err == nil {
			err = f.Remove(name)
		}
	}
	return err
}

// removeOld removes files that are older than the files to be kept, one of which was just written.
// It reads those that it has not seen before, so that damaged ones do not count. Increments are
// removed before their base. An error leaves files that the next save removes.
func (d *Dir) removeOld(f files.Files, old []string, written string, keep int) error {
	whole, left := map[string]bool{written: true}, 1
	for _, name := range slices.Backward(old) {
		if left == keep {
			if err := f.Remove(name); err != nil {
				return err
			}
			continue
		}
		if isIncrement(name) {
			continue
		}
		is, known := d.whole[name]
		if !known {
			_, err := d.verify(f, []string{name})
			is = err == nil
		}
		if whole[name] = is; is {
			left++
		}
	}
	d.whole = whole
	return nil
}

// Newest finds the newest intact snapshot. It reads all of it. If there is none, it returns
// ErrNone; Found.Passed says why each file was skipped. A file that cannot be read says nothing
// about what is in it: its error is returned, and no older file stands in for it.
func (d *Dir) Newest() (Found, error) {
	x, _, err := d.newest(d.of())
	return x, err
}

// newest finds the newest intact snapshot, and the files that make it up. An error of reading ends the
// search. It changes no file.
func (d *Dir) newest(f files.Files) (x Found, chain []string, err error) {
	all, err := d.list(f)
	if err != nil {
		return x, nil, err
	}
	broken := map[string]error{} // their increments are skipped without reading all again
	for i, name := range slices.Backward(all) {
		chain = chainOf(all[:i+1])
		info, err := d.verifyChain(f, chain, broken)
		if err == nil {
			x.Path, x.Info = d.path(name), info
			return x, chain, nil
		}
		if err = fmt.Errorf("%s: %w", d.path(name), err); !isContent(err) {
			return x, nil, err
		}
		x.Passed = append(x.Passed, err)
	}
	return x, nil, fmt.Errorf("%w %s", errors.Join(append([]error{ErrNone}, x.Passed...)...), d.Path)
}

// isContent reports whether an error tells something about the bytes of a snapshot, rather than
// about reading them.
func isContent(err error) bool {
	of := []error{ErrNoSnapshot, ErrVersion, ErrBase, ErrTruncated, ErrAltered, ErrOtherWorld, ErrTooLarge, ErrDiffers, fs.ErrNotExist}
	return slices.ContainsFunc(of, func(is error) bool { return errors.Is(err, is) })
}

// chainOf returns the files that make the last of some, which are in order: the whole one before
// it, and all since.
func chainOf(all []string) []string {
	for i, name := range slices.Backward(all) {
		if !isIncrement(name) {
			return all[i:]
		}
	}
	return all
}

// verifyChain reads the files that make the last of them, and changes none. If one is damaged it
// notes that in broken, and returns ErrBase or what is wrong with the last. Other errors are of
// reading.
func (d *Dir) verifyChain(f files.Files, chain []string, broken map[string]error) (Info, error) {
	last := chain[len(chain)-1]
	if err := broken[last]; err != nil {
		return Info{}, err
	}
	for _, name := range chain {
		if err := broken[name]; err != nil {
			return Info{}, fmt.Errorf("%w: it needs %s: %w", ErrBase, name, err)
		}
	}
	info, err := d.verify(f, chain)
	var at *format.ChainError
	if errors.As(err, &at) {
		if name := chain[at.Number]; name != last && isContent(at.Err) {
			broken[name] = at.Err
			return info, fmt.Errorf("%w: it needs %s: %w", ErrBase, name, at.Err)
		}
		err = at.Err
	}
	return info, err
}

// verify reads the snapshot that some files make, and checks that no file goes on after its end. An
// error is about what is in a file, or of reading it.
func (d *Dir) verify(f files.Files, chain []string) (Info, error) {
	in, err := openChain(f, chain)
	if err != nil {
		return Info{}, err
	}
	defer in.Close()
	info, err := Verify(in.Reader)
	for i, x := range in.files {
		if n, _ := io.ReadFull(x, make([]byte, 1)); err == nil && n > 0 {
			err = &format.ChainError{Number: i, Err: format.Altered("there is more data after its end")}
		}
	}
	return info, err
}

// opened is the whole snapshot that some files make.
//
// Ownership: the goroutine that has opened it.
type opened struct {
	io.Reader
	files []io.ReadCloser
}

// openChain opens the files that make a snapshot, as one. The caller closes it; after an error
// nothing is open.
func openChain(f files.Files, chain []string) (*opened, error) {
	x := &opened{}
	var all []io.Reader
	for i, name := range chain {
		in, err := f.Open(name)
		if err != nil {
			_ = x.Close() // an earlier error counts
			return nil, &format.ChainError{Number: i, Err: err}
		}
		x.files, all = append(x.files, in), append(all, in)
	}
	x.Reader = all[0]
	if len(all) > 1 || isIncrement(chain[0]) {
		x.Reader = Merge(all[0], all[1:]...)
	}
	return x, nil
}

// Within returns the reader of the snapshot, so that what Merge makes is not compressed again.
func (o *opened) Within() io.Reader { return o.Reader }

// Close closes all files, whatever their errors.
func (o *opened) Close() (err error) {
	for _, f := range o.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// Open opens a file of the directory, by its name or path, as a whole snapshot: it merges an
// increment with its base. The error for a missing file wraps fs.ErrNotExist.
func (d *Dir) Open(name string) (io.ReadCloser, error) {
	f, name := d.of(), filepath.Base(name)
	all, err := d.list(f)
	if err != nil {
		return nil, err
	}
	at := slices.Index(all, name)
	if at < 0 {
		return nil, fmt.Errorf("snapshot: %s: %w", d.path(name), fs.ErrNotExist)
	}
	in, err := openChain(f, chainOf(all[:at+1]))
	if err != nil {
		return nil, fmt.Errorf("snapshot: %s: %w", d.path(name), err)
	}
	return in, nil
}

// Load loads the newest intact snapshot into a new world. It returns the errors of Newest and of the
// function Load, with the file. What is whole and cannot be read, because the program is another or at
// fault, is an error: no older file stands in for it, as what happened since would be lost. A panic of
// a codec, an Extra or another function that a load calls becomes an error, too; then the world is
// broken.
func (d *Dir) Load(w *world.World, o Options) (Found, error) {
	f := d.of()
	x, chain, err := d.newest(f)
	if err != nil {
		return x, err
	}
	in, err := openChain(f, chain)
	if err != nil {
		return x, fmt.Errorf("%s: %w", x.Path, err)
	}
	defer in.Close()
	r, e := &reading{Reader: in.Reader}, (*aside.Error)(nil)
	returned := false
	err = aside.Do("a function that a load calls", func() error {
		err := Load(r, w, o)
		returned = true
		return err
	})
	switch {
	case err == nil:
		return x, nil
	case !returned && (w == nil || w.Err() == nil) && errors.As(err, &e): // the arguments are wrong: it has not begun
		panic(e.Value)
	case r.err != nil, errors.Is(err, ErrNotNew), errors.Is(err, world.ErrClosed):
		return x, fmt.Errorf("%s: %w", x.Path, err)
	}
	return x, fmt.Errorf("%s is whole; this program cannot read it: %w", x.Path, err)
}

// reading keeps the error with which reading has failed.
//
// Ownership: the goroutine of the load.
type reading struct {
	io.Reader
	err error
}

// Read reads from the snapshot, and keeps an error that is not its end.
func (r *reading) Read(to []byte) (int, error) {
	n, err := r.Reader.Read(to)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

// list returns the names of the snapshots, oldest first. A directory that is missing has none;
// another error is of reading it.
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
func nameOf(n uint64, end string) string { return fmt.Sprintf("%0*d%s", nameDigits, n, end) }

// numberOf returns the number of a file, or false if its name is not of a snapshot.
func numberOf(name string) (n uint64, ok bool) {
	end := filepath.Ext(name)
	n, err := strconv.ParseUint(strings.TrimSuffix(name, end), 10, 64)
	return n, (end == nameEnd || end == moreEnd) && err == nil && name == nameOf(n, end)
}

// isIncrement reports whether a file is an increment, by its name.
func isIncrement(name string) bool { return filepath.Ext(name) == moreEnd }

// path returns the path of a file in the directory.
func (d *Dir) path(name string) string { return filepath.Join(d.Path, name) }

// keep returns how many whole files are kept. It panics about numbers below 0.
func (d *Dir) keep() int {
	if d.Keep < 0 || d.Increments < 0 {
		panic(fmt.Sprintf("snapshot: a Dir keeps %d files, each with %d increments; want 1 file or more, or 0 for %d, and 0 increments or more", d.Keep, d.Increments, keepDefault))
	}
	if d.Keep == 0 {
		return keepDefault
	}
	return d.Keep
}

// of returns the directory as files.
func (d *Dir) of() files.Files {
	if d.files != nil {
		return d.files
	}
	return files.Of(d.Path)
}
