package inspect

import "embed"

// page is what the browser gets: HTML, CSS and JavaScript modules, as they are, and uPlot, which draws
// the charts. It loads nothing from elsewhere.
//
//go:embed page
var page embed.FS
