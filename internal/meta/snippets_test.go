//go:build !race

package meta_test

import (
	"go/doc"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fenced is a block of a document, by its language.
func fenced(language, text string) (blocks []string) {
	all := regexp.MustCompile("(?s)```" + language + "\n(.*?)```")
	for _, m := range all.FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// documents returns the text of each document, by path.
func documents(t *testing.T) map[string]string {
	pages, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	below, err := filepath.Glob("docs/*/*.md")
	require.NoError(t, err)
	all := map[string]string{}
	for _, p := range append(slices.Concat(pages, below), "README.md", "CONTRIBUTING.md", "CHANGELOG.md") {
		text, err := os.ReadFile(p)
		require.NoError(t, err)
		all[p] = string(text)
	}
	return all
}

// TestSnippets holds every Go snippet of the documents against the test files of
// the root, of examples/guide and of examples/pages, which are compiled and run: its lines must stand in
// one of them, in a row.
func TestSnippets(t *testing.T) {
	var code []string
	for _, pattern := range []string{"*_test.go", "examples/guide/*_test.go", "examples/pages/*_test.go", "examples/hello/*.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, f := range files {
			text, err := os.ReadFile(f)
			require.NoError(t, err)
			code = append(code, unindent(string(text)))
		}
	}
	for path, text := range documents(t) {
		for _, snippet := range fenced("go", text) {
			require.True(t, standsIn(code, snippet), "no test file has this snippet of %s:\n%s", path, snippet)
		}
	}
	require.False(t, standsIn(code, "a := nothing()\n"))
}

// TestGuideOutputs holds what the guide says is printed against the examples that
// its snippets are taken from: it shows the output of each, in the order of the
// files' examples or not, and no other.
func TestGuideOutputs(t *testing.T) {
	read, err := readTree(os.DirFS("."))
	require.NoError(t, err)
	var outputs []string
	for _, s := range read.sources {
		if s.dir() == "examples/guide" {
			for _, x := range doc.Examples(s.file) {
				require.False(t, x.Unordered, x.Name)
				outputs = append(outputs, x.Output)
			}
		}
	}
	require.NotEmpty(t, outputs)
	var shown []string
	for path, text := range documents(t) {
		if filepath.Dir(path) == "docs/guide" {
			shown = append(shown, fenced("text", text)...)
		}
	}
	require.ElementsMatch(t, outputs, shown)
}

// TestDocumentsLink follows the links among the documents, and to headings in them.
func TestDocumentsLink(t *testing.T) {
	all := documents(t)
	link := regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`)
	code := regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	followed := 0
	for from, text := range all {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			followed++
			to := from
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(from), m[1])
				_, err := os.Stat(to)
				require.NoError(t, err, "%s links to it", from)
			}
			if m[2] != "" {
				require.Contains(t, anchors(all[to]), m[2], "%s links to it in %s", from, to)
			}
		}
	}
	require.Greater(t, followed, 10)
}

// anchors returns the headings of a document as links name them.
func anchors(text string) (all []string) {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(name, " ", "-"))
	}
	return all
}

func standsIn(code []string, snippet string) bool {
	for _, c := range code {
		if strings.Contains(c, unindent(snippet)) {
			return true
		}
	}
	return false
}

// unindent takes the white space off both ends of every line.
func unindent(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n")
}
