package main

import (
	"math"
	"slices"
)

// The layout of a plot, in pixels.
const (
	chartWidth, chartHeight = 920.0, 470.0
	chartLeft, chartRight   = 62.0, 650.0 // of the area of the lines
	chartTop, chartBottom   = 66.0, 398.0
	labelLeft               = 724.0
	labelHeight             = 19.0
	barTop, barHeight       = 66.0, 22.0
	barLeft, barRight       = 170.0, 760.0
)

// The letters and lines that are alike in all plots.
var (
	titleLetters = lettering{size: 19, color: "#111827", bold: true, anchor: atStart}
	noteLetters  = lettering{size: 13, color: "#4b5563", anchor: atStart}
	unitLetters  = lettering{size: 12, color: "#4b5563", anchor: atEnd}
	footLetters  = lettering{size: 11, color: "#6b7280", anchor: atStart}
	gridStroke   = stroke{color: "#e5e7eb", width: 1}
	axisStroke   = stroke{color: "#9ca3af", width: 1}
)

// draw returns the picture as SVG.
func (p plot) draw() string {
	s := &svg{width: chartWidth, height: chartHeight}
	if len(p.sizes) == 1 {
		s.height = barTop + barHeight*float64(len(p.series)) + 44
	}
	s.text(24, 26, p.title, titleLetters)
	s.text(24, 48, p.what, noteLetters)
	s.text(24, s.height-16, p.foot, footLetters)
	if len(p.sizes) == 1 {
		s.text(chartWidth-24, 26, "nanoseconds, lower is better", unitLetters)
		p.drawBars(s)
		return s.String()
	}
	s.text(chartWidth-24, 26, "nanoseconds for each entity, both axes logarithmic, lower is better", unitLetters)
	p.drawGrid(s)
	for _, one := range p.drawingOrder() {
		p.drawLine(s, one)
	}
	p.drawLabels(s)
	return s.String()
}

// drawingOrder is that of painting: Atoll last, on top of all others.
func (p plot) drawingOrder() []series {
	order := slices.Clone(p.series)
	slices.SortStableFunc(order, func(a, b series) int {
		switch {
		case a.name == "atoll":
			return 1
		case b.name == "atoll":
			return -1
		}
		return 0
	})
	return order
}

func (p plot) x(n float64) float64 {
	first, last := float64(p.sizes[0]), float64(p.sizes[len(p.sizes)-1])
	return chartLeft + (chartRight-chartLeft)*math.Log(n/first)/math.Log(last/first)
}

func (p plot) y(ns float64) float64 {
	return chartBottom - (chartBottom-chartTop)*math.Log(ns/p.low)/math.Log(p.high/p.low)
}

// drawGrid draws axes, ticks and their numbers.
func (p plot) drawGrid(s *svg) {
	ticks := ticksBetween(p.low, p.high)
	numbers := lettering{size: 12, color: "#4b5563", anchor: atEnd}
	for _, t := range ticks {
		y := p.y(t)
		s.line(chartLeft, y, chartRight, y, gridStroke)
		if len(ticks) <= 13 || isPowerOf10(t) {
			s.text(chartLeft-9, y, trim(round(t)), numbers)
		}
	}
	numbers.anchor = atMiddle
	for _, n := range p.sizes {
		x := p.x(float64(n))
		s.line(x, chartTop, x, chartBottom, gridStroke)
		s.text(x, chartBottom+17, size(n), numbers)
	}
	s.line(chartLeft, chartBottom, chartRight, chartBottom, axisStroke)
	s.text((chartLeft+chartRight)/2, chartBottom+37, "entities", numbers)
}

func (p plot) drawLine(s *svg, one series) {
	look := lookOf(one.name)
	points := make([][2]float64, len(one.n))
	for i := range points {
		points[i] = [2]float64{p.x(one.n[i]), p.y(one.ns[i])}
	}
	s.polyline(points, look)
	for _, at := range points {
		s.circle(at[0], at[1], 1.6+look.width*0.7, look.color)
	}
}

// drawLabels names the lines at their ends, in their order there, with the time
// that they end at.
func (p plot) drawLabels(s *svg) {
	ys := make([]float64, len(p.series))
	for i, one := range p.series {
		ys[i] = p.y(one.last())
	}
	for i, y := range spread(ys, labelHeight, chartTop, chartBottom) {
		one := p.series[i]
		look := lookOf(one.name)
		from := [2]float64{p.x(one.n[len(one.n)-1]) + 6, ys[i]}
		s.polyline([][2]float64{from, {labelLeft - 30, y}}, stroke{color: look.color, width: 0.7})
		s.line(labelLeft-28, y, labelLeft-6, y, look)
		last := one.last()
		s.text(labelLeft, y, caption(one.name)+"  "+ns(&last), lettering{size: 13, color: look.color, bold: one.name == "atoll", anchor: atStart})
	}
}

// drawBars draws a bar for each contender, from nothing and not logarithmic.
func (p plot) drawBars(s *svg) {
	longest := 0.0
	for _, one := range p.series {
		longest = max(longest, one.last())
	}
	for i := range p.series {
		one := p.series[len(p.series)-1-i] // the fastest on top
		look := lookOf(one.name)
		y := barTop + barHeight*float64(i)
		bold := one.name == "atoll"
		width := max(1, (barRight-barLeft)*one.last()/longest)
		last := one.last()
		s.text(barLeft-10, y+barHeight/2, caption(one.name), lettering{size: 13, color: look.color, bold: bold, anchor: atEnd})
		s.rect(barLeft, y+3, width, barHeight-6, look.color)
		s.text(barLeft+width+8, y+barHeight/2, ns(&last), lettering{size: 13, color: "#374151", bold: bold, anchor: atStart})
	}
}

// spread moves the labels, which are in order from top to bottom, as little as
// it must so that they are height apart and within bounds.
func spread(ys []float64, height, top, bottom float64) []float64 {
	at := slices.Clone(ys)
	for i := range at {
		if i == 0 {
			at[i] = max(at[i], top)
		} else {
			at[i] = max(at[i], at[i-1]+height)
		}
	}
	for i := len(at) - 1; i >= 0; i-- {
		below := bottom
		if i < len(at)-1 {
			below = at[i+1] - height
		}
		at[i] = min(at[i], below)
	}
	return at
}

func isPowerOf10(v float64) bool {
	exp := math.Log10(v)
	return math.Abs(exp-math.Round(exp)) < 1e-9
}

// round rids a tick of the error of its power.
func round(v float64) float64 { return math.Round(v*1e6) / 1e6 }
