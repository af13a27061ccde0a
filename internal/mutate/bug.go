package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// bug is a deliberate mistake: in the file, old becomes new, within one function.
// Of the tests that are named at least one must fail.
type bug struct {
	name  string
	file  string // from the root of the module
	old   string // is there exactly once
	new   string
	tests tests
}

// tests are some of one package.
type tests struct {
	pkg  string // from the root of the module
	run  string // as in go test -run
	race bool
	long bool // not with -short
}

// allBugs are the deliberate bugs, from the bottom up.
var allBugs = slices.Concat(handleBugs, slotBugs, storageBugs, laneBugs, worldBugs, refreshBugs, portBugs, schedulerBugs)

func chosen(match *regexp.Regexp) []bug {
	return slices.DeleteFunc(slices.Clone(allBugs), func(b bug) bool { return !match.MatchString(b.name) })
}

// site returns the change that makes the bug.
func (b *bug) site(root string) (site, error) {
	data, err := os.ReadFile(filepath.Join(root, b.file))
	if err != nil {
		return site{}, err
	}
	text := string(data)
	if n := strings.Count(text, b.old); n != 1 {
		return site{}, fmt.Errorf("bug %q: %s has %d times what it replaces, want once; bring it up to date", b.name, b.file, n)
	}
	// What is around, for it to be there once, need not be in the same function.
	head, tail := common(b.old, b.new)
	offset := strings.Index(text, b.old) + head
	return site{
		name: b.name, file: b.file, line: 1 + strings.Count(text[:offset], "\n"),
		offset: offset, end: offset + len(b.old) - head - tail, text: b.new[head : len(b.new)-tail],
	}, nil
}

// common returns how many bytes two texts have in common at the beginning and at
// the end.
func common(a, b string) (head, tail int) {
	n := min(len(a), len(b))
	for head < n && a[head] == b[head] {
		head++
	}
	for tail < n-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return head, tail
}
