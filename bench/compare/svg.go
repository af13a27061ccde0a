package main

import (
	"fmt"
	"html"
	"strings"
)

// svg is a picture that is being drawn: elements, in the order of painting.
type svg struct {
	width, height float64
	body          strings.Builder
}

// stroke is how a line looks.
type stroke struct {
	color string
	width float64
	dash  string // "" is solid
}

// anchor says which end of a text is at its point.
type anchor string

const (
	atStart  anchor = "start"
	atMiddle anchor = "middle"
	atEnd    anchor = "end"
)

// lettering is how a text looks.
type lettering struct {
	size   float64
	color  string
	bold   bool
	anchor anchor
}

func (s *svg) line(x1, y1, x2, y2 float64, k stroke) {
	s.polyline([][2]float64{{x1, y1}, {x2, y2}}, k)
}

// polyline joins points.
func (s *svg) polyline(points [][2]float64, k stroke) {
	list := make([]string, len(points))
	for i, p := range points {
		list[i] = fmt.Sprintf("%.1f,%.1f", p[0], p[1])
	}
	dash := ""
	if k.dash != "" {
		dash = fmt.Sprintf(` stroke-dasharray="%s"`, k.dash)
	}
	fmt.Fprintf(&s.body, `<polyline points="%s" fill="none" stroke="%s" stroke-width="%.1f" stroke-linejoin="round" stroke-linecap="round"%s/>`+"\n",
		strings.Join(list, " "), k.color, k.width, dash)
}

func (s *svg) circle(x, y, r float64, color string) {
	fmt.Fprintf(&s.body, `<circle cx="%.1f" cy="%.1f" r="%.1f" fill="%s" stroke="#ffffff" stroke-width="1"/>`+"\n", x, y, r, color)
}

func (s *svg) rect(x, y, width, height float64, color string) {
	fmt.Fprintf(&s.body, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", x, y, width, height, color)
}

// text writes with the middle of its letters' height near y.
func (s *svg) text(x, y float64, text string, l lettering) {
	weight := "normal"
	if l.bold {
		weight = "bold"
	}
	fmt.Fprintf(&s.body, `<text x="%.1f" y="%.1f" font-size="%.0f" font-weight="%s" fill="%s" text-anchor="%s">%s</text>`+"\n",
		x, y+l.size*0.35, l.size, weight, l.color, l.anchor, html.EscapeString(text))
}

// String returns the whole picture, on a ground of its own so that it can be
// read on a dark page as well.
func (s *svg) String() string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]g %[2]g" width="%[1]g" height="%[2]g" font-family="system-ui, 'Segoe UI', 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif">
<rect width="%[1]g" height="%[2]g" rx="8" fill="#ffffff"/>
%[3]s</svg>
`, s.width, s.height, s.body.String())
}
