// Package faulty has a file system that fails, for tests of packages that must survive that.
package faulty

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"github.com/atoll-sim/atoll/internal/files"
)

// Disk is a file system that fails, or loses power, at one call. What was not synced may be lost;
// names and contents may be lost separately. Safe for concurrent use.
type Disk struct {
	mu            sync.Mutex
	names, synced map[string]*inode
	calls, failAt int
	fault         Fault
	dead          bool
}

type inode struct {
	data   []byte
	synced int
}

// Fault is what goes wrong.
type Fault struct {
	Name                 string
	Crashes              bool
	half                 bool // half of the call is done
	keepsNames, keepsAll bool // what was not synced is there after all
}

// Faults lists all faults.
var Faults = []Fault{
	{Name: "an error"}, {Name: "an error that came too late", half: true},
	{Name: "a crash", Crashes: true}, {Name: "a crash that keeps names", Crashes: true, keepsNames: true},
	{Name: "a crash in the middle", Crashes: true, half: true, keepsNames: true},
	{Name: "a crash that keeps contents", Crashes: true, keepsAll: true},
	{Name: "a crash that keeps all", Crashes: true, half: true, keepsNames: true, keepsAll: true},
}

// ErrDisk is the error of all calls that fail.
var ErrDisk = errors.New("the disk fails")

// New makes an empty disk without a fault.
func New() *Disk { return &Disk{names: map[string]*inode{}, synced: map[string]*inode{}} }

// FailAt makes the n-th call from now on fail. 0 means none.
func (d *Disk) FailAt(n int, f Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls, d.failAt, d.fault = 0, n, f
}

// Calls returns how many calls there were since FailAt.
func (d *Disk) Calls() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls
}

// PowerOff makes every call fail until Reboot, and loses what was not synced.
func (d *Disk) PowerOff() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead, d.fault = true, Fault{}
}

// Reboot makes the disk what is left after a crash, without a fault.
func (d *Disk) Reboot() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		if !d.fault.keepsNames {
			d.names = maps.Clone(d.synced)
		}
		for _, x := range d.names {
			if !d.fault.keepsAll {
				x.data = x.data[:x.synced]
			}
		}
	}
	d.dead, d.failAt = false, 0
}

// Edit changes the bytes of a file. The file must exist.
func (d *Disk) Edit(name string, f func(data []byte) []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.names[name].data = f(d.names[name].data)
	d.names[name].synced = len(d.names[name].data)
}

// Clone returns a copy without a fault.
func (d *Disk) Clone() *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	other := New()
	for name, x := range d.names {
		other.names[name] = &inode{bytes.Clone(x.data), len(x.data)}
	}
	other.synced = maps.Clone(other.names)
	return other
}

// call counts a call. At the failing one it returns an error, after half of the work if the fault
// says so. The lock is held. All methods of Files and of the files come here.
func (d *Disk) call(half func()) (whole bool, err error) {
	if d.dead {
		return false, ErrDisk
	}
	if d.calls++; d.calls != d.failAt {
		half()
		return true, nil
	}
	if d.dead = d.fault.Crashes; d.fault.half {
		half()
	}
	return false, ErrDisk
}

// locked is call with the lock, for calls that need not know whether all of the work was done.
func (d *Disk) locked(half func()) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, err := d.call(half)
	return err
}

// Make is a call that changes nothing.
func (d *Disk) Make() error { return d.locked(func() {}) }

// List returns the names of all files, in no order.
func (d *Disk) List() (all []string, err error) {
	err = d.locked(func() { all = slices.Collect(maps.Keys(d.names)) })
	return all, err
}

// Create makes an empty file, in place of one with that name. Its name is not synced yet.
func (d *Disk) Create(name string) (files.File, error) {
	x := new(inode)
	if err := d.locked(func() { d.names[name] = x }); err != nil {
		return nil, err
	}
	return &open{d: d, x: x}, nil
}

// Append opens a file to write behind what it has. The error for a missing file is fs.ErrNotExist.
func (d *Disk) Append(name string) (files.File, error) {
	var x *inode
	if err := d.locked(func() { x = d.names[name] }); err != nil {
		return nil, err
	}
	if x == nil {
		return nil, fs.ErrNotExist
	}
	return &open{d: d, x: x}, nil
}

// Size returns how many bytes the file has now. The error for a missing file is fs.ErrNotExist.
func (d *Disk) Size(name string) (size int64, err error) {
	none := false
	err = d.locked(func() {
		if x := d.names[name]; x != nil {
			size = int64(len(x.data))
		} else {
			none = true
		}
	})
	if err == nil && none {
		err = fs.ErrNotExist
	}
	return size, err
}

// Open returns what the file has in it now. The error for a missing file is fs.ErrNotExist.
func (d *Disk) Open(name string) (io.ReadCloser, error) {
	var data []byte
	none := false
	err := d.locked(func() {
		if x := d.names[name]; x != nil {
			data = bytes.Clone(x.data)
		} else {
			none = true
		}
	})
	if err == nil && none {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	return &reading{d: d, rest: data}, nil
}

// reading is a file that is read. The first Read is a call that may fail, after half of the bytes,
// and so may Close.
//
// Ownership: one goroutine at a time.
type reading struct {
	d     *Disk
	rest  []byte
	begun bool
	err   error
}

// Read returns what is left of the file. If the first Read fails, the first half of the bytes still
// comes, and then the error.
func (f *reading) Read(p []byte) (n int, err error) {
	if !f.begun {
		f.begun = true
		if f.err = f.d.locked(func() {}); f.err != nil {
			f.rest = f.rest[:len(f.rest)/2]
		}
	}
	if n = copy(p, f.rest); n > 0 || len(p) == 0 {
		f.rest = f.rest[n:]
		return n, nil
	}
	if f.err != nil {
		return 0, f.err
	}
	return 0, io.EOF
}

// Close is a call that may fail. There is nothing to close.
func (f *reading) Close() error { return f.d.locked(func() {}) }

// Rename gives a file another name, which stands for it from then on. The names are not synced yet.
func (d *Disk) Rename(from, to string) error {
	return d.locked(func() {
		d.names[to] = d.names[from]
		delete(d.names, from)
	})
}

// Remove takes a name away. That is not synced yet.
func (d *Disk) Remove(name string) error { return d.locked(func() { delete(d.names, name) }) }

// SyncFile makes what a file has in it survive a crash, but not its name.
func (d *Disk) SyncFile(name string) error {
	return d.locked(func() { d.names[name].synced = len(d.names[name].data) })
}

// Sync makes the names survive a crash, but not what the files have in them.
func (d *Disk) Sync() error { return d.locked(func() { d.synced = maps.Clone(d.names) }) }

type open struct {
	d *Disk
	x *inode
}

// Write appends to the file. If it fails, half of the bytes may be in the file, as n says.
func (f *open) Write(p []byte) (n int, err error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	whole, err := f.d.call(func() { n = len(p) / 2 })
	if whole {
		n = len(p)
	}
	f.x.data = append(f.x.data, p[:n]...)
	return n, err
}

// Sync makes what the file has in it survive a crash.
func (f *open) Sync() error { return f.d.locked(func() { f.x.synced = len(f.x.data) }) }

// Close is a call that may fail. It syncs nothing.
func (f *open) Close() error { return f.d.locked(func() {}) }
