package snapshot

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/drive"
)

// encoded is a section on its way to the writer.
type encoded struct {
	section
	raw, packed []byte
	cuts        []cut
	delta       []byte   // for an increment, instead of raw
	whole       uint64   // its checksum in a whole, uncompressed snapshot
	blocks      []pieces // for the next increment
	panicked    any
	err         error
}

// write encodes parts on several goroutines and writes them in order: as an increment, if
// chain is not nil and has written a snapshot before.
func (s *saving) write(dst io.Writer, parts []part, info *Info, chain *Chain) (err error) {
	workers := min(s.o.Workers, len(parts))
	free := make(chan *encoded, 2*workers) // bounds how many are under way
	for range cap(free) {
		free <- new(encoded)
	}
	done := make([]chan *encoded, len(parts))
	for i := range done {
		done[i] = make(chan *encoded, 1)
	}
	var next atomic.Int64
	var stopped atomic.Bool
	var all sync.WaitGroup
	var worker func()
	worker = func() {
		at, x := -1, (*encoded)(nil)
		defer func() {
			if at >= 0 { // a codec has ended this goroutine: another replaces it
				x.err = errGoexit
				done[at] <- x
				all.Go(worker)
			}
		}()
		for {
			x = <-free // before taking the number, so that the lowest number has one
			i := int(next.Add(1)) - 1
			if i >= len(parts) {
				free <- x
				return
			}
			if !stopped.Load() {
				at = i
				s.encode(x, parts, i, chain)
				at = -1
			}
			done[i] <- x
		}
	}
	for range workers {
		all.Go(worker)
	}
	taken := 0
	defer func() { // also if dst panics or ends this goroutine: no goroutine is left waiting
		stopped.Store(true)
		for ; taken < len(parts); taken++ {
			free <- <-done[taken]
		}
		all.Wait()
	}()
	out, now := writer{out: dst}, &written{base: base{tick: info.Tick, hash: info.Hash}}
	if chain != nil {
		out.base, now.blocks = chain.base(), map[blockKey]pieces{}
	}
	err = out.begin()
	var panicked any
	for taken < len(parts) {
		stopped.Store(err != nil || panicked != nil)
		x := <-done[taken]
		taken++
		if !stopped.Load() {
			if panicked, err = x.panicked, x.err; panicked == nil && err == nil {
				err = out.section(&x.section)
				now.add(x)
			}
		}
		free <- x
	}
	all.Wait()
	if panicked != nil {
		panic(panicked)
	}
	if err == nil {
		err = out.end(now.sum)
	}
	if err == nil && chain != nil {
		chain.last = now
	}
	return err
}

var errGoexit = errors.New("snapshot: a function has ended its goroutine, by runtime.Goexit")

// encode encodes a part. It keeps a panic of the user's code.
func (s *saving) encode(x *encoded, parts []part, at int, chain *Chain) {
	x.panicked, x.err = nil, errGoexit
	defer func() {
		v := recover()
		var failed *drive.CodecError
		if e, ok := v.(error); ok && errors.As(e, &failed) {
			x.err = fmt.Errorf("snapshot: %w", e)
		} else {
			x.panicked = v
		}
	}()
	p, cuts := &parts[at], (*[]cut)(nil)
	if chain != nil {
		x.cuts = x.cuts[:0]
		cuts = &x.cuts
	}
	x.raw = s.append(x.raw[:0], p, cuts)
	x.err = nil
	x.section = section{kind: p.kind, how: None, number: p.number, length: len(x.raw), body: x.raw}
	if len(x.raw) > sectionMax {
		x.err = fmt.Errorf("%w: a section of kind %q has %d bytes, more than %d", ErrTooLarge, p.kind, len(x.raw), sectionMax)
		return
	}
	if chain != nil {
		x.whole = x.checksum()
		x.delta, x.blocks = chain.last.compare(x.delta[:0], x.raw, at, x.cuts)
		if chain.last != nil && p.kind != headerSection {
			x.body, x.length = x.delta, len(x.delta)
		}
	}
	if s.o.Compression != None && !p.plain {
		x.how = s.o.Compression
		x.packed = pack(x.how, x.packed[:0], x.body)
		x.body = x.packed
	}
	x.sum = x.checksum()
}
