//go:build !race

package meta_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sourceSections are the documents that docs/sources.md goes through, each with a
// table of behaviours and one of mistakes.
var sourceSections = []string{"000", "001", "002", "003", "004"}

// TestSources holds docs/sources.md against the code: every row is complete, what
// gives the behaviour is exported, and the tests that prove it are there.
func TestSources(t *testing.T) {
	read, err := readTree(os.DirFS("."))
	require.NoError(t, err)
	page, err := os.ReadFile("docs/sources.md")
	require.NoError(t, err)
	for _, problem := range checkSources(string(page), namesOf(read)) {
		t.Error(problem)
	}
}

// quoted is a name of code in a document.
var quoted = regexp.MustCompile("`([^`]+)`")

// checkSources returns what is wrong with the page, one message each.
func checkSources(page string, known names) (problems []string) {
	section, table := "", ""
	rows := map[string]int{} // by section and table
	for i, line := range strings.Split(page, "\n") {
		complain := func(format string, args ...any) {
			problems = append(problems, fmt.Sprintf("line %d: ", i+1)+fmt.Sprintf(format, args...))
		}
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section, _, _ = strings.Cut(title, ":")
		}
		cells, ok := cellsOf(line)
		switch {
		case !ok:
			table = ""
			continue
		case table == "": // the head
			table = cells[0]
			if strings.Join(cells[1:], ", ") != "by, proved by" {
				complain("the columns are %q", cells)
			}
			continue
		case strings.Trim(line, "|- ") == "":
			continue
		case len(cells) != 3:
			complain("%d cells, want 3", len(cells))
			continue
		}
		rows[section+" "+table]++
		if cells[0] == "" {
			complain("an empty cell")
		}
		for _, problem := range append(known.checkExported(cells[1]), known.checkTests(cells[2])...) {
			complain("%s", problem)
		}
	}
	for _, section := range sourceSections {
		for _, table := range []string{"behaviour", "mistake"} {
			if rows[section+" "+table] == 0 {
				problems = append(problems, fmt.Sprintf("%s has no table of each %s", section, table))
			}
		}
	}
	return problems
}

// cellsOf splits a row of a table.
func cellsOf(line string) (cells []string, ok bool) {
	line, ok = strings.CutPrefix(strings.TrimSpace(line), "|")
	if !ok {
		return nil, false
	}
	cells = strings.Split(strings.TrimSuffix(line, "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells, true
}

// listed returns the names in a cell that is a list of them and nothing else.
func listed(cell string) (all []string, problem string) {
	for _, item := range quoted.FindAllStringSubmatch(cell, -1) {
		all = append(all, item[1])
	}
	if len(all) == 0 {
		return nil, "an empty cell"
	}
	if "`"+strings.Join(all, "`, `")+"`" != cell {
		return nil, fmt.Sprintf("%q is not a list of names", cell)
	}
	return all, ""
}

func (n names) checkExported(cell string) (problems []string) {
	all, problem := listed(cell)
	if problem != "" {
		return []string{problem}
	}
	for _, name := range all {
		if !n.exported[name] {
			problems = append(problems, name+" is not exported by any package")
		}
	}
	return problems
}

func (n names) checkTests(cell string) (problems []string) {
	all, problem := listed(cell)
	if problem != "" {
		return []string{problem}
	}
	for _, name := range all {
		test, sub, _ := strings.Cut(name, "/")
		strs, ok := n.tests[test]
		pkg, _, _ := strings.Cut(test, ".")
		file, _ := filepath.Glob(filepath.Join(pkg, "testdata", "*", sub))
		switch {
		case !ok:
			problems = append(problems, "there is no test "+test)
		case sub != "" && !strs[sub] && len(file) == 0:
			problems = append(problems, fmt.Sprintf("%s has no subtest %q", test, sub))
		}
	}
	return problems
}

// TestSourcesSees damages the page: each time the test must say so.
func TestSourcesSees(t *testing.T) {
	read, err := readTree(os.DirFS("."))
	require.NoError(t, err)
	known := namesOf(read)
	text, err := os.ReadFile("docs/sources.md")
	require.NoError(t, err)
	page := string(text)
	for name, test := range map[string]struct{ from, to, want string }{
		"a test that is not there":    {"`world.TestSourceUsage`", "`world.TestSourceUse`", "no test world.TestSourceUse"},
		"a test of another package":   {"`world.TestSourceUsage`", "`shard.TestSourceUsage`", "no test shard.TestSourceUsage"},
		"a subtest that is not there": {"hierarchy.TestSource/any depth", "hierarchy.TestSource/no depth", `no subtest "no depth"`},
		"a file that is not there":    {"TestRefused/bundle_of_one_right.go", "TestRefused/bundle_of_none.go", `no subtest "bundle_of_none.go"`},
		"what is not exported":        {"`world.World.Clear`", "`world.World.Wipe`", "world.World.Wipe is not exported"},
		"a method of nobody":          {"`world.World.Clear`", "`world.Clear`", "world.Clear is not exported"},
		"a field that is not there":   {"`world.Options.KeepOrder`", "`world.Options.Order`", "world.Options.Order is not exported"},
		"no test":                     {"| `world.TestKeepOrder` |", "| |", "an empty cell"},
		"no behaviour":                {"| clear |", "| |", "an empty cell"},
		"nothing that gives it":       {"| `world.World.Clear` | `world.TestEntityClear` |", "| | `world.TestEntityClear` |", "an empty cell"},
		"a promise":                   {"| `world.TestKeepOrder` |", "| `world.TestKeepOrder`, later more |", "is not a list of names"},
		"a cell too few":              {"| `world.World.Clear` | `world.TestEntityClear` |", "| `world.TestEntityClear` |", "2 cells, want 3"},
		"no section":                  {"## 003:", "## 005:", "003 has no table of each behaviour"},
		"no mistakes":                 {"| mistake | by | proved by |\n|---|---|---|\n| the check", "| the check", "004 has no table of each mistake"},
		"other columns":               {"| behaviour | by | proved by |", "| behaviour | proved by | by |", "the columns are"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, page, test.from)
			got := checkSources(strings.Replace(page, test.from, test.to, 1), known)
			require.NotEmpty(t, got)
			require.Contains(t, strings.Join(got, "\n"), test.want)
		})
	}
}
