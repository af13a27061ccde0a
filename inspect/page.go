package inspect

import "embed"

// page has the files for the browser: HTML, CSS and JavaScript modules, unprocessed, and uPlot,
// which draws the charts. The page loads nothing from elsewhere.
//
//go:embed page
var page embed.FS
