package world

import (
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/store"
)

func (d *driven) Derive(x drive.Derived, name string) any {
	w := d.w()
	w.mustIdle("an index")
	w.extensions.w = w
	w.extensions.derived = append(w.extensions.derived, x)
	return w.extensions.view(x, name)
}

func (d *driven) Tables(query any, f func(*store.Table)) store.Filter {
	q := query.(*Query)
	for i := range q.parts {
		p := &q.parts[i]
		p.look(q)
		for _, t := range p.tables {
			if t.Rows() > 0 {
				f(t)
			}
		}
	}
	return q.filter
}

func (d *driven) TakesTurns(query any) bool { return query.(*Query).turns.n != 0 }

// derive brings up to date what is derived from rows.
func (w *World) derive(step drive.Step) {
	for _, x := range w.extensions.derived {
		x.Update(w.tick.Load(), step)
	}
}

func (d *driven) AddMeasured(x drive.Measurable) {
	d.extensions.measured = append(d.extensions.measured, x)
}

func (d *driven) Measure(add func(drive.Measured)) {
	d.MustIdle("a measurement")
	for _, x := range d.extensions.parts {
		if m, ok := x.(drive.Measurable); ok {
			m.Measure(add)
		}
	}
	for _, x := range d.extensions.derived {
		if m, ok := x.(drive.Measurable); ok {
			m.Measure(add)
		}
	}
	for _, x := range d.extensions.measured {
		x.Measure(add)
	}
}
