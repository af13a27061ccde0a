package format

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/persist/state"
)

// Part is a section that is to be written. It has one of the functions.
type Part struct {
	Kind   byte
	Number int
	Plain  bool // it is not compressed
	Body   func(dst []byte) []byte
	// Blocks is for a body of several blocks. If cuts is not nil, it adds where they begin.
	Blocks func(dst []byte, cuts *[]Cut) []byte
}

// Output says how a snapshot is written.
type Output struct {
	Workers     int // goroutines; 0 for GOMAXPROCS
	Compression Compression
	Tick        uint64
	Hash        state.Hash
	Chain       *Chain // if it is not nil, the snapshot may be an increment, and the next is one
}

// encoded is a section on its way to the writer.
type encoded struct {
	Section
	raw, packed []byte
	cuts        []Cut
	delta       []byte   // for an increment, instead of raw
	whole       uint64   // its checksum in a whole, uncompressed snapshot
	blocks      []pieces // for the next increment
	panicked    any
	err         error
}

// Write encodes parts on several goroutines and writes them in order.
func (o Output) Write(dst io.Writer, parts []Part) (err error) {
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	workers := min(o.Workers, len(parts))
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
				x.err = ErrGoexit
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
				o.encode(x, parts, i)
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
	out, now := Writer{Out: dst}, &written{Base: Base{tick: o.Tick, hash: o.Hash}}
	if o.Chain != nil {
		out.Base, now.blocks = o.Chain.base(), map[Block]pieces{}
	}
	err = out.Begin()
	var panicked any
	for taken < len(parts) {
		stopped.Store(err != nil || panicked != nil)
		x := <-done[taken]
		taken++
		if !stopped.Load() {
			if panicked, err = x.panicked, x.err; panicked == nil && err == nil {
				err = out.Section(&x.Section)
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
		err = out.End(now.sum)
	}
	if err == nil && o.Chain != nil {
		o.Chain.last = now
	}
	return err
}

// encode encodes a part. It keeps a panic of the user's code.
func (o Output) encode(x *encoded, parts []Part, at int) {
	x.panicked, x.err = nil, ErrGoexit
	defer func() {
		v := recover()
		var failed *extend.CodecError
		if e, ok := v.(error); ok && errors.As(e, &failed) {
			x.err = fmt.Errorf("snapshot: %w", e)
		} else {
			x.panicked = v
		}
	}()
	p := &parts[at]
	x.raw, x.cuts = p.append(x.raw[:0], x.cuts[:0], o.Chain != nil)
	x.err = nil
	x.Section = Section{Kind: p.Kind, How: None, Number: p.Number, Length: len(x.raw), Body: x.raw}
	if len(x.raw) > SectionMax {
		x.err = fmt.Errorf("%w: a section of kind %q has %d bytes, more than %d", ErrTooLarge, p.Kind, len(x.raw), SectionMax)
		return
	}
	if o.Chain != nil {
		x.whole = x.Checksum()
		x.delta, x.blocks = o.Chain.last.compare(x.delta[:0], x.raw, at, x.cuts)
		if o.Chain.last != nil && p.Kind != HeaderSection {
			x.Body, x.Length = x.delta, len(x.delta)
		}
	}
	if o.Compression != None && !p.Plain {
		x.How = o.Compression
		x.packed = Pack(x.How, x.packed[:0], x.Body)
		x.Body = x.packed
	}
	x.Sum = x.Checksum()
}

// append appends the body of a part, and where its blocks begin if that is wanted.
func (p *Part) append(dst []byte, cuts []Cut, cut bool) ([]byte, []Cut) {
	switch {
	case p.Blocks != nil && cut:
		dst = p.Blocks(dst, &cuts)
	case p.Blocks != nil:
		dst = p.Blocks(dst, nil)
	default:
		dst, cuts = p.Body(dst), append(cuts, Cut{Block: Block{Kind: p.Kind, Number: p.Number}})
	}
	return dst, cuts
}
