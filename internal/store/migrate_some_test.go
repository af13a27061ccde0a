package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/store"
)

// TestMigrateSome lets atoms of three tables leave: of each in proportion, the rest of the first
// of the two largest, which comes last.
func TestMigrateSome(t *testing.T) {
	s := newOffice(t, 2)
	here, there := s.shards[0], s.shards[1]
	sets := []store.Set{set(number), set(text), set(number, text)}
	for i, n := range []int{10, 10, 4} {
		for range n {
			_, err := s.create(here, sets[i], 0)
			require.NoError(t, err)
		}
	}
	none := set()
	for _, test := range []struct {
		n    int
		want []int // by set
	}{{5, []int{3, 2, 0}}, {0, []int{3, 2, 0}}, {100, []int{10, 10, 4}}} {
		here.MigrateSome(1, test.n, &none)
		s.apply(s.move)
		for i, want := range test.want {
			require.Equal(t, want, there.Table(sets[i]).Rows(), "set %d", i)
		}
	}
	require.Equal(t, []store.Set{sets[1], sets[0], sets[2]}, []store.Set{
		there.Tables()[0].Set(), there.Tables()[1].Set(), there.Tables()[2].Set(),
	})
	require.Zero(t, here.Alive())
}
