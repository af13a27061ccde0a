package world

import (
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/store"
)

func (d *driven) Derive(x drive.Derived, name string) any {
	w := d.w()
	w.mustIdle("an index")
	w.engine.Extensions.Derived = append(w.engine.Extensions.Derived, x)
	return w.view(x, name)
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

func (d *driven) AddMeasured(x drive.Measurable) {
	d.measured = append(d.measured, x)
}

func (d *driven) Measure(add func(drive.Measured)) {
	d.MustIdle("a measurement")
	for _, x := range d.parts {
		if m, ok := x.(drive.Measurable); ok {
			m.Measure(add)
		}
	}
	for _, x := range d.engine.Extensions.Derived {
		if m, ok := x.(drive.Measurable); ok {
			m.Measure(add)
		}
	}
	for _, x := range d.measured {
		x.Measure(add)
	}
}
