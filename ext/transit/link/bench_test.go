package link_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/ext/transit/link"
)

// BenchmarkMail sends messages from one world to another over a line on loopback, 1,000 in a
// transaction, with ticks of a millisecond, until they have come: with TLS or in the clear, and between
// worlds that are durable or not.
func BenchmarkMail(b *testing.B) {
	for _, secure := range []bool{false, true} {
		for _, kept := range []bool{false, true} {
			b.Run(fmt.Sprintf("TLS=%v/durable=%v", secure, kept), func(b *testing.B) {
				const each = 1000
				var one, two link.Options
				if secure {
					a := newAuthority(b)
					one, two = a.options(b, "paris", "world-1"), a.options(b, "rome", "world-2")
				}
				x, y := newTown(1, transit.Options{}), newTown(2, transit.Options{})
				for _, x := range []*town{x, y} {
					path := ""
					if kept {
						path = b.TempDir()
					}
					x.start(b, path)
				}
				_, address, _ := serve(b, "127.0.0.1:0", one, x)
				carry(b, address, two, y, 1)
				b.ResetTimer()
				for range b.N {
					for {
						if _, err := x.pays.Ask(b.Context(), x.port, order{anyone, y.roads.Ref(anyone), each}); err == nil {
							break
						}
					}
				}
				for y.has(b).N < b.N*each {
					require.NoError(b, b.Context().Err())
				}
				b.ReportMetric(float64(b.N*each)/b.Elapsed().Seconds(), "messages/s")
			})
		}
	}
}
