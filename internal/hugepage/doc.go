// Package hugepage asks the kernel to back memory with huge pages, which the processor
// finds with fewer look-ups than small ones. What is asked is a hint: it changes no
// contents, and whether it is met shows in time alone.
package hugepage
