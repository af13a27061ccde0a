package slots

// home is what the homes of shards and that of ports have alike: slots in the directory.
//
// Ownership: as for the Allocator or PortAllocator that it is part of.
type home struct {
	dir     *Directory
	ref     *directoryRef
	id      uint32
	retired int
}

func newHome(d *Directory, id uint32) home { return home{dir: d, ref: d.ref(id), id: id} }

func (h *home) pages() int { return h.dir.Pages(h.id) }

func (h *home) grow() error { return h.dir.grow(h.id, h.pages()) }

// Retired returns the number of slots whose versions are used up.
func (h *home) Retired() int { return h.retired }

func (h *home) errIndexes() error { return h.dir.errIndexes(h.id, h.retired) }
