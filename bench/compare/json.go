package main

import (
	"encoding/json"
	"io"
)

// writeJSON writes a result, a finding or a summary as one line.
func writeJSON(w io.Writer, found any) error { return json.NewEncoder(w).Encode(found) }
