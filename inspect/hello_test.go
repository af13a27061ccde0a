package inspect_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/inspect"
)

// TestStreamBegins opens the stream of a world that makes no ticks: it begins although there is
// nothing to send.
func TestStreamBegins(t *testing.T) {
	f := newWorld(t, 1, 1).inspect(inspect.Options{})
	server := httptest.NewServer(f.x)
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/api/events", nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
}
