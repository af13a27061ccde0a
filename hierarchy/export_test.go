package hierarchy

// Verify checks a tree's invariants.
func (t *Tree) Verify() error { return t.verify() }

// OpenLists returns how many lists are noted to have gaps.
func (t *Tree) OpenLists() int { return len(t.open) }
