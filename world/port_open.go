package world

import (
	"fmt"
	"runtime"
	"weak"

	"github.com/atoll-sim/atoll/internal/refresh"
)

// OpenPort opens a port. Safe from any goroutine at any time. It returns ErrPorts if
// Options.PortsMax ports are open already; a closed port counts until the refresh has taken
// what it had sent. It returns ErrClosed once the world is closed, and another error while a log is
// replayed.
//
// A port that is dropped without Close is closed when the collector finds it. The handles that
// other ports get then depend on when that happens: close ports where runs must be equal.
func (w *World) OpenPort() (*Port, error) {
	e, err := w.engine.Ports.Open(w.options.PortsMax, w.Err)
	if err != nil {
		return nil, err
	}
	if e == nil {
		return nil, fmt.Errorf("%w: PortsMax is %d; close ports or raise it", ErrPorts, w.options.PortsMax)
	}
	p := &Port{endpoint: e, sender: sender{w: w, maxRequests: w.options.QueueRequests, maxBytes: w.options.QueueBytes}}
	p.cursor, p.run = e.Number%int32(len(w.shards)), portRun
	p.special = true // there is no queue yet
	// What the cleanup holds must not keep the world in memory: the world may hold the port.
	runtime.AddCleanup(p, closeDropped, weak.Make(e))
	return p, nil
}

// closeDropped closes the port of an endpoint that the collector has found.
func closeDropped(of weak.Pointer[refresh.Endpoint]) {
	e := of.Value()
	if e == nil {
		return // the world was collected too
	}
	if q := e.Queue.Load(); q != nil {
		q.Waiting() // an atomic load, which makes visible what the sender did before it last published
	}
	e.Close()
}

// Close closes the port. Requests that were sent are still applied, and the handles in the port's
// hand go back. Closing twice is no error.
func (p *Port) Close() {
	if p.batch != nil {
		panic(fmt.Sprintf("world: Port.Close within a batch of port %d; close it after the batch", p.endpoint.Number))
	}
	if !p.closed {
		p.closed, p.special = true, true
		p.out, p.spare = nil, nil // a closed Port that is kept does not keep the memory of its queue
		p.endpoint.Close()
	}
}
