package world

import (
	"sync"

	"github.com/atoll-sim/atoll/handle"
)

// SharedPort is a port for goroutines that have none of their own: safe for
// concurrent use, by a lock around each call. Its requests apply in the order in
// which they got the lock. Who sends much opens a Port.
//
// Ownership: everyone's; mu guards the port.
type SharedPort struct {
	port *Port
	mu   sync.Mutex
}

// OpenSharedPort opens a port that may be shared. As of OpenPort.
func (w *World) OpenSharedPort() (*SharedPort, error) {
	p, err := w.OpenPort()
	if err != nil {
		return nil, err
	}
	return &SharedPort{port: p}, nil
}

func (s *SharedPort) world() *World { return s.port.w }

// Number returns the port's number, by which refreshes order the ports.
func (s *SharedPort) Number() int { return s.port.number }

// Alive reports whether the entity is alive. It does not take the lock.
func (s *SharedPort) Alive(h handle.Handle) bool { return s.port.Alive(h) }

// Status is Port.Status. It does not take the lock.
func (s *SharedPort) Status(h handle.Handle) Status { return s.port.Status(h) }

// Destroy is Port.Destroy.
func (s *SharedPort) Destroy(h handle.Handle) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.port.Destroy(h)
}

// Use calls f with the port, for what takes more than one call: to be notified,
// to wait for room, a batch, a reservation. f holds the lock: it must not use the
// SharedPort, nor keep the port.
func (s *SharedPort) Use(f func(p *Port)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.port)
}

// Close closes the port. As of Port.Close.
func (s *SharedPort) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.port.Close()
}
