package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/world"
)

// TestDemoDescribes asks for what the world is made of, as text and as JSON.
func TestDemoDescribes(t *testing.T) {
	demo := []string{"demo", "-describe", "-duration", "200ms", "-creatures", "300", "-bots", "2", "-hz", "50", "-shards", "2"}
	r := atoll(t.Context(), demo...)
	require.Zero(t, r.code, r.stderr)
	require.Regexp(t, `\nworld at tick \d+: \d+ entities, 2 shards, `, r.stdout)
	require.Regexp(t, `\nshard 1: \d+ entities, \d+ created, `, r.stdout)
	require.Regexp(t, `\n  \d+ of \(.*\), \d+ chunks for \d+\n`, r.stdout)

	r = atoll(t.Context(), append(demo, "-json")...)
	require.Zero(t, r.code, r.stderr)
	var got struct {
		Entities int
		World    *world.WorldInfo
	}
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &got))
	require.NotNil(t, got.World)
	require.Equal(t, got.Entities, got.World.Entities)
	require.Len(t, got.World.Shards, 2)
	require.NotContains(t, atoll(t.Context(), append(demo[:1:1], demo[2:]...)...).stdout, "world at tick")
}
