package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPatchesApply applies each patch to the code as it is. A patch that does not
// apply shows nothing.
func TestPatchesApply(t *testing.T) {
	root, err := moduleRoot(t.Context())
	require.NoError(t, err)
	all, err := readPatches(root)
	require.NoError(t, err)
	for _, p := range all {
		t.Run(p.name, func(t *testing.T) {
			_, err := p.apply(t.Context(), root, t.TempDir())
			require.NoError(t, err)
		})
	}
}

// TestHeaders refuses patches whose header lacks something.
func TestHeaders(t *testing.T) {
	for text, want := range map[string]string{
		"Bug: b\nTest: ./shard":           "no empty line",
		"Bug: b\n\n--- a/x":               "needs a line Bug and a line Test",
		"Test: ./shard\n\n--- a/x":        "needs a line Bug and a line Test",
		"Bug: b\nTests: ./shard\n\n--- a": "holds Bug and Test",
	} {
		_, err := parsePatch("p", []byte(text))
		require.ErrorContains(t, err, want)
	}
	p, err := parsePatch("p", []byte("Bug: b: c\nTest: ./shard -race -run TestX\n\n--- a/x\n"))
	require.NoError(t, err)
	require.Equal(t, patch{name: "p", bug: "b: c", test: []string{"./shard", "-race", "-run", "TestX"}, diff: []byte("--- a/x\n")}, p)
}
