package transit

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/atoll-sim/atoll/ext/transit/internal/ends"
	"github.com/atoll-sim/atoll/world"
)

func init() {
	ends.Register(func(roads any) ends.End { return &end{roads: roads.(*Roads)} })
}

// end is a world of this process, as a carrier sees it.
//
// Ownership: the mutex guards the ports that no call uses.
type end struct {
	roads *Roads
	mu    sync.Mutex
	free  []*world.Port
	over  bool
}

// port returns a port that nobody else uses, until back.
func (e *end) port() (*world.Port, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if n := len(e.free); n > 0 {
		p := e.free[n-1]
		e.free = e.free[:n-1]
		return p, nil
	}
	return e.roads.w.OpenPort()
}

func (e *end) back(p *world.Port) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		p.Close()
		return
	}
	e.free = append(e.free, p)
}

// Close closes the ports.
func (e *end) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
	for _, p := range e.free {
		p.Close()
	}
	e.free = nil
}

// once brings answers, and returns the next packet when its items are on disk.
func (e *end) once(ctx context.Context, a answers) (packet, error) {
	port, err := e.port()
	if err != nil {
		return packet{}, err
	}
	defer e.back(port)
	var p world.Answer[packet]
	if err := e.roads.turning.Send(port.Within(ctx), a, &p); err != nil {
		return packet{}, err
	}
	return await(ctx, e.roads, &p, sendEarly)
}

// await waits for an answer of a world, and until what it tells is on disk.
func await[R any](ctx context.Context, r *Roads, a *world.Answer[R], early mistake) (v R, err error) {
	if v, err = a.Get(ctx); err == nil && planted != early {
		err = r.engine.Wait(ctx)
	}
	return v, err
}

func (e *end) number() World { return e.roads.world }

func (e *end) arrive(ctx context.Context, p packet) (answers, error) {
	port, err := e.port()
	if err != nil {
		return answers{}, err
	}
	defer e.back(port)
	return e.roads.take(ctx, port, p)
}

func (e *end) turn(ctx context.Context, a answers) (packet, error) { return e.turnBy(ctx, a, nil) }

// turnBy is turn that waits no longer than until late.
func (e *end) turnBy(ctx context.Context, a answers, late <-chan time.Time) (packet, error) {
	wake, over := e.roads.watch(a.To)
	defer over()
	for {
		p, err := e.once(ctx, a)
		if err != nil || p.tells(&a) {
			return p, err
		}
		select {
		case <-wake:
		case <-late:
			return p, nil
		case <-ctx.Done():
			return packet{}, ctx.Err()
		}
	}
}

// Arrive is arrive for a carrier of another process, which has said whose packet it is.
func (e *end) Arrive(ctx context.Context, from uint32, src []byte) ([]byte, error) {
	p, err := readPacket(src, World(from), e.roads.world)
	if err != nil {
		return nil, err
	}
	a, err := e.arrive(ctx, p)
	return a.append(nil), err
}

// Turn is turn for a carrier of another process, which has said whose answers these are.
func (e *end) Turn(ctx context.Context, to uint32, src []byte, patience time.Duration) ([]byte, error) {
	a, err := readAnswers(src, e.roads.world, World(to))
	if err != nil {
		return nil, err
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	p, err := e.turnBy(ctx, a, timer.C)
	return p.append(nil), err
}

// Carry carries between this world and one of another process.
func (e *end) Carry(ctx context.Context, to uint32, x ends.Far) error {
	return both(ctx, e, &far{x, e.roads.world, World(to)})
}

// far is a world of another process, as a carrier to a world of this one sees it.
type far struct {
	ends.Far
	here, there World
}

func (f *far) number() World { return f.there }

func (f *far) arrive(ctx context.Context, p packet) (answers, error) {
	b, err := f.Arrive(ctx, p.append(nil))
	if err != nil {
		return answers{}, err
	}
	return readAnswers(b, f.here, f.there)
}

func (f *far) turn(ctx context.Context, a answers) (packet, error) {
	b, err := f.Turn(ctx, a.append(nil))
	if err != nil {
		return packet{}, err
	}
	return readPacket(b, f.there, f.here)
}

// What goes to another process is the numbers of a packet or of answers, and then the text.

func (p *packet) append(dst []byte) []byte {
	return append(appendNumbers(dst, uint64(p.From), uint64(p.To), p.Era, p.Acked, p.First, p.Before), p.Items...)
}

func (a *answers) append(dst []byte) []byte {
	return append(appendNumbers(dst, uint64(a.From), uint64(a.To), a.Era, a.Acked, a.Last, a.Chain), a.Refused...)
}

func readPacket(src []byte, from, to World) (p packet, err error) {
	n, rest, err := cutNumbers(src, from, to)
	return packet{from, to, n[2], n[3], n[4], n[5], string(rest)}, err
}

func readAnswers(src []byte, from, to World) (a answers, err error) {
	n, rest, err := cutNumbers(src, from, to)
	return answers{from, to, n[2], n[3], n[4], n[5], string(rest)}, err
}

func appendNumbers(dst []byte, numbers ...uint64) []byte {
	for _, v := range numbers {
		dst = binary.AppendUvarint(dst, v)
	}
	return dst
}

// cutNumbers reads what appendNumbers wrote. The first two must name two worlds, since whoever
// brings it may speak for no other.
func cutNumbers(src []byte, from, to World) (n [6]uint64, rest []byte, err error) {
	rest = src
	for i := range n {
		v, size := binary.Uvarint(rest)
		if size <= 0 {
			return n, nil, fmt.Errorf("%w: bytes between worlds %d and %d are malformed", ErrCarrier, from, to)
		}
		n[i], rest = v, rest[size:]
	}
	if n[0] != uint64(from) || n[1] != uint64(to) {
		return n, nil, fmt.Errorf("%w: bytes from world %d to world %d came between worlds %d and %d", ErrCarrier, n[0], n[1], from, to)
	}
	return n, rest, nil
}
