package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// writePlots writes a plot for each bench of the results into the directory,
// which loses the plots that it had. It returns their names by bench.
func writePlots(dir string, h header, results []result) (map[string]string, error) {
	old, err := filepath.Glob(filepath.Join(dir, "*.svg"))
	if err != nil {
		return nil, err
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			return nil, err
		}
	}
	names := map[string]string{}
	for _, b := range benches {
		p := newPlot(&b, h, results)
		if len(p.series) == 0 {
			continue
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		names[b.name] = strings.ReplaceAll(b.name, "/", "-") + ".svg"
		if err := os.WriteFile(filepath.Join(dir, names[b.name]), []byte(p.draw()), 0o644); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// series is the times of one contender by number of entities.
type series struct {
	name string
	n    []float64
	ns   []float64
}

func (s series) last() float64 { return s.ns[len(s.ns)-1] }

// plot is the picture of one bench: a line for each contender, both axes
// logarithmic; or bars, if there is but one number of entities.
type plot struct {
	title, what, foot string
	sizes             []int
	series            []series // the slowest at its end first
	low, high         float64  // of the axis of times
}

func newPlot(b *bench, h header, results []result) plot {
	p := plot{title: b.name, what: b.title, foot: fmt.Sprintf("%s · %s · commit %s · %s", h.cpu, h.version, h.commit, h.date)}
	byName := map[string]*series{}
	add := func(name string, n int, ns *float64) {
		if ns == nil || *ns <= 0 {
			return
		}
		if byName[name] == nil {
			byName[name] = &series{name: name}
		}
		s := byName[name]
		s.n, s.ns = append(s.n, float64(n)), append(s.ns, *ns)
	}
	for _, r := range results {
		if r.Bench != b.name {
			continue
		}
		p.sizes = append(p.sizes, r.N)
		add("atoll", r.N, r.AtollNS)
		add("slices", r.N, r.LimitNS)
		for name, ns := range maps.All(r.Peers) {
			add(name, r.N, &ns)
		}
	}
	if len(byName) == 0 {
		return p
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, s := range byName {
		p.series = append(p.series, *s)
		low, high = min(low, slices.Min(s.ns)), max(high, slices.Max(s.ns))
	}
	slices.SortFunc(p.series, func(a, b series) int {
		return cmp.Or(cmp.Compare(b.last(), a.last()), cmp.Compare(a.name, b.name))
	})
	p.low, p.high = tickBelow(low), tickAbove(high)
	if p.low == p.high {
		p.high = tickAbove(p.high * 1.01)
	}
	return p
}

// looks are the lines of the contenders: one hue for each library, a dashed line
// for its second way.
var looks = map[string]stroke{
	"atoll":             {color: "#d7263d", width: 3.5},
	"ark":               {color: "#1f6fb4", width: 1.8},
	"ark-cached":        {color: "#1f6fb4", width: 1.8, dash: "6 4"},
	"arche":             {color: "#2c9a4b", width: 1.8},
	"arche-cached":      {color: "#2c9a4b", width: 1.8, dash: "6 4"},
	"unitoftime":        {color: "#8a5a2b", width: 1.8},
	"unitoftime-slices": {color: "#8a5a2b", width: 1.8, dash: "6 4"},
	"donburi":           {color: "#8e44ad", width: 1.8},
	"ggecs":             {color: "#e07b00", width: 1.8},
	"ggecs-kept":        {color: "#e07b00", width: 1.8, dash: "6 4"},
	"volt":              {color: "#0a9396", width: 1.8},
	"slices":            {color: "#6b7280", width: 1.8, dash: "2 4"},
}

// lookOf returns the line of a contender, grey for one that has none of its own.
func lookOf(name string) stroke {
	if look, ok := looks[name]; ok {
		return look
	}
	return stroke{color: "#444444", width: 1.8}
}

// caption names a contender in a plot.
func caption(name string) string {
	switch name {
	case "atoll":
		return "Atoll"
	case "slices":
		return "slices (limit)"
	}
	return name
}

// tickBelow and tickAbove return the nearest of …, 1, 2, 5, 10, … beside v.
func tickBelow(v float64) float64 {
	ticks := ticksBetween(v/10, v)
	return ticks[len(ticks)-1]
}

func tickAbove(v float64) float64 { return ticksBetween(v, v*10)[0] }

// ticksBetween returns those of …, 1, 2, 5, 10, … from low to high.
func ticksBetween(low, high float64) []float64 {
	var ticks []float64
	for exp := math.Floor(math.Log10(low)); exp <= math.Ceil(math.Log10(high)); exp++ {
		for _, m := range []float64{1, 2, 5} {
			if t := m * math.Pow(10, exp); t >= low*(1-1e-9) && t <= high*(1+1e-9) {
				ticks = append(ticks, t)
			}
		}
	}
	return ticks
}
