//go:build !linux

package main

import "time"

var began = time.Now()

// threadTime and processTime are the time of the clock here, where processor time
// is not known. Nothing else must be running then.
func threadTime() time.Duration  { return time.Since(began) }
func processTime() time.Duration { return time.Since(began) }
