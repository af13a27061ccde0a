package inspect

import "embed"

// page is what the browser gets.
//
//go:embed page
var page embed.FS
