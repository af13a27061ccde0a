package durable

import (
	"hash/crc64"
	"slices"

	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/scheduler"
)

// A snapshot has state beside the world, which no hash of the state covers: Options.Snapshot.Also, and
// which systems are enabled. Ticks of the log may lead to it, if systems make it, or may not. So the
// statement has a checksum of what the last snapshot has of it.

// sums has the checksum of each part beside the world as it was saved last.
type sums map[string]uint64

// snapshot returns the options of a snapshot, with what a Store adds to it. m gets the sums.
func (o *Options) snapshot(s *scheduler.Scheduler, m *mark) snapshot.Options {
	all := o.Snapshot
	all.Scheduler, all.Also = s, slices.Clone(all.Also)
	for i := range all.Also {
		x := &all.Also[i]
		if save := x.Save; save != nil {
			name := x.Name
			x.Save = func(dst []byte) []byte {
				at := len(dst)
				dst = save(dst)
				m.add(name, dst[at:])
				return dst
			}
		}
	}
	own := m.also()
	save := own.Save
	own.Save = func(dst []byte) []byte {
		var on []byte
		for _, name := range s.Systems() {
			if s.Enabled(name) {
				on = append(append(on, name...), 0)
			}
		}
		m.add("", on)
		return save(dst)
	}
	all.Also = append(all.Also, own)
	return all
}

func (m *mark) add(name string, saved []byte) {
	if m.sums == nil {
		m.sums = sums{}
	}
	m.sums[name] = crc64.Checksum(saved, sumTable)
}

// beside returns a checksum of all parts.
func (m *mark) beside() uint64 {
	sum := uint64(0)
	for name, x := range m.sums {
		sum += crc64.Update(x, sumTable, []byte(name)) // in any order
	}
	return sum
}

// besideNow returns the checksum as of now. A function of the user may panic.
func (d *Store) besideNow() (uint64, error) {
	err := aside.Do("a function that a snapshot calls", func() error {
		for _, x := range d.o.Snapshot.Also {
			x.Save(nil)
		}
		return nil
	})
	return d.mark.beside(), err
}
