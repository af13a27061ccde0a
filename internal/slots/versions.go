package slots

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/paged"
)

// ErrVersions is returned when no versions are left for another incarnation.
var ErrVersions = errors.New("world: out of versions")

// versions is the window of versions that slots give. Each incarnation of a world has its own
// window, so that handles that were lost in a crash are not given again:
//
//	incarnation 1        2              3
//	1 … each │ each+1 … 2·each │ 2·each+1 … │ … max
//
// Entities of earlier incarnations keep their versions; when they die, their slots continue with
// the first version of the window.
type versions struct {
	first, last uint32 // of the window
	max, each   uint32 // the last version of all; how many a window has
}

// hasNext reports whether the slot of h, whose entity has died, gives the handle after h next. It
// is one comparison: for a version below the window the difference is huge.
func (v *versions) hasNext(h handle.Handle) bool { return h.Version()-v.first < v.last-v.first }

// firstOf returns the handle of h's slot with the first version of the window.
func (v *versions) firstOf(h handle.Handle) handle.Handle {
	return Compose(h.Home(), h.Index(), v.first)
}

// number returns the number of the incarnation.
func (v *versions) number() uint32 { return (v.first-1)/v.each + 1 }

// of returns the window of an incarnation, or ErrVersions if there is none with that number.
func (v *versions) of(n uint32) (versions, error) {
	first := uint64(n-1)*uint64(v.each) + 1
	if n == 0 || first > uint64(v.max) {
		return *v, fmt.Errorf("%w: incarnation %d would begin with version %d, of %d", ErrVersions, n, first, v.max)
	}
	return versions{uint32(first), uint32(min(first+uint64(v.each)-1, uint64(v.max), math.MaxUint32)), v.max, v.each}, nil
}

// begin makes all slots of a page without a living entity unused, with the first version of the
// window. It calls revived with the indexes of those that were retired. Nobody else may use the
// page meanwhile.
func (v *versions) begin(p *page, first handle.Handle, revived func(i uint32)) {
	for i := range p {
		h := Compose(first.Home(), first.Index()+uint32(i), v.first)
		switch _, state := unpack(p[i].Load(), h); state {
		case StateRetired:
			revived(h.Index())
			fallthrough
		case StateUnused:
			p[i].Store(word(h, StateUnused))
		}
	}
}

// beginHome calls begin with the pages of a home, and returns the slots that were retired, the
// highest first. The world is idle.
func (d *Directory) beginHome(home uint32) (revived []uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for n := range d.Pages(home) {
		d.versions.begin(d.mu.pages.Homes[home][n], paged.First(int(home), n), func(i uint32) { revived = append(revived, i) })
	}
	slices.Reverse(revived)
	return revived
}

// Incarnation returns the number of the present one, from 1.
func (d *Directory) Incarnation() uint32 { return d.versions.number() }

// Reincarnate moves the next version of all slots into the window of an incarnation. It returns
// ErrVersions, and changes nothing, if there is none with that number. The number must not be lower
// than the present one. before, if not nil, is called before anything changes, and its error ends
// the call. The world must be idle, and have no ports.
func (p *PortAllocator) Reincarnate(n uint32, before func(n uint32) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.dir
	window, err := d.versions.of(n)
	if err != nil || window == d.versions {
		return err
	}
	if before != nil {
		if err := before(n); err != nil {
			return err
		}
	}
	d.versions = window
	for _, h := range d.shards {
		h.each(func(x *home) {
			x.free = append(d.beginHome(x.id), x.free...) // the revived are given last
			x.retired = 0
		})
	}
	revived := d.beginHome(p.id)
	p.retired = 0
	pool := make([]handle.Handle, 0, len(revived)+len(p.mu.recalled)+len(p.mu.pool))
	for _, i := range revived {
		pool = append(pool, Compose(p.id, i, window.first))
	}
	for _, h := range slices.Concat(p.mu.recalled, p.mu.pool) {
		pool = append(pool, window.firstOf(h))
	}
	p.mu.pool, p.mu.recalled, p.mu.takers = pool, nil, nil
	p.recalled.Store(false)
	return nil
}
