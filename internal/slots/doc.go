// Package slots has the slots that handles name. A slot has the generation, which says whether the
// entity is alive, and the location of its row. The package does not know the rows themselves.
//
//	Directory     (directory.go)       takes a handle of any home to its slot; Lookup is its look-ups
//	 └ Slot       (slot.go)            8 bytes: generation, location
//	Allocator     (allocator.go)       one per shard: gives slots and frees them
//	PortAllocator (port_allocator.go)  the home of the entities that ports create
//	 └ Hand       (hand.go)            handles that a port has drawn, and which port has drawn which
//	Liveness      (liveness.go)        says which entities are alive, and keeps no world in memory
//	Index         (index.go)           where entities were at one moment, for frames
//	Load          (load.go)            gives them the state of another world's
package slots
