// Package misuse has only a test: it makes each call of the packages at each wrong time, with the
// wrong objects and twice at the same time, and compares the results with the table in
// docs/misuse.md.
package misuse
