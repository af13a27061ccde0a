package interest

import "github.com/atoll-sim/atoll/handle"

// Packet is what a View is told in one Update. The packet and its slices are good until the sink returns,
// the Bytes of its rows until the next Update; none of it must be written.
type Packet struct {
	Number uint64 // of the view's packets, from 1
	// Leaves are who is seen no more. A client handles them before Rows, which has nobody of them.
	Leaves []Leave
	// Rows are who has come, and who has changed.
	Rows []Row
	// Waiting is how many are seen of whom the client has not been told yet.
	Waiting int
}

// Leave is an entity that is seen no more.
type Leave struct {
	Handle handle.Handle
	Slot   uint32 // from now on it may be another's
	Gone   bool   // it is dead; otherwise it is hidden, or too far away
}

// Row is an entity that has come, or of which something has changed.
type Row struct {
	Handle handle.Handle
	// Slot is a small number that stands for the entity in this view, from the row with Enter until its Leave.
	// Slots are given again, the lowest first, but who leaves keeps one until that is told, or acknowledged: a
	// client keeps them in a map, or in a slice that grows. With Viewer.Unacked a client leaves out rows without
	// Enter, and leaves, of slots in which it has nobody: it has lost the packet with Enter, which comes again.
	Slot uint32
	// Enter says that the entity has come: the client forgets what it knows of the slot. Only then must it be
	// told the handle.
	Enter bool
	// Columns are the columns whose values Bytes has, one behind the other: bit i stands for column i of New.
	// A row with Enter has all that the entity has.
	Columns uint32
	// Removed are columns that the entity does not have any more.
	Removed uint32
	Bytes   []byte
}
