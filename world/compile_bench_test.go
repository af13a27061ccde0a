package world_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkCompile reports what one more component costs the compiler: a type that is registered,
// with a bundle of its own, read and written.
func BenchmarkCompile(b *testing.B) {
	if testing.Short() {
		b.Skip("compiles")
	}
	const few, many = 2, 22
	least := map[int][2]time.Duration{}
	for i := 0; b.Loop(); i++ {
		for _, n := range []int{few, many} {
			start := time.Now()
			cpu := compile(b, n, i)
			took := [2]time.Duration{time.Since(start), cpu}
			if old, ok := least[n]; ok {
				took = [2]time.Duration{min(old[0], took[0]), min(old[1], took[1])}
			}
			least[n] = took
		}
	}
	for i, unit := range []string{"ms/component", "cpu-ms/component"} {
		b.ReportMetric(float64((least[many][i]-least[few][i]).Microseconds())/1000/(many-few), unit)
	}
}

// compile compiles a package with n components, which is in no cache, and returns the processor
// time.
func compile(b *testing.B, n, round int) time.Duration {
	var text strings.Builder
	fmt.Fprintf(&text, "// Package costs is round %d at %v.\npackage costs\n\nimport \"github.com/atoll-sim/atoll/world\"\n", round, time.Now())
	for i := range n {
		fmt.Fprintf(&text, `
type component%[1]d struct { A, B [%[2]d]float32; C *int }
type bundle%[1]d struct { C component%[1]d }

func Use%[1]d(w *world.World) {
	world.Register[component%[1]d](w, "%[1]d")
	_, _ = world.NewBundle[bundle%[1]d](w).Create(w, bundle%[1]d{})
	r, q := world.Write[component%[1]d](w), w.Query()
	for ch := range q.Chunks() {
		for i := range r.Slice(ch) {
			r.Slice(ch)[i].A[0]++
		}
	}
}
`, i, i+1)
	}
	dir := b.TempDir()
	file := filepath.Join(dir, "costs.go")
	require.NoError(b, os.WriteFile(file, []byte(text.String()), 0o600))
	here, err := os.Getwd()
	require.NoError(b, err)
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(here, "testdata", "costs", "costs.go"): file}})
	require.NoError(b, err)
	require.NoError(b, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))
	run := exec.CommandContext(b.Context(), "go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "./testdata/costs")
	out, err := run.CombinedOutput()
	require.NoError(b, err, "%s", out)
	return run.ProcessState.UserTime() + run.ProcessState.SystemTime()
}
