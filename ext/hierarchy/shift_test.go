package hierarchy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
)

// TestLongLists does random things to long lists, in which links are corrected late, and compares
// with the naive tree. Few bits for places in links make children far away from where these say.
func TestLongLists(t *testing.T) {
	for _, bits := range []int{0, 4, 8} {
		p := newPair(t, uint64(70+bits), hierarchy.Memory{}, 900)
		p.parents = 3
		for _, h := range p.all[3:] {
			require.NoError(t, p.tree.AddChild(p.all[0], h))
			require.NoError(t, p.seat(h, p.all[0], spot{"end", 0}, hierarchy.Close, true))
		}
		if bits > 0 {
			p.tree.Divide(bits)
		}
		for i := range iterations(6000) {
			p.step()
			if i%500 == 0 {
				p.compare()
			}
			if i%300 == 0 {
				p.tree.Settle()
				require.NoError(t, p.tree.Verify())
			}
		}
		p.compare()
	}
}
