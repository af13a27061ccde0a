package names

import "fmt"

// Verify counts what the stripes say of themselves, and returns how many slots there
// are in all.
func (n *Names[K]) Verify() (slots int, err error) {
	for _, x := range []*index[K]{n.byName, n.byHandle} {
		for i := range x.stripes {
			s := &x.stripes[i]
			t := s.table.Load()
			if t == nil {
				continue
			}
			used, live := 0, 0
			for k := range t.slots {
				if b := t.slots[k].Load(); b != nil {
					used++
					if b != x.removed {
						live++
					}
				}
			}
			if used != s.used || live != s.live || 2*used > len(t.slots) {
				return 0, fmt.Errorf("stripe %d of %d slots has %d used and %d live, and says %d and %d", i, len(t.slots), used, live, s.used, s.live)
			}
			slots += len(t.slots)
		}
	}
	return slots, nil
}
