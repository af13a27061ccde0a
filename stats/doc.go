// Package stats counts durations. The statistics of packages world and scheduler are made of its
// histograms, and a program may use them for its own.
package stats
