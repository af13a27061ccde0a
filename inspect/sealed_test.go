package inspect_test

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/inspect"
	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/world"
)

// TestEditsOfSealed edits a world whose ticks are sealed, while it runs and while it is paused: edits go
// by a port, so the log has them and nothing is refused.
func TestEditsOfSealed(t *testing.T) {
	f := newWorld(t, 2, 1)
	h, err := f.units.Create(f.w, Unit{Health: Health{HP: 7}})
	require.NoError(t, err)
	var log bytes.Buffer
	r, err := inputlog.NewRecorder(f.w, &log, inputlog.Options{Commit: func() error { return nil }})
	require.NoError(t, err)
	f.inspect(inspect.Options{Token: token})
	ran := make(chan error, 1)
	go func() { ran <- f.s.Run(t.Context()) }()
	set := func(value int) string {
		return fmt.Sprintf(`{"handle":"%v","component":"Health","path":"HP","value":%d}`, h, value)
	}
	hp := func() (got int) {
		require.NoError(t, <-f.s.Between(func(w *world.World) { got = world.Read[Health](w).Get(h).HP }))
		return got
	}
	require.Equal(t, "applied", f.post(200, "/api/entity/set", set(8))["outcome"])
	require.Equal(t, 8, hp())
	f.post(200, "/api/pause", `{}`)
	require.Equal(t, 202, f.do(request(http.MethodPost, "/api/entity/set", set(9))).StatusCode)
	require.Equal(t, 8, hp(), "the idle world is not changed")
	f.post(200, "/api/step", `{"ticks":2}`)
	require.Equal(t, 9, hp())
	f.post(200, "/api/resume", `{}`)
	require.Equal(t, "applied", f.post(200, "/api/entity/destroy", fmt.Sprintf(`{"handle":"%v"}`, h))["outcome"])
	require.False(t, f.w.Alive(h))
	f.s.Stop()
	require.NoError(t, <-ran)
	require.NoError(t, f.w.Err())
	require.NoError(t, r.Close())
}
