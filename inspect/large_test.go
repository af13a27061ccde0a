package inspect_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/inspect"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestLargeRows asks for 600 rows of 24 KB: they come in pages of a bounded size, and all of them.
func TestLargeRows(t *testing.T) {
	type (
		Long  struct{ Text string }
		Whale struct{ Long }
	)
	w := world.MustNew(world.Options{Shards: 2, TickInterval: time.Millisecond})
	t.Cleanup(func() { w.Close() })
	world.Register[Long](w, "Long")
	text := strings.Repeat("<", 4000) // 6 bytes each
	_, err := world.NewBundle[Whale](w).AppendN(nil, w, 600, func(_ int, x *Whale) { x.Text = text })
	require.NoError(t, err)
	f := (&fixture{t: t, w: w, s: scheduler.New(w, scheduler.Options{Workers: 1})}).inspect(inspect.Options{}).run()
	seen := map[any]bool{}
	for after, pages := "", 0; ; pages++ {
		target := "/api/query?q=Long&limit=1000"
		if after != "" {
			target += "&after=" + url.QueryEscape(after)
		}
		a := f.get(200, target)
		require.Equal(t, 600.0, a["count"])
		require.Less(t, len(jsonOf(a)), 5<<20)
		for _, row := range a["rows"].([]any) {
			seen[row.(map[string]any)["handle"]] = true
		}
		if after = a["next"].(string); after == "" {
			require.Greater(t, pages, 1)
			break
		}
	}
	require.Len(t, seen, 600)
}
