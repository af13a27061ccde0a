package hierarchy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/world"
)

// told are the errors that a Refusal can have. They are saved by their texts.
var told = []error{
	ErrCycle, ErrParent, ErrChildren, ErrAbsent, ErrPlace, ErrTaken, ErrNoPlace, ErrFixed, ErrElsewhere, ErrRoom, ErrLimit,
	ErrVersion, ErrPort, ErrSteps, world.ErrStale,
}

// AppendSaved appends the refusals and an image of the tree, for LoadSaved.
func (k adapter) AppendSaved(dst []byte) []byte {
	dst = drive.AppendNumbers(dst, k.policies())
	dst = drive.AppendNumber(dst, len(k.refused))
	for _, f := range k.refused {
		dst = drive.AppendText(drive.AppendText(dst, f.Change), f.Err.Error())
		dst = drive.AppendNumber(drive.AppendNumber(dst, uint64(f.Entity)), uint64(f.Other))
		path := f.Path
		if f.Omitted > 0 { // as a value that is no handle
			path = append(slices.Clone(path), word(f.Omitted)<<handle.VersionBits)
		}
		dst = drive.AppendWords(dst, path)
	}
	k.tree.finish() // which may change the room
	return k.tree.Save(drive.AppendNumbers(dst, k.tree.room()))
}

// roomMost bounds the unused room that is restored with a saved tree, beyond the room of the new
// one and four times the contents.
const roomMost = 64 << 20

// room returns the capacity of each part of the tree. With ManualGrowth it decides what is refused.
func (t *Tree) room() []int {
	return []int{cap(t.sectors[t.current].words), cap(t.records), cap(t.owners), len(t.block)}
}

// restoreRoom gives the tree room that another had.
func (t *Tree) restoreRoom(room []int) {
	fit := func(part []word, n int) []word { return append(make([]word, 0, max(n, len(part))), part...) }
	t.restoreArena(room[0])
	t.records, t.block = fit(t.records, room[1]), make([]word, room[3])
	t.owners = append(make([]handle.Handle, 0, max(room[2], len(t.owners))), t.owners...)
}

// restoreArena gives the current arena so much memory, as far as its sectors are free.
func (t *Tree) restoreArena(n int) {
	first, was := t.current, t.sectors[t.current]
	if first == 0 || n <= len(was.words) {
		return
	}
	t.growTo(min(first+sectorsOf(n), sectorsMax))
	free := first + sectorsOf(len(was.words))
	for free < len(t.sectors) && t.sectors[free].head == 0 {
		free++
	}
	if was.head != 0 {
		t.dropArena(first)
	}
	n = max(len(was.words), min(n, (free-first)<<sectorBits))
	t.setArena(first, append(make([]word, 0, n), was.words...))
	t.sectors[first].live, t.current = was.live, first
}

// policies are the options that decide what the relation does.
func (r *Relation) policies() []int {
	o := r.options
	return []int{int(o.OnParentDeath), int(o.OnChildDeath), o.Places, o.PlacesMax, o.Refusals, o.StepsMax}
}

// policyNames are their names.
var policyNames = []string{"OnParentDeath", "OnChildDeath", "Places", "PlacesMax", "Refusals", "StepsMax"}

// kept is how many of the policies must be the same in the world that loads the relation.
const kept = 3

// SavedOptions describes the policies.
func (k adapter) SavedOptions() (all, same string) {
	values := k.policies()
	for i, name := range policyNames {
		value := any(values[i])
		switch name {
		case "OnParentDeath":
			value = k.options.OnParentDeath
		case "OnChildDeath":
			value = k.options.OnChildDeath
		}
		all += fmt.Sprintf(", %s %v", name, value)
		if i < kept {
			same = all
		}
	}
	return all[2:], same[2:]
}

// LoadSaved makes the relation what AppendSaved wrote.
func (k adapter) LoadSaved(src []byte) error {
	c := drive.Cursor{Rest: src}
	own := k.policies()
	for i, n := range c.Numbers() {
		if i < kept && n != own[i] {
			return fmt.Errorf("hierarchy: relation %q has %s %d, and was saved with %d", k.name, policyNames[i], own[i], n)
		}
	}
	var refused []Refusal
	k.paths = k.paths[:0]
	for range c.Count(5) {
		f := Refusal{Change: c.Text(), Err: errorOf(c.Text()), Entity: c.Handle(), Other: c.Handle(), Path: drive.WordsOf[handle.Handle](&c)}
		if n := len(f.Path) - 1; n >= 0 && f.Path[n].Version() == 0 {
			f.Path, f.Omitted = f.Path[:n], int(f.Path[n]>>handle.VersionBits)
		}
		if len(refused) < k.options.Refusals {
			refused = append(refused, f)
		}
	}
	room, here := c.Numbers(), 0
	if c.Err != nil {
		return c.Err
	}
	for _, n := range k.tree.room() {
		here += n
	}
	for _, n := range room {
		if len(room) != len(k.tree.room()) || room[len(room)-1]%pageSize != 0 || n > here+4*len(c.Rest)/wordBytes+roomMost/wordBytes {
			return fmt.Errorf("hierarchy: relation %q has room for %v (%w)", k.name, room, drive.ErrBody)
		}
	}
	if err := k.Load(c.Rest); err != nil {
		return err
	}
	if len(room) > 0 {
		k.tree.restoreRoom(room)
	}
	k.refused, k.stale, k.retold = refused, true, true
	return nil
}

// errorOf returns the error with a text.
func errorOf(text string) error {
	for _, err := range told {
		if err.Error() == text {
			return err
		}
	}
	return errors.New(text)
}
