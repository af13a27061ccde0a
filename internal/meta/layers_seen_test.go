//go:build !race

package meta_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// TestLayersSee runs the rules on small trees: each rule sees what it is for,
// and no other rule does.
func TestLayersSee(t *testing.T) {
	imports := func(name string, paths ...string) string {
		return "package " + name + "\n\nimport (\n\t_ \"" + strings.Join(paths, "\"\n\t_ \"") + "\"\n)\n"
	}
	seen := map[string]bool{} // the rules that found something
	for _, test := range []struct {
		name  string
		files map[string]string
		want  map[string][]string // violations by rule
	}{
		{
			name: "nothing in a good tree",
			files: map[string]string{
				"doc.go":                       "package m\n",
				"internal/bits/bits.go":        imports("bits", "m.test/m/internal/check", "math/bits"),
				"internal/check/check.go":      "package check\n",
				"handle/handle.go":             imports("handle", "fmt", "m.test/m/internal/bits"),
				"shard/shard.go":               imports("shard", "m.test/m/handle", "go.uber.org/atomic", "golang.org/x/sync/errgroup"),
				"shard/shard_test.go":          imports("shard_test", "m.test/m/scheduler", "github.com/stretchr/testify/require"),
				"shard/raw.go":                 "package shard\n\nimport \"unsafe\"\n\nconst size = unsafe.Sizeof(0)\n\n// At is.\n//\n// Safety: it is.\nfunc At() {}\n",
				"shard/raw_test.go":            "package shard\n\nimport \"unsafe\"\n\nfunc helper() {}\n\nvar _ = unsafe.Sizeof(0)\n",
				"world/world.go":               imports("world", "m.test/m/handle", "m.test/m/shard", "m.test/m/world/view"),
				"world/view/view.go":           imports("view", "m.test/m/shard"),
				"scheduler/scheduler.go":       imports("scheduler", "m.test/m/world", "m.test/m/handle"),
				"ext/hierarchy/hierarchy.go":   imports("hierarchy", "m.test/m/world", "m.test/m/internal/check"),
				"persist/snapshot/snapshot.go": imports("snapshot", "m.test/m/ext/hierarchy"),
				"persist/internal/hash/sum.go": imports("state", "github.com/zeebo/xxh3", "m.test/m/world"),
				"cmd/m/main.go":                imports("main", "m.test/m", "m.test/m/scheduler", "m.test/m/cmd/m/flags", "github.com/peer/flags"),
				"cmd/m/flags/flags.go":         imports("flags", "m.test/m/handle"),
				"handle/long.go":               "package handle\n" + strings.Repeat("//\n", linesMax-1),
				"handle/long_test.go":          "package handle\n" + strings.Repeat("//\n", linesMax),
				"bench/go.mod":                 "module m.test/m/bench\n",
				"bench/util.go":                imports("bench", "github.com/peer/ecs"),
				"shard/testdata/broken.go":     "not Go",
				"_attic/types.go":              "not Go",
				"shard/.#shard.go":             "not Go",
			},
		},
		{
			name: "arrows",
			files: map[string]string{
				"handle/handle.go":           imports("handle", "m.test/m/shard"),
				"shard/deep/deep.go":         imports("deep", "m.test/m/handle", "m.test/m/world"),
				"shard/shard.go":             imports("shard", "m.test/m"),
				"world/world.go":             imports("world", "m.test/m/ext/hierarchy", "m.test/m/scheduler"),
				"ext/hierarchy/hierarchy.go": imports("hierarchy", "m.test/m/cmd/m/flags"),
				"internal/check/go.go":       imports("check", "m.test/m/world", "m.test/m/internal/bits"),
				"internal/bits/go.go":        imports("bits", "m.test/m/internal/mem"),
				"internal/slots/go.go":       imports("slots", "m.test/m/internal/mem", "m.test/m/internal/queue"),
				"internal/queue/go.go":       imports("queue", "m.test/m/internal/store", "m.test/m/internal/check"),
			},
			want: map[string][]string{"arrows": {
				"ext/hierarchy/hierarchy.go imports cmd/m/flags: only commands import the root and other commands",
				"handle/handle.go imports shard: the arrows are " + arrows(),
				"internal/bits/go.go imports internal/mem: internal packages without a rank import only handle and each other",
				"internal/check/go.go imports world: internal packages without a rank import only handle and each other",
				"internal/queue/go.go imports internal/store: the arrows are " + arrows(),
				"internal/slots/go.go imports internal/queue: the arrows are " + arrows(),
				"shard/deep/deep.go imports world: the arrows are " + arrows(),
				"shard/shard.go imports .: only commands import the root and other commands",
				"world/world.go imports ext/hierarchy: the arrows are " + arrows(),
				"world/world.go imports scheduler: the arrows are " + arrows(),
			}},
		},
		{
			name: "third party",
			files: map[string]string{
				"handle/handle.go":           imports("handle", "go.uber.org/atomics", "go.uber.org/atomic"),
				"ext/hierarchy/hierarchy.go": imports("hierarchy", "github.com/stretchr/testify/require", "m.test/mm"),
				"world/sum.go":               imports("world", "github.com/zeebo/xxh3"),
			},
			want: map[string][]string{"third party": {
				"ext/hierarchy/hierarchy.go imports github.com/stretchr/testify/require: the library imports only golang.org/x/sync, go.uber.org/atomic",
				"ext/hierarchy/hierarchy.go imports m.test/mm: the library imports only golang.org/x/sync, go.uber.org/atomic",
				"handle/handle.go imports go.uber.org/atomics: the library imports only golang.org/x/sync, go.uber.org/atomic",
				"world/sum.go imports github.com/zeebo/xxh3: the library imports only golang.org/x/sync, go.uber.org/atomic",
			}},
		},
		{
			name: "unsafe",
			files: map[string]string{
				"shard/column.go": "package shard\n\nimport \"unsafe\"\n\n// At is fast.\n//\n// Safety:\nfunc At() {}\n\nfunc (c *C) Row() {}\n\n// Run is not. Safety: not a paragraph.\nfunc Run() {}\n",
				"shard/raw.go":    "//go:build race\n\npackage shard\n\nimport u \"unsafe\"\n\nvar _ = u.Sizeof(0)\n",
				"world/raw.go":    "package world\n\nimport _ \"unsafe\"\n",
			},
			want: map[string][]string{"unsafe": {
				`shard/column.go: At has no "Safety:" paragraph in its comment, in a file that imports unsafe`,
				`shard/column.go: Row has no "Safety:" paragraph in its comment, in a file that imports unsafe`,
				`shard/column.go: Run has no "Safety:" paragraph in its comment, in a file that imports unsafe`,
				"shard/raw.go imports unsafe, and so does shard/column.go: at most one file of a package may",
			}},
		},
		{
			name: "length",
			files: map[string]string{
				"cmd/m/main.go":    "package main\n" + strings.Repeat("//\n", linesMax),
				"handle/handle.go": "package handle\n" + strings.Repeat("//\n", linesMax-1) + "// no newline",
			},
			want: map[string][]string{"length": {
				"cmd/m/main.go has 801 lines, more than 800: if it has two duties, split it by noun",
				"handle/handle.go has 801 lines, more than 800: if it has two duties, split it by noun",
			}},
		},
		{
			name: "names",
			files: map[string]string{
				"cmd/m/util.go": "package main\n", "handle/types.go": "package handle\n", "shard/common.go": "package shard\n",
				"helpers.go": "package m\n", "world/types_table.go": "package world\n",
			},
			want: map[string][]string{"names": {
				"cmd/m/util.go: name the file after the noun inside",
				"handle/types.go: name the file after the noun inside",
				"helpers.go: name the file after the noun inside",
				"shard/common.go: name the file after the noun inside",
			}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			tree, err := readTree(memoryFS(test.files))
			require.NoError(t, err)
			for _, rule := range rules {
				violations := rule.check(tree)
				require.Equal(t, test.want[rule.name], violations, rule.name)
				seen[rule.name] = seen[rule.name] || violations != nil
			}
		})
	}
	for _, rule := range rules {
		require.True(t, seen[rule.name], "no tree here breaks the rule %q", rule.name)
	}
}

// TestReadTreeRefuses checks that a tree that cannot be judged is an error, not
// a good tree.
func TestReadTreeRefuses(t *testing.T) {
	for name, fsys := range map[string]fs.FS{
		"no go.mod":      fstest.MapFS{"doc.go": {Data: []byte("package m\n")}},
		"no module line": fstest.MapFS{"go.mod": {Data: []byte("go 1.26\n")}, "doc.go": {Data: []byte("package m\n")}},
		"no files":       memoryFS(nil),
		"broken file":    memoryFS(map[string]string{"doc.go": "not Go"}),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readTree(fsys)
			require.Error(t, err)
		})
	}
}

// memoryFS returns a file system that holds files and the go.mod of module
// m.test/m.
func memoryFS(files map[string]string) fs.FS {
	fsys := fstest.MapFS{"go.mod": {Data: []byte("module m.test/m\n\ngo 1.26.0\n")}}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}
