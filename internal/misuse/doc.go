// Package misuse has a test alone: it makes each call of the packages at each wrong time, in
// the wrong hands and twice at once, and compares the answers with the table in
// docs/misuse.md.
package misuse
