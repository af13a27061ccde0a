// Package hugepage asks the kernel to back memory with huge pages, for which the processor needs
// fewer look-ups than for small ones. The request is a hint: it never changes contents, and affects
// only speed.
package hugepage
