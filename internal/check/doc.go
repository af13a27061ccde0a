// Package check is the one gate for checks that a release build does without:
// they run under the race detector and under the build tag atollcheck, and cost
// nothing elsewhere.
//
// A check stands behind "if check.Enabled", which the compiler takes out of a
// release build before it decides what to inline. What a check must remember is
// a field of type [check.Count]…, which a release build gives no room.
package check
