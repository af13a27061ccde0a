package atoll_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

type (
	Position struct{ X, Y float64 }
	Velocity struct{ X, Y float64 }
	Ship     struct {
		Position
		Velocity
	}
)

func Move(b *world.Build) func(*world.Context) {
	pos, vel := world.Write[Position](b), world.Read[Velocity](b)
	moving := b.Query(pos, vel)
	return func(c *world.Context) {
		for ch := range moving.Chunks() {
			p, v := pos.Slice(ch), vel.Slice(ch)
			for i := range p {
				p[i].X += v[i].X * c.Delta()
				p[i].Y += v[i].Y * c.Delta()
			}
		}
	}
}

// The fifteen lines of README.
func Example() {
	w := world.MustNew(world.Options{})
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	ship := world.NewBundle[Ship](w)

	s := scheduler.New(w, scheduler.Options{})
	s.MustAdd("move", Move)

	port, _ := w.OpenPort() // any goroutine, at any time
	h, _ := ship.Create(port, Ship{Position{0, 0}, Velocity{1, 2}})
	fmt.Println(h, port.Status(h))

	_ = s.Step(context.Background()) // creates it
	_ = s.Step(context.Background()) // moves it
	fmt.Println(h, port.Status(h), *world.Read[Position](w).Get(h))
	// Output:
	// 4:4096@1 pending
	// 4:4096@1 alive {0.05 0.1}
}

// TestSnippets holds every Go snippet of the documents against the test files,
// which are compiled and run: its lines must stand in one of them, in a row.
func TestSnippets(t *testing.T) {
	var code []string
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		code = append(code, unindent(string(text)))
	}
	documents, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	snippet := regexp.MustCompile("(?s)```go\n(.*?)```")
	found := 0
	for _, d := range append(documents, "README.md") {
		text, err := os.ReadFile(d)
		require.NoError(t, err)
		for _, m := range snippet.FindAllStringSubmatch(string(text), -1) {
			found++
			require.True(t, standsIn(code, m[1]), "no test file has this snippet of %s:\n%s", d, m[1])
		}
	}
	require.GreaterOrEqual(t, found, 2)
	require.False(t, standsIn(code, "a := nothing()\n"))
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
