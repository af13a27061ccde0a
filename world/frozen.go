package world

import (
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

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
