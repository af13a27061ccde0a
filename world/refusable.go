package world

import (
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/queue"
)

// Refusable is a request that may be refused to ports while a server is late: a *Message, *Func or
// *Question. See scheduler.Refuse.
type Refusable interface {
	// of returns the world, the name, and the kind of the requests.
	of() (w *World, name string, kind *queue.Kind)
}

func (m *Message[M]) of() (*World, string, *queue.Kind) { return m.w, m.name, &m.sending }

func (f *Func[A]) of() (*World, string, *queue.Kind) { return f.w, f.name, &f.calling }

func (x *Question[A, R]) of() (*World, string, *queue.Kind) { return x.w, x.name, &x.asking }

// refusedNow returns an error, and counts n requests as rejected, if ports may not send requests of
// this kind now. A port or batch that sends nothing more in any case has its own error, and counts
// nothing.
func (p *Port) refusedNow(k *queue.Kind, n int) error {
	if atomic.LoadInt32(&k.Refused) == 0 {
		return nil
	}
	err := p.unusable()
	switch {
	case err != nil:
	case p.batch != nil && p.batch.err != nil:
		err = p.batch.err
	default:
		err = ErrRefused
		p.reject(n)
	}
	return p.turnDown(err)
}

func (d *driven) RefusedAtPort(port, x any) error {
	p := port.(*Port)
	if check.Enabled {
		p.enter()
		defer p.leave()
	}
	_, _, kind := x.(Refusable).of()
	return p.refusedNow(kind, 1)
}

func (d *driven) Rung(wanted uint8) uint8 {
	w := d.w()
	w.engine.Rung = max(wanted, w.rungLeast)
	if f := w.engine.Replay; f != nil {
		w.engine.Rung = f.Rung
	}
	return w.engine.Rung
}

func (d *driven) LeastRung(n uint8) { d.rungLeast = n }

func (d *driven) Stretch(times uint32) { d.stretch = times }

func (d *driven) RefuseAtPorts(x any, rungs int) (name string, ok bool) {
	of, is := x.(Refusable)
	if !is {
		return "", false
	}
	w, name, kind := of.of()
	if w != d.w() {
		return name, false
	}
	atomic.AddInt32(&kind.Refused, int32(rungs))
	return name, true
}
