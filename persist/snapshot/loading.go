package snapshot

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/world"
)

// loading is a world that is being loaded.
type loading struct {
	w      *world.World
	v      *engine.Survey // of it
	o      *Options
	r      format.Source
	from   *Captured // has the rows, or nil: the source has them
	into   *engine.Loader
	head   format.Header
	same   bool          // the hashes can be compared
	names  *catalogue    // of the snapshot
	own    *catalogue    // of the world
	tables [][]tablePlan // by shard
	read   int64         // bytes that describe rows
	merged []*mergedTable
	rows   int64      // bytes of rows, used or not
	codecs sync.Mutex // held while the user's functions are called
	put    []func()
	also   []func() error
}

// tablePlan says how to read the rows of a table.
type tablePlan struct {
	columns []columnPlan  // in the order of the snapshot
	filled  []atomic.Bool // by chunk: its rows are loaded
	to      int           // the world's table
	merged  *mergedTable  // if the table also has the rows of others
	first   []int         // with merged, by chunk: its first row there
}

type columnPlan struct {
	*named
	to int // the column of the world's table, or -1 if dropped
}

// mergedTable is a table of the world with the rows of several in the snapshot.
//
// Ownership: each row of handles belongs to the goroutine that has its chunk.
type mergedTable struct {
	shard, to int
	handles   []handle.Handle
	chunks    []store.ChunkImage
	first     []int // by chunk: its first row in the table
}

// chunkOf returns the chunk of a row of the table.
func (m *mergedTable) chunkOf(row int) int {
	at, _ := slices.BinarySearch(m.first, row+1)
	return at - 1 // chunks without rows come last, and begin after the last row
}

// components returns the numbers of components in this world, without those that are dropped.
func (l *loading) components(saved []int) (own []int, err error) {
	for _, c := range saved {
		if c >= len(l.names.components) {
			return nil, fmt.Errorf("component %d, of %d", c, len(l.names.components))
		}
		if at := l.names.components[c].at; at >= 0 {
			own = append(own, at)
		}
	}
	return own, nil
}

// component returns the number of a component in this world, or -1.
func (l *loading) component(saved int) int {
	if saved < len(l.names.components) {
		return l.names.components[saved].at
	}
	return -1
}

// drops reports whether components are dropped.
func (l *loading) drops() bool {
	return slices.ContainsFunc(l.names.components, func(n named) bool { return n.at < 0 })
}

// pass skips the values of something that is dropped.
func (l *loading) pass(c *extend.Cursor, n *named, values int) error {
	if n.form == nil {
		return c.Err
	}
	return l.values(c, n.form, mem.Cells{Len: values})
}

// values reads values.
func (l *loading) values(c *extend.Cursor, form extend.Form, values mem.Cells) (err error) {
	if c.Err != nil {
		return c.Err
	}
	if form.ByCodec() {
		l.codecs.Lock()
		defer l.codecs.Unlock()
	}
	c.Rest, err = form.ReadAll(c.Rest, values)
	return err
}

// value reads a value, and returns the rest.
func (l *loading) value(src []byte, form extend.Form, to mem.Cells) ([]byte, error) {
	if form.ByCodec() {
		l.codecs.Lock()
		defer l.codecs.Unlock()
	}
	return form.Read(src, to)
}

// within adds the section to an error.
func (l *loading) within(s *format.Section, err error) error {
	for _, own := range []error{ErrAltered, ErrOtherWorld, ErrTooLarge} {
		if errors.Is(err, own) {
			return fmt.Errorf("%w (%v)", err, s)
		}
	}
	return format.Altered("%v: %w", s, err)
}
