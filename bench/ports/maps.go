package main

import (
	"sync"
	"sync/atomic"
)

const (
	mapShards = 64
	idRun     = 1024 // consecutive ids that are in one shard, so that a chunk can be locked once
)

// object is an entity behind a pointer.
type object struct {
	Position
	Velocity
}

// mapShard is a locked map.
type mapShard struct {
	sync.Mutex
	objects map[uint64]*object
	_       [48]byte // each shard has a cache line of its own
}

// openMaps is 64 maps of pointers, each behind a mutex. In batches, a chunk is in
// one of them, which is locked once.
func openMaps(s setting) field {
	f := &mapField{batch: s.batch}
	for i := range f.shards {
		f.shards[i].objects = map[uint64]*object{}
	}
	for range s.resident {
		id := f.ids.Add(1)
		f.single(id).objects[id] = &object{}
	}
	// Chunks begin at a new run of ids.
	f.ids.Store((f.ids.Load()/idRun + 1) * idRun)
	return field{
		worker: func(int) worker { return &mapWorker{f, make([][]uint64, s.places())} },
		begin:  nothing,
		end:    nothing,
		count: func() (n int) {
			for i := range f.shards {
				n += len(f.shards[i].objects)
			}
			return n
		},
	}
}

type mapField struct {
	shards [mapShards]mapShard
	ids    atomic.Uint64
	batch  bool
}

// single returns the shard of an id that is created alone, and run that of a chunk.
func (f *mapField) single(id uint64) *mapShard { return &f.shards[id%mapShards] }
func (f *mapField) run(id uint64) *mapShard    { return &f.shards[id/idRun%mapShards] }

type mapWorker struct {
	*mapField
	ids [][]uint64
}

func (m *mapWorker) create(place int) {
	dst := m.ids[place][:0]
	if m.batch {
		last := m.mapField.ids.Add(idRun)
		s := m.run(last - idRun)
		s.Lock()
		for id := last - idRun; id < last; id++ {
			s.objects[id] = &object{Position{1, 1}, Velocity{1, 1}}
			dst = append(dst, id)
		}
		s.Unlock()
	} else {
		for range chunkSize {
			id := m.mapField.ids.Add(1)
			o := &object{Position{1, 1}, Velocity{1, 1}}
			s := m.single(id)
			s.Lock()
			s.objects[id] = o
			s.Unlock()
			dst = append(dst, id)
		}
	}
	m.ids[place] = dst
}

func (m *mapWorker) destroy(place int) {
	ids := m.ids[place]
	if m.batch {
		s := m.run(ids[0])
		s.Lock()
		for _, id := range ids {
			delete(s.objects, id)
		}
		s.Unlock()
		return
	}
	for _, id := range ids {
		s := m.single(id)
		s.Lock()
		delete(s.objects, id)
		s.Unlock()
	}
}
