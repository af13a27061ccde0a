//go:build !linux

package main

import "time"

var began = time.Now()

// threadTime and processTime are the time of the clock where that of the processor
// is not known. Nothing else must be running then.
func threadTime() time.Duration  { return time.Since(began) }
func processTime() time.Duration { return time.Since(began) }
