// Package demo is the demo command: a realm full of creatures, served to bots
// over TCP, watched once a second and audited at the end.
//
// A run ends from the outside in, so that nothing changes during the audit: the bots
// stop sending and receive the outcomes of all that they sent; the server accepts
// nothing more and drains; the ticks end; the bots receive the last deaths; the
// books are compared; then the connections are closed.
package demo
