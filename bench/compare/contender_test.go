package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// every returns all contenders, Atoll with both numbers of shards.
func every() []contender {
	one, many := atoll(1), atoll(defaultShards)
	one.name, many.name = "atoll-one", "atoll-default"
	return append([]contender{one, many}, others...)
}

// TestSameWork checks that in every bench every contender does what is asked,
// which is what makes their times comparable.
func TestSameWork(t *testing.T) {
	for _, b := range benches {
		for _, c := range every() {
			for _, n := range []int{1, 64, 300} {
				s := b.setup(&c, n)
				if s == nil {
					continue
				}
				t.Run(b.label(n)+"/"+c.name, func(t *testing.T) {
					for _, times := range []int{1, 3} {
						assert.NotZero(t, s.work(times))
					}
					assert.NoError(t, s.check())
				})
			}
		}
	}
}

// TestOffered keeps a bench from losing a contender unnoticed.
func TestOffered(t *testing.T) {
	offered := map[string][]string{}
	for _, b := range benches {
		for _, c := range every() {
			if b.setup(&c, 1) != nil {
				offered[b.name] = append(offered[b.name], c.name)
			}
		}
	}
	peers := []string{"ark", "arche", "donburi", "volt", "unitoftime", "ggecs"}
	for _, name := range []string{"iterate2", "iterate2-frag32", "iterate2-256", "random", "create2", "create2-values", "create2-alloc", "create2-values-alloc", "create10", "destroy2", "destroy10", "change1", "change11", "new-world"} {
		assert.Subset(t, offered[name], append(peers, "atoll-one", "atoll-default"), name)
	}
	for _, name := range []string{"random-write", "create2-batch", "create2-values-batch", "create2-alloc-batch", "create10-batch", "destroy2-batch", "destroy10-batch", "change1-batch", "change1-tick", "change1-tick-tenth", "change11-batch", "create10-values", "create10-values-alloc"} {
		assert.Subset(t, offered[name], []string{"ark", "arche", "atoll-one", "atoll-default"}, name)
	}
}

// TestFields checks what the benches of loops lay out: how many match, and that
// what does not match stays as it is.
func TestFields(t *testing.T) {
	for _, c := range every() {
		if c.iterate == nil {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			f := c.iterate()
			f.place(position, 100)
			f.place(position|extras(3), 10)
			f.place(moving, 5)
			f.place(moving|extras(31), 2)
			f.place(moving|extras(1), 1)
			require.Zero(t, f.sum())
			f.pass()
			f.pass()
			require.Equal(t, 2.0*2*(5+2+1), f.sum())
		})
	}
}

func BenchmarkAtoll(b *testing.B) {
	c := atoll(defaultShards)
	for _, bench := range benches {
		ns := []int{1024, 256_000}
		if bench.once {
			ns = []int{1}
		}
		for _, n := range ns {
			b.Run(bench.label(n), func(b *testing.B) {
				s := bench.setup(&c, n)
				if s == nil {
					b.Skip("not offered")
				}
				b.ResetTimer()
				timed := s.work(b.N)
				b.ReportMetric(float64(timed)/float64(b.N)/float64(s.ops), "ns/entity")
			})
		}
	}
}
