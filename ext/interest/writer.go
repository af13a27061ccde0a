package interest

import (
	"fmt"
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/aside"
)

// writer gives the packets of a view to Viewer.Write.
//
// Ownership: the worker's that makes the view's packet; while writes is set, the goroutine of run.
type writer struct {
	packet []byte
	writes atomic.Bool
	run    func() // bound once
}

func newWriter(v *View, write func(packet []byte)) *writer {
	w := &writer{}
	w.run = func() {
		returned := false
		defer func() {
			if !returned {
				v.Close() // the client may lack the packet, on which the next ones build
				aside.Report(aside.Recovered(fmt.Sprintf("interest: Viewer.Write of client %v", v.client), recover()))
			}
			w.writes.Store(false)
		}()
		write(w.packet)
		returned = true
		if cap(w.packet) > 8*len(w.packet)+blockBytes {
			w.packet = nil // the one before was far larger
		}
	}
	return w
}

// waits reports whether a packet is still being written.
func (w *writer) waits() bool { return w != nil && w.writes.Load() }

// begin begins to write a packet.
func (w *writer) begin(p *Packet) {
	w.packet = p.AppendTo(w.packet[:0])
	w.writes.Store(true)
	go w.run()
}
