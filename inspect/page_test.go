package inspect

import (
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pageFiles returns the page's own files by their names, uPlot left out.
func pageFiles(t *testing.T) map[string]string {
	files := map[string]string{}
	require.NoError(t, fs.WalkDir(page, "page", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(name, "page/uplot/") {
			return err
		}
		text, err := page.ReadFile(name)
		files[name] = string(text)
		return err
	}))
	require.NotEmpty(t, files)
	return files
}

// forbidden is what no file of the page may have: it would not work under the policy for content,
// or make markup of data.
var forbidden = map[string]*regexp.Regexp{
	".html": regexp.MustCompile(`(?i)\sstyle=|\son[a-z]+=|<style|<script>|://`),
	".css":  regexp.MustCompile(`(?i)@import|url\(|://`),
	".js":   regexp.MustCompile(`(inner|outer)HTML|insertAdjacentHTML|document\.write|\beval\(|\bFunction\(|setAttribute\('(style|on)|localStorage|://|\bimport\(`),
}

// TestPageIsSafe holds the page to its own origin, and data to text.
func TestPageIsSafe(t *testing.T) {
	for name, text := range pageFiles(t) {
		found := forbidden[path.Ext(name)]
		require.NotNil(t, found, "what is %s for?", name)
		for i, line := range strings.Split(text, "\n") {
			require.Empty(t, found.FindString(line), "%s:%d: %s", name, i+1, line)
		}
	}
	for name, line := range map[string]string{
		".html": `<p onclick="f()">`, ".css": "background: url(x.png)", ".js": "td.innerHTML = name",
	} {
		require.NotEmpty(t, forbidden[name].FindString(line), "the test does not see %s", line)
	}
}

// TestPageIsWhole finds each file that another one loads, relative to it, and nothing that none
// loads.
func TestPageIsWhole(t *testing.T) {
	loads := regexp.MustCompile(`(?:from |import )'(\.[^']+)'|(?:src|href)="(page/[^"]+)"`)
	files, used := pageFiles(t), map[string]bool{"page/index.html": true}
	for name, text := range files {
		for _, m := range loads.FindAllStringSubmatch(text, -1) {
			to := m[2]
			if m[1] != "" {
				to = path.Join(path.Dir(name), m[1])
			}
			_, err := fs.Stat(page, to)
			require.NoError(t, err, "%s loads it", name)
			used[to] = true
		}
	}
	for name := range files {
		require.True(t, used[name], "nothing loads %s", name)
	}
}
