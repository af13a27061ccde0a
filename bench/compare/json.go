package main

import (
	"encoding/json"
	"io"
)

// writeJSON writes a result as one line.
func writeJSON(w io.Writer, r result) error { return json.NewEncoder(w).Encode(r) }
