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
	panicked    any
	err         error
}

// write encodes parts on several goroutines and writes them in order.
func (s *saving) write(dst io.Writer, parts []part) (err error) {
	workers := min(s.o.Workers, len(parts))
	free := make(chan *encoded, 2*workers) // as many are under way
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
			if at >= 0 { // a codec has ended this goroutine: another goes on
				x.err = errGoexit
				done[at] <- x
				all.Go(worker)
			}
		}()
		for {
			x = <-free // before the number, so that the lowest has one
			i := int(next.Add(1)) - 1
			if i >= len(parts) {
				free <- x
				return
			}
			if !stopped.Load() {
				at = i
				x.encode(&parts[i], s.o.Compression)
				at = -1
			}
			done[i] <- x
		}
	}
	for range workers {
		all.Go(worker)
	}
	taken := 0
	defer func() { // also if dst panics, or ends this goroutine: nobody is left behind
		stopped.Store(true)
		for ; taken < len(parts); taken++ {
			free <- <-done[taken]
		}
		all.Wait()
	}()
	out := writer{out: dst}
	err = out.begin()
	var panicked any
	for taken < len(parts) {
		stopped.Store(err != nil || panicked != nil)
		x := <-done[taken]
		taken++
		if !stopped.Load() {
			if panicked, err = x.panicked, x.err; panicked == nil && err == nil {
				err = out.section(&x.section)
			}
		}
		free <- x
	}
	all.Wait()
	if panicked != nil {
		panic(panicked)
	}
	if err == nil {
		err = out.end()
	}
	return err
}

var errGoexit = errors.New("snapshot: a function has ended its goroutine, by runtime.Goexit")

// encode encodes a part. A panic, which is one of the user's code, is kept.
func (x *encoded) encode(p *part, how Compression) {
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
	x.raw = p.body(x.raw[:0])
	x.err = nil
	x.section = section{kind: p.kind, how: how, number: p.number, length: len(x.raw), body: x.raw}
	if len(x.raw) > sectionMax {
		x.err = fmt.Errorf("%w: a section of kind %q has %d bytes, more than %d", ErrTooLarge, p.kind, len(x.raw), sectionMax)
		return
	}
	if how == None || p.plain {
		x.how = None
	} else {
		x.packed = pack(how, x.packed[:0], x.raw)
		x.body = x.packed
	}
	x.sum = x.checksum()
}
