package handle_test

import (
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
)

// Sinks keep the compiler from dropping what is measured.
var (
	sinkHandle handle.Handle
	sinkString string
	sinkBytes  []byte
	sinkUint32 uint32
)

// TestInlines reads what the compiler says: the methods on the access path of
// every world must not cost a call.
func TestInlines(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "build", "-gcflags=-m", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, name := range []string{
		"New", "Handle.Home", "Handle.Index", "Handle.Version", "Handle.IsNone", "Handle.Compare",
	} {
		t.Run(name, func(t *testing.T) {
			line := regexp.MustCompile(`(?m)^\S*handle\.go:\d+:\d+: can inline ` + regexp.QuoteMeta(name) + `$`)
			require.Regexp(t, line, string(out))
		})
	}
}

func TestAllocations(t *testing.T) {
	h := handle.New(handle.HomeMax, handle.IndexMax, handle.VersionMax)
	text, err := h.MarshalText()
	require.NoError(t, err)
	quoted, err := h.MarshalJSON()
	require.NoError(t, err)
	data, err := h.MarshalBinary()
	require.NoError(t, err)
	buf := make([]byte, 0, 64)

	for _, test := range []struct {
		name string
		want float64
		run  func()
	}{
		{"New", 0, func() { sinkHandle = handle.New(sinkUint32, 1, 1) }},
		{"Compare", 0, func() { sinkUint32 = uint32(h.Compare(sinkHandle) & 1) }},
		{"AppendText", 0, func() { sinkBytes, _ = h.AppendText(buf) }},
		{"AppendBinary", 0, func() { sinkBytes, _ = h.AppendBinary(buf) }},
		{"Parse", 0, func() { sinkHandle, _ = handle.Parse(shardLimit + ":" + indexLimit + "@" + versionLimit) }},
		{"UnmarshalText", 0, func() { _ = sinkHandle.UnmarshalText(text) }},
		{"UnmarshalJSON", 0, func() { _ = sinkHandle.UnmarshalJSON(quoted) }},
		{"UnmarshalBinary", 0, func() { _ = sinkHandle.UnmarshalBinary(data) }},
		{"String", 1, func() { sinkString = h.String() }},
		{"MarshalText", 1, func() { sinkBytes, _ = h.MarshalText() }},
		{"MarshalJSON", 1, func() { sinkBytes, _ = h.MarshalJSON() }},
		{"MarshalBinary", 1, func() { sinkBytes, _ = h.MarshalBinary() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, testing.AllocsPerRun(100, test.run))
		})
	}
}
