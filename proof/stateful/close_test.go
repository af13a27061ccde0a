package stateful_test

import (
	"github.com/atoll-sim/atoll/world"
)

// close closes the world with requests under way: they are not done, and who waits is
// told.
func (m *machine) close() {
	for range 5 {
		m.byPort()
	}
	for _, q := range m.naive.requests {
		if q.done != nil {
			q.done.want = world.Closed
		}
	}
	m.closing = true
	m.Close()
	m.Close()
	mustBe(m, m.Err() != nil, true, "Closed", 0)
	for _, p := range m.promised {
		m.mustKeep(p)
	}
	for h := range m.naive.given {
		mustBe(m, m.Status(h), world.Stale, "Status in a closed world", h)
		mustBe(m, m.Alive(h), false, "Alive in a closed world", h)
	}
	_, err := m.bundles[0].create(m.World, 1)
	mustErr(m, err, world.ErrClosed, "create in a closed world", 0)
	_, err = m.OpenPort()
	mustErr(m, err, world.ErrClosed, "OpenPort in a closed world", 0)
}
