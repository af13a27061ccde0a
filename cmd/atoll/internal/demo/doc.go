// Package demo is the demo command: a realm full of creatures, served to bots
// over TCP, watched once a second and audited at the end.
//
// A run ends from the outside in, so that what is audited is still: the bots
// stop sending and hear the outcome of all that they sent; the server accepts
// nothing more and drains; the ticks end; the bots hear the last deaths; then the
// books are compared; then everybody goes.
package demo
