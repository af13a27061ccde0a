package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"sync"
)

// journal is what became of the small changes that were tried, one line for each, in
// a file: so a run can be done in pieces. What was found of a source file that has
// changed since does not count.
//
// Ownership: found is read before changes are tried; then anyone may write.
type journal struct {
	root  string
	found map[string]entry // by the change's name
	sums  map[string]string

	mu struct {
		sync.Mutex
		file *os.File
	}
}

// entry is a line of the journal.
type entry struct {
	Change    string
	Sum       string // of its source file
	By        string // the test that noticed it, or "" if it survived
	Late      bool   `json:",omitempty"`
	Unreached bool   `json:",omitempty"` // no test gets there
	Broken    bool   `json:",omitempty"` // it does not compile

	line int // in the journal, from 1
}

// openJournal opens the journal in a directory, or one that remembers nothing if dir
// is "".
func openJournal(root, dir string) (*journal, error) {
	j := &journal{root: root, found: map[string]entry{}, sums: map[string]string{}}
	if dir == "" {
		return j, nil
	}
	file, err := os.OpenFile(filepath.Join(dir, "journal.json"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	j.mu.file = file
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", file.Name(), err), file.Close())
		}
		e.line = n
		j.found[e.Change] = e
	}
	return j, lines.Err()
}

func (j *journal) close() error {
	if j.mu.file == nil {
		return nil
	}
	return j.mu.file.Close()
}

// look returns what became of a change, if that is known and its file is the same.
func (j *journal) look(x *site) (entry, bool, error) {
	sum, err := j.sum(x.file)
	e, ok := j.found[x.name]
	return e, ok && e.Sum == sum, err
}

// note writes down what became of a change.
func (j *journal) note(x *site, v verdict, broken bool) error {
	if j.mu.file == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	line, err := json.Marshal(entry{Change: x.name, Sum: j.sums[x.file], By: v.failed, Late: v.late, Unreached: v.unreached, Broken: broken})
	if err != nil {
		return err
	}
	_, err = j.mu.file.Write(append(line, '\n'))
	return err
}

// sum returns what tells a source file from what it was before.
func (j *journal) sum(file string) (string, error) {
	if sum, ok := j.sums[file]; ok {
		return sum, nil
	}
	data, err := os.ReadFile(filepath.Join(j.root, file))
	if err != nil {
		return "", err
	}
	h := fnv.New64a()
	_, _ = h.Write(data)
	j.sums[file] = fmt.Sprintf("%016x", h.Sum64())
	return j.sums[file], nil
}
