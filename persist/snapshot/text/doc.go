// Package text writes a snapshot as text, which people and tools can read, compare and edit, and
// makes a snapshot of it again. It also compares two snapshots. It needs neither a world nor the
// types of its components, because a snapshot describes them.
//
// docs/snapshot-format.md describes the lines of the text.
package text
