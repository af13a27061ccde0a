package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// element is what a test asks of a picture.
type element struct {
	name  string
	attrs map[string]string
	text  string
}

// parseSVG reads the elements of a picture.
func parseSVG(t *testing.T, data string) []element {
	t.Helper()
	var list []element
	d := xml.NewDecoder(strings.NewReader(data))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return list
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			e := element{name: token.Name.Local, attrs: map[string]string{}}
			for _, a := range token.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			list = append(list, e)
		case xml.CharData:
			if len(list) > 0 {
				list[len(list)-1].text += strings.TrimSuffix(string(token), "\n")
			}
		}
	}
}

// find returns the elements of a name for which keep says so.
func findElements(list []element, name string, keep func(element) bool) (found []element) {
	for _, e := range list {
		if e.name == name && keep(e) {
			found = append(found, e)
		}
	}
	return found
}

func TestWritePlots(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plots")
	require.NoError(t, os.Mkdir(dir, 0o755))
	stale := filepath.Join(dir, "of-a-bench-that-is-gone.svg")
	require.NoError(t, os.WriteFile(stale, nil, 0o644))

	names, err := writePlots(dir, header{commit: "abc <dirty> & more"}, testResults())
	require.NoError(t, err)
	assert.NoFileExists(t, stale)
	assert.Equal(t, map[string]string{"iterate2": "iterate2.svg", "change1": "change1.svg", "random": "random.svg", "new-world": "new-world.svg"}, names)
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		list := parseSVG(t, string(data))
		require.Equal(t, "svg", list[0].name)
		assert.NotContains(t, string(data), "NaN")
		assert.NotContains(t, string(data), "Inf")
		for _, e := range findElements(list, "text", func(element) bool { return true }) {
			var x, y, width, height float64
			scan(t, list[0].attrs["width"], &width)
			scan(t, list[0].attrs["height"], &height)
			scan(t, e.attrs["x"], &x)
			scan(t, e.attrs["y"], &y)
			assert.True(t, x >= 0 && x <= width && y >= 0 && y <= height, "%s: %q is outside of the picture", name, e.text)
		}
	}
}

func scan(t *testing.T, s string, v *float64) {
	t.Helper()
	_, err := fmt.Sscan(s, v)
	require.NoError(t, err, s)
}

// TestPlotShowsAll checks that each contender has a line in a colour of its own
// with all its points, and a label, and that Atoll's is the widest.
func TestPlotShowsAll(t *testing.T) {
	var results []result
	for i, n := range sizes {
		r := result{Bench: "iterate2", N: n, AtollNS: ptr(10 / float64(i+1)), LimitNS: ptr(1), Peers: map[string]float64{}}
		for j, c := range others {
			if c.role == peer {
				r.Peers[c.name] = 20 + float64(j)/1000 // on top of each other
			}
		}
		results = append(results, r)
	}
	p := newPlot(&benches[0], header{}, results)
	list := parseSVG(t, p.draw())
	seen := map[string]bool{}
	for _, s := range p.series {
		look := lookOf(s.name)
		assert.False(t, seen[look.color+look.dash], "%s looks like another", s.name)
		seen[look.color+look.dash] = true
		if s.name != "atoll" {
			assert.Less(t, look.width, lookOf("atoll").width)
		}
		lines := findElements(list, "polyline", func(e element) bool {
			return e.attrs["stroke"] == look.color && e.attrs["stroke-dasharray"] == look.dash && strings.Count(e.attrs["points"], ",") == len(sizes)
		})
		assert.Len(t, lines, 1, s.name)
		labels := findElements(list, "text", func(e element) bool { return strings.HasPrefix(e.text, caption(s.name)+"  ") })
		assert.Len(t, labels, 1, s.name)
	}
	assert.Len(t, p.series, len(others)+1, "the other contenders and Atoll")
	for _, tick := range []string{"1", "4", "16", "64", "256", "1k", "16k", "256k", "1M"} {
		assert.NotEmpty(t, findElements(list, "text", func(e element) bool { return e.text == tick }), tick)
	}
	order := p.drawingOrder()
	assert.Equal(t, "atoll", order[len(order)-1].name, "on top of the others")
}

func TestPlotAxes(t *testing.T) {
	p := newPlot(&benches[0], header{}, []result{
		{Bench: "iterate2", N: 1, AtollNS: ptr(30)}, {Bench: "iterate2", N: 100, AtollNS: ptr(3)}, {Bench: "iterate2", N: 10_000, AtollNS: ptr(0.3)},
	})
	assert.Equal(t, 0.2, p.low)
	assert.Equal(t, 50.0, p.high)
	assert.InDelta(t, chartLeft, p.x(1), 1e-9)
	assert.InDelta(t, (chartLeft+chartRight)/2, p.x(100), 1e-9, "logarithmic")
	assert.InDelta(t, chartRight, p.x(10_000), 1e-9)
	assert.InDelta(t, chartBottom, p.y(0.2), 1e-9)
	assert.InDelta(t, chartTop, p.y(50), 1e-9)
	assert.InDelta(t, p.y(3)-p.y(30), p.y(0.3)-p.y(3), 1e-9, "logarithmic")
}

func TestPlotOfOneTime(t *testing.T) {
	p := newPlot(&benches[0], header{}, []result{{Bench: "iterate2", N: 1, AtollNS: ptr(10)}, {Bench: "iterate2", N: 4, AtollNS: ptr(10)}})
	assert.Less(t, p.low, p.high)
	assert.NotContains(t, p.draw(), "NaN")
	assert.Empty(t, newPlot(&benches[0], header{}, nil).series)
}

func TestTicks(t *testing.T) {
	assert.Equal(t, []float64{1, 2, 5, 10}, ticksBetween(1, 10))
	assert.InDeltaSlice(t, []float64{0.05, 0.1, 0.2}, ticksBetween(0.03, 0.4), 1e-12)
	assert.Equal(t, []float64{5, 5, 10, 10}, []float64{tickBelow(5), tickAbove(5), tickAbove(5.1), tickBelow(19.9)})
}

func TestSpread(t *testing.T) {
	assert.Equal(t, []float64{10, 50, 90}, spread([]float64{10, 50, 90}, 19, 0, 100), "nothing overlaps")
	assert.Equal(t, []float64{62, 81, 100}, spread([]float64{98, 99, 100}, 19, 0, 100), "pushed up from the bottom")
	assert.Equal(t, []float64{0, 19, 38}, spread([]float64{-5, -4, 3}, 19, 0, 100), "pushed down from the top")
}

// TestWritePlotsSlash draws a bench whose name holds a slash: the picture is beside all
// others, and no two benches have the same.
func TestWritePlotsSlash(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plots")
	results := testResults()[:1]
	results[0].Bench = "hierarchy/add-12"
	names, err := writePlots(dir, header{}, results)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"hierarchy/add-12": "hierarchy-add-12.svg"}, names)
	require.FileExists(t, filepath.Join(dir, "hierarchy-add-12.svg"))

	results = nil
	for _, b := range benches {
		r := testResults()[0]
		r.Bench = b.name
		results = append(results, r)
	}
	names, err = writePlots(dir, header{}, results)
	require.NoError(t, err)
	require.Len(t, names, len(benches))
	files, err := filepath.Glob(filepath.Join(dir, "*.svg"))
	require.NoError(t, err)
	require.Len(t, files, len(benches))
}
