//go:build !race

package meta_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLimits holds docs/limits.md to the code: each test that it names is there, and each
// row is complete. Each table has columns for bytes and work.
func TestLimits(t *testing.T) {
	page, err := os.ReadFile("docs/limits.md")
	require.NoError(t, err)
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	require.NoError(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			tests[filepath.Base(filepath.Dir(path))+"."+m[1]] = true
		}
		return err
	}))
	named := regexp.MustCompile("`(\\w+\\.(?:Test|Fuzz)\\w+)`")
	rows, columns := 0, 0 // columns is 0 outside of a table
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "| ") {
			if !strings.HasPrefix(line, "|") {
				columns = 0
			}
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if columns == 0 {
			columns = len(cells)
			require.Contains(t, line, "| bytes")
			require.Contains(t, line, "| work")
		}
		require.Len(t, cells, columns, line)
		for _, cell := range cells {
			require.NotEmpty(t, strings.TrimSpace(cell), line)
		}
		for _, m := range named.FindAllStringSubmatch(cells[columns-1], -1) {
			require.True(t, tests[m[1]], "there is no %s: %s", m[1], line)
			rows++
		}
	}
	require.Greater(t, rows, 25)
}
