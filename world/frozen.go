package world

import (
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

func (d *driven) Freeze(only *store.Set) (drive.Frozen, error) {
	v := &View{w: d.w()}
	for id := range d.components {
		if (only == nil || only.Has(id)) && (*survey)(d).Copied(id) {
			v.components.Add(id)
		}
	}
	f, err := v.Now()
	return (*frozen)(f), err
}

// frozen is a Frame as a drive.Frozen.
type frozen Frame

func (f *frozen) Has(component int) bool { return f.components.Has(component) }

func (f *frozen) Chunk(shard, table, chunk int) *store.Chunk {
	return f.image.w.shards[shard].Tables()[table].Chunks()[chunk]
}

func (f *frozen) Shard(i int) *store.Shard { return f.image.w.shards[i] }

func (f *frozen) Release() { (*Frame)(f).Release() }

func (d *driven) Frame(f any, call string) (drive.Frozen, bool) {
	frame := f.(*Frame)
	frame.must(call)
	return (*frozen)(frame), frame.image.of == d.frames
}

func (f *frozen) Lookup() *slots.Lookup { return f.image.lookup() }

func (f *frozen) View(component int, call string) store.View {
	(*Frame)(f).mustHave(component, call)
	return f.image.w.space.Columns[component].View(len(f.image.w.shards))
}
