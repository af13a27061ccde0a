package world

// mail lists the boxes of one shard that hold messages, of whatever type.
//
// Ownership: the shard's owner.
type mail struct {
	boxes []mailbox
	_     [64]byte // other shards' mail is changed by other workers
}

// mailbox is a messageBox of any type.
type mailbox interface {
	// flip makes the messages of the next tick those of this one. It returns
	// false if there are none: then the box is no longer listed.
	flip() bool
}

// flip flips the boxes and keeps those that still hold messages.
func (m *mail) flip() {
	kept := m.boxes[:0]
	for _, box := range m.boxes {
		if box.flip() {
			kept = append(kept, box)
		}
	}
	clear(m.boxes[len(kept):])
	m.boxes = kept
}
