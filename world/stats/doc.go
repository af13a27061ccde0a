// Package stats counts durations. Packages world and scheduler use its histograms for their
// statistics, and a program may use them for its own.
package stats
