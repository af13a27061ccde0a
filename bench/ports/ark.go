package main

import (
	"sync"

	"github.com/mlange-42/ark/ecs"
)

// openArk is Ark behind a mutex, which is locked for each call. In batches it is
// locked once for a chunk.
func openArk(s setting) field {
	a := &arkField{setting: s, w: ecs.NewWorld()}
	a.movers = ecs.NewMap2[Position, Velocity](a.w)
	a.movers.NewBatch(s.resident, &Position{}, &Velocity{1, 1})
	all := ecs.NewFilter1[Position](a.w)
	return field{
		worker: func(int) worker { return &arkWorker{a, make([][]ecs.Entity, s.places())} },
		begin:  nothing,
		end:    nothing,
		count: func() int {
			q := all.Query()
			defer q.Close()
			return q.Count()
		},
	}
}

type arkField struct {
	sync.Mutex
	setting
	w      *ecs.World
	movers *ecs.Map2[Position, Velocity]
}

type arkWorker struct {
	*arkField
	entities [][]ecs.Entity
}

func (a *arkWorker) create(place int) {
	dst := a.entities[place][:0]
	if a.batch {
		a.Lock()
		a.movers.NewBatchFn(a.chunk, func(e ecs.Entity, p *Position, v *Velocity) {
			*p, *v = Position{1, 1}, Velocity{1, 1}
			dst = append(dst, e)
		})
		a.Unlock()
	} else {
		for range a.chunk {
			a.Lock()
			e := a.movers.NewEntity(&Position{1, 1}, &Velocity{1, 1})
			a.Unlock()
			dst = append(dst, e)
		}
	}
	a.entities[place] = dst
}

func (a *arkWorker) destroy(place int) {
	if a.batch {
		a.Lock()
		for _, e := range a.entities[place] {
			a.w.RemoveEntity(e)
		}
		a.Unlock()
		return
	}
	for _, e := range a.entities[place] {
		a.Lock()
		a.w.RemoveEntity(e)
		a.Unlock()
	}
}
